// SPDX-License-Identifier: Apache-2.0

// Command project checks PROJECT, the file in which Kubebuilder records the kinds of the repository.
//
//	go run ./hack/project
//
// It runs in the root of the repository, after make manifests, and compares PROJECT with
//
//   - the kinds in api/: structs that have the marker +kubebuilder:object:root=true and are no lists,
//   - the definitions that controller-gen generated for them, for scope and plural,
//   - the controllers: a kind has one if a +kubebuilder:rbac marker in internal/controller permits writing the kind's status.
//     The operator's role is generated from these markers, so every working controller has one,
//   - the +kubebuilder:webhook markers in internal/webhook, from which the webhook configurations are generated,
//   - the module's path, and the version of Kubebuilder in hack/tools/kubebuilder.
package main

import (
	"fmt"
	"io/fs"
	"os"
)

func main() {
	problems, err := check(os.DirFS("."))
	if err != nil {
		problems = append(problems, err.Error())
	}
	for _, problem := range problems {
		fmt.Fprintln(os.Stderr, "project:", problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

// check returns the errors in the repository's PROJECT.
func check(repository fs.FS) ([]string, error) {
	p, err := readProject(repository)
	if err != nil {
		return nil, err
	}
	kinds, err := kindsIn(repository)
	if err != nil {
		return nil, err
	}
	definitions, err := definitionsIn(repository)
	if err != nil {
		return nil, err
	}
	controllers, err := markersIn(repository, "internal/controller", "rbac")
	if err != nil {
		return nil, err
	}
	webhooks, err := markersIn(repository, "internal/webhook", "webhook")
	if err != nil {
		return nil, err
	}
	problems, err := p.general(repository)
	if err != nil {
		return nil, err
	}
	entries := p.match(kinds)
	for i, k := range kinds {
		d := definitions.of(k)
		if d == nil {
			problems = append(problems, fmt.Sprintf("%s: no definition of kind %s in group %q has version %s; make manifests writes it",
				definitionFolder, k.name, k.group, k.version))
			continue
		}
		problems = append(problems, p.check(entries[i], k, *d, evidenceOf(k, *d, controllers, webhooks))...)
	}
	return append(problems, p.unknown(repository, entries, kinds)...), nil
}
