// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"slices"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

const (
	// reviewPeriod is the interval of checks of the operator's permissions.
	reviewPeriod = time.Minute
	// reviewIn bounds the namespaces in which permissions are checked.
	reviewIn = 5
)

// availability knows which kinds of the plugins are installed, and which required permissions the operator lacks.
type availability struct {
	options availabilityOptions
	kinds   []schema.GroupVersionKind
	// reviewedAt is the time of the last full review; zero requests a full review.
	reviewedAt time.Time

	mu sync.Mutex
	// namespaces are the namespaces in which permissions are checked; "" means all.
	namespaces []string
	// served has the checked kinds, and denied the missing permissions. Only discover writes the maps, so it reads them without the lock.
	served map[schema.GroupVersionKind]bool
	denied map[scheduler.Access]bool
}

type availabilityOptions struct {
	Discovery discovery.ServerResourcesInterface
	Mapper    meta.RESTMapper
	// Live sends access reviews.
	Live    client.Writer
	Plugins []scheduler.Plugin
	// Namespaces are the initial namespaces, which Configure replaces.
	Namespaces []string
	Clock      clock.PassiveClock
}

func newAvailability(o availabilityOptions) *availability {
	return &availability{options: o, kinds: kindsOf(o.Plugins), namespaces: o.Namespaces,
		served: map[schema.GroupVersionKind]bool{}, denied: map[scheduler.Access]bool{}}
}

// kindsOf returns the kinds that plugins read, without the core kinds that are read live.
func kindsOf(plugins []scheduler.Plugin) []schema.GroupVersionKind {
	var found []schema.GroupVersionKind
	for _, p := range plugins {
		d := p.Describe()
		wanted := slices.Concat(d.Owns, d.Reads)
		for _, api := range d.Needs {
			for _, version := range api.Versions {
				wanted = append(wanted, api.WithVersion(version))
			}
		}
		for _, kind := range wanted {
			if !slices.Contains(found, kind) && kind.Kind != eventKind {
				found = append(found, kind)
			}
		}
	}
	return found
}

// Configure sets the namespaces in which permissions are checked.
func (a *availability) Configure(c config.OperatorConfiguration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.namespaces = Targets(c)
}

// discover updates the installed kinds and the permissions.
func (a *availability) discover(ctx context.Context) {
	groups := map[schema.GroupVersion]map[string]bool{}
	for _, kind := range a.kinds {
		kinds, looked := groups[kind.GroupVersion()]
		if !looked {
			list, err := a.options.Discovery.ServerResourcesForGroupVersion(kind.GroupVersion().String())
			if err != nil && !apierrors.IsNotFound(err) {
				continue // an error of the API server proves nothing
			}
			kinds = map[string]bool{}
			if list != nil {
				for i := range list.APIResources {
					kinds[list.APIResources[i].Kind] = true
				}
			}
			groups[kind.GroupVersion()] = kinds
		}
		if a.served[kind] != kinds[kind.Kind] {
			a.reviewedAt = time.Time{}
		}
		a.mu.Lock()
		a.served[kind] = kinds[kind.Kind]
		a.mu.Unlock()
	}
	a.review(ctx)
}

// review checks the operator's permissions. It checks all of them once per reviewPeriod, and missing ones each time.
func (a *availability) review(ctx context.Context) {
	now := a.options.Clock.Now()
	all := now.Sub(a.reviewedAt) > reviewPeriod
	if all {
		a.reviewedAt = now
	}
	a.mu.Lock()
	namespaces := a.namespaces[:min(len(a.namespaces), reviewIn)]
	a.mu.Unlock()
	for _, p := range a.options.Plugins {
		for _, access := range p.Describe().Accesses() {
			if !all && !a.denied[access] {
				continue
			}
			if may, known := allowed(ctx, a.options.Live, access, namespaces); known {
				a.mu.Lock()
				a.denied[access] = !may
				a.mu.Unlock()
			}
		}
	}
}

// allowed reports whether the operator has a permission in at least one of the namespaces. A namespace that lacks the permission or does not exist must not
// disable a plugin in the others. known is false if the API server does not respond.
func allowed(ctx context.Context, live client.Writer, access scheduler.Access, namespaces []string) (may, known bool) {
	for _, namespace := range namespaces {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: access.Group, Resource: access.Resource, Verb: access.Verb, Namespace: namespace},
		}}
		if err := live.Create(ctx, review); err != nil {
			return false, false // an error is no denial
		}
		if review.Status.Allowed {
			return true, true
		}
	}
	return false, true
}

// mayWatch reports whether a kind can be watched: it is installed, the rules of a plugin allow to watch it, and the operator has the permission. Only the
// goroutine of discover calls it.
func (a *availability) mayWatch(kind schema.GroupVersionKind) bool {
	if !a.served[kind] {
		return false
	}
	mapping, err := a.options.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return false
	}
	watch := scheduler.Access{Group: kind.Group, Resource: mapping.Resource.Resource, Verb: "watch"}
	for _, p := range a.options.Plugins {
		if slices.Contains(p.Describe().Accesses(), watch) {
			return !a.denied[watch]
		}
	}
	return false
}

// Unavailable returns an answer if a plugin cannot be asked, and explains why.
func (a *availability) Unavailable(d scheduler.Descriptor) (scheduler.Admission, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	served := func(kind schema.GroupVersionKind) bool {
		served, looked := a.served[kind]
		return served || !looked
	}
	return d.Unready(served, func(right scheduler.Access) bool { return !a.denied[right] })
}
