// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	harmless "github.com/firesteel-dev/firesteel/internal/text"
)

// This file handles typing mistakes in commands, flags and values.

const (
	meantExplain = "did you mean explain?"
	fullType     = "sparkapplications.sparkoperator.k8s.io" // both families have this kind
	meantApply   = "write a manifest, or convert a spark-submit command line with kubectl spark convert, and run it with kubectl apply -f FILE"
)

// elsewhere maps commands of other programs to the equivalent commands here.
var elsewhere = map[string]string{
	"get": "did you mean list (all applications) or explain (one of them)?", "show": meantExplain, "describe": meantExplain, "inspect": meantExplain,
	"status": meantExplain, "why": meantExplain, "events": meantExplain, "top": "did you mean list or queue?",
	"run": meantApply, "start": "did you mean resume (what is suspended) or rerun? A new application: " + meantApply,
	"submit": meantApply, "spark-submit": meantApply, "create": "did you mean kubectl apply -f FILE?", "apply": "did you mean kubectl apply -f FILE?",
	"edit": "did you mean kubectl edit " + fullType + " NAME?", "stop": "did you mean suspend (it can go on) or delete?", "pause": "did you mean suspend?",
	"kill": "did you mean delete, or suspend (it can go on)?", "cancel": "did you mean delete, or suspend (it can go on)?",
	"restart": "did you mean rerun?", "retry": "did you mean rerun?", "backfill": "did you mean trigger --from DATE --to DATE?",
	"port-forward": "did you mean ui or connect?", "lint": "did you mean validate?", "template": "did you mean render?",
}

// answerMistakes adds suggestions to the errors of a command and its subcommands.
func answerMistakes(root *cobra.Command, streams genericiooptions.IOStreams) {
	root.SetFlagErrorFunc(flagError)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Run, c.RunE = nil, func(_ *cobra.Command, args []string) error { return helpAbout(root, args) }
		case "completion":
			c.AddCommand(newCompleter(streams))
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(c *cobra.Command, args []string) error {
				if len(args) == 0 {
					return c.Help()
				}
				return unknownCommand(c, args[0])
			}
		}
	}
}

// helpAbout prints the help of the named command.
func helpAbout(root *cobra.Command, args []string) error {
	about, rest, err := root.Find(args)
	switch {
	case err != nil:
		return meant(root, err)
	case about.HasSubCommands() && len(rest) > 0:
		return unknownCommand(about, rest[0])
	}
	about.InitDefaultHelpFlag()
	return about.Help()
}

// combined matches cobra's error about flags that exclude each other.
var combined = regexp.MustCompile(`^if any flags in the group \[.*\] are set none of the others can be; \[(.*)\] were all set$`)

// meant replaces the error about an unknown command, or about flags that exclude each other, with a suggestion. It returns other errors unchanged.
func meant(called *cobra.Command, err error) error {
	var word string
	if err == nil {
		return nil
	}
	if set := combined.FindStringSubmatch(err.Error()); set != nil {
		return fmt.Errorf("--%s cannot be combined; write one of them", strings.ReplaceAll(set[1], " ", " and --"))
	}
	if called.HasParent() {
		return err
	}
	if _, other := fmt.Sscanf(err.Error(), "unknown command %q", &word); other != nil {
		return err
	}
	return unknownCommand(called, word)
}

func unknownCommand(parent *cobra.Command, word string) error {
	hint := ""
	if !parent.HasParent() {
		hint = elsewhere[strings.ToLower(word)]
	}
	var names []string
	for _, c := range parent.Commands() {
		names = append(append(names, c.Name()), c.Aliases...)
	}
	hint = cmp.Or(hint, harmless.DidYouMean(word, names), parent.CommandPath()+" --help shows the commands")
	return fmt.Errorf("%s has no command %q: %s", parent.CommandPath(), word, hint)
}

// flagError adds a suggestion to the error about a flag.
func flagError(command *cobra.Command, err error) error {
	if e, is := errors.AsType[*pflag.NotExistError](err); is {
		return unknownFlag(command, e)
	}
	if e, is := errors.AsType[*pflag.ValueRequiredError](err); is {
		return fmt.Errorf("--%s: the value is missing; %s", e.GetFlag().Name, kindOf(e.GetFlag()).write)
	}
	if e, is := errors.AsType[*pflag.InvalidValueError](err); is {
		return invalidValue(e)
	}
	if e, is := errors.AsType[*pflag.InvalidSyntaxError](err); is {
		return fmt.Errorf("%q is not a flag; %s --help shows the flags", e.GetSpecifiedFlag(), command.CommandPath())
	}
	return err
}

