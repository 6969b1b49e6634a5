// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// forged is a pod that says that it is the driver of an application.
func forged(a *arena, name, app string) (*corev1.Pod, error) {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: name, Labels: map[string]string{
			v1beta2.LabelAppName: app, v1beta2.LabelLaunchedBy: "true", v1beta2.LabelSubmissionID: "forged",
			spark.LabelRole: spark.RoleDriver, spark.LabelAppSelector: "spark-forged",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: spark.DriverContainerName, Image: "forged"}}},
	}, nil
}

// forgeries creates pods with the labels of drivers of applications.
func forgeries(a *arena, n int, apps ...string) error {
	for i := range n {
		pod, err := forged(a, fmt.Sprintf("forged-%d", i), apps[i%len(apps)])
		if err != nil {
			return err
		}
		if err := answered(a.as.Create(a.ctx, pod)); err != nil {
			return err
		}
	}
	return nil
}
