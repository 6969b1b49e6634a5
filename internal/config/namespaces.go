// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// liveSections are the sections that apply without a restart when the file changes.
var liveSections = []string{"namespaces", "namespaceSelector", "policies"}

// Load reads a configuration file. The operator reloads it when it changes.
func Load(path string) (OperatorConfiguration, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return OperatorConfiguration{}, fmt.Errorf("read configuration: %w", err)
	}
	c, err := Parse(text)
	if err != nil {
		return OperatorConfiguration{}, fmt.Errorf("%s: %w", path, err)
	}
	c.File = path
	return c, nil
}

// ClusterWide reports whether the operator watches all namespaces. It does if it works in all of them, or has to know which ones match the selector.
func (c OperatorConfiguration) ClusterWide() bool {
	return len(c.Namespaces) == 0 || c.NamespaceSelector != ""
}

// Selector selects namespaces by their labels; nil without a selector.
func (c OperatorConfiguration) Selector() labels.Selector {
	if c.NamespaceSelector == "" {
		return nil
	}
	selector, err := labels.Parse(c.NamespaceSelector)
	if err != nil {
		return labels.Nothing() // Parse refuses an invalid selector
	}
	return selector
}

// NeedsRestart returns the names of changed sections that apply only after a restart.
func (c OperatorConfiguration) NeedsRestart(other OperatorConfiguration) []string {
	var sections []string
	mine, theirs := reflect.ValueOf(c), reflect.ValueOf(other)
	for i := range mine.NumField() {
		name, _, _ := strings.Cut(mine.Type().Field(i).Tag.Get("json"), ",")
		if name == "-" || slices.Contains(liveSections, name) {
			continue
		}
		if !reflect.DeepEqual(mine.Field(i).Interface(), theirs.Field(i).Interface()) {
			sections = append(sections, name)
		}
	}
	return sections
}

func (c OperatorConfiguration) validateNamespaces() []error {
	var errs []error
	for i, ns := range c.Namespaces {
		if problems := validation.IsDNS1123Label(ns); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("namespaces[%d]: %q is not a namespace; leave the list empty for all namespaces", i, ns))
		}
	}
	if _, err := labels.Parse(c.NamespaceSelector); err != nil {
		errs = append(errs, fmt.Errorf(`namespaceSelector: %q: write a label selector such as "team in (a, b), spark=enabled": %w`, c.NamespaceSelector, err))
	}
	return errs
}

// SameTenancy reports whether two configurations agree in all sections that apply without a restart.
func (c OperatorConfiguration) SameTenancy(other OperatorConfiguration) bool {
	return slices.Equal(c.Namespaces, other.Namespaces) && c.NamespaceSelector == other.NamespaceSelector && reflect.DeepEqual(c.Policies, other.Policies)
}
