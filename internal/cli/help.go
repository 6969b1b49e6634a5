// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"go/doc/comment"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// helpWidth is the maximal width of a line of help, in columns.
const helpWidth = 100

// ofKubectl is the annotation of flags that kubectl defines and describes.
const ofKubectl = "kubectl"

// connectionFlags returns kubectl's connection flags and the values that they set.
func connectionFlags() (*genericclioptions.ConfigFlags, *pflag.FlagSet) {
	values, flags := genericclioptions.NewConfigFlags(false), pflag.NewFlagSet("", pflag.ContinueOnError)
	values.CacheDir = nil // nothing is cached
	values.AddFlags(flags)
	flags.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{ofKubectl: nil} })
	return values, flags
}

func newOptions(streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "Print the connection flags, which are kubectl's",
		Args:  arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, flags := connectionFlags()
			say(streams.Out, "Every command that reads a cluster accepts these flags of kubectl:\n\n%s", strings.TrimRight(flags.FlagUsagesWrapped(helpWidth), "\n"))
			return nil
		},
	}
}

// usage prints the usage of a command, which follows its description in the help.
func usage(command *cobra.Command) error {
	var own, all pflag.FlagSet
	command.LocalFlags().VisitAll(func(f *pflag.Flag) {
		all.AddFlag(f)
		if _, theirs := f.Annotations[ofKubectl]; !theirs {
			own.AddFlag(f)
		}
	})
	out := command.OutOrStderr()
	say(out, "Usage:\n  %s", usageLine(command))
	if command.HasExample() {
		say(out, "\nExamples:\n%s", command.Example)
	}
	if command.HasAvailableSubCommands() {
		sayCommands(command)
	}
	if own.HasAvailableFlags() {
		say(out, "\nFlags:\n%s", strings.TrimRight(own.FlagUsagesWrapped(helpWidth), "\n"))
	}
	if all.Lookup("context") != nil {
		say(out, "\n-n/--namespace, --context and the other flags of kubectl: %s options", command.Root().CommandPath())
	}
	if command.HasAvailableSubCommands() {
		say(out, "\n%s COMMAND --help describes a command.", command.CommandPath())
	}
	return nil
}

func usageLine(command *cobra.Command) string {
	if command.HasAvailableSubCommands() {
		return command.CommandPath() + " COMMAND"
	}
	line := command.UseLine()
	if len(command.Aliases) > 0 {
		line += "\n\nAliases:\n  " + command.NameAndAliases()
	}
	return line
}

// groups lists the commands by purpose.
var groups = []struct {
	title string
	names []string
}{
	{"Look", []string{"check", "explain", "list", "logs", "queue", "ui", "wait"}},
	{"Write and judge", []string{"render", "validate"}},
	{"Act", []string{"delete", "rerun", "resume", "suspend", "trigger"}},
	{"Migrate from spark-submit", []string{"adopt", "convert"}},
	{"Sessions of Spark Connect", []string{"connect"}},
	{"Other", []string{"completion", "help", "options", "version"}},
}

// group assigns the subcommands of the root to their groups.
func group(root *cobra.Command) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range root.Commands() {
			if slices.Contains(g.names, c.Name()) {
				c.GroupID = g.title
			}
		}
	}
}

// sayCommands lists the subcommands, by group if they have any.
func sayCommands(command *cobra.Command) {
	out, all := command.OutOrStderr(), command.Groups()
	if len(all) == 0 {
		all = []*cobra.Group{{Title: "Commands"}}
	}
	for _, g := range all {
		say(out, "\n%s:", g.Title)
		for _, c := range command.Commands() {
			if c.GroupID == g.ID {
				say(out, "  %-*s %s", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
}

// help prints the description of a command, and its usage.
func help(command *cobra.Command, _ []string) {
	var parser comment.Parser
	printer := comment.Printer{TextWidth: helpWidth, TextCodePrefix: "  "}
	say(command.OutOrStdout(), "%s", printer.Text(parser.Parse(cmp.Or(command.Long, command.Short))))
	_ = command.Usage() // a failed write to a closed output needs no error
}
