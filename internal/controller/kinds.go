/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

const (
	// discoveryPeriod is how often it is looked whether the APIs of schedulers came or went.
	discoveryPeriod = 15 * time.Second
	// firstInLine is how many of those that wait are woken at once by a change that may concern all of them. The others
	// follow, at most every wakePeriod and spread over spreadOver.
	firstInLine = 20
	wakePeriod  = 10 * time.Second
	spreadOver  = 20 * time.Second
)

// kinds keeps an eye on the APIs that scheduler plugins need: it reads them from informers as long as they are
// installed, and wakes the applications that a change concerns. Its cache is apart from the manager's: an API that goes
// away must not block anything else.
type kinds struct {
	cache     cache.Cache
	live      client.Client
	discovery discovery.DiscoveryInterface
	plugins   []scheduler.Plugin
	events    chan event.GenericEvent
	object    func(types.NamespacedName) client.Object
	waiters   func(schema.GroupVersionKind) []types.NamespacedName
	now       func() time.Time

	mu    sync.Mutex
	known map[schema.GroupVersionKind]*kindState
}

// kindState is what is known of one kind.
type kindState struct {
	installed bool
	informer  cache.Informer
	// forbidden names the right that the operator lacks.
	forbidden string
	wokenAt   time.Time
}

// Start looks for the APIs until the context ends. It implements manager.Runnable.
func (k *kinds) Start(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- k.cache.Start(ctx) }()
	ticker := time.NewTicker(discoveryPeriod)
	defer ticker.Stop()
	for {
		k.discover(ctx)
		select {
		case <-ctx.Done():
			return nil
		case err := <-done:
			return err
		case <-ticker.C:
		}
	}
}

// NeedLeaderElection makes the manager start it with the controllers.
func (k *kinds) NeedLeaderElection() bool { return true }

// all returns the kinds that plugins look at. Core kinds that the operator reads anyway are read live.
func (k *kinds) all() []schema.GroupVersionKind {
	var found []schema.GroupVersionKind
	for _, p := range k.plugins {
		d := p.Describe()
		for _, kind := range slices.Concat(d.Owns, d.Reads) {
			if !slices.Contains(found, kind) && kind.Kind != "Event" {
				found = append(found, kind)
			}
		}
	}
	return found
}

// discover compares what is installed with what was.
func (k *kinds) discover(ctx context.Context) {
	groups := map[schema.GroupVersion]map[string]string{}
	for _, kind := range k.all() {
		resources, looked := groups[kind.GroupVersion()]
		if !looked {
			list, err := k.discovery.ServerResourcesForGroupVersion(kind.GroupVersion().String())
			if err != nil && !apierrors.IsNotFound(err) {
				continue // an API server in trouble proves nothing
			}
			resources = map[string]string{}
			if list != nil {
				for i := range list.APIResources {
					if r := &list.APIResources[i]; !strings.Contains(r.Name, "/") {
						resources[r.Kind] = r.Name
					}
				}
			}
			groups[kind.GroupVersion()] = resources
		}
		plural, installed := resources[kind.Kind]
		k.update(ctx, kind, plural, installed)
	}
}

// update starts or stops watching one kind.
func (k *kinds) update(ctx context.Context, kind schema.GroupVersionKind, plural string, installed bool) {
	k.mu.Lock()
	state, seen := k.known[kind]
	if !seen {
		state = &kindState{}
		k.known[kind] = state
	}
	was, watched := state.installed, state.informer != nil
	k.mu.Unlock()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	switch {
	case installed && !watched:
		watchable, forbidden := k.rights(ctx, kind, plural)
		var informer cache.Informer
		if watchable && forbidden == "" {
			var err error
			if informer, err = k.cache.GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
				ctrllog.FromContext(ctx).Error(err, "cannot watch", "kind", kind.String())
				return
			}
			if _, err := informer.AddEventHandler(k.handler(kind)); err != nil {
				ctrllog.FromContext(ctx).Error(err, "cannot watch", "kind", kind.String())
				return
			}
		}
		k.set(kind, kindState{installed: true, informer: informer, forbidden: forbidden})
	case !installed && watched:
		if err := k.cache.RemoveInformer(ctx, object); err != nil {
			ctrllog.FromContext(ctx).Error(err, "cannot stop watching", "kind", kind.String())
		}
		k.set(kind, kindState{})
	case !installed:
		k.set(kind, kindState{})
	}
	if was != installed {
		k.wakeWaiters(kind)
	}
}

func (k *kinds) set(kind schema.GroupVersionKind, s kindState) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s.wokenAt = k.known[kind].wokenAt
	k.known[kind] = &s
}

