// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/firesteel-dev/firesteel/test/bench/internal/ground"
)

// elsewhere is a node that no one plays: what is there stays as it is.
const elsewhere = "elsewhere"

// original is an application that has ended, and its driver.
type original struct {
	name string
	// application and status are JSON.
	application, status []byte
	driver              *corev1.Pod
}

// Copy makes copies of an application that has ended, each with its status and its driver.
func (l *Load) Copy(ctx context.Context, cfg *rest.Config, name string, copies []string) error {
	pods, err := kubernetes.NewForConfig(ground.Protobuf(cfg))
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	text, err := l.Apps.Get().Namespace(ground.Namespace).Resource(Resource).Name(name).DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("read application %s: %w", name, err)
	}
	o, err := parseOriginal(text)
	if err != nil {
		return err
	}
	drivers, err := pods.CoreV1().Pods(ground.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labelApplication + "=" + name + "," + ground.LabelRole + "=" + driver})
	if err != nil || len(drivers.Items) != 1 {
		return fmt.Errorf("find the driver of application %s: %d found: %w", name, len(drivers.Items), err)
	}
	o.driver = &drivers.Items[0]
	return Each(ctx, copies, func(ctx context.Context, name string) error { return l.copyOne(ctx, pods, o, name) })
}

// parseOriginal takes an application apart. What the API server adds to its metadata is not copied.
func parseOriginal(text []byte) (original, error) {
	var whole struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ObjectMeta `json:"metadata"`
		Spec            json.RawMessage   `json:"spec"`
		Status          json.RawMessage   `json:"status,omitempty"`
	}
	if err := json.Unmarshal(text, &whole); err != nil {
		return original{}, fmt.Errorf("read the application: %w", err)
	}
	m := whole.Metadata
	o := original{name: m.Name}
	status, err := json.Marshal(map[string]any{"status": whole.Status})
	if err != nil {
		return original{}, fmt.Errorf("write the status: %w", err)
	}
	whole.Metadata = metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, Labels: m.Labels, Annotations: m.Annotations, Finalizers: m.Finalizers}
	whole.Status = nil
	o.status = status
	if o.application, err = json.Marshal(whole); err != nil {
		return original{}, fmt.Errorf("write the application: %w", err)
	}
	return o, nil
}

// as is a text of the original's as a copy has it.
func (o original) as(text []byte, name string) []byte {
	return bytes.ReplaceAll(text, []byte(o.name), []byte(name))
}

func (l *Load) copyOne(ctx context.Context, pods kubernetes.Interface, o original, name string) error {
	uid, err := l.post(ctx, o.as(o.application, name))
	if err != nil {
		return err
	}
	err = l.Apps.Patch(types.MergePatchType).Namespace(ground.Namespace).Resource(Resource).Name(name).SubResource("status").Body(o.as(o.status, name)).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("write the status of %s: %w", name, err)
	}
	pod, err := o.driverOf(name, uid)
	if err != nil {
		return err
	}
	status := pod.Status
	created, err := pods.CoreV1().Pods(ground.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the driver of %s: %w", name, err)
	}
	created.Status = status
	if _, err := pods.CoreV1().Pods(ground.Namespace).UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("write the status of the driver of %s: %w", name, err)
	}
	return nil
}

// driverOf is the driver of a copy.
func (o original) driverOf(name string, owner types.UID) (*corev1.Pod, error) {
	text, err := json.Marshal(o.driver)
	if err != nil {
		return nil, fmt.Errorf("copy the driver: %w", err)
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(o.as(text, name), pod); err != nil {
		return nil, fmt.Errorf("copy the driver: %w", err)
	}
	m := pod.ObjectMeta
	pod.ObjectMeta = metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, Labels: m.Labels, Annotations: m.Annotations, Finalizers: m.Finalizers, OwnerReferences: m.OwnerReferences}
	for i := range pod.OwnerReferences {
		pod.OwnerReferences[i].UID = owner
	}
	pod.Spec.NodeName = elsewhere
	return pod, nil
}
