// SPDX-License-Identifier: Apache-2.0

// Command promql parses the expressions of Grafana dashboards and of files with alert rules, with Prometheus' parser. It fails if an expression is not PromQL.
// With a file of histories it evaluates the rules, and fails if other alerts fire than expected.
//
//	promql FILE...
//	promql -histories FILE RULES
package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == "-histories" {
		problems, err := try(os.Args[3], os.Args[2])
		if err != nil {
			problems = append(problems, err.Error())
		}
		for _, p := range problems {
			fmt.Fprintln(os.Stderr, "promql:", p)
		}
		os.Exit(min(1, len(problems)))
	}
	bad := 0
	for _, path := range os.Args[1:] {
		text, err := os.ReadFile(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, "promql:", err)
			os.Exit(1)
		}
		var file yaml.Node // JSON is YAML
		if err := yaml.Unmarshal(text, &file); err != nil {
			fmt.Fprintf(os.Stderr, "promql: %s: %v\n", path, err)
			os.Exit(1)
		}
		all := expressions(&file)
		if len(all) == 0 {
			fmt.Fprintf(os.Stderr, "promql: %s has no expressions\n", path)
			bad++
		}
		for _, e := range all {
			if _, err := parser.ParseExpr(interval.ReplaceAllString(e.Value, "5m")); err != nil {
				fmt.Fprintf(os.Stderr, "promql: %s:%d: %v\n\t%s\n", path, e.Line, err, strings.TrimSpace(e.Value))
				bad++
			}
		}
	}
	if bad > 0 {
		os.Exit(1)
	}
}

// interval is a variable that Grafana replaces by a duration.
var interval = regexp.MustCompile(`\$__(rate_)?interval`)

// expressions returns the values of all fields named expr, at any depth.
func expressions(n *yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "expr" && child.Kind == yaml.ScalarNode {
			out = append(out, child)
		}
		out = append(out, expressions(child)...)
	}
	return out
}
