// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// mutant is one change of the code. Its number turns it on.
type mutant struct {
	id int
	// key identifies the mutant in the list of survivors: file, function, and the replaced text with its replacement. These stay when other code is edited.
	key string
}

// source is a file with inserted mutants. The inserted text has no line breaks, so the compiler's line numbers match the file.
type source struct {
	name   string
	text   []byte
	file   *ast.File
	set    *token.FileSet
	info   *types.Info
	banned map[int]bool // lines with mutants that do not compile
	next   func() int

	function string
	seen     map[string]int
	mutants  []mutant
}

// instrument returns the file with all of its mutants turned off.
func (s *source) instrument() string {
	s.seen = map[string]int{}
	return string(s.text[:s.offset(s.file.Pos())]) + s.plain(s.file) + string(s.text[s.offset(s.file.End()):])
}

func (s *source) offset(p token.Pos) int { return s.set.Position(p).Offset }

func (s *source) original(n ast.Node) string {
	return string(s.text[s.offset(n.Pos()):s.offset(n.End())])
}

// plain returns the text of a node that is not mutated itself. Its descendants are mutated.
func (s *source) plain(n ast.Node) string {
	var b strings.Builder
	from := s.offset(n.Pos())
	ast.Inspect(n, func(child ast.Node) bool {
		if child == nil || child == n {
			return true
		}
		switch child := child.(type) {
		case *ast.GenDecl:
			if child.Tok != token.VAR {
				return false
			}
			if n == s.file {
				s.function = child.Specs[0].(*ast.ValueSpec).Names[0].Name
			}
		case *ast.FuncDecl:
			s.function = child.Name.Name
		}
		text, ok := s.mutated(child)
		if ok {
			b.Write(s.text[from:s.offset(child.Pos())])
			b.WriteString(text)
			from = s.offset(child.End())
		}
		return !ok
	})
	b.Write(s.text[from:s.offset(n.End())])
	return b.String()
}

// mutated returns the text of a node with its own mutants; ok is false if it has none.
func (s *source) mutated(n ast.Node) (text string, ok bool) {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return each(s, n, n.List, s.statement), len(n.List) > 0
	case *ast.CaseClause:
		return s.clause(n)
	case *ast.IfStmt:
		return s.condition(n, n.Cond), true
	case *ast.ForStmt:
		if n.Cond == nil {
			return "", false
		}
		return s.condition(n, n.Cond), true
	case *ast.ReturnStmt:
		return each(s, n, n.Results, s.value), len(n.Results) > 0
	case *ast.CompositeLit:
		return s.literal(n)
	case *ast.BinaryExpr:
		return s.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			return s.boolean(n), true
		}
	}
	return "", false
}

// all returns the text of a node with all of its mutants.
func (s *source) all(n ast.Node) string {
	if text, ok := s.mutated(n); ok {
		return text
	}
	return s.plain(n)
}

// replace returns the text of a node with some of its parts replaced. The parts are in the order of the text, which stays between them.
func (s *source) replace(n ast.Node, parts []ast.Node, with []string) string {
	var b strings.Builder
	from := s.offset(n.Pos())
	for i, part := range parts {
		b.Write(s.text[from:s.offset(part.Pos())])
		b.WriteString(with[i])
		from = s.offset(part.End())
	}
	b.Write(s.text[from:s.offset(n.End())])
	return b.String()
}

// each returns the text of a node. text returns the text of each of its parts.
func each[T ast.Node](s *source, n ast.Node, list []T, text func(T) string) string {
	parts, with := make([]ast.Node, len(list)), make([]string, len(list))
	for i, part := range list {
		parts[i], with[i] = part, text(part)
	}
	return s.replace(n, parts, with)
}

// statement returns a statement with a mutant that omits it.
func (s *source) statement(n ast.Stmt) string {
	text := s.all(n)
	if !removable(n) {
		return text
	}
	id, ok := s.add(n, s.original(n), "nothing")
	if !ok {
		return text
	}
	return fmt.Sprintf("if !mutantOn(%d) { %s }", id, text)
}

