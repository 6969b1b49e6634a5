// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// Two releases in one namespace have a Lease each: whatever asks for one asks for that of the configuration.
func TestElectionByName(t *testing.T) {
	cases := map[string]struct{ reason, text, lease string }{
		"Default": {reason: "what kustomize's Role names", text: "{}", lease: "spark-operator-controller-lock"},
		"Named":   {reason: "what the chart says for a release of another name", text: "{name: beta-controller-lock}", lease: "beta-controller-lock"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: tc.lease}}
			server := apiserver.New(t, []schema.GroupVersionKind{coordinationv1.SchemeGroupVersion.WithKind("Lease")}, lease)
			c, err := config.Parse([]byte("apiVersion: config.firesteel.dev/v1alpha1\nkind: OperatorConfiguration\nleaderElection: " + tc.text + "\n"))
			if err != nil {
				t.Fatal(err)
			}
			c.LeaderElection.Namespace = "ops"
			e, err := newElection(&rest.Config{Host: server.URL, BearerToken: token(boundToken)}, c.LeaderElection)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			go func() { _ = e.Start(ctx) }()
			if !toolscache.WaitForCacheSync(ctx.Done(), e.watch.HasSynced) {
				t.Fatalf("%s: the Lease is not watched", tc.reason)
			}
			if got, want := server.Requests()[0].URL, "fieldSelector="+url.QueryEscape("metadata.name="+tc.lease); !strings.Contains(got, want) {
				t.Errorf("%s: watches %s, want %s", tc.reason, got, want)
			}
			server.Close()
			if _, _, err := e.lock.Get(ctx); err != nil {
				t.Errorf("%s: the lock looks for another Lease than the one that is watched: %v", tc.reason, err)
			}
			if got, want := e.lock.Describe(), "ops/"+tc.lease; got != want {
				t.Errorf("%s: lock %s, want %s", tc.reason, got, want)
			}
			if leases, ok := e.lock.Client.(*leaseClient); !ok || len(leases.owners) != 1 {
				t.Errorf("%s: the Lease outlives the release: %+v", tc.reason, leases)
			}
			var o ctrl.Options
			if e.configure(&o, c.LeaderElection); o.LeaderElectionID != tc.lease {
				t.Errorf("%s: the manager calls it %s, want %s", tc.reason, o.LeaderElectionID, tc.lease)
			}
		})
	}
}

// token is one of a service account, as Kubernetes puts it into pods: only its middle matters here.
func token(claims string) string {
	return "head." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".signature"
}

const boundToken = `{"aud":["x"],"kubernetes.io":{"namespace":"ops","pod":{"name":"p","uid":"1"},"serviceaccount":{"name":"spark-operator-controller","uid":"u-2"}},"sub":"system:serviceaccount:ops:spark-operator-controller"}`

func TestAccountIn(t *testing.T) {
	cases := map[string]struct {
		reason, token string
		want          []metav1.OwnerReference
	}{
		"Pod":       {reason: "that of a pod", token: token(boundToken), want: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ServiceAccount", Name: "spark-operator-controller", UID: "u-2"}}},
		"Elsewhere": {reason: "an owner has to be in the same namespace, or its things are removed at once", token: token(strings.Replace(boundToken, `"ops"`, `"other"`, 1))},
		"Legacy":    {reason: "one that was kept in a Secret", token: token(`{"kubernetes.io/serviceaccount/namespace":"ops","kubernetes.io/serviceaccount/service-account.uid":"u-2"}`)},
		"NoUID":     {reason: "an owner without UID is refused", token: token(`{"kubernetes.io":{"namespace":"ops","serviceaccount":{"name":"a"}}}`)},
		"NoName":    {reason: "and so is one without a name", token: token(`{"kubernetes.io":{"namespace":"ops","serviceaccount":{"uid":"u-2"}}}`)},
		"Strange":   {reason: "claims of another form", token: token(`{"kubernetes.io":"ops"}`)},
		"NoBase64":  {reason: "three parts of something else", token: "a.$.c"},
		"Opaque":    {reason: "a person's token", token: "abc"},
		"None":      {reason: "a person's certificate"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, accountIn(tc.token, "ops")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What owns the Lease is said when it is made, and when one is met that no one owns: it was made by an operator that did not know.
func TestLeaseHasAnOwner(t *testing.T) {
	ours := []metav1.OwnerReference{{APIVersion: "v1", Kind: "ServiceAccount", Name: "a", UID: "u"}}
	theirs := []metav1.OwnerReference{{APIVersion: "v1", Kind: "ServiceAccount", Name: "b", UID: "v"}}
	cases := map[string]struct {
		reason string
		owners []metav1.OwnerReference
		there  *coordinationv1.Lease
		want   []metav1.OwnerReference
	}{
		"Made":     {reason: "there is none yet", owners: ours, want: ours},
		"Nobodys":  {reason: "it would stay permanently", owners: ours, there: &coordinationv1.Lease{}, want: ours},
		"Anothers": {reason: "anyone who owns it decides", owners: ours, there: &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{OwnerReferences: theirs}}, want: theirs},
		"Unknown":  {reason: "outside a pod there is no owner"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &leaseServer{lease: tc.there}
			r := s.replica("a", clocktesting.NewFakeClock(time.Now()))
			leases, _ := r.Client.(*leaseClient)
			leases.owners = tc.owners
			record := resourcelock.LeaderElectionRecord{HolderIdentity: r.Identity()}
			if _, _, err := r.Get(t.Context()); apierrors.IsNotFound(err) {
				if err := r.Create(t.Context(), record); err != nil {
					t.Fatal(err)
				}
			} else if err := r.Update(t.Context(), record); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, s.lease.OwnerReferences); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
