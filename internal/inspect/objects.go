// SPDX-License-Identifier: Apache-2.0

package inspect

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

// chunk is the page size of list requests.
const chunk = 500

// Type is one of the kinds that commands support.
type Type struct{ *kinds.Row }

// The types of objects.
var (
	Applications       = Type{kinds.SparkApplication}
	Schedules          = Type{kinds.ScheduledSparkApplication}
	Servers            = Type{kinds.SparkConnect}
	ApacheApplications = Type{kinds.ApacheSparkApplication}
	Clusters           = Type{kinds.ApacheSparkCluster}
)

// Families are the kinds of applications.
var Families = []Type{Applications, ApacheApplications}

// Types returns the kinds that commands support, in the order in which they are searched for a name without a type.
func Types() []Type {
	var all []Type
	for _, row := range kinds.All() {
		all = append(all, Type{row})
	}
	return all
}

// Typed returns the name of an object with its type.
func (k Type) Typed(name string) string { return k.arg() + "/" + name }

// arg returns the type as an argument: its short name, or a longer name if another kind has the same short name.
func (k Type) arg() string {
	if first, err := TypeOf(k.Short); err != nil || first != k {
		return k.Plural + "." + k.Group
	}
	return k.Short
}

// ObjectKind returns the kind of one object (suffix "") or of a list (suffix "List").
func (k Type) ObjectKind(suffix string) schema.GroupVersionKind {
	return k.GroupVersion().WithKind(k.Kind + suffix)
}

// Qualified returns the singular name with the group, as kubectl prints it.
func (k Type) Qualified() string { return k.Singular() + "." + k.Group }

// TypeOf finds a kind by its name, plural or short name, with or without the group, as kubectl does.
func TypeOf(text string) (Type, error) {
	name, group, _ := strings.Cut(strings.ToLower(text), ".")
	for _, k := range Types() {
		own := strings.TrimPrefix(group, k.Version+".")
		if slices.Contains([]string{k.Singular(), k.Plural, k.Short}, name) && (own == "" || own == k.Group) {
			return k, nil
		}
	}
	hint := "; the"
	if near := NearType(text); near != "" {
		hint = ": did you mean " + near + "? The"
	}
	return Type{}, fmt.Errorf("there is no type %q here%s types are %s, %s, %s, %s and %s", text, hint,
		Applications.arg(), Schedules.arg(), Servers.arg(), ApacheApplications.arg(), Clusters.arg())
}

// NearType returns the kind that a misspelled word most resembles; "" for none.
func NearType(text string) string {
	var names []string
	for _, k := range Types() {
		names = append(names, k.Singular(), k.Plural, k.Short, k.Qualified(), k.Plural+"."+k.Group)
	}
	if near := similar(strings.ToLower(text), names); len(near) > 0 {
		return near[0].name
	}
	return ""
}

// ParseName splits TYPE/NAME. A plain name has an empty type.
func ParseName(arg string) (Type, string, error) {
	resource, name, typed := strings.Cut(arg, "/")
	if !typed {
		return Type{}, arg, nil
	}
	if name == "" || strings.Contains(name, "/") {
		return Type{}, "", fmt.Errorf("%q is no TYPE/NAME; write for example %s/%s", arg, Schedules.Short, cmp.Or(strings.Trim(name, "/"), "nightly"))
	}
	k, err := TypeOf(resource)
	return k, name, err
}

// Object is a stored object.
type Object struct {
	Type
	*unstructured.Unstructured
}

// Plain returns the name as an argument. A server or a cluster has its type in it.
func (o Object) Plain() string {
	if o.Type == Servers || o.Type == Clusters {
		return o.Typed(o.GetName())
	}
	return o.GetName()
}

// Find reads the object that an argument names. A name without a type means the first kind that has it, and the wanted kinds come first. A server or a
// cluster needs its type if another object has the same name, and so does an application if both families have one. The error suggests similar names of the
// wanted kinds.
func (c *Cluster) Find(ctx context.Context, arg string, wanted ...Type) (Object, error) {
	k, name, err := ParseName(arg)
	if err != nil {
		return Object{}, err
	}
	if k.Row != nil {
		o, err := c.object(ctx, k, name)
		if IsMissing(err, k) {
			err = c.NotFound(ctx, name, k)
		}
		return Object{k, o}, err
	}
	first, err := c.among(ctx, name, inOrder(wanted))
	if first.Unstructured == nil && err == nil {
		err = c.NotFound(ctx, name, wanted...)
	}
	return first, err
}

