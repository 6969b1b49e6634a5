// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

var (
	app = about{name: "app-00042", uid: "0123"}
	now = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
)

func decoded[T any](t *testing.T, file string) *T {
	t.Helper()
	out, err := decode[T](app, file, now)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The objects belong to the application, and the driver finds its settings.
func TestObjects(t *testing.T) {
	settings, service, driver := decoded[corev1.ConfigMap](t, "configmap"), decoded[corev1.Service](t, "service"), decoded[corev1.Pod](t, "driver")
	for _, owners := range [][]string{
		{settings.OwnerReferences[0].Name, string(settings.OwnerReferences[0].UID)},
		{service.OwnerReferences[0].Name, string(service.OwnerReferences[0].UID)},
		{driver.OwnerReferences[0].Name, string(driver.OwnerReferences[0].UID)},
	} {
		if owners[0] != app.name || owners[1] != string(app.uid) {
			t.Errorf("the owner is %v", owners)
		}
	}
	if volume := driver.Spec.Volumes[1].ConfigMap; volume.Name != settings.Name {
		t.Errorf("the driver mounts %s, its settings are %s", volume.Name, settings.Name)
	}
	if driver.Name != "app-00042-driver" || driver.Labels["sparkoperator.k8s.io/app-name"] != app.name || service.Spec.ClusterIP != "None" {
		t.Errorf("driver %s with labels %v, service %+v", driver.Name, driver.Labels, service.Spec)
	}
}

func TestEvents(t *testing.T) {
	names := map[string]bool{}
	for _, file := range []string{"event-submitted", "event-running", "event-completed"} {
		e := decoded[eventsv1.Event](t, file)
		names[e.Name] = true
		if e.Regarding.Name != app.name || !e.EventTime.Time.Equal(now) {
			t.Errorf("%s: %+v", file, e)
		}
	}
	if len(names) != 3 {
		t.Errorf("three events need three names: %v", names)
	}
}

func TestStatuses(t *testing.T) {
	for file, want := range map[string]v1beta2.ApplicationStateType{
		"status-submitted": v1beta2.ApplicationStateSubmitted, "status-running": v1beta2.ApplicationStateRunning,
		"status-succeeding": v1beta2.ApplicationStateSucceeding, "status-completed": v1beta2.ApplicationStateCompleted,
	} {
		text, err := app.text(file, now)
		if err != nil {
			t.Fatal(err)
		}
		var patch struct {
			Status v1beta2.SparkApplicationStatus `json:"status"`
		}
		if err := json.Unmarshal(text, &patch); err != nil {
			t.Fatal(err)
		}
		if patch.Status.AppState.State != want || len(patch.Status.Conditions) != 8 {
			t.Errorf("%s: %s with %d conditions", file, patch.Status.AppState.State, len(patch.Status.Conditions))
		}
		for _, word := range []string{"NAME", "UID\"", "TIME"} {
			if strings.Contains(string(text), word) {
				t.Errorf("%s: %s is left", file, word)
			}
		}
	}
}

func TestMissingObject(t *testing.T) {
	if _, err := decode[corev1.Pod](app, "nothing", now); err == nil {
		t.Error("an object that was never recorded is found")
	}
	if _, err := decode[int](app, "driver", now); err == nil {
		t.Error("a pod is taken for a number")
	}
}
