// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"regexp"
	"strings"
)

// Fields names the fields of an API family in messages: from a name that all families share, such as "driver.memory", to
// the path that the family's users write, such as "spec.driver.memory". A name that is not listed has the path of the
// longest listed part before one of its dots, and "" is part of all.
type Fields map[string]string

// Path is what the family's users write for a field.
func (f Fields) Path(name string) string {
	for head, rest := name, ""; ; {
		if path, known := f[head]; known {
			return path + rest
		}
		if head == "" {
			return name
		}
		head = head[:max(0, strings.LastIndexByte(head, '.'))]
		if rest = name[len(head):]; head == "" {
			rest = "." + name
		}
	}
}

var fieldName = regexp.MustCompile(`\{([a-zA-Z][a-zA-Z.]*)\}`)

// Text is a message in which fields are named in braces, with their paths: "raise {driver.memory}".
func (f Fields) Text(message string) string {
	return fieldName.ReplaceAllStringFunc(message, func(name string) string { return f.Path(name[1 : len(name)-1]) })
}
