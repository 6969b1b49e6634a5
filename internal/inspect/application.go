// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

// Application is a stored application or server, with its resolved status.
type Application struct {
	Type
	metav1.Object
	kinds.Reading
}

// Load resolves a stored object of the kind. It succeeds even if the spec cannot be decoded.
func (k Type) Load(item map[string]any, operator resolve.Operator, now time.Time) (Application, error) {
	o, err := k.Decoded(item)
	if err != nil {
		return Application{}, err
	}
	return Application{k, o, k.Read(o, operator, now)}, nil
}

// LoadCluster resolves a stored cluster. It succeeds even if the spec cannot be decoded.
func (k Type) LoadCluster(item map[string]any, operator resolve.Operator, now time.Time) (kinds.ClusterReading, error) {
	o, err := k.Decoded(item)
	if err != nil {
		return kinds.ClusterReading{}, err
	}
	return k.ReadCluster(o, operator, now), nil
}

// LoadSchedule reads a stored schedule. It succeeds even if the spec cannot be decoded. It does not use Decoded, because Decoded drops unknown fields, which
// a schedule reports.
func (k Type) LoadSchedule(item map[string]any, operator resolve.Operator, now time.Time) (kinds.ScheduleReading, error) {
	text, err := json.Marshal(item)
	if err != nil {
		return kinds.ScheduleReading{}, err
	}
	o := k.New()
	if err := json.Unmarshal(text, o); err != nil {
		return kinds.ScheduleReading{}, err
	}
	return k.ReadSchedule(o, operator, now), nil
}

// Decoded decodes a stored object into its Go type.
func (k Type) Decoded(item map[string]any) (kinds.Object, error) {
	text, err := (&unstructured.Unstructured{Object: item}).MarshalJSON()
	if err != nil {
		return nil, err
	}
	o, _, err := k.Decode(text)
	return o, err
}

// LoadWatched resolves an application that a watch delivered.
func (k Type) LoadWatched(o client.Object) (Application, error) {
	seen, ok := o.(*unstructured.Unstructured)
	if !ok {
		return Application{}, fmt.Errorf("the API server sent a %T", o)
	}
	return k.Load(seen.Object, resolve.Operator{}, time.Time{})
}

// NewList returns an empty list of the kind.
func (k Type) NewList() *unstructured.UnstructuredList {
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(k.ObjectKind("List"))
	return &list
}

// insteadOf maps a verb for applications to advice for clusters.
var insteadOf = map[string]string{
	"logs": "kubectl logs NAME-master-0 -n NAMESPACE prints the log of its master, and NAME-worker-0 that of its first worker",
	"ui":   "kubectl port-forward pod/NAME-master-0 8080 -n NAMESPACE opens the UI of its master at http://localhost:8080",
	"wait": "kubectl wait sparkclusters/NAME -n NAMESPACE --for=condition=Ready waits until its pods are ready",
}

// FindApplication reads one application of any family for a verb. If it does not exist, the error suggests similar names.
func (c *Cluster) FindApplication(ctx context.Context, arg, verb string) (Application, error) {
	k, name, err := ParseName(arg)
	if err != nil {
		return Application{}, err
	}
	of := Families
	if k.Row != nil {
		if of = []Type{k}; !slices.Contains(Families, k) {
			return Application{}, c.noApplication(k, name, arg, verb)
		}
	}
	o, err := c.among(ctx, name, of)
	if o.Unstructured == nil && err == nil {
		if _, is := c.object(ctx, Clusters, name); is == nil && k.Row == nil {
			return Application{}, c.noApplication(Clusters, name, arg, verb)
		}
		err = c.NotFound(ctx, name, of...)
	}
	if err != nil {
		return Application{}, err
	}
	return o.Load(o.Object, resolve.Operator{}, time.Time{})
}

// noApplication returns the error for a verb that does not support the kind. The error names an alternative.
func (c *Cluster) noApplication(k Type, name, arg, verb string) error {
	instead := insteadOf[verb]
	if k != Clusters || instead == "" {
		return fmt.Errorf("%s is %s: %s is only for applications", arg, k.One, verb)
	}
	fill := strings.NewReplacer("NAMESPACE", c.Namespace, "NAME", name)
	return fmt.Errorf("%s is %s: %s is only for applications; %s", arg, k.One, verb, fill.Replace(instead))
}

// Key identifies the application in messages.
func (a Application) Key() string { return a.GetNamespace() + "/" + a.GetName() }

// StateName returns the name of a state. The empty state of a new application has a name, too.
func StateName(s string) string {
	if s == "" {
		return "NEW"
	}
	return s
}
