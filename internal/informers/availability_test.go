// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"errors"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// queueing is a plugin that needs the kind.
type queueing struct{ scheduler.Plugin }

func (queueing) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{
		Needs: []scheduler.API{{GroupKind: queues.GroupKind(), Versions: []string{queues.Version}}},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{queues.Group}, Resources: []string{"queues"}, Verbs: []string{"list", "watch"}}},
	}
}

// installed is an API server that has the kind, or does not, or fails.
type installed struct {
	discovery.ServerResourcesInterface
	err error
}

func (i *installed) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	if i.err != nil {
		return nil, i.err
	}
	return &metav1.APIResourceList{APIResources: []metav1.APIResource{{Kind: queues.Kind}}}, nil
}

func TestAvailability(t *testing.T) {
	server, may, reviews, now := &installed{}, false, 0, clocktesting.NewFakePassiveClock(start)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(queues, meta.RESTScopeRoot)
	live := fake.NewClientBuilder().WithScheme(apiserver.Scheme()).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			if review, ok := o.(*authorizationv1.SelfSubjectAccessReview); ok {
				review.Status.Allowed = may
				reviews++
			}
			return nil
		},
	}).Build()
	a := newAvailability(availabilityOptions{
		Discovery: server, Mapper: mapper, Live: live, Plugins: []scheduler.Plugin{queueing{}}, Namespaces: []string{""}, Clock: now,
	})
	failing, absent := errors.New("failing"), apierrors.NewNotFound(schema.GroupResource{}, "")
	for _, step := range []struct {
		reason  string
		after   time.Duration
		err     error
		may     bool
		reviews int
		watched bool
		want    scheduler.Reason
	}{
		{reason: "an API server that fails from the start proves nothing", err: failing, may: true, reviews: 2},
		{reason: "it is installed", may: true, reviews: 2, watched: true},
		{reason: "an API server that fails later proves nothing either", err: failing, may: true, watched: true},
		{reason: "rights are reviewed now and then", after: reviewPeriod, watched: true},
		{reason: "they are gone", after: time.Second, reviews: 2, want: scheduler.ReasonSchedulerForbidden},
		{reason: "each time it is looked whether they are back", may: true, reviews: 2, watched: true},
		{reason: "it is not installed any more", err: absent, may: true, reviews: 2, want: scheduler.ReasonSchedulerNotInstalled},
	} {
		now.SetTime(now.Now().Add(step.after))
		server.err, may, reviews = step.err, step.may, 0
		if a.discover(t.Context()); reviews != step.reviews {
			t.Errorf("%s: %d reviews, want %d", step.reason, reviews, step.reviews)
		}
		if watched := a.mayWatch(queues); watched != step.watched {
			t.Errorf("%s: may be watched: %v", step.reason, watched)
		}
		if admission, _ := a.Unavailable(queueing{}.Describe()); admission.Reason != step.want {
			t.Errorf("%s: %q, want %q", step.reason, admission.Reason, step.want)
		}
	}
}
