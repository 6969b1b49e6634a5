// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// A list that was too long for the cache proves no absence.
func TestSnapshotOfAListThatWasCut(t *testing.T) {
	read := scheduler.Read{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Event"), Namespace: "jobs"}
	for more, complete := range map[string]bool{"": true, "token": false} {
		reader := Reader{Kinds: fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
			List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
				list.SetContinue(more)
				return nil
			},
		}).Build()}
		if s, err := reader.Snapshot(t.Context(), []scheduler.Read{read}); err != nil || s.Complete(read) != complete {
			t.Errorf("continue %q: complete %t, %v; want %t", more, s.Complete(read), err, complete)
		}
	}
}

// A cache shows a deleted object for a moment longer.
func TestSnapshotWithoutDeletedObjects(t *testing.T) {
	group := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "group", UID: "old"}}
	read := scheduler.Read{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Namespace: "jobs", Name: "group"}
	for gone, there := range map[types.UID]bool{"old": false, "older": true} {
		reader := Reader{Kinds: fake.NewClientBuilder().WithObjects(group).Build(), Deleted: func(uid types.UID) bool { return uid == gone }}
		s, err := reader.Snapshot(t.Context(), []scheduler.Read{read})
		if err != nil || (s[read] != nil) != there {
			t.Errorf("%s was deleted, %v: the group is there: %t, want %t", gone, err, s[read] != nil, there)
		}
	}
}

// Both plugins of a chain may ask for the same object: it is read once.
func TestSnapshotReadsOnce(t *testing.T) {
	read, gets := scheduler.Read{GroupVersionKind: scheduler.PriorityClassKind, Name: "high"}, 0
	reader := Reader{Kinds: fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			gets++
			return nil
		},
	}).Build()}
	if s, err := reader.Snapshot(t.Context(), []scheduler.Read{read, read}); err != nil || gets != 1 || s[read] == nil {
		t.Errorf("read %d times: %v, %v", gets, s, err)
	}
}
