// SPDX-License-Identifier: Apache-2.0

// Package markdown finds the checkable parts of the pages of docs/: blocks, commands, links. It knows the part of Markdown that
// these pages use. Only tests use it.
package markdown

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Block is a block of code: between fences, or indented by four spaces.
type Block struct {
	// Line is the first line of its text, counted from 1.
	Line int
	// Language is that of the fence; empty for an indented block.
	Language string
	// Mark is the text of an HTML comment right above it.
	Mark string
	// Section is the heading above it.
	Section string
	Text    string
}

// Command is one program of a command line, with its words as the shell would hand them over.
type Command struct {
	Line  int
	Words []string
}

const (
	indent = "    "
	fence  = "```"
)

// Blocks returns the blocks of a page.
func Blocks(page string) []Block {
	var blocks []Block
	var current *Block
	var mark, section string
	blank := true
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		switch {
		case current != nil && current.Language != "":
			if strings.HasPrefix(line, fence) {
				current, mark = nil, ""
			} else {
				current.Text += line + "\n"
			}
		case current != nil && (strings.HasPrefix(line, indent) || strings.TrimSpace(line) == ""):
			current.Text += strings.TrimPrefix(line, indent) + "\n"
		case strings.HasPrefix(line, fence):
			language := strings.TrimSpace(strings.TrimPrefix(line, fence))
			blocks = append(blocks, Block{Line: i + 2, Language: orText(language), Mark: mark, Section: section})
			current = &blocks[len(blocks)-1]
		case blank && strings.HasPrefix(line, indent):
			blocks = append(blocks, Block{Line: i + 1, Mark: mark, Section: section, Text: line[len(indent):] + "\n"})
			current = &blocks[len(blocks)-1]
		case strings.HasPrefix(line, "<!--"):
			current, mark = nil, strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(line, "<!--"), "-->"))
		case strings.HasPrefix(line, "#"):
			current, mark, section = nil, "", strings.TrimSpace(strings.TrimLeft(line, "#"))
		case strings.TrimSpace(line) != "":
			current, mark = nil, ""
		}
		blank = strings.TrimSpace(line) == ""
	}
	return blocks
}

func orText(language string) string {
	if language == "" {
		return "text"
	}
	return language
}

// programs begin a line that is a command.
var programs = regexp.MustCompile(`^(kubectl|helm|make|go|hack/\S+|\.ci/\S+|[A-Z]+=\S+ (go|make)) `)

// Line is a command line as it stands there.
type Line struct {
	// Number is its first line in the page, counted from 1.
	Number int
	// Text is for the shell; a line that continues behind a backslash is one line.
	Text string
	// Shown is what the page shows of its output.
	Shown string
}

// Lines are the command lines of a block. Where lines begin with "$ ", the others are what the commands print.
func (b Block) Lines() []Line {
	var out []Line
	dialogue := strings.HasPrefix(b.Text, prompt)
	lines := strings.Split(strings.TrimRight(b.Text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line, at := lines[i], b.Line+i
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + lines[i]
		}
		text, asked := strings.CutPrefix(line, prompt)
		switch {
		case asked == dialogue && programs.MatchString(text+" "):
			out = append(out, Line{Number: at, Text: text})
		case dialogue && !asked && len(out) > 0:
			out[len(out)-1].Shown += line + "\n"
		}
	}
	return out
}

const prompt = "$ "

// NotRun says why no test runs a command line, if the mark above the block says so: "not run: why" is about the whole block,
// "not run: make x: why" about its lines that begin with make x.
func (b Block) NotRun(line string) (why string, marked bool) {
	why, marked = strings.CutPrefix(b.Mark, "not run: ")
	if which, rest, named := strings.Cut(why, ": "); named && b.has(which) {
		return rest, marked && strings.HasPrefix(line, which)
	}
	return why, marked
}

// has reports whether a command line begins with a text.
func (b Block) has(text string) bool {
	return slices.ContainsFunc(b.Lines(), func(l Line) bool { return strings.HasPrefix(l.Text, text) })
}

// Commands are the programs that a block's lines run.
func (b Block) Commands() []Command {
	var out []Command
	for _, line := range b.Lines() {
		out = append(out, Split(line.Text, line.Number)...)
	}
	return out
}

var codeCell = regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\|")

// FirstCells are the words in code that begin the rows of tables, below a heading of a page and above what begins with to, or to its end for "".
// It is an error if there is no such heading.
func FirstCells(page, heading, to string) ([]string, error) {
	_, part, found := strings.Cut(page, "\n"+heading+"\n")
	if !found {
		return nil, fmt.Errorf("there is no heading %q", heading)
	}
	if to != "" {
		part, _, _ = strings.Cut(part, "\n"+to)
	}
	var all []string
	for _, row := range codeCell.FindAllStringSubmatch(part, -1) {
		all = append(all, row[1])
	}
	return all, nil
}

// Split takes a command line apart: at pipes, without comments, redirections and assignments before the program.
func Split(line string, at int) []Command {
	out := []Command{{Line: at}}
	for _, word := range words(line) {
		last := &out[len(out)-1]
		switch {
		case strings.HasPrefix(word, "#"), word == ">":
			return out
		case word == "|":
			out = append(out, Command{Line: at})
		case len(last.Words) == 0 && assignment.MatchString(word):
		default:
			last.Words = append(last.Words, word)
		}
	}
	return out
}

var assignment = regexp.MustCompile(`^[A-Z_]+=`)

// words splits at white space, and takes quotes away.
func words(line string) []string {
	var out []string
	var word strings.Builder
	var quote rune
	begun := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t':
			if begun || word.Len() > 0 {
				out = append(out, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
		}
	}
	if begun || word.Len() > 0 {
		out = append(out, word.String())
	}
	return out
}

var (
	inline  = regexp.MustCompile("`([^`\n]+)`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	omitted = regexp.MustCompile(`[^\pL\pN _-]`)
)

// prose is the page without its blocks, line by line.
func prose(page string) string {
	lines := strings.Split(page, "\n")
	for _, b := range Blocks(page) {
		for i := range strings.Count(b.Text, "\n") {
			if at := b.Line - 1 + i; at < len(lines) {
				lines[at] = ""
			}
		}
	}
	return strings.Join(lines, "\n")
}

// Inline is the code within sentences.
func Inline(page string) []string { return submatches(inline, prose(page)) }

// Links are the targets of the page's links.
func Links(page string) []string {
	return submatches(link, inline.ReplaceAllString(prose(page), ""))
}

// Anchors returns the anchors of a page's links, without "#".
func Anchors(page string) []string {
	out := submatches(heading, prose(page))
	for i := range out {
		out[i] = strings.ReplaceAll(omitted.ReplaceAllString(strings.ToLower(out[i]), ""), " ", "-")
	}
	return out
}

func submatches(r *regexp.Regexp, text string) []string {
	var out []string
	for _, m := range r.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}