// removable reports whether the code compiles without a statement.
func removable(n ast.Stmt) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return n.Tok != token.DEFINE
	case *ast.IncDecStmt:
		return true
	case *ast.BranchStmt:
		return n.Tok == token.CONTINUE || n.Tok == token.BREAK
	case *ast.ExprStmt:
		call, ok := n.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		name, ok := call.Fun.(*ast.Ident)
		return !ok || name.Name != "panic"
	}
	return false
}

// clause returns a case of a switch. Its conditions are mutated if the switch has no value.
func (s *source) clause(n *ast.CaseClause) (string, bool) {
	var parts []ast.Node
	var with []string
	for _, e := range n.List {
		if value := s.info.Types[e]; value.Value == nil && isBool(value.Type) {
			parts, with = append(parts, e), append(with, s.boolean(e))
		}
	}
	for _, statement := range n.Body {
		parts, with = append(parts, statement), append(with, s.statement(statement))
	}
	return s.replace(n, parts, with), len(parts) > 0
}

// condition returns a statement with mutants that negate its condition.
func (s *source) condition(n ast.Node, cond ast.Expr) string {
	var parts []ast.Node
	var with []string
	add := func(part ast.Node, text string) { parts, with = append(parts, part), append(with, text) }
	other := func(part ast.Stmt) {
		if part != nil {
			add(part, s.all(part))
		}
	}
	switch n := n.(type) {
	case *ast.IfStmt:
		other(n.Init)
		add(cond, s.boolean(cond))
		other(n.Body)
		other(n.Else)
	case *ast.ForStmt:
		other(n.Init)
		add(cond, s.boolean(cond))
		other(n.Post)
		other(n.Body)
	}
	return s.replace(n, parts, with)
}

// literal returns a struct literal with mutants that omit its fields.
func (s *source) literal(n *ast.CompositeLit) (string, bool) {
	t := s.info.Types[n].Type
	if t == nil {
		return "", false
	}
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		t = pointer.Elem()
	}
	if _, ok := t.Underlying().(*types.Struct); !ok {
		return "", false
	}
	var parts []ast.Node
	var with []string
	for _, e := range n.Elts {
		field, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return "", false
		}
		parts, with = append(parts, field.Value), append(with, s.value(field.Value))
	}
	return s.replace(n, parts, with), len(parts) > 0
}

// value returns an expression with a mutant that negates it or returns the zero value of its type.
func (s *source) value(e ast.Expr) string {
	v := s.info.Types[e]
	if isBool(v.Type) {
		return s.boolean(e)
	}
	if !s.zeroable(e) {
		return s.all(e)
	}
	text := s.all(e)
	id, ok := s.add(e, s.original(e), "zero")
	if !ok {
		return text
	}
	return fmt.Sprintf("mutantZero(%d, %s)", id, text)
}

// zeroable reports whether the type of an expression determines its zero value, and whether the expression has another value.
func (s *source) zeroable(e ast.Expr) bool {
	v := s.info.Types[e]
	if v.Type == nil || v.IsNil() || v.IsType() {
		return false
	}
	if _, several := v.Type.(*types.Tuple); several {
		return false
	}
	if lit, ok := e.(*ast.CompositeLit); ok && len(lit.Elts) == 0 || s.original(e) == "nil" {
		return false
	}
	if v.Value == nil {
		return true
	}
	kind := v.Value.Kind()
	text := kind == constant.String && constant.StringVal(v.Value) != ""
	number := (kind == constant.Int || kind == constant.Float) && constant.Sign(v.Value) != 0
	return (text || number) && typed(v.Type, e, s.info)
}

// typed reports whether a constant has the same type in any context.
func typed(t types.Type, e ast.Expr, info *types.Info) bool {
	var name *ast.Ident
	switch e := e.(type) {
	case *ast.Ident:
		name = e
	case *ast.SelectorExpr:
		name = e.Sel
	}
	if name != nil && info.Uses[name] != nil {
		basic, ok := info.Uses[name].Type().(*types.Basic)
		if !ok || basic.Info()&types.IsUntyped == 0 {
			return true
		}
	}
	return types.Identical(t, types.Default(t)) && (t == types.Typ[types.String] || t == types.Typ[types.Int] || t == types.Typ[types.Float64])
}

