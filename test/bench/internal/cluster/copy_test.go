// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestCopiesOfAnApplication(t *testing.T) {
	o := original{
		name: "warm-up", uid: "old",
		application: []byte(`{"metadata": {"name": "warm-up", "uid": "old"}, "status": {"driverInfo": {"podName": "warm-up-driver"}}}`),
		driver: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: "warm-up-driver", Namespace: "bench", UID: "u", Labels: map[string]string{labelApplication: "warm-up"},
				OwnerReferences: []metav1.OwnerReference{{Name: "warm-up", UID: "old"}},
			},
			Spec:   corev1.PodSpec{NodeName: "kwok-0", ServiceAccountName: "spark"},
			Status: corev1.PodStatus{Phase: corev1.PodSucceeded},
		},
	}
	all, err := o.as("x", 1)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, object := range all {
		keys = append(keys, string(object.Key))
	}
	if diff := cmp.Diff([]string{"/registry/sparkoperator.k8s.io/sparkapplications/bench/x", "/registry/pods/bench/x-driver", "/registry/pods/bench/x-driver-exec-1"}, keys); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	var app struct {
		Metadata metav1.ObjectMeta
		Status   struct{ DriverInfo struct{ PodName string } }
	}
	if err := json.Unmarshal(all[0].Value, &app); err != nil {
		t.Fatal(err)
	}
	if app.Metadata.Name != "x" || app.Metadata.UID == "old" || app.Status.DriverInfo.PodName != "x-driver" {
		t.Errorf("names are the copy's, and it is an object of its own: %+v", app)
	}
	var driver, executor corev1.Pod
	for i, pod := range []*corev1.Pod{&driver, &executor} {
		if _, _, err := pods.Decode(all[i+1].Value, nil, pod); err != nil {
			t.Fatal(err)
		}
		if pod.Spec.NodeName != elsewhere || pod.UID == "u" || pod.Labels[labelApplication] != "x" || pod.Status.Phase != corev1.PodSucceeded {
			t.Errorf("no one plays a copy's node, and it is of the new application: %+v", pod)
		}
	}
	if owner := driver.OwnerReferences[0]; owner.Name != "x" || owner.UID != app.Metadata.UID {
		t.Errorf("the driver belongs to %+v", owner)
	}
	if owner := executor.OwnerReferences[0]; owner.Name != "x-driver" || owner.UID != driver.UID || executor.Labels["spark-role"] != "executor" {
		t.Errorf("the executor belongs to %+v, labels %v", owner, executor.Labels)
	}
}
