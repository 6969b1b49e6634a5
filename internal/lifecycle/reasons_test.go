// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// knownReasons is the closed list: that of reasons.go, and what the domain's scheduler says.
var knownReasons = map[lifecycle.Reason]bool{"QueueFull": true}

func init() {
	for _, r := range constants("reasons.go", "Reason") {
		knownReasons[lifecycle.Reason(r)] = true
	}
}

// constants returns the values of a file's string constants of a type.
func constants(file, typeName string) []string {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		panic(err)
	}
	var out []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		if id, ok := v.Type.(*ast.Ident); !ok || id.Name != typeName {
			return true
		}
		if lit, ok := v.Values[0].(*ast.BasicLit); ok {
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				panic(err)
			}
			out = append(out, text)
		}
		return true
	})
	return out
}

func TestReasonsAreWords(t *testing.T) {
	all := constants("reasons.go", "Reason")
	if len(all) < 40 {
		t.Fatalf("only %d reasons found in reasons.go", len(all))
	}
	word, seen := regexp.MustCompile(`^[A-Z][A-Za-z]+$`), map[string]bool{}
	for _, r := range all {
		if seen[r] {
			t.Errorf("two constants say %q", r)
		}
		seen[r] = true
		if !word.MatchString(r) {
			t.Errorf("%q is no word that Kubernetes takes for a reason", r)
		}
	}
}
