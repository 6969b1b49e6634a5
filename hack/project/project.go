// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// project is the part of PROJECT that is compared.
type project struct {
	CLIVersion string     `json:"cliVersion"`
	Multigroup bool       `json:"multigroup"`
	Repo       string     `json:"repo"`
	Resources  []resource `json:"resources"`
}

type resource struct {
	API        *api      `json:"api,omitempty"`
	Controller bool      `json:"controller,omitempty"`
	Domain     string    `json:"domain,omitempty"`
	Group      string    `json:"group,omitempty"`
	Kind       string    `json:"kind"`
	Path       string    `json:"path,omitempty"`
	Plural     string    `json:"plural,omitempty"`
	Version    string    `json:"version"`
	Webhooks   *webhooks `json:"webhooks,omitempty"`
}

type api struct {
	CRDVersion string `json:"crdVersion,omitempty"`
	Namespaced bool   `json:"namespaced,omitempty"`
}

type webhooks struct {
	Defaulting     bool   `json:"defaulting,omitempty"`
	Validation     bool   `json:"validation,omitempty"`
	WebhookVersion string `json:"webhookVersion,omitempty"`
}

func readProject(repository fs.FS) (project, error) {
	var p project
	text, err := fs.ReadFile(repository, "PROJECT")
	if err != nil {
		return p, err
	}
	if err := yaml.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("read PROJECT: %w", err)
	}
	return p, nil
}

// general compares the fields that belong to no resource.
func (p project) general(repository fs.FS) ([]string, error) {
	const tool, program = "hack/tools/kubebuilder/go.mod", "sigs.k8s.io/kubebuilder/v4"
	module, err := wordAfter(repository, "go.mod", "module")
	if err != nil {
		return nil, err
	}
	version, err := wordAfter(repository, tool, program)
	if err != nil {
		return nil, err
	}
	return differences("PROJECT", []fact{
		{"cliVersion", p.CLIVersion, strings.TrimPrefix(version, "v"), "the version in " + tool},
		{"multigroup", p.Multigroup, true, "there is one folder per group in api/"},
		{"repo", p.Repo, module, "the module in go.mod"},
	}), nil
}

// wordAfter returns the word that follows another one at the start of a line of a go.mod file.
func wordAfter(repository fs.FS, file, word string) (string, error) {
	text, err := fs.ReadFile(repository, file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == word {
			return words[1], nil
		}
	}
	return "", fmt.Errorf("%s: no line begins with %q", file, word)
}

// match returns the index of each kind's resource, or -1. It matches resources with the right group and version first, so that a kind that differs gets only a
// wrong resource.
func (p project) match(kinds []kind) []int {
	out := slices.Repeat([]int{-1}, len(kinds))
	for _, exact := range []bool{true, false} {
		for i, k := range kinds {
			for n, r := range p.Resources {
				same := r.Kind == k.name && (!exact || r.Version == k.version && r.Group+"."+r.Domain == k.group)
				if out[i] < 0 && same && !slices.Contains(out, n) {
					out[i] = n
				}
			}
		}
	}
	return out
}

// unknown returns errors about resources that match no kind, or a kind that has another resource.
func (p project) unknown(repository fs.FS, entries []int, kinds []kind) []string {
	var out []string
	for n, r := range p.Resources {
		if slices.Contains(entries, n) {
			continue
		}
		folder := strings.TrimPrefix(r.Path, p.Repo+"/")
		var there []string
		for _, k := range kinds {
			if k.folder == folder {
				there = append(there, k.name)
			}
		}
		why := fmt.Sprintf("%s has %s and no other struct with +kubebuilder:object:root=true", folder, strings.Join(there, ", "))
		switch _, err := fs.Stat(repository, folder); {
		case err != nil:
			why = fmt.Sprintf("the folder of its path, %s, does not exist", folder)
		case len(there) == 0:
			why = fmt.Sprintf("%s has no struct with +kubebuilder:object:root=true", folder)
		case slices.Contains(there, r.Kind):
			why = "the kind has another resource in PROJECT"
		}
		out = append(out, fmt.Sprintf("%s: %s; right is to take it out", p.name(n), why))
	}
	return out
}

func (p project) name(n int) string {
	r := p.Resources[n]
	return fmt.Sprintf("PROJECT: resources[%d] (%s %s)", n, r.Kind, r.Version)
}
