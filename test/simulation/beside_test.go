// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// In some histories the operators make a Service for the UI of each driver. It stands for all that is made beside drivers:
// the way of every kind is the same.

const kindService = "Service"

// uiService is what stands beside the driver.
var uiService = id{kindService, exposure.ServiceName(appName)}

// besideRate is one history in how many that exposes its drivers.
const besideRate = 4

// drawExposure decides what operators make beside drivers, and whether the API server takes it.
func (h *history) drawExposure() {
	h.exposed = h.rng.IntN(besideRate) == 0 || h.exposes
	if !h.exposed {
		return
	}
	h.stats.Exposed = 1
	switch h.rng.IntN(8) {
	case 0:
		h.sealed = refusal(uiService)
	case 1:
		h.sealed = rbac("create", uiService)
	case 2:
		h.sealed = apierrors.NewForbidden(resource(kindService), uiService.name, errors.New("exceeded quota: team, requested: services=1, used: services=9, limited: services=9"))
	}
}

// companions is the cache of what is beside drivers. An operator that has just started does not have it yet.
type companions struct {
	client.Reader
	o *operator
}

func (c companions) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return listFrom(c.o.cache.objects, list, opts)
}

func (c companions) Watched(string) []schema.GroupVersionKind {
	if !c.o.watches {
		return nil
	}
	return []schema.GroupVersionKind{exposure.Service}
}

// watch fills the cache of what is beside drivers. What is found there wakes its application.
func (o *operator) watch() {
	found := map[string]bool{}
	for o.cache.behind(kindService) > 0 {
		c, _ := o.cache.next(kindService)
		found[c.of] = c.object != nil && c.app == appName
	}
	if o.h.exposed {
		o.h.tell(o.name, "watches what is beside drivers")
	}
	for _, c := range o.controllers() {
		c.watches = true
		if found[c.of] && !o.h.deafToNew {
			c.woken()
		}
	}
}

// news reports whether a change wakes the application that it belongs to. What is beside a driver does so when it is
// there or gone, or is not what it was.
func (h *history) news(before client.Object, c change) bool {
	switch {
	case c.app != appName:
		return false
	case c.id.kind != kindService || c.object == nil:
		return true
	case before == nil:
		return !h.deafToNew
	}
	return !maps.Equal(before.GetLabels(), c.object.GetLabels()) || !maps.Equal(before.GetAnnotations(), c.object.GetAnnotations())
}

// addressed gives a Service the address that the API server gives it.
func addressed(service *unstructured.Unstructured) {
	if err := unstructured.SetNestedField(service.Object, "10.96.0.7", "spec", "clusterIP"); err != nil {
		panic(err)
	}
}

// Apply is a server-side apply by the only one who applies.
func (c cached) Apply(_ context.Context, wanted runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	h, u := c.o.h, &unstructured.Unstructured{Object: wanted.(interface{ UnstructuredContent() map[string]any }).UnstructuredContent()}
	return c.o.call("apply", u, func() error {
		stored, _ := h.store.objects[idOf(u)].(*unstructured.Unstructured)
		if stored == nil || stored.GetUID() != u.GetUID() {
			return apierrors.NewConflict(resource(kindService), u.GetName(), errors.New("Precondition failed: UID")) //nolint:staticcheck // the API server's words
		}
		addressed(u)
		next := u.DeepCopy()
		next.SetCreationTimestamp(stored.GetCreationTimestamp())
		next.SetGeneration(stored.GetGeneration())
		h.store.put(next)
		if !h.judge(c.o).owned(stored) {
			h.fail("%s, which is not the application's, was changed", idOf(u))
		}
		return nil
	})
}

