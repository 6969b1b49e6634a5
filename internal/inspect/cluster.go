// SPDX-License-Identifier: Apache-2.0

// Package inspect is the read path of users. It finds and loads the objects that a user names, reads what the operator would read, asks schedulers, decides
// as the operator would, and computes queue positions. It neither writes to a cluster nor prints. Its errors name the commands and flags of kubectl spark.
package inspect

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/observe"
)

// Reader has the read methods of a client.
type Reader interface {
	client.Reader
	Watch(ctx context.Context, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error)
	RESTMapper() meta.RESTMapper
}

// Cluster is a cluster with the permissions of a user, in one namespace or in all.
type Cluster struct {
	Reader
	// Pods reads logs. Forward opens a tunnel to a port of a pod. It calls opened with the local address, and returns when the tunnel ends.
	Pods    typedcorev1.PodsGetter
	Forward func(ctx context.Context, pod string, port int32, opened func(address string)) error
	// Schema reads the OpenAPI v3 schema of a group version. CreatesPods asks the API server whether a service account may create pods in its namespace.
	// MayCreate asks whether the user may create objects of a resource.
	Schema      func(ctx context.Context, version schema.GroupVersion) ([]byte, error)
	CreatesPods func(ctx context.Context, namespace, account string) (bool, error)
	MayCreate   func(ctx context.Context, namespace string, of schema.GroupResource) (bool, error)
	// Namespace is the namespace of names that include none.
	Namespace string
}

// tail returns the last lines of a log.
func (c *Cluster) tail(ctx context.Context, l observe.Log) (string, error) {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	text, err := c.Pods.Pods(l.Namespace).GetLogs(l.Pod, l.Options()).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("read log of %s/%s: %w", l.Namespace, l.Pod, err)
	}
	return string(text), nil
}
