// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

const (
	// reviewPeriod is how often the operator's rights are checked.
	reviewPeriod = time.Minute
	// reviewIn is in how many namespaces they are checked.
	reviewIn = 5
)

// rights are those that scheduler plugins declare, as far as the operator lacks them.
type rights struct {
	mu sync.Mutex
	// namespaces are where they are looked for; "" for all namespaces.
	namespaces []string
	denied     map[scheduler.Access]bool
	reviewedAt time.Time
}

func (r *rights) configure(namespaces []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.namespaces = namespaces
}

// forget has all of them asked for the next time.
func (r *rights) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reviewedAt = time.Time{}
}

// has is true for what has not been asked for yet, too.
func (r *rights) has(a scheduler.Access) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.denied[a]
}

// review asks the API server: for all of them now and then, and each time for those that were missing.
func (r *rights) review(ctx context.Context, live client.Writer, plugins []scheduler.Plugin, now time.Time) {
	r.mu.Lock()
	all, namespaces := now.Sub(r.reviewedAt) > reviewPeriod, r.namespaces
	if all {
		r.reviewedAt = now
	}
	r.mu.Unlock()
	for _, p := range plugins {
		for _, access := range p.Describe().Accesses() {
			if !all && r.has(access) {
				continue
			}
			if may, known := allowed(ctx, live, access, namespaces[:min(len(namespaces), reviewIn)]); known {
				r.note(access, may)
			}
		}
	}
}

func (r *rights) note(a scheduler.Access, may bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.denied == nil {
		r.denied = map[scheduler.Access]bool{}
	}
	r.denied[a] = !may
}

// allowed reports whether the operator has a right in one of the namespaces: a namespace without rights, or one that does
// not exist, must not disable a plugin in the others. It is not known if the API server does not answer.
func allowed(ctx context.Context, live client.Writer, access scheduler.Access, namespaces []string) (may, known bool) {
	for _, namespace := range namespaces {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: access.Group, Resource: access.Resource, Verb: access.Verb, Namespace: namespace},
		}}
		if err := live.Create(ctx, review); err != nil {
			return false, false // no answer is no denial
		}
		if review.Status.Allowed {
			return true, true
		}
	}
	return false, true
}