// among reads the object with a name from the first of some kinds that has one. The object is nil if no kind has it.
func (c *Cluster) among(ctx context.Context, name string, of []Type) (Object, error) {
	first := Object{}
	var refused error // the error of a kind that the user may not read, or that the cluster lacks
	for i, k := range of {
		if first.Unstructured != nil && !k.apart() && !first.apart() {
			continue
		}
		switch o, err := c.object(ctx, k, name); {
		case err == nil && first.Unstructured != nil:
			return Object{}, fmt.Errorf("%q is the name of %s and of %s: write one of them", name, first.Typed(name), k.Typed(name))
		case err == nil:
			first = Object{k, o}
		case IsMissing(err, k):
		case apierrors.IsForbidden(err) || isMissingKind(err):
			if i == 0 {
				refused = err
			}
		default:
			return Object{}, err
		}
	}
	if first.Unstructured == nil {
		return first, refused
	}
	return first, nil
}

// apart reports whether an object of the kind needs its type if another object has its name. An application and its schedule do not need it.
func (k Type) apart() bool { return k == Servers || k == ApacheApplications || k == Clusters }

// inOrder returns all kinds, the wanted ones first.
func inOrder(wanted []Type) []Type {
	return append(slices.Clone(wanted), slices.DeleteFunc(Types(), func(k Type) bool { return slices.Contains(wanted, k) })...)
}

func (c *Cluster) object(ctx context.Context, k Type, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k.ObjectKind(""))
	return o, c.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, o)
}

// ListObjects lists the stored objects of some kinds by name. It omits kinds that are not installed or not readable. If it omits all kinds, it returns the
// error of the first kind.
func (c *Cluster) ListObjects(ctx context.Context, of []Type, all bool, wants func(Object) bool) ([]Object, error) {
	namespace := c.Namespace
	if all {
		namespace = ""
	}
	items := []Object{}
	var missed error
	for i, k := range of {
		ofKind, err := c.listed(ctx, k, &client.ListOptions{Namespace: namespace}, wants)
		switch {
		case err == nil:
		case !apierrors.IsForbidden(err) && !isMissingKind(err):
			return nil, err
		case i == 0:
			missed = err
		}
		items = append(items, ofKind...)
	}
	if len(items) == 0 && missed != nil {
		return nil, missed
	}
	slices.SortStableFunc(items, func(a, b Object) int {
		return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	return items, nil
}

// Select lists the objects of a kind that have the labels, by name.
func (c *Cluster) Select(ctx context.Context, k Type, which labels.Selector) ([]Object, error) {
	return c.listed(ctx, k, &client.ListOptions{Namespace: c.Namespace, LabelSelector: which}, everything)
}

// listed lists the objects of a kind in pages.
func (c *Cluster) listed(ctx context.Context, k Type, options *client.ListOptions, wants func(Object) bool) ([]Object, error) {
	options.Limit = chunk
	var items []Object
	for {
		list := k.NewList()
		if err := c.List(ctx, list, options); err != nil {
			return nil, err
		}
		for i := range list.Items {
			if o := (Object{k, &list.Items[i]}); wants(o) {
				items = append(items, o)
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return items, nil
		}
	}
}

// Names returns the names of the objects of a kind in the namespace, up to a limit.
func (c *Cluster) Names(ctx context.Context, k Type) ([]string, error) {
	const enough = 500
	list := metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(k.ObjectKind("List"))
	if err := c.List(ctx, &list, client.InNamespace(c.Namespace), client.Limit(enough)); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}

// NotFound returns the error for a missing object of the first kind, with similar names of all kinds. Names of other kinds than applications include their
// type.
func (c *Cluster) NotFound(ctx context.Context, name string, of ...Type) error {
	var all []candidate
	for _, k := range of {
		names, _ := c.Names(ctx, k) // for the suggestion only
		for _, near := range similar(name, names) {
			if k != Applications && len(of) > 1 {
				near.name = k.Typed(near.name)
			}
			all = append(all, near)
		}
	}
	text := fmt.Sprintf("there is no %s %q in namespace %s", of[0].Kind, name, c.Namespace)
	if len(all) == 0 {
		hint := "kubectl spark list -A"
		if of[0] != Applications {
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

// IsMissing reports whether the error means that the object does not exist. A missing kind is another error.
func IsMissing(err error, k Type) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil &&
		status.Status().Details.Kind == k.Plural && status.Status().Details.Name != ""
}

// isMissingKind reports whether the cluster lacks the definitions. Either discovery does not find them, or they were deleted after discovery.
func isMissingKind(err error) bool {
	if meta.IsNoMatchError(err) {
		return true
	}
	return apierrors.IsNotFound(err) && !slices.ContainsFunc(Types(), func(k Type) bool { return IsMissing(err, k) }) &&
		strings.Contains(err.Error(), "could not find the requested resource")
}
