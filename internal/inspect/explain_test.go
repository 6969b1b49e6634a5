// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

// The page of Spark's UI is read through a tunnel.
func TestSessionsAreAskedFor(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	page := fmt.Sprintf(`<strong>Started at: </strong> %s <h4>2 session(s) are online, running 1 Request(s)</h4> Request Statistics (0)`, now.Format("2006/01/02 15:04:05"))
	ui := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) }))
	defer ui.Close()
	o := &v1alpha1.SparkConnect{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "nb"}, Spec: v1alpha1.SparkConnectSpec{SparkVersion: "4.1.4", Image: ptr.To("spark:4.1.4")}}
	c := &Cluster{Namespace: "jobs"}
	d := lifecycle.Driver{Name: "nb-server", PodIP: "10.0.0.1", StartedAt: now}
	c.Forward = func(ctx context.Context, pod string, port int32, opened func(string)) error {
		if pod != "nb-server" || port != 4040 {
			t.Errorf("a tunnel to %s:%d", pod, port)
		}
		opened(strings.TrimPrefix(ui.URL, "http://"))
		return ctx.Err()
	}
	s := Servers.Read(o, resolve.Operator{}, now).Application
	if got := c.sessions(t.Context(), observe.Reader{}, s, d); !got.Known || got.Open != 2 || got.Executing != 1 {
		t.Errorf("%+v", got)
	}
	c.Forward = func(context.Context, string, int32, func(string)) error { return errors.New("no way") }
	if got := c.sessions(t.Context(), observe.Reader{}, s, d); got.Known || got.Problem != "no tunnel to the server pod: no way" {
		t.Errorf("%+v", got)
	}
}

// The API server stores fields that do not exist where a schema is open, and explain names them.
func TestSchedulesKeepUnknownFields(t *testing.T) {
	item := map[string]any{"metadata": map[string]any{"name": "nightly"}, "spec": map[string]any{"schedule": "@daily", "jitter": int64(5)}}
	s, err := Schedules.LoadSchedule(item, resolve.Operator{}, time.Time{})
	if err != nil || s.Desired.Schedule != "@daily" || len(s.Desired.Unknown) != 1 || !strings.HasPrefix(s.Desired.Unknown[0], "spec.jitter") {
		t.Errorf("%v, %+v", err, s.Desired)
	}
}

// A cluster may have one family and not the other: the kinds that are missing are named, whatever the discovery says.
func TestMissingKindsAreNamed(t *testing.T) {
	gone := apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "", "", 0, true)
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   string
	}{
		"Kind":  {reason: "the group is known", err: &meta.NoKindMatchError{GroupKind: Clusters.GroupKind()}, want: "the cluster does not know SparkClusters (spark.apache.org/v1): these kinds are off by default, see docs/migrate-from-apache.md"},
		"Group": {reason: "the group is not", err: &apiutil.ErrResourceDiscoveryFailed{Clusters.GroupVersion(): gone}, want: "the cluster does not know SparkApplications and SparkClusters (spark.apache.org/v1): these kinds are off by default, see docs/migrate-from-apache.md"},
		"None":  {reason: "nothing is installed", err: &apiutil.ErrResourceDiscoveryFailed{Servers.GroupVersion(): gone}, want: "the cluster does not know SparkConnects (sparkoperator.k8s.io/v1alpha1): install the operator or at least its definitions, see README.md, Install: kubectl apply --server-side -k config/crd"},
	} {
		if got := ForPeople(tc.err).Error(); got != tc.want {
			t.Errorf("%s, %s: %s, want %s", name, tc.reason, got, tc.want)
		}
	}
}