// rights returns whether a plugin's rules let the kind be watched, and the first right of them that the operator does not
// have. What is not to be watched is read when it is needed.
func (k *kinds) rights(ctx context.Context, kind schema.GroupVersionKind, plural string) (watchable bool, lacking string) {
	for _, p := range k.plugins {
		for _, rule := range p.Describe().Rules {
			if !slices.Contains(rule.APIGroups, kind.Group) || !slices.Contains(rule.Resources, plural) {
				continue
			}
			watchable = watchable || slices.Contains(rule.Verbs, "watch")
			for _, verb := range rule.Verbs {
				review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
					ResourceAttributes: &authorizationv1.ResourceAttributes{Group: kind.Group, Resource: plural, Verb: verb},
				}}
				if err := k.live.Create(ctx, review); err == nil && !review.Status.Allowed {
					return watchable, fmt.Sprintf("%s %s", verb, schema.GroupResource{Group: kind.Group, Resource: plural})
				}
			}
		}
	}
	return watchable, ""
}

// unavailable says why a plugin cannot be asked: an API is missing, or the operator may not use it.
func (k *kinds) unavailable(d scheduler.Descriptor) (scheduler.Admission, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	notReady := func(reason scheduler.Reason, message string) (scheduler.Admission, bool) {
		return scheduler.Admission{Verdict: scheduler.NotReady, Reason: reason, Message: message, RetryAfter: time.Minute}, true
	}
	for _, need := range d.Needs {
		state, forbidden := k.ofGroupKind(need.GroupKind)
		if state == nil && !need.Optional {
			return notReady(scheduler.ReasonSchedulerNotInstalled, fmt.Sprintf("the API %s is not installed; %s", need.GroupKind, need.Hint))
		}
		if forbidden != "" {
			return notReady(scheduler.ReasonSchedulerForbidden, "the operator has no right to "+forbidden+"; give it the role of the scheduler "+d.Name)
		}
	}
	return scheduler.Admission{}, false
}

// ofGroupKind returns the state of an installed kind in whatever version, and the right that is missing.
func (k *kinds) ofGroupKind(gk schema.GroupKind) (found *kindState, forbidden string) {
	for kind, state := range k.known {
		if kind.GroupKind() == gk && state.installed {
			return state, state.forbidden
		}
	}
	return nil, ""
}

// handler wakes the application that an object belongs to, or those that wait for a change of its kind.
func (k *kinds) handler(kind schema.GroupVersionKind) toolscache.ResourceEventHandler {
	changed := func(o any) {
		if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = gone.Obj
		}
		object, ok := o.(client.Object)
		if !ok {
			return
		}
		if app := object.GetLabels()[lifecycle.LabelApp]; app != "" {
			k.wake([]types.NamespacedName{{Namespace: object.GetNamespace(), Name: app}})
			return
		}
		k.wakeWaiters(kind)
	}
	return toolscache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, o any) { changed(o) }, DeleteFunc: changed}
}

// wakeWaiters wakes those that wait for a change of the kind: the first in line at once, the others spread over some
// time and at most every wakePeriod.
func (k *kinds) wakeWaiters(kind schema.GroupVersionKind) {
	apps := k.waiters(kind)
	k.wake(apps[:min(len(apps), firstInLine)])
	k.mu.Lock()
	state := k.known[kind]
	again := state != nil && k.now().Sub(state.wokenAt) < wakePeriod
	if state != nil && !again {
		state.wokenAt = k.now()
	}
	k.mu.Unlock()
	if again || len(apps) <= firstInLine {
		return
	}
	rest := apps[firstInLine:]
	for i := range rest {
		time.AfterFunc(spreadOver*time.Duration(i+1)/time.Duration(len(rest)), func() { k.wake(rest[i : i+1]) })
	}
}

// wake sends applications to the controller. A full channel loses nothing for good: every wait has a timer.
func (k *kinds) wake(apps []types.NamespacedName) {
	for _, app := range apps {
		select {
		case k.events <- event.GenericEvent{Object: k.object(app)}:
		default:
		}
	}
}

// Get reads an object from its informer, or live if its kind is not watched.
func (k *kinds) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	return k.reader(o.GetObjectKind().GroupVersionKind()).Get(ctx, key, o, options...)
}

// List reads a list from its informer. One that is chosen by fields is read live: informers have no index for them.
func (k *kinds) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	kind := list.GetObjectKind().GroupVersionKind()
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	for _, option := range options {
		if _, byField := option.(client.MatchingFieldsSelector); byField {
			return k.live.List(ctx, list, options...)
		}
	}
	return k.reader(kind).List(ctx, list, options...)
}

func (k *kinds) reader(kind schema.GroupVersionKind) client.Reader {
	k.mu.Lock()
	defer k.mu.Unlock()
	if state := k.known[kind]; state != nil && state.informer != nil && state.informer.HasSynced() {
		return k.cache
	}
	return k.live
}
