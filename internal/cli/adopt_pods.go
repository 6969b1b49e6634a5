// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit"
	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// markTries bounds the tries after a concurrent change of a pod: the kubelet writes its status.
const markTries = 5

// markDriver adds the application's owner reference and labels to a driver that lacks them.
func (c *connection) markDriver(ctx context.Context, pod *corev1.Pod, app resolve.Application, dry dryRun) error {
	marks := marksOf(app)
	marks[app.Family.Labels.SpecHash] = app.Desired.SpecHash
	uid := pod.UID
	for range markTries {
		if metav1.GetControllerOfNoCopy(pod) != nil {
			return nil
		}
		owner := app.Owner.Reference
		owner.BlockOwnerDeletion = nil // this field needs a permission on the application's finalizers, which users seldom have
		err := c.mark(ctx, pod, marks, []metav1.OwnerReference{owner}, dry)
		if !apierrors.IsConflict(err) {
			return err
		}
		again := &corev1.Pod{}
		switch err := c.Get(ctx, client.ObjectKeyFromObject(pod), again); {
		case err != nil:
			return err
		case again.UID != uid:
			return errors.New("it has been replaced by another pod of its name")
		case sparksubmit.Ended(again):
			return errors.New("the driver ended during the adoption: delete the application")
		}
		pod = again
	}
	return fmt.Errorf("it changed %d times during the adoption; try again", markTries)
}

// markExecutors labels the existing executors of a driver, and returns their number.
func (c *connection) markExecutors(ctx context.Context, driver *corev1.Pod, app resolve.Application, dry dryRun) (int, error) {
	var list corev1.PodList
	which := client.MatchingLabels{spark.LabelAppSelector: driver.Labels[spark.LabelAppSelector], spark.LabelRole: spark.RoleExecutor}
	if err := c.List(ctx, &list, client.InNamespace(driver.Namespace), which); err != nil {
		return 0, err
	}
	marked := 0
	for i := range list.Items {
		pod := &list.Items[i]
		if pod.Labels[app.Family.Labels.Submission] == app.Desired.SubmissionID || pod.DeletionTimestamp != nil {
			continue
		}
		pod.ResourceVersion = "" // labels do not depend on the version
		err := c.mark(ctx, pod, marksOf(app), nil, dry)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return marked, fmt.Errorf("pod %s: %w", pod.Name, inspect.ForPeople(err))
		}
		marked++
	}
	return marked, nil
}

// marksOf returns the labels with which the operator finds the pods of an attempt.
func marksOf(app resolve.Application) map[string]any {
	l := app.Family.Labels
	return map[string]any{l.App: app.Owner.Reference.Name, l.LaunchedBy: "true", l.Submission: app.Desired.SubmissionID}
}
