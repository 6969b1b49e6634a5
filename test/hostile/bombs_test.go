// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
)

const (
	// largest is about what the API server stores of an object, in bytes.
	largest = 1_400_000
	// many is how much of it is lists and maps, and texts of it texts: about the most that the operator decodes, 7,000 elements and 512 KiB.
	// With more the API server would be what is measured; EverythingThatFits has them.
	many  = 20 << 10
	texts = 400 << 10
)

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
			held: "internal/admission: TestSpecsAreJudgedWithinBudgets",
			do:   func(a *arena) error { return a.bombs(some) },
		}.unless("what is not decoded is the same under any policy"))
	}
	list := func(h hole) bool { return !h.isText() }
	add(attack{
		name: "EverythingThatFits", reason: "an object of the largest size that is stored costs the operator its memory", by: tenant, bomb: true,
		do: func(a *arena) error {
			for _, h := range all {
				if slices.Contains([]string{"SparkApplication spec.sparkConf", "SparkApplication spec.driver.env", "SparkApplication spec.driver.template.spec.initContainers[].command"}, h.String()) {
					if err := a.bomb([]hole{h}, largest); err != nil {
						return err
					}
				}
			}
			return nil
		},
		told: "the operator reads at most",
	})
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
	const together = 40
	for len(some) > 0 {
		n := 1
		for some[0].isText() && n < min(together, len(some)) && some[n].kind == some[0].kind {
			n++
		}
		size := many
		if some[0].isText() {
			size = texts
		}
		if err := a.bomb(some[:n], size); err != nil {
			return err
		}
		some = some[n:]
	}
	return nil
}

// bomb fills fields of one object with so many bytes, or with fewer, if the API server does not take them. What it takes in no size
// is no bomb. What it does not take within its time for a request takes no less of it in another try: later bombs of the attack are no larger.
func (a *arena) bomb(some []hole, size int) error {
	const least = 64
	if a.inTime > 0 {
		size = min(size, a.inTime)
	}
	for size >= least {
		values := map[*hole]string{}
		for i := range some {
			values[&some[i]] = some[i].fill(size / len(some))
		}
		a.bombed++
		name := fmt.Sprintf("bomb-%d", a.bombed)
		text, err := a.in(name, values)
		if err != nil {
			return err
		}
		log, err := os.Stat(a.audit)
		if err != nil {
			return err
		}
		status, err := a.post(some[0].kind, text)
		switch {
		case err != nil:
			return err
		case status == http.StatusCreated:
			return a.survived(some[0], name, len(text), log.Size())
		case status == http.StatusUnprocessableEntity && len(some) > 1:
			if err := a.bomb(some[:len(some)/2], size); err != nil {
				return err
			}
			return a.bomb(some[len(some)/2:], size)
		case status == http.StatusUnprocessableEntity && some[0].isText():
			return nil // it is one of a few words
		case status == http.StatusUnprocessableEntity:
			size /= 8 // more elements than the definition allows
		case status == http.StatusGatewayTimeout:
			size /= 2
			a.inTime = size
		case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
			continue // the machine is busy; the time of the attack bounds it
		case status == http.StatusRequestEntityTooLarge || status == http.StatusInternalServerError || status == http.StatusBadRequest:
			size = size * 3 / 4 // it is too large for the API server, or for etcd
		default:
			return fmt.Errorf("%s: the API server answers %d", some[0], status)
		}
	}
	return nil
}

// survived waits until the operator has written the status of an object, which the audit log tells for less than a look at the object,
// and deletes it.
func (a *arena) survived(h hole, name string, size int, offset int64) error {
	err := await(a.ctx, func() error {
		if err := a.operator.alive(); err != nil {
			return final{fmt.Errorf("%s: the operator ended: %w", h, err)}
		}
		requests, err := a.requests(offset)
		for _, r := range requests {
			if r.Verb == "patch" && r.ObjectRef.Subresource == "status" && r.ObjectRef.Namespace == a.namespace && r.ObjectRef.Name == name {
				return nil
			}
		}
		return errors.Join(err, fmt.Errorf("%s: the operator writes no status", h))
	})
	if most := a.operator.since(); most > a.group.limit*3/4 {
		a.t.Logf("%4d MiB for %4d KiB of %s", most>>20, size>>10, h)
	}
	return errors.Join(err, a.remove(h.kind, name))
}

func init() {
	add(
		attack{
			name: "ReferencesToReferences", reason: "a value of 200 kB, referred to 500 times, expands to 100 MB", by: tenant,
			do: func(a *arena) error {
				return a.app("bomb", `sparkConf: {spark.a: "`+strings.Repeat("x", 200_000)+`", spark.executor.memoryOverhead: "`+strings.Repeat("${spark.a}", 500)+`"}`)
			},
			told: "spark.executor.memoryOverhead",
		},
		attack{
			name: "ReferencesThatDouble", reason: "60 values of which each refers twice to the next expand to more than there is", by: tenant,
			do: func(a *arena) error {
				conf := "sparkConf:\n"
				for i := range 60 {
					conf += fmt.Sprintf("  spark.a%d: ${spark.a%d}${spark.a%d}\n", i, i+1, i+1)
				}
				return a.app("bomb", conf+"  spark.a60: x\n  spark.executor.memoryOverhead: ${spark.a0}\n")
			},
			told: "spark.executor.memoryOverhead",
		},
		attack{
			name: "ReferencesInACircle", reason: "a value that refers to itself has no end", by: tenant,
			do: func(a *arena) error {
				return a.app("bomb", "sparkConf: {spark.a: \"${spark.b}\", spark.b: \"${spark.a}\", spark.executor.memoryOverhead: \"${spark.a}\"}")
			},
			told: "spark.executor.memoryOverhead",
		},
		attack{
			name: "TextForAList", reason: "an application that cannot be decoded hides no other", by: tenant,
			do:   func(a *arena) error { return a.app("malformed", "driver: {template: {spec: {containers: none}}}") },
			told: "a string is not valid here; write a list",
		},
		attack{
			name: "UnknownFields", reason: "each field that does not exist has a sentence of its own", by: tenant,
			do: func(a *arena) error {
				h := hole{kind: application, path: []string{"spec", "driver", "template", "spec"}}
				var fields []string
				for i := range 20_000 {
					fields = append(fields, `"`+key(i)+`":0`)
				}
				text, err := a.in("unknown", map[*hole]string{&h: "{" + strings.Join(fields, ",") + "}"})
				if err == nil {
					_, err = a.post(application, text)
				}
				return err
			},
			cannot: func(a *arena) error { return a.looked(application, "unknown") },
			told:   "the operator reads at most",
		},
		attack{
			name: "ListsInLists", reason: "what is decoded recursively may be nested as deep as the API server takes it", by: tenant,
			do: func(a *arena) error {
				for _, depth := range []int{20_000, 5_000, 500} {
					for i, path := range [][]string{{"spec", "batchSchedulerOptions", "parameters", "x"}, {"spec", "driver", "template", "spec", "x"}} {
						h := hole{kind: application, path: path}
						// Go's own encoder refuses such a depth.
						text, err := a.in(fmt.Sprintf("deep-%d-%d", depth, i), map[*hole]string{&h: `"deep"`})
						if err != nil {
							return err
						}
						text = strings.Replace(text, `"deep"`, strings.Repeat("[", depth)+strings.Repeat("]", depth), 1)
						if _, err := a.post(application, text); err != nil {
							return err
						}
					}
				}
				return nil
			},
			cannot: func(a *arena) error { return a.looked(application, "deep-500-1") },
		},
	)
}
