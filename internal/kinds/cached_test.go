// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// A user who writes much crowds out nothing that the operator reads, who created the object least of all (security review, 4).
func TestKeysThatAreReadStay(t *testing.T) {
	var families []lifecycle.Family
	for _, k := range All() {
		families = append(families, k.Family)
	}
	transform := observe.Strip(families...)
	strip := func(o *v1beta2.SparkApplication) *v1beta2.SparkApplication {
		if _, err := transform(o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	keys := map[string]string{}
	for _, files := range []string{"../../api/*/*/*.go", "../spark/names.go"} {
		for key, constant := range keysIn(t, files) {
			keys[key] = constant
		}
	}
	if len(keys) < 20 {
		t.Fatalf("only %d keys were found", len(keys))
	}
	for key, constant := range keys {
		o := testutil.Pi()
		o.Annotations, o.Labels = map[string]string{key: "mine"}, map[string]string{key: "mine"}
		for i := range 300 {
			for _, prefix := range []string{"spark", "spark-a", "spark.operator/a", "sparkoperator.k8s.io/a", "firesteel.dev/a"} {
				more := fmt.Sprint(prefix, i)
				o.Annotations[more], o.Labels[more] = "x", "x"
			}
		}
		got := strip(o)
		kept := map[bool]string{true: got.Annotations[key], false: got.Labels[key]}[strings.HasPrefix(constant, "Annotation")]
		if kept != "mine" {
			t.Errorf("%s (%s) is dropped", constant, key)
		}
	}
	long := testutil.Pi()
	long.Annotations = map[string]string{v1beta2.AnnotationSubmitter: "ann", v1beta2.AnnotationAdopts: strings.Repeat("x", 16<<10-1)}
	if got := strip(long); got.Annotations[v1beta2.AnnotationSubmitter] != "ann" {
		t.Error("a long value crowds out who created the object")
	}
}

// keysIn are the keys of labels and annotations that files declare as constants, with the names of these.
func keysIn(t *testing.T, pattern string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Annotation") && !strings.HasPrefix(spec.Names[0].Name, "Label") {
				return true
			}
			if value, ok := spec.Values[0].(*ast.BasicLit); ok {
				keys[strings.Trim(value.Value, `"`)] = spec.Names[0].Name
			}
			return true
		})
	}
	return keys
}
