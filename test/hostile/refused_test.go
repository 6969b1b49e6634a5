// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// try is one way to ask for what a policy forbids: a spec, and a part of the sentence by which it is refused.
type try struct{ spec, told string }

// tries are the ways to ask for one thing, by the name of the application that does.
type tries map[string]try

// beyond is an attack on a limit: an application for each way to ask for it. Each must be refused before anything is created for it.
func beyond(name, reason, policy string, ways tries) attack {
	return beyondAs(application, name, reason, policy, ways)
}

func beyondAs(kind schema.GroupVersionKind, name, reason, policy string, ways tries) attack {
	names := slices.Sorted(maps.Keys(ways))
	object := func(way string) string { return objectOf(name) + "-" + way }
	return attack{
		name: name, reason: reason, by: tenant, policy: policy, shares: refused,
		do: func(a *arena) error {
			for _, name := range names {
				if err := a.apply(kind, object(name), ways[name].spec); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return nil
		},
		cannot: func(a *arena) error {
			for _, name := range names {
				if err := a.refuses(kind, object(name), ways[name].told); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return a.nothing()
		},
		told: ways[names[0]].told,
	}
}

// refuses waits until the operator, or the API server, has refused an object with such a sentence.
func (a *arena) refuses(kind schema.GroupVersionKind, name, told string) error {
	return await(a.ctx, func() error {
		o, err := a.stored(kind, name)
		if err != nil {
			if client.IgnoreNotFound(err) == nil && strings.Contains(a.heard.text(), told) {
				return nil
			}
			return fmt.Errorf("%w; the API server has refused: %.2000s", err, a.heard.text())
		}
		said := messages(o)
		if !strings.Contains(said, told) {
			return fmt.Errorf("it is not told %q, but: %s", told, said)
		}
		return nil
	})
}

// messages are the words of a status.
func messages(o *unstructured.Unstructured) string {
	var all []string
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions") // none is none
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok {
			all = append(all, fmt.Sprintf("%v=%v %v: %v", c["type"], c["status"], c["reason"], c["message"]))
		}
	}
	return strings.Join(all, "\n")
}

// nothing is nil if nothing has been created in the namespace but what the attacker created.
func (a *arena) nothing() error {
	for _, list := range []client.ObjectList{
		&corev1.PodList{}, &appsv1.StatefulSetList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{}, &corev1.SecretList{}, &corev1.PersistentVolumeClaimList{}, &networkingv1.IngressList{},
	} {
		if err := a.admin.List(a.ctx, list, client.InNamespace(a.namespace)); err != nil {
			return err
		}
		if n := apimeta.LenList(list); n > 0 {
			return fmt.Errorf("%d objects have been created: %T", n, list)
		}
	}
	return nil
}

// allowed is the other side of limits: an application that keeps to them is submitted.
func allowed(policy, spec string) attack {
	return attack{
		name: "Within" + strings.ToUpper(policy[:1]) + policy[1:], reason: "who keeps to the limits is submitted", by: tenant, policy: policy,
		do:     func(a *arena) error { return a.app("within", spec) },
		cannot: func(a *arena) error { _, err := a.driverOf("within"); return err },
	}
}