func isBool(t types.Type) bool {
	return t == types.Typ[types.Bool] || t == types.Typ[types.UntypedBool]
}

// boolean returns an expression with mutants that negate it. A conjunction becomes a disjunction, and the reverse. The parts of either are negated, too.
func (s *source) boolean(e ast.Expr) string {
	switch inner := ast.Unparen(e).(type) {
	case *ast.BinaryExpr:
		if text, ok := s.binary(inner); ok {
			return text
		}
	case *ast.UnaryExpr:
		if inner.Op == token.NOT {
			if id, ok := s.add(inner, s.original(inner), s.original(inner.X)); ok {
				return fmt.Sprintf("mutantNot(%d, !(%s))", id, s.all(inner.X))
			}
			return "!(" + s.all(inner.X) + ")"
		}
	}
	text := s.all(e)
	id, ok := s.add(e, s.original(e), "!("+s.original(e)+")")
	if !ok {
		return text
	}
	return fmt.Sprintf("mutantNot(%d, %s)", id, text)
}

var opposites = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==", token.LSS: ">=", token.GEQ: "<", token.GTR: "<=", token.LEQ: ">",
}

// bounds are the comparisons that differ only for equal operands.
var bounds = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

// calls maps operators to their mutants, and to the functions that do either.
var calls = map[token.Token]struct{ other, call string }{
	token.LAND: {"||", "mutantAnd"}, token.LOR: {"&&", "mutantOr"}, token.ADD: {"-", "mutantAdd"}, token.SUB: {"+", "mutantSub"},
}

// binary returns a comparison, a conjunction, a disjunction, a sum or a difference with its mutants; false for any other expression.
func (s *source) binary(n *ast.BinaryExpr) (string, bool) {
	if v := s.info.Types[n]; v.Value != nil || v.Type == nil {
		return "", false
	}
	if _, ok := opposites[n.Op]; ok {
		return s.comparison(n), true
	}
	how, ok := calls[n.Op]
	basic, isBasic := s.info.Types[n].Type.Underlying().(*types.Basic)
	if !ok || !isBasic || basic.Info()&(types.IsNumeric|types.IsBoolean) == 0 {
		return "", false
	}
	logic := basic.Info()&types.IsBoolean != 0
	part := s.all
	if logic {
		part = func(n ast.Node) string { return s.boolean(n.(ast.Expr)) }
	}
	x, y := part(n.X), part(n.Y)
	id, ok := s.add(n, s.original(n), s.original(n.X)+" "+how.other+" "+s.original(n.Y))
	switch {
	case !ok:
		return "(" + x + " " + n.Op.String() + " " + y + ")", true
	case logic:
		y = "func() bool { return " + y + " }"
	}
	return fmt.Sprintf("%s(%d, %s, %s)", how.call, id, x, y), true
}

func (s *source) comparison(n *ast.BinaryExpr) string {
	as := func(op string) string { return s.original(n.X) + " " + op + " " + s.original(n.Y) }
	x, y := s.all(n.X), s.all(n.Y)
	text := "(" + x + " " + n.Op.String() + " " + y + ")"
	if bound, ok := bounds[n.Op]; ok {
		if id, ok := s.add(n, s.original(n), as(bound)); ok {
			text = fmt.Sprintf("mutantBound(%d, %q, %s, %s)", id, n.Op.String(), x, y)
		}
	}
	if id, ok := s.add(n, s.original(n), as(opposites[n.Op])); ok {
		return fmt.Sprintf("mutantNot(%d, %s)", id, text)
	}
	return text
}

// add registers a mutant; ok is false if a mutant there does not compile.
func (s *source) add(n ast.Node, before, after string) (id int, ok bool) {
	if s.banned[s.set.Position(n.Pos()).Line] || s.function == "" {
		return 0, false
	}
	key := fmt.Sprintf("%s %s: %s => %s", s.name, s.function, oneLine(before), oneLine(after))
	s.seen[key]++
	if count := s.seen[key]; count > 1 {
		key += fmt.Sprintf(" (%d)", count)
	}
	id = s.next()
	s.mutants = append(s.mutants, mutant{id: id, key: key})
	return id, true
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
