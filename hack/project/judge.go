// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// fact is a field of PROJECT, with its value and the value that the repository requires.
type fact struct {
	field      string
	have, want any
	because    string
}

func differences(where string, facts []fact) []string {
	var out []string
	for _, f := range facts {
		if f.have != f.want {
			out = append(out, fmt.Sprintf("%s: %s is %s, right is %s: %s", where, f.field, word(f.have), word(f.want), f.because))
		}
	}
	return out
}

func word(value any) string {
	if value == "" {
		return "missing"
	}
	return fmt.Sprint(value)
}

// evidence is where markers declare the parts of a kind; "" for a part without a marker.
type evidence struct{ controller, defaulting, validation string }

func evidenceOf(k kind, d definition, controllers, hooks []marker) evidence {
	plural := d.Spec.Names.Plural
	hook := func(mutating string) string {
		return first(hooks, func(m marker) bool {
			return m.has("mutating", mutating) && m.has("groups", k.group) && m.has("resources", plural) && m.has("versions", k.version)
		})
	}
	return evidence{
		controller: first(controllers, func(m marker) bool {
			return m.has("groups", k.group) && m.has("resources", plural+"/status") && m.has("verbs", "patch", "update")
		}),
		defaulting: hook("true"),
		validation: hook("false"),
	}
}

func first(markers []marker, is func(marker) bool) string {
	if i := slices.IndexFunc(markers, is); i >= 0 {
		return markers[i].where
	}
	return ""
}

// right returns the resource that Kubebuilder would write for a kind.
func (p project) right(k kind, d definition, e evidence) resource {
	group := path.Base(path.Dir(k.folder))
	r := resource{
		API: &api{CRDVersion: "v1", Namespaced: d.Spec.Scope == "Namespaced"}, Controller: e.controller != "",
		Domain: strings.TrimPrefix(k.group, group+"."), Group: group, Kind: k.name, Path: p.Repo + "/" + k.folder, Version: k.version,
	}
	if e.defaulting+e.validation != "" {
		r.Webhooks = &webhooks{Defaulting: e.defaulting != "", Validation: e.validation != "", WebhookVersion: "v1"}
	}
	return r
}

// check compares the resource at index n with its kind; n is -1 if there is no resource.
func (p project) check(n int, k kind, d definition, e evidence) []string {
	right := p.right(k, d, e)
	if right.Group+"."+right.Domain != k.group {
		return []string{fmt.Sprintf("%s: the folder's group is %q and +groupName is %q, right is a folder named as +groupName up to its first dot",
			k.folder, right.Group, k.group)}
	}
	if n < 0 {
		text, _ := yaml.Marshal([]resource{right})
		return []string{fmt.Sprintf("PROJECT: resources: kind %s (%s) is missing, right is:\n%s", k.name, k.where, text)}
	}
	return differences(p.name(n), facts(p.Resources[n], right, k, d, e))
}

func facts(have, want resource, k kind, d definition, e evidence) []fact {
	haveAPI, haveHooks, wantHooks := ptr.Deref(have.API, api{}), ptr.Deref(have.Webhooks, webhooks{}), ptr.Deref(want.Webhooks, webhooks{})
	marked := func(where, none string) string {
		if where == "" {
			return none
		}
		return "the marker at " + where
	}
	resources := d.Spec.Names.Plural + "." + k.group
	out := []fact{
		{"group", have.Group, want.Group, "the kind is in " + k.folder},
		{"domain", have.Domain, want.Domain, "+groupName in " + k.folder + " is " + k.group},
		{"version", have.Version, want.Version, "the kind is in " + k.folder},
		{"path", have.Path, want.Path, "the kind is at " + k.where},
		{"api.crdVersion", haveAPI.CRDVersion, want.API.CRDVersion, d.file},
		{"api.namespaced", haveAPI.Namespaced, want.API.Namespaced, d.file + " has the scope " + d.Spec.Scope},
		{"controller", have.Controller, want.Controller, marked(e.controller,
			"no +kubebuilder:rbac marker in internal/controller may patch or update "+resources+"/status")},
		{"webhooks.defaulting", haveHooks.Defaulting, wantHooks.Defaulting, marked(e.defaulting,
			"no +kubebuilder:webhook marker in internal/webhook has mutating=true for "+resources+"/"+k.version)},
		{"webhooks.validation", haveHooks.Validation, wantHooks.Validation, marked(e.validation,
			"no +kubebuilder:webhook marker in internal/webhook has mutating=false for "+resources+"/"+k.version)},
		{"webhooks.webhookVersion", haveHooks.WebhookVersion, wantHooks.WebhookVersion, "it is v1 if there is a webhook"},
	}
	if have.Plural != "" { // Kubebuilder writes only irregular plurals
		out = append(out, fact{"plural", have.Plural, d.Spec.Names.Plural, d.file})
	}
	return out
}
