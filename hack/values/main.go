// SPDX-License-Identifier: Apache-2.0

// Command values writes the table of values at the end of the chart's README, with the keys, defaults and descriptions of
// values.yaml.
//
//	go run ./hack/values VALUES README
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// begin is the line before the table. The text above it is written by hand.
const begin = "<!-- make generate writes what follows, from values.yaml -->\n"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: values VALUES README")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(values, readme string) error {
	source, err := os.ReadFile(values)
	if err != nil {
		return err
	}
	written, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	text, err := page(written, source)
	if err != nil {
		return fmt.Errorf("%s: %w", values, err)
	}
	return os.WriteFile(readme, text, 0o644)
}

// page returns the README with the table of these values.
func page(readme, values []byte) ([]byte, error) {
	head, _, found := bytes.Cut(readme, []byte(begin))
	if !found {
		return nil, fmt.Errorf("the README does not have the line %q", strings.TrimSpace(begin))
	}
	var document yaml.Node
	if err := yaml.Unmarshal(values, &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("the values are no map")
	}
	var table strings.Builder
	table.WriteString("\n| Key | Default | |\n|---|---|---|\n")
	if err := rows(&table, "", document.Content[0]); err != nil {
		return nil, err
	}
	return append(append(head, begin...), table.String()...), nil
}

// rows writes a row for each key that has a value or a comment. The keys of a map in block style follow the map.
func rows(table *strings.Builder, prefix string, values *yaml.Node) error {
	for i := 0; i+1 < len(values.Content); i += 2 {
		key, value := values.Content[i], values.Content[i+1]
		path := prefix + key.Value
		comment := sentence(key.HeadComment)
		if value.Kind == yaml.MappingNode && value.Style&yaml.FlowStyle == 0 {
			if comment != "" {
				fmt.Fprintf(table, "| `%s` | |%s |\n", path, comment)
			}
			if err := rows(table, path+".", value); err != nil {
				return err
			}
			continue
		}
		text, err := inline(value)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		fmt.Fprintf(table, "| `%s` | `%s` |%s |\n", path, text, comment)
	}
	return nil
}

// inline returns a default as JSON on one line.
func inline(value *yaml.Node) (string, error) {
	var v any
	if err := value.Decode(&v); err != nil {
		return "", err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return strings.ReplaceAll(strings.TrimSpace(text.String()), "|", `\|`), err
}

// sentence returns a comment as the text of a cell, with a space before each word. It uses only the last paragraph, which is next to the key.
func sentence(comment string) string {
	if at := strings.LastIndex(comment, "\n\n"); at >= 0 {
		comment = comment[at+2:]
	}
	var cell strings.Builder
	for line := range strings.Lines(comment) {
		for _, word := range strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "#")) {
			cell.WriteString(" " + word)
		}
	}
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(cell.String())
}