func unknownFlag(command *cobra.Command, e *pflag.NotExistError) error {
	written, name := "--"+e.GetSpecifiedName(), e.GetSpecifiedName()
	if short := e.GetSpecifiedShortnames(); short != "" { // after a single - each letter is a flag
		written, name = "-"+short, short
	}
	var names []string
	command.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	hint := harmless.DidYouMean("--"+name, names)
	begun := slices.DeleteFunc(names, func(full string) bool { return !strings.HasPrefix(full, "--"+name+"-") })
	switch {
	case hint != "":
	case name == "version" && !command.HasParent():
		hint = "write " + command.CommandPath() + " version"
	case len(begun) == 1:
		hint = "did you mean " + begun[0] + "?"
	case command.Name() == "convert":
		hint = "write flags of spark-submit after --, as in kubectl spark convert -- spark-submit ARGUMENTS"
	case !slices.ContainsFunc(names, func(name string) bool { return name != "--help" }):
		hint = "it needs no flag; write " + command.CommandPath()
	default:
		hint = command.CommandPath() + " --help shows its flags"
	}
	return fmt.Errorf("%s has no flag %s: %s", command.CommandPath(), written, hint)
}

// valueKind describes the values of a flag: is names the expected kind, and write gives an example.
type valueKind struct{ is, write string }

func kindOf(f *pflag.Flag) valueKind {
	if c, is := f.Value.(choice); is {
		return valueKind{"one of " + strings.Join(c.values, ", "), "write one of " + strings.Join(c.values, ", ")}
	}
	switch f.Value.Type() {
	case "duration":
		return valueKind{"a duration", "write it with its unit, such as 10s, 5m or 1h"}
	case "int", "int32", "int64":
		return valueKind{"a whole number", "write a whole number such as 10"}
	case "bool":
		return valueKind{"true or false", fmt.Sprintf("write --%[1]s, or --%[1]s=false", f.Name)}
	case "stringSlice":
		return valueKind{"a list", "write values with commas between them, such as a,b"}
	}
	return valueKind{"a value", "write it behind the flag"}
}

func invalidValue(e *pflag.InvalidValueError) error {
	f, kind := e.GetFlag(), kindOf(e.GetFlag())
	if c, is := f.Value.(choice); is {
		return fmt.Errorf("--%s: %w", f.Name, c.refuse(e.GetValue()))
	}
	if errors.Is(e, strconv.ErrRange) {
		return fmt.Errorf("--%s: %s: too large", f.Name, e.GetValue())
	}
	return fmt.Errorf("--%s: %q: not %s; %s", f.Name, e.GetValue(), kind.is, kind.write)
}

// choice is the value of a flag with a fixed set of values.
type choice struct {
	to     *string
	preset string
	values []string
}

// String, Set and Type implement pflag.Value.
func (c choice) String() string {
	if c.to == nil { // pflag also calls String on a zero value
		return ""
	}
	return *c.to
}

// Set accepts one of the values.
func (c choice) Set(word string) error {
	if word != c.preset && !slices.Contains(c.values, word) {
		return c.refuse(word)
	}
	*c.to = word
	return nil
}

// Type returns the word for the value in the help.
func (choice) Type() string { return "string" }

func (c choice) refuse(word string) error { return notOneOf(word, c.values) }

// notOneOf returns the error for a word outside of a set of values.
func notOneOf(word string, values []string) error {
	hint := harmless.DidYouMean(word, values)
	if hint != "" {
		hint = "; " + hint
	}
	return fmt.Errorf("invalid value %q: must be one of %s%s", word, strings.Join(values, ", "), hint)
}

// chosen adds a flag with a fixed set of values. Shells complete the values.
func chosen(command *cobra.Command, to *string, name, short, preset, help string, values ...string) {
	*to = preset
	command.Flags().VarP(choice{to, preset, values}, name, short, help)
	_ = command.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
