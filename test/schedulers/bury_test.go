// SPDX-License-Identifier: Apache-2.0

package schedulers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// lingers is how long a deleted pod that has stopped can still be seen.
const lingers = 400 * time.Millisecond

// bury removes deleted pods that have stopped until the context ends, as a kubelet does: by their UIDs. KWOK would do so
// by their names, and the driver of the next attempt has the same one.
func (c *cluster) bury(ctx context.Context) error {
	clientset, err := kubernetes.NewForConfig(c.rest)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	remove := func(pod *corev1.Pod) {
		err := clientset.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && ctx.Err() == nil {
			fmt.Printf("pod %s/%s cannot be removed: %v\n", pod.Namespace, pod.Name, err)
		}
	}
	seen := func(o any) {
		if pod, ok := o.(*corev1.Pod); ok && pod.DeletionTimestamp != nil && ended(pod) {
			time.AfterFunc(lingers, func() { remove(pod) })
		}
	}
	factory := informers.NewSharedInformerFactory(clientset, 0)
	if _, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: seen, UpdateFunc: func(_, o any) { seen(o) }}); err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	factory.Start(ctx.Done())
	return nil
}
