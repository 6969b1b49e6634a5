// SPDX-License-Identifier: Apache-2.0

package schedulers

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/testutil/ports"
	"github.com/firesteel-dev/firesteel/test/schedulers/conformance"
)

const labelPlace = "conformance.firesteel.dev/place"

// kube is plain Kubernetes: kube-scheduler, and a place is a node that no one else may use.
type kube struct {
	*cluster
	stand *standIn // plays the scheduler, if set
	live  *process
}

func (k *kube) Install(context.Context) error   { return nil }
func (k *kube) Uninstall(context.Context) error { return nil }

func (k *kube) Start(ctx context.Context) error {
	if k.stand != nil {
		return k.stand.start(ctx)
	}
	if k.live != nil {
		return nil
	}
	dir, err := tool(ctx, "kubernetes")
	if err != nil {
		return err
	}
	port, err := ports.Free(ctx)
	if err != nil {
		return err
	}
	k.live, err = k.run(ctx, "kube-scheduler", filepath.Join(dir, "kube-scheduler"), nil,
		"--kubeconfig="+k.kubeconfig, "--authentication-kubeconfig="+k.kubeconfig, "--authorization-kubeconfig="+k.kubeconfig,
		"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port), "--cert-dir="+filepath.Join(k.dir, "kube-scheduler"))
	return err
}

func (k *kube) Stop() {
	k.stand.stop()
	k.live.stop()
	k.live = nil
}

// Place makes a node of the given size.
func (k *kube) Place(ctx context.Context, namespace string, room corev1.ResourceList) (conformance.Place, error) {
	taint := corev1.Taint{Key: labelPlace, Value: namespace, Effect: corev1.TaintEffectNoSchedule}
	place := conformance.Place{
		NodeSelector: map[string]string{labelPlace: namespace},
		Tolerations:  []corev1.Toleration{{Key: taint.Key, Value: taint.Value, Effect: taint.Effect}},
	}
	return place, k.addNode(ctx, "node-"+namespace, room, place.NodeSelector, taint)
}

// Remove deletes the node.
func (k *kube) Remove(ctx context.Context, namespace string) error {
	return k.removeNode(ctx, "node-"+namespace)
}

// quotas is kube where a ResourceQuota has the place's room, too.
type quotas struct{ *kube }

func (q quotas) Place(ctx context.Context, namespace string, room corev1.ResourceList) (conformance.Place, error) {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "place"}}
	quota.Spec.Hard = corev1.ResourceList{
		corev1.ResourceRequestsCPU: room[corev1.ResourceCPU], corev1.ResourceRequestsMemory: room[corev1.ResourceMemory],
	}
	if err := q.client.Create(ctx, quota); err != nil {
		return conformance.Place{}, fmt.Errorf("create the quota: %w", err)
	}
	place, err := q.kube.Place(ctx, namespace, room)
	if err != nil {
		return place, err
	}
	return place, q.eventually(ctx, "the quota", func() error {
		if err := q.client.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		if len(quota.Status.Hard) == 0 {
			return fmt.Errorf("no one has checked it")
		}
		return nil
	})
}
