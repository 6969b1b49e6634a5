// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Kinds have other words for an application and its pods (Attempt.Word), so no sentence of a scheduler has them in its text.
func TestSentencesHaveNoWordsOfOneKind(t *testing.T) {
	own := regexp.MustCompile(`\b(drivers?|executors?|(the|whole) application)\b`)
	literals := 0
	for _, folder := range []string{".", "../admission", "../attempt"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if literals++; own.MatchString(literal.Value) {
						t.Errorf("%s: %s; take the word from Attempt.Word", path, literal.Value)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if literals < 300 {
		t.Errorf("only %d texts were found", literals)
	}
}
