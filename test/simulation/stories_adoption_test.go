// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

func init() { maps.Copy(stories, adoptions) }

// adoptions are stories of drivers that others started.
var adoptions = map[string]func(*script){
	"adopts-a-driver": func(s *script) {
		s.adopts(nil)
		s.pass(10 * time.Minute)
		s.marks()
		s.work()
		s.exits(0)
		s.pass(time.Minute)
	},
	"adopts-a-driver-after-a-crash": func(s *script) {
		o := s.adopts(nil)
		s.until(o, patchStatus)
		s.marks()
		s.crash()
		s.work()
		s.exits(1)
		s.pass(time.Minute)
	},
	"adopts-a-driver-although-the-spec-is-invalid": func(s *script) {
		s.adopts(func(spec *v1beta2.SparkApplicationSpec) { spec.SparkVersion, spec.Suspend = unknownVersion, new(true) })
		s.pass(5 * time.Minute)
		s.suspend(false)
		s.marks()
		s.work()
		s.exits(0)
		s.pass(time.Minute)
	},
	"adopted-driver-is-replaced-after-an-edit": func(s *script) {
		s.adopts(nil)
		s.marks()
		s.work()
		s.edit("arguments", func(spec *v1beta2.SparkApplicationSpec) { spec.Arguments = []string{"x"} })
		s.work()
		s.vanishes()
		s.pass(20 * time.Second)
		s.completes()
	},
}

// adopts applies an application that is to follow a driver which runs already, and starts an operator.
func (s *script) adopts(change func(*v1beta2.SparkApplicationSpec)) *operator {
	s.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: appName + "-driver", Labels: map[string]string{spark.LabelRole: spark.RoleDriver, spark.LabelAppSelector: "spark-1"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: spark.DriverContainerName}}},
	}
	s.tell("spark-submit", "creates pod %s", pod.Name)
	s.store.create(pod, s.second())
	s.schedule(s.driver())
	s.history.start(s.driver())
	app := newApplication()
	app.Annotations = map[string]string{v1beta2.AnnotationAdopts: pod.Name}
	if change != nil {
		change(&app.Spec)
	}
	s.applied(app)
	return s.start()
}

// marks makes the driver the application's, as kubectl spark adopt does.
func (s *script) marks() {
	s.t.Helper()
	app, pod := s.store.app(), s.driver().DeepCopy()
	s.tell("user", "marks pod %s as the application's", pod.Name)
	identity := spark.NewIdentity(app.UID, 1, s.now)
	maps.Copy(pod.Labels, map[string]string{
		v1beta2.LabelAppName: app.Name, v1beta2.LabelLaunchedBy: "true", v1beta2.LabelSubmissionID: identity.SubmissionID, v1beta2.LabelSpecHash: kubeflow.SpecHash(app),
	})
	pod.OwnerReferences = []metav1.OwnerReference{kubeflow.SparkApplications{}.Family().Owner(app, identity.SubmissionID).Reference}
	s.store.put(pod)
	s.invariants.drivers = append(s.invariants.drivers, &run{uid: pod.UID, app: app.UID, submission: identity.SubmissionID, labels: pod.Labels, spec: specOf(app)})
}
