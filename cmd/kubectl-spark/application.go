// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

// application is an application or a server as it is stored, and what its status says.
type application struct {
	kind
	metav1.Object
	kinds.Reading
}

// application resolves a stored object of the kind, also one whose spec cannot be decoded.
func (k kind) application(item map[string]any, operator resolve.Operator, now time.Time) (application, error) {
	o, err := k.decoded(item)
	if err != nil {
		return application{}, err
	}
	return application{k, o, k.Read(o, operator, now)}, nil
}

// decoded is a stored object in its type.
func (k kind) decoded(item map[string]any) (kinds.Object, error) {
	text, err := (&unstructured.Unstructured{Object: item}).MarshalJSON()
	if err != nil {
		return nil, err
	}
	o, _, err := k.Decode(text)
	return o, err
}

// read resolves an application as it is seen by a watch.
func (k kind) read(o client.Object) (application, error) {
	seen, ok := o.(*unstructured.Unstructured)
	if !ok {
		return application{}, fmt.Errorf("the API server sent a %T", o)
	}
	return k.application(seen.Object, resolve.Operator{}, time.Time{})
}

// list is an empty list of the kind.
func (k kind) list() *unstructured.UnstructuredList {
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(k.object("List"))
	return &list
}

// insteadOf is what does of a cluster what a verb does of an application.
var insteadOf = map[string]string{
	"logs": "kubectl logs NAME-master-0 -n NAMESPACE prints the log of its master, and NAME-worker-0 that of its first worker",
	"ui":   "kubectl port-forward pod/NAME-master-0 8080 -n NAMESPACE opens the UI of its master at http://localhost:8080",
	"wait": "kubectl wait sparkclusters/NAME -n NAMESPACE --for=condition=Ready waits until its pods are ready",
}

// application reads one application of any family for a verb, and suggests others if it does not exist.
func (c *connection) application(ctx context.Context, arg, verb string) (application, error) {
	k, name, err := named(arg)
	if err != nil {
		return application{}, err
	}
	of := families
	if k.Row != nil {
		if of = []kind{k}; !slices.Contains(families, k) {
			return application{}, c.noApplication(k, name, arg, verb)
		}
	}
	o, err := c.among(ctx, name, of)
	if o.Unstructured == nil && err == nil {
		if _, is := c.object(ctx, standalones, name); is == nil && k.Row == nil {
			return application{}, c.noApplication(standalones, name, arg, verb)
		}
		err = c.nothing(ctx, name, of...)
	}
	if err != nil {
		return application{}, err
	}
	return o.application(o.Object, resolve.Operator{}, time.Time{})
}

// noApplication says that a verb is not for an object, and what is.
func (c *connection) noApplication(k kind, name, arg, verb string) error {
	instead := insteadOf[verb]
	if k != standalones || instead == "" {
		return fmt.Errorf("%s is %s: %s is only for applications", arg, k.One, verb)
	}
	fill := strings.NewReplacer("NAMESPACE", c.namespace, "NAME", name)
	return fmt.Errorf("%s is %s: %s is only for applications; %s", arg, k.One, verb, fill.Replace(instead))
}

// key names the application in messages.
func (a application) key() string { return a.GetNamespace() + "/" + a.GetName() }

// describe is the state and its reason.
func (a application) describe() string {
	text := stateName(a.State)
	if c := explain.Cause(a.Record, a.Conditions); c.Reason != "" {
		text += " (" + string(c.Reason) + ": " + firstLine(c.Message) + ")"
	}
	return text
}
