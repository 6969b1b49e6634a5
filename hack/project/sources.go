// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// kind is a kind of the API, as its Go package declares it.
type kind struct {
	name    string
	folder  string // api/GROUP/VERSION
	version string
	group   string // with its domain
	where   string // file:line
}

// marker is one comment that controller-gen reads.
type marker struct {
	where  string
	values map[string][]string
}

// definition is the part of a CustomResourceDefinition that is compared.
type definition struct {
	file string
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind   string `json:"kind"`
			Plural string `json:"plural"`
		} `json:"names"`
		Scope    string `json:"scope"`
		Versions []struct {
			Name string `json:"name"`
		} `json:"versions"`
	} `json:"spec"`
}

type definitions []definition

const definitionFolder = "config/crd/bases"

// source is a parsed Go file.
type source struct {
	path string
	*ast.File
	set *token.FileSet
}

func (s source) where(p token.Pos) string {
	return fmt.Sprintf("%s:%d", s.path, s.set.Position(p).Line)
}

// sourcesIn returns the Go files below a folder, without tests.
func sourcesIn(repository fs.FS, folder string) ([]source, error) {
	var out []source
	err := fs.WalkDir(repository, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "testdata" {
			return fs.SkipDir
		}
		if entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		out = append(out, source{path: name, File: file, set: set})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read sources in %s: %w", folder, err)
	}
	return out, nil
}

// comments calls visit for every comment line between two positions that begins with the prefix.
func (s source) comments(from, to token.Pos, prefix string, visit func(at token.Pos, rest string)) {
	for _, group := range s.Comments {
		for _, c := range group.List {
			if c.Pos() < from || c.End() > to {
				continue
			}
			if rest, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(c.Text, "//")), prefix); ok {
				visit(c.Pos(), rest)
			}
		}
	}
}

func kindsIn(repository fs.FS) ([]kind, error) {
	sources, err := sourcesIn(repository, "api")
	if err != nil {
		return nil, err
	}
	groups := map[string]string{}
	var out []kind
	for _, s := range sources {
		folder := path.Dir(s.path)
		s.comments(s.FileStart, s.FileEnd, "+groupName=", func(_ token.Pos, name string) { groups[folder] = name })
		for _, t := range s.roots() {
			out = append(out, kind{name: t.Name.Name, folder: folder, version: path.Base(folder), where: s.where(t.Pos())})
		}
	}
	for i := range out {
		out[i].group = groups[out[i].folder]
	}
	return out, nil
}

// roots returns the types that have the marker of a kind and are no lists. The marker may be outside of the type's own comment, because Kubebuilder writes an
// empty line between them.
func (s source) roots() []*ast.TypeSpec {
	var out []*ast.TypeSpec
	from := s.Name.End()
	for _, declaration := range s.Decls {
		if general, ok := declaration.(*ast.GenDecl); ok {
			for _, spec := range general.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok && s.isRoot(from, t) && !isList(t) {
					out = append(out, t)
				}
				from = spec.End()
			}
		}
		from = declaration.End()
	}
	return out
}

func (s source) isRoot(from token.Pos, t *ast.TypeSpec) bool {
	marked := false
	s.comments(from, t.Pos(), "+kubebuilder:object:root=", func(_ token.Pos, value string) { marked = value == "true" })
	return marked
}

func isList(t *ast.TypeSpec) bool {
	s, ok := t.Type.(*ast.StructType)
	return ok && slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool {
		embedded, ok := f.Type.(*ast.SelectorExpr)
		return ok && len(f.Names) == 0 && embedded.Sel.Name == "ListMeta"
	})
}

// markersIn returns the markers of one sort, such as rbac, in the sources below a folder.
func markersIn(repository fs.FS, folder, sort string) ([]marker, error) {
	sources, err := sourcesIn(repository, folder)
	if err != nil {
		return nil, err
	}
	var out []marker
	for _, s := range sources {
		s.comments(s.FileStart, s.FileEnd, "+kubebuilder:"+sort+":", func(at token.Pos, text string) {
			m := marker{where: s.where(at), values: map[string][]string{}}
			for pair := range strings.SplitSeq(text, ",") {
				key, value, _ := strings.Cut(pair, "=")
				for one := range strings.SplitSeq(value, ";") {
					m.values[key] = append(m.values[key], strings.Trim(one, `"`))
				}
			}
			out = append(out, m)
		})
	}
	return out, nil
}

// has reports whether the marker has one of the given values for a key.
func (m marker) has(key string, values ...string) bool {
	return slices.ContainsFunc(m.values[key], func(v string) bool { return slices.Contains(values, v) })
}

func definitionsIn(repository fs.FS) (definitions, error) {
	files, err := fs.Glob(repository, definitionFolder+"/*.yaml")
	if err != nil {
		return nil, err
	}
	var out definitions
	for _, file := range files {
		text, err := fs.ReadFile(repository, file)
		if err != nil {
			return nil, err
		}
		d := definition{file: file}
		if err := yaml.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		out = append(out, d)
	}
	return out, nil
}

func (all definitions) of(k kind) *definition {
	for i, d := range all {
		for _, v := range d.Spec.Versions {
			if d.Spec.Group == k.group && d.Spec.Names.Kind == k.name && v.Name == k.version {
				return &all[i]
			}
		}
	}
	return nil
}
