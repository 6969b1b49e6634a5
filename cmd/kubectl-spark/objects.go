// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/kinds"
)

// kind is one of the kinds of objects that commands take.
type kind struct{ *kinds.Row }

var (
	applications = kind{kinds.SparkApplication}
	schedules    = kind{kinds.ScheduledSparkApplication}
	servers      = kind{kinds.SparkConnect}
	apache       = kind{kinds.ApacheSparkApplication}
	standalones  = kind{kinds.ApacheSparkCluster}
)

// families are the kinds of applications.
var families = []kind{applications, apache}

// allKinds are those that commands act on, in the order in which a name without a type is searched.
func allKinds() []kind {
	var all []kind
	for _, row := range kinds.All() {
		all = append(all, kind{row})
	}
	return all
}

// withoutType is the help about names without a type.
const withoutType = "A name without a type is that of an application, or else of a schedule,\n" +
	"a server or a cluster; what is of spark.apache.org, or a server, and shares its name with another object has to be named with its type."

// typed is the name of an object with its type.
func (k kind) typed(name string) string { return k.arg() + "/" + name }

// arg is the type as one writes it: its short name, unless another kind has that, too.
func (k kind) arg() string {
	if first, err := kindOf(k.Short); err != nil || first != k {
		return k.Plural + "." + k.Group
	}
	return k.Short
}

// object is the type of one object, or of a list.
func (k kind) object(suffix string) schema.GroupVersionKind {
	return k.GroupVersion().WithKind(k.Kind + suffix)
}

// qualified is the singular with the group, as kubectl prints objects.
func (k kind) qualified() string { return k.Singular() + "." + k.Group }

// kindOf finds a kind by what kubectl takes: its name, plural or short name, also with the group.
func kindOf(text string) (kind, error) {
	name, group, _ := strings.Cut(strings.ToLower(text), ".")
	for _, k := range allKinds() {
		own := strings.TrimPrefix(group, k.Version+".")
		if slices.Contains([]string{k.Singular(), k.Plural, k.Short}, name) && (own == "" || own == k.Group) {
			return k, nil
		}
	}
	return kind{}, fmt.Errorf("there is no type %q here; the types are %s, %s, %s, %s and %s", text, applications.arg(), schedules.arg(), servers.arg(), apache.arg(), standalones.arg())
}

// named splits TYPE/NAME. The type is empty if there is only a name.
func named(arg string) (kind, string, error) {
	resource, name, typed := strings.Cut(arg, "/")
	if !typed {
		return kind{}, arg, nil
	}
	if name == "" || strings.Contains(name, "/") {
		return kind{}, "", fmt.Errorf("%q is no TYPE/NAME; write for example %s/%s", arg, schedules.Short, cmp.Or(strings.Trim(name, "/"), "nightly"))
	}
	k, err := kindOf(resource)
	return k, name, err
}

// found is an object as it is stored.
type found struct {
	kind
	*unstructured.Unstructured
}

// plain is the name as a command takes it: that of a server or a cluster with its type.
func (o found) plain() string {
	if o.kind == servers || o.kind == standalones {
		return o.typed(o.GetName())
	}
	return o.GetName()
}

// find reads the object that an argument names. Without a type it is of the first kind that has the name, the wanted ones
// first. A server or a cluster beside another object of its name has to be named with its type, and so has the other, and the same is true of
// applications of two families. The error suggests other names of the wanted kinds.
func (c *connection) find(ctx context.Context, arg string, wanted ...kind) (found, error) {
	k, name, err := named(arg)
	if err != nil {
		return found{}, err
	}
	if k.Row != nil {
		o, err := c.object(ctx, k, name)
		if isMissing(err, k) {
			err = c.nothing(ctx, name, k)
		}
		return found{k, o}, err
	}
	first, err := c.among(ctx, name, inOrder(wanted))
	if first.Unstructured == nil && err == nil {
		err = c.nothing(ctx, name, wanted...)
	}
	return first, err
}