// tamper does to what is beside the driver what people do: it takes the name for something else, deletes the Service,
// changes it, or asks for another port.
func tamper(h *history) bool {
	app := h.store.app()
	if !h.exposed || app == nil {
		return false
	}
	there, _ := h.store.objects[uiService].(*unstructured.Unstructured)
	switch n := h.rng.IntN(4); {
	case n == 0 && app.DeletionTimestamp == nil:
		h.edit("port of the UI's Service", func(s *v1beta2.SparkApplicationSpec) {
			s.SparkUIOptions = &v1beta2.SparkUIConfiguration{ServicePort: new(80 + h.rng.Int32N(3))}
		})
	case there == nil:
		notOwned := &unstructured.Unstructured{}
		notOwned.SetGroupVersionKind(exposure.Service)
		notOwned.SetNamespace(namespace)
		notOwned.SetName(uiService.name)
		if n == 1 {
			notOwned.SetLabels(map[string]string{v1beta2.LabelAppName: appName, v1beta2.LabelExposes: "ui"})
		}
		h.tell("meddler", "creates %s, labels %d", uiService, len(notOwned.GetLabels()))
		h.store.create(notOwned, h.second())
	case n == 1:
		next := there.DeepCopy()
		next.SetAnnotations(map[string]string{v1beta2.AnnotationApplied: "something else"})
		h.tell("meddler", "changes %s", uiService)
		h.store.put(next)
	default:
		h.tell("meddler", "deletes %s", uiService)
		h.store.remove(uiService)
	}
	return true
}

// owned reports whether an object belongs to an application of this history.
func (l *invariants) owned(o client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(o)
	return owner != nil && l.apps[owner.UID] != nil
}

// beside is what stands beside the driver of an application; nil for nothing.
func (l *invariants) beside(app *v1beta2.SparkApplication) client.Object {
	if o := l.h.store.objects[uiService]; o != nil && metav1.IsControlledBy(o, app) {
		return o
	}
	return nil
}

// apart judges that trouble with what is beside the driver is told in its own condition, and never is the application's.
func (l *invariants) apart(s *v1beta2.SparkApplicationStatus) {
	if !l.h.exposed {
		return
	}
	about := func(text string) bool { return strings.Contains(text, "-ui-svc") }
	if about(s.AppState.ErrorMessage) {
		l.h.fail("what is beside the driver became the application's error: %s", s.AppState.ErrorMessage)
	}
	for _, c := range s.Conditions {
		if c.Type != string(lifecycle.ConditionExposed) && about(c.Message) {
			l.h.fail("condition %s tells of what is beside the driver: %s", c.Type, c.Message)
		}
	}
}

// lookAgain is for how long an operator may leave what is beside a driver alone that was refused.
const lookAgain = 31 * time.Second

// shown judges an operator that sees everything and will not look for a while: a live driver is exposed as the user wants,
// or the status says why not, and nothing is beside a driver that is none.
func (l *invariants) shown(o *operator) {
	app := l.h.store.app()
	soon := !o.timer.IsZero() && o.timer.Before(l.h.now.Add(lookAgain))
	if !l.h.exposed || app == nil || app.DeletionTimestamp != nil || soon || o.ready || !o.current() {
		return
	}
	found := l.beside(app)
	switch s := &app.Status; {
	case s.AppState.State == v1beta2.ApplicationStateRunning:
		if told := conditionOf(s, string(lifecycle.ConditionExposed)); told != nil && told.Status == metav1.ConditionFalse {
			return
		}
		if found == nil {
			l.h.fail("nothing is beside the driver, and nothing will be done about it: %s", l.summary())
			return
		}
		if want := portOf(app); portOfService(found) != want || s.DriverInfo.WebUIPort != int32(want) {
			l.h.fail("the Service has port %d and the status %d, but the user wants %d", portOfService(found), s.DriverInfo.WebUIPort, want)
		}
	case found != nil && (final(app) || s.AppState.State == v1beta2.ApplicationStateSuspended):
		l.h.fail("%s is left, and nothing will be done about it: %s", uiService, l.summary())
	}
}

// concealed reports whether nothing is left beside drivers, and no status says otherwise.
func (l *invariants) concealed(app *v1beta2.SparkApplication) bool {
	return l.beside(app) == nil && len(app.Status.DriverInfo.ExposedBy) == 0
}

func conditionOf(s *v1beta2.SparkApplicationStatus, kind string) *metav1.Condition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == kind {
			return &s.Conditions[i]
		}
	}
	return nil
}

// portOf is the port that the user wants for the Service of the UI.
func portOf(app *v1beta2.SparkApplication) int64 {
	if o := app.Spec.SparkUIOptions; o != nil && o.ServicePort != nil {
		return int64(*o.ServicePort)
	}
	return 4040
}

func portOfService(o client.Object) int64 {
	ports, _, _ := unstructured.NestedSlice(o.(*unstructured.Unstructured).Object, "spec", "ports")
	if len(ports) != 1 {
		return 0
	}
	port, _ := ports[0].(map[string]any)["port"].(int64)
	return port
}
