// SPDX-License-Identifier: Apache-2.0

// Package manifest reads manifests, so that messages about an application can point at a line, and writes objects so that they can be read back. It does no
// I/O.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Document is one object of a manifest.
type Document struct {
	// Line is the document's first line in the file.
	Line                   int
	APIVersion, Kind, Name string
	// Row is the kind's row, and Object the object as the operator decodes it. Both are nil if the operator does not serve the kind.
	Row    *kinds.Row
	Object kinds.Object
	// Problems are the errors and warnings that the API server or a strict client would report about the fields. Refused are the broken rules of the kind's
	// definition.
	Problems, Refused []Problem
	// Undecoded is the decoder's error, about a field outside of the spec; "" if there is none. If it is set, nothing else is checked.
	Undecoded string
	// Generated is set if the API server chooses the name. Name is then an example.
	Generated bool

	// malformed says why the object's spec was left out; "" if it was not.
	malformed string
	root      *yamlv3.Node
}

// Problem is a finding with its field; "" if it is about no field.
type Problem struct {
	Finding
	Field string
}

// Read returns the documents of a manifest. An error is about YAML's syntax.
func Read(text []byte) ([]Document, error) {
	var documents []Document
	for _, part := range split(text) {
		root := &yamlv3.Node{}
		if err := yamlv3.Unmarshal(part.text, root); err != nil {
			return nil, shifted(err, part.line)
		}
		if len(root.Content) == 0 {
			continue // only comments
		}
		shift(root, part.line-1)
		content, err := yaml.YAMLToJSON(part.text)
		if err != nil {
			return nil, shifted(err, part.line)
		}
		found, err := objects(root.Content[0], content)
		if err != nil {
			return nil, shifted(err, part.line)
		}
		documents = append(documents, found...)
	}
	return documents, nil
}

// part is the text of one document, with its first line in the file.
type part struct {
	text []byte
	line int
}

// split cuts a file at the lines "---", and between consecutive JSON objects. It blanks directives, such as %YAML 1.1.
func split(text []byte) []part {
	parts := []part{{line: 1}}
	line := 0
	for content := range bytes.Lines(text) {
		line++
		current := &parts[len(parts)-1]
		if marker := strings.TrimRight(string(content), " \t\r\n"); marker == "---" || strings.HasPrefix(marker, "--- #") {
			parts = append(parts, part{line: line + 1})
			continue
		}
		if content[0] == '%' && beginsOnly(current.text) {
			content = []byte("#\n")
		}
		current.text = append(current.text, content...)
	}
	var all []part
	for _, p := range parts {
		all = append(all, jsonStream(p)...)
	}
	return all
}

// beginsOnly reports whether a text has only comments and blank lines.
func beginsOnly(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// jsonStream cuts a document into its JSON objects, if it has several.
func jsonStream(p part) []part {
	if !bytes.HasPrefix(bytes.TrimSpace(p.text), []byte{'{'}) {
		return []part{p}
	}
	var all []part
	decoder := json.NewDecoder(bytes.NewReader(p.text))
	for {
		var object json.RawMessage
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			return []part{p} // YAML in its flow style
		}
		to := decoder.InputOffset()
		start := to - int64(len(object))
		all = append(all, part{text: p.text[start:to], line: p.line + bytes.Count(p.text[:start], []byte{'\n'})})
	}
}

// shift converts the lines of a node, and of its children, from lines of its document to lines of the file.
func shift(node *yamlv3.Node, lines int) {
	node.Line += lines
	for _, child := range node.Content {
		shift(child, lines)
	}
}

// lineInError matches the line number in an error of a YAML library. The errors contain "line" and a number nowhere else.
var lineInError = regexp.MustCompile(`line ([0-9]+)`)

// shifted converts the line in an error to a line of the file.
func shifted(err error, first int) error {
	text := lineInError.ReplaceAllStringFunc(err.Error(), func(match string) string {
		var line int
		_, _ = fmt.Sscanf(match, "line %d", &line)
		return fmt.Sprintf("line %d", line+first-1)
	})
	return errors.New(strings.TrimPrefix(text, "yaml: "))
}

// duplicates adds a warning for each key that a map has twice. kubectl and Helm use the last one.
func (d *Document) duplicates(node *yamlv3.Node, path string) {
	seen := map[string]int{}
	for i, child := range node.Content {
		if node.Kind != yamlv3.MappingNode {
			d.duplicates(child, fmt.Sprintf("%s[%d]", path, i))
			continue
		}
		if i%2 == 1 {
			d.duplicates(child, below(path, node.Content[i-1].Value))
			continue
		}
		if first, twice := seen[child.Value]; twice {
			field, counts := below(path, child.Value), ""
			if value := node.Content[i+1]; value.Kind == yamlv3.ScalarNode {
				counts = ": " + (&spark.ConfError{Key: child.Value, Value: value.Value}).Shown()
			}
			message := fmt.Sprintf("%s: written twice, in lines %d and %d; the last one counts%s", field, first, child.Line, counts)
			d.Problems = append(d.Problems, Problem{Finding{child.Line, Warning, message}, field})
		}
		seen[child.Value] = child.Line
	}
}

// below returns the path of a key below a path.
func below(path, key string) string {
	if plain.MatchString(key) {
		return strings.TrimPrefix(path+"."+key, ".")
	}
	return fmt.Sprintf("%s[%q]", path, key)
}

// plain matches keys that paths do not quote.
var plain = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// step matches one step of a path.
var step = regexp.MustCompile(`^\.?([A-Za-z0-9_-]+)|^\[([0-9]+)\]|^\[("(?:[^"\\]|\\.)*")\]`)

// LineOf returns the line of a field, or of the nearest parent that the document has.
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

// childOf returns a map's entry by its name, or a list's entry by its index, and its line.
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
		for i := len(node.Content) - 2; i >= 0; i -= 2 { // the last of two equal keys counts
			if node.Content[i].Value == name && index == "" {
				return node.Content[i+1], node.Content[i].Line
			}
		}
	case yamlv3.DocumentNode, yamlv3.ScalarNode, yamlv3.AliasNode:
	}
	return nil, 0
}

// JSON writes an object as JSON. It escapes the characters that YAML refuses even inside quotes.
func JSON(object any) ([]byte, error) {
	content, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var escaped bytes.Buffer
	for _, r := range string(content) {
		// These characters occur only inside strings.
		if r == 0x7f || r >= 0x80 && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff {
			fmt.Fprintf(&escaped, `\u%04x`, r)
		} else {
			escaped.WriteRune(r)
		}
	}
	return escaped.Bytes(), nil
}

// YAML writes an object as YAML that can be read back.
func YAML(object any) ([]byte, error) {
	content, err := JSON(object)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(content)
}
