// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// serverPod is the pod of a Spark Connect server.
func serverPod(ready corev1.ConditionStatus) *corev1.Pod {
	p := ours(pod(corev1.PodRunning, runs(driverContainer)), "pi-driver", spark.RoleServer, "s-1")
	p.Status.PodIP = "10.0.0.7"
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	return p
}

// What tells whether a server accepts clients, and where.
func TestServerIsReady(t *testing.T) {
	for status, want := range map[corev1.ConditionStatus]bool{corev1.ConditionTrue: true, corev1.ConditionFalse: false, corev1.ConditionUnknown: false} {
		if d := judged(serverPod(status)); d.Ready != want || d.PodIP != "10.0.0.7" || d.Phase != lifecycle.DriverRunning {
			t.Errorf("Ready %s: got %+v", status, d)
		}
	}
	if d := judged(pod(corev1.PodRunning)); d.Ready {
		t.Error("a pod that says nothing is not ready")
	}
}

// The pod says where its UI is, and where its token comes from, whatever the spec says meanwhile (finding 10).
func TestUIAndTokenAreThePods(t *testing.T) {
	for name, tc := range map[string]struct {
		server *spark.Server
		port   string
		want   int32
		token  string
	}{
		"Server":  {&spark.Server{TemplateMap: "pi-conf"}, "4050", 4050, ""},
		"Guarded": {&spark.Server{TemplateMap: "pi-conf", TokenSecret: "pi-token-1"}, "4050", 4050, "pi-token-1"},
		"Driver":  {nil, "4041", 4041, ""},
	} {
		app := testutil.Model()
		app.Server, app.Conf[spark.ConfUIPort] = tc.server, tc.port
		profile, err := spark.ProfileFor(app.SparkVersion)
		if err != nil {
			t.Fatal(err)
		}
		built, err := spark.Build(app, spark.NewIdentity(app.UID, 1, time.Unix(0, 0)), profile)
		if err != nil {
			t.Fatal(err)
		}
		if got := driverOf(built.Driver); got.UIPort != tc.want || got.TokenSecret != tc.token {
			t.Errorf("%s: port %d, token in %q; want %d, %q", name, got.UIPort, got.TokenSecret, tc.want, tc.token)
		}
	}
	if got := driverOf(pod(corev1.PodRunning)).UIPort; got != 0 {
		t.Errorf("port %d of a pod that names none", got)
	}
}

// A server's pod is found wherever a driver's is.
func TestServerIsADriver(t *testing.T) {
	for _, role := range []string{spark.RoleDriver, spark.RoleServer, spark.RoleExecutor, ""} {
		t.Run("role="+role, func(t *testing.T) {
			p := serverPod(corev1.ConditionTrue)
			p.Labels[spark.LabelRole] = role
			p.Name = "renamed" // only its labels tell
			want := role == spark.RoleDriver || role == spark.RoleServer
			r := Reader{Labels: family.Labels, Cache: cluster(nil, nil, p), Live: cluster(nil, nil, p)}

			o, err := r.Observe(t.Context(), target, lifecycle.Record{State: lifecycle.Running})
			if got := o.Driver.Presence == lifecycle.Present; err != nil || got != want {
				t.Errorf("observed as %+v, %v", o.Driver, err)
			}
			orphan, err := r.Orphans(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi", UID: "app"}})
			if err != nil || orphan != want {
				t.Errorf("an orphan: %t, %v", orphan, err)
			}
			live, err := r.Drivers(t.Context(), "jobs", "s-1")
			if got := len(live) == 1; err != nil || got != want {
				t.Errorf("live drivers: %v, %v", live, err)
			}
			has, err := r.HasDriver(t.Context(), "jobs", "pi")
			if err != nil || has != want {
				t.Errorf("has a driver: %t, %v", has, err)
			}
			statuses, err := r.PodStatuses(t.Context(), target, created)
			if got := statuses.Driver != nil; err != nil || got != want {
				t.Errorf("what schedulers see: %+v, %v", statuses, err)
			}
		})
	}
}

// The pods of a server that a previous operator made have no attempt's mark. They are its own all the same.
func TestServerOfAPreviousOperator(t *testing.T) {
	unmarked := func(name, role string) *corev1.Pod {
		p := ours(pod(corev1.PodRunning), name, role, "")
		delete(p.Labels, v1beta2.LabelSubmissionID)
		return p
	}
	notOwned := unmarked("pi-driver", spark.RoleServer)
	notOwned.OwnerReferences[0].UID = "another"
	running := lifecycle.Record{State: lifecycle.Running, Attempt: 1, DriverName: "pi-driver"}
	marked := running
	marked.SubmissionID = "s-1"
	cases := map[string]struct {
		reason    string
		record    lifecycle.Record
		server    *corev1.Pod
		executors []string
		ownership lifecycle.Ownership
	}{
		"TakenOver": {"its executors are found by the server's name", running, unmarked("pi-driver", spark.RoleServer), []string{"e-1"}, lifecycle.Previous},
		"Ours":      {"our own attempts are marked: what is not is none of them", marked, serverPod(corev1.ConditionTrue), []string{"e-2"}, lifecycle.Current},
		"NotOwned":  {"another's pod has no executors of ours", running, notOwned, []string{"e-2"}, lifecycle.NotOwned},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			one, two := unmarked("e-1", spark.RoleExecutor), ours(pod(corev1.PodRunning), "e-2", spark.RoleExecutor, "s-1")
			live := cluster(nil, nil, tc.server, one, two)
			for how, r := range map[string]Reader{
				"read":    {Labels: family.Labels, Cache: live, Live: live},
				"indexed": {Labels: family.Labels, Pods: stored(t, tc.server, one, two), Live: live},
			} {
				o, err := r.Observe(t.Context(), target, tc.record)
				if err != nil {
					t.Fatal(err)
				}
				var executors []string
				for _, e := range o.Executors {
					executors = append(executors, e.Name)
				}
				if diff := cmp.Diff(tc.executors, executors); diff != "" || o.Driver.Ownership != tc.ownership {
					t.Errorf("%s, %s: driver %s, executors (-want +got):\n%s", tc.reason, how, o.Driver.Ownership, diff)
				}
			}
		})
	}
}
