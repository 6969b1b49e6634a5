// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"regexp"
	"strconv"

	yamlv3 "go.yaml.in/yaml/v3"
)

// fieldAtStart matches the path of a field at the start of a sentence: spec.driver.memory, spec.volumes[0].name or
// spec.sparkConf["spark.a"].
var fieldAtStart = regexp.MustCompile(`^(?:spec|metadata)(?:\.[A-Za-z0-9]+|\[[0-9]+\]|\["(?:[^"\\]|\\.)*"\])*`)

// FieldOf returns the field that a sentence of the operator begins with, "" if it names none.
func FieldOf(sentence string) string { return fieldAtStart.FindString(sentence) }

// step matches one step of a path.
var step = regexp.MustCompile(`^\.?([A-Za-z0-9_-]+)|^\[([0-9]+)\]|^\[("(?:[^"\\]|\\.)*")\]`)

// LineOf returns the line of a field, or of the nearest thing around it that the document has.
func (d *Document) LineOf(field string) int {
	node, line := d.root, d.Line
	for field != "" {
		match := step.FindStringSubmatch(field)
		if match == nil {
			return line
		}
		field = field[len(match[0]):]
		name := match[1]
		if match[3] != "" {
			name, _ = strconv.Unquote(match[3])
		}
		next, at := childOf(node, name, match[2])
		if next == nil {
			return line
		}
		node, line = next, at
	}
	return line
}

// childOf returns an entry of a map by its name, or one of a list by its index, and the line of it.
func childOf(node *yamlv3.Node, name, index string) (*yamlv3.Node, int) {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yamlv3.SequenceNode:
		if i, err := strconv.Atoi(index); err == nil && i < len(node.Content) {
			return node.Content[i], node.Content[i].Line
		}
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == name && index == "" {
				return node.Content[i+1], node.Content[i].Line
			}
		}
	case yamlv3.DocumentNode, yamlv3.ScalarNode, yamlv3.AliasNode:
	}
	return nil, 0
}