// among reads the object of a name, of the first of some kinds that has one; its object is nil if none has.
func (c *connection) among(ctx context.Context, name string, of []kind) (found, error) {
	first := found{}
	var refused error // of a kind that this user may not read, or that this cluster does not have
	for i, k := range of {
		if first.Unstructured != nil && !k.apart() && !first.apart() {
			continue
		}
		switch o, err := c.object(ctx, k, name); {
		case err == nil && first.Unstructured != nil:
			return found{}, fmt.Errorf("%q is the name of %s and of %s: write the one that is meant", name, first.typed(name), k.typed(name))
		case err == nil:
			first = found{k, o}
		case isMissing(err, k):
		case apierrors.IsForbidden(err) || isMissingKind(err):
			if i == 0 {
				refused = err
			}
		default:
			return found{}, err
		}
	}
	if first.Unstructured == nil {
		return first, refused
	}
	return first, nil
}

// apart reports whether an object of the kind has to be named with its type beside another of its name, unlike an application and its schedule.
func (k kind) apart() bool { return k == servers || k == apache || k == standalones }

// inOrder are all kinds, some of them first.
func inOrder(wanted []kind) []kind {
	return append(slices.Clone(wanted), slices.DeleteFunc(allKinds(), func(k kind) bool { return slices.Contains(wanted, k) })...)
}

func (c *connection) object(ctx context.Context, k kind, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k.object(""))
	return o, c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, o)
}

// selected lists the objects of a kind with some labels, by name.
func (c *connection) selected(ctx context.Context, k kind, which labels.Selector) ([]found, error) {
	options := &client.ListOptions{Namespace: c.namespace, LabelSelector: which, Limit: chunk}
	var all []found
	for {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(k.object("List"))
		if err := c.List(ctx, &list, options); err != nil {
			return nil, err
		}
		for i := range list.Items {
			all = append(all, found{k, &list.Items[i]})
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
}

// names lists the objects of a kind in the namespace, up to a readable number.
func (c *connection) names(ctx context.Context, k kind) ([]string, error) {
	const enough = 500
	list := metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(k.object("List"))
	if err := c.List(ctx, &list, client.InNamespace(c.namespace), client.Limit(enough)); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}

// nothing says that no object of the first kind has a name, and which others of all kinds it may be. What is beside applications has its type before it.
func (c *connection) nothing(ctx context.Context, name string, of ...kind) error {
	var all []candidate
	for _, k := range of {
		names, _ := c.names(ctx, k) // for the suggestion only
		for _, near := range similar(name, names) {
			if k != applications && len(of) > 1 {
				near.name = k.typed(near.name)
			}
			all = append(all, near)
		}
	}
	text := fmt.Sprintf("there is no %s %q in namespace %s", of[0].Kind, name, c.namespace)
	if len(all) == 0 {
		hint := "kubectl spark list -A"
		if of[0] != applications {
			hint = "kubectl spark list " + of[0].arg() + " -A"
		}
		return fmt.Errorf("%s; %s shows all", text, hint)
	}
	near := make([]string, 0, shownNames)
	for _, one := range nearest(all) {
		near = append(near, one.name)
	}
	return fmt.Errorf("%s; did you mean %s?", text, strings.Join(near, ", "))
}

// isMissing reports whether an error is about one object that does not exist, and not about the kind as a whole.
func isMissing(err error, k kind) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil &&
		status.Status().Details.Kind == k.Plural && status.Status().Details.Name != ""
}

// isMissingKind reports whether the cluster lacks our definitions: discovery finds none, or it found them and they went.
func isMissingKind(err error) bool {
	if meta.IsNoMatchError(err) {
		return true
	}
	return apierrors.IsNotFound(err) && !slices.ContainsFunc(allKinds(), func(k kind) bool { return isMissing(err, k) }) &&
		strings.Contains(err.Error(), "could not find the requested resource")
}
