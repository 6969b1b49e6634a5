// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// largest is about what the API server stores of an object, in bytes.
const largest = 1_400_000

// Every list, map and text of every kind is filled with its smallest elements, as far as the API server takes them.
func init() {
	all := allHoles()
	bombs := func(name string, at func(hole) bool) {
		var some []hole
		for _, h := range all {
			if at(h) {
				some = append(some, h)
			}
		}
		add(attack{
			name: name, reason: "a field that is full of its smallest elements costs the operator its memory", by: tenant,
			do: func(a *arena) error { return a.bombs(some) },
		})
	}
	list := func(h hole) bool { return !h.isText() }
	bombs("ListsOfApplications", func(h hole) bool { return list(h) && h.kind == application && !h.isPod() && h.path[1] != "volumes" })
	bombs("ListsOfVolumes", func(h hole) bool { return list(h) && h.kind == application && h.path[1] == "volumes" })
	bombs("ListsOfPodTemplates", func(h hole) bool { return list(h) && h.kind == application && h.isPod() })
	bombs("ListsOfSchedules", func(h hole) bool { return list(h) && h.kind == schedule })
	bombs("ListsOfServers", func(h hole) bool { return list(h) && h.kind == connect })
	bombs("TextsOfApplications", func(h hole) bool { return h.isText() && h.kind == application && !h.isPod() })
	bombs("TextsOfPodTemplates", func(h hole) bool { return h.isText() && h.kind == application && h.isPod() })
	bombs("TextsOfSchedulesAndServers", func(h hole) bool { return h.isText() && h.kind != application })
}

// bombs fills fields, each list and map by itself and texts several at a time, and waits until the operator has seen each of them.
func (a *arena) bombs(some []hole) error {
	const texts = 12
	for len(some) > 0 {
		n := 1
		for some[0].isText() && n < min(texts, len(some)) && some[n].kind == some[0].kind {
			n++
		}
		if err := a.bomb(some[:n], largest); err != nil {
			return err
		}
		some = some[n:]
	}
	return nil
}

// bomb fills fields of one object with so many bytes, or with fewer, if the API server does not take them. What it takes in no size
// is no bomb.
func (a *arena) bomb(some []hole, size int) error {
	const least = 64
	for size >= least {
		values := map[*hole]string{}
		for i := range some {
			values[&some[i]] = some[i].fill(size / len(some))
		}
		text, err := a.in("bomb", values)
		if err != nil {
			return err
		}
		status, err := a.post(some[0].kind, text)
		switch {
		case err != nil:
			return err
		case status == http.StatusCreated:
			return a.survived(some[0].kind, "bomb", len(text), some[0].String())
		case status == http.StatusUnprocessableEntity && len(some) > 1:
			if err := a.bomb(some[:len(some)/2], size); err != nil {
				return err
			}
			return a.bomb(some[len(some)/2:], size)
		case status == http.StatusUnprocessableEntity && some[0].isText():
			return nil // it is one of a few words
		case status == http.StatusUnprocessableEntity:
			size /= 8 // more elements than the definition allows
		case status == http.StatusRequestEntityTooLarge || status == http.StatusInternalServerError || status == http.StatusBadRequest:
			size = size * 3 / 4 // it is too large for the API server, or for etcd
		default:
			return fmt.Errorf("%s: the API server answers %d", some[0], status)
		}
	}
	return nil
}

// survived waits until the operator has seen an object, and deletes it.
func (a *arena) survived(kind schema.GroupVersionKind, name string, size int, what string) error {
	if err := a.looked(kind, name); err != nil {
		return err
	}
	if most := a.group.since(); most > a.group.limit/4 {
		a.t.Logf("%4d MiB for %4d KiB of %s", most>>20, size>>10, what)
	}
	return a.remove(kind, name)
}

// tooDeep is a text of so many lists in lists.
func tooDeep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func init() {
	add(
		attack{
			name: "ReferencesToReferences", reason: "a value of 1 MB, referred to 500 times, expands to 500 MB", by: tenant,
			do: func(a *arena) error {
				return a.app("bomb", `sparkConf: {spark.a: "`+strings.Repeat("x", 500_000)+`", spark.executor.memoryOverhead: "`+strings.Repeat("${spark.a}", 500)+`"}`)
			},
			told: "spark.executor.memoryOverhead",
		},
		attack{
			name: "TextForAList", reason: "an application that cannot be decoded hides no other", by: tenant,
			do: func(a *arena) error {
				return a.app("malformed", "driver: {template: {spec: {containers: none}}}")
			},
			told: "cannot unmarshal string",
		},
	)
	add(attack{
		name: "ForgedLabels", reason: "a pod with the labels of others' drivers is not taken for one", by: driverCode,
		do: func(a *arena) error {
			if _, err := a.runs("own"); err != nil {
				return err
			}
			return forgeries(a, 20, slices.Concat([]string{"calm-1"}, []string{"own"})...)
		},
		cannot: func(a *arena) error { return a.state("own", "RUNNING") },
	})
}
