// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/inspect"
)

// withoutType is the help text about names without a type.
const withoutType = "A name without a type means an application, or else a schedule,\n" +
	"a server or a cluster. Objects of spark.apache.org and servers that share their name with another object need their type."

// verb is an operation on objects.
type verb struct {
	// past is the verb in the output, such as "deleted".
	past string
	// kinds are the supported kinds. A name without a type belongs to the first kind.
	kinds []inspect.Type
	// wrong suggests a command for an object of another kind.
	wrong func(inspect.Type) string
	// whole requires that all named objects exist. Otherwise "delete pods pi" would delete pi.
	whole bool
	// do runs the operation. It returns whether the object changed, and notes for the user.
	do func(ctx context.Context, c *connection, o inspect.Object, dry dryRun, now time.Time) (changed bool, notes []string, err error)
}

// targets holds the flags that select objects.
type targets struct {
	selector string
	all, yes bool
	dry      dryRun
}

// newVerb completes a command that applies an operation to objects.
func newVerb(command *cobra.Command, v verb, streams genericiooptions.IOStreams) *cobra.Command {
	var t targets
	var clusters cluster
	command.Args = t.args
	command.RunE = func(command *cobra.Command, args []string) error {
		connected, err := clusters.connect()
		if err != nil {
			return err
		}
		return t.run(command.Context(), connected, args, v, streams)
	}
	clusters = addCluster(command)
	command.ValidArgsFunction = clusters.completeObjects(v.kinds...)
	command.Flags().StringVarP(&t.selector, "selector", "l", "", "all objects of the type with these labels, such as team=a")
	command.Flags().BoolVar(&t.all, "all", false, "all objects of the type in the namespace; needs --yes")
	command.Flags().BoolVar(&t.yes, "yes", false, "do it to all of them")
	t.dry.addTo(command)
	return command
}

// args checks the number of arguments. They are names, or one type if a selector is given.
func (t *targets) args(command *cobra.Command, args []string) error {
	switch {
	case t.all && t.selector != "":
		return errors.New("--all and --selector: write one of them")
	case t.all || t.selector != "":
		return arguments(0, 1)(command, args)
	}
	return arguments(1, math.MaxInt)(command, args)
}

// run applies the operation to each object. After an error it continues with the next object.
func (t *targets) run(ctx context.Context, c *connection, args []string, v verb, streams genericiooptions.IOStreams) error {
	objects, errs := t.choose(ctx, c, args, v)
	if t.all && !t.yes && t.dry == dryRunNone && len(errs) == 0 && len(objects) > 0 {
		for _, o := range objects {
			say(streams.ErrOut, "%s would be %s", t.line(o), v.past)
		}
		return fmt.Errorf("--all: these are all objects of the type in namespace %s; with --yes they are %s", c.Namespace, v.past)
	}
	if len(objects) == 0 && len(errs) == 0 {
		say(streams.ErrOut, "No resources found in namespace %s.", c.Namespace)
	}
	for _, o := range objects {
		changed, notes, err := v.do(ctx, c, o, t.dry, time.Now())
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", t.line(o), inspect.ForPeople(err)))
			continue
		}
		suffix := ""
		if !changed {
			suffix = " (no change)"
		}
		say(streams.Out, "%s %s%s%s", t.line(o), v.past, suffix, t.dry.suffix())
		for _, note := range notes {
			say(streams.ErrOut, "%s: %s", o.GetName(), note)
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	for _, err := range errs {
		say(streams.ErrOut, "error: %v", inspect.ForPeople(err))
	}
	if len(errs) > 0 {
		return errFound
	}
	return nil
}

// line returns the name of an object as kubectl prints it.
func (t *targets) line(o inspect.Object) string { return o.Qualified() + "/" + o.GetName() }

// choose returns the objects selected by arguments and flags.
func (t *targets) choose(ctx context.Context, c *connection, args []string, v verb) ([]inspect.Object, []error) {
	if t.all || t.selector != "" {
		objects, err := t.list(ctx, c, args, v)
		if err != nil {
			return nil, []error{err}
		}
		return objects, nil
	}
	if _, err := inspect.TypeOf(args[0]); err == nil && len(args) > 1 {
		// As in kubectl, TYPE NAME... is accepted.
		var typed []string
		for _, name := range args[1:] {
			typed = append(typed, args[0]+"/"+name)
		}
		args = typed
	}
	var objects []inspect.Object
	var errs []error
	for i, arg := range args {
		o, err := c.Find(ctx, arg, v.kinds...)
		if near := inspect.NearType(arg); err != nil && near != "" && i == 0 && len(args) > 1 {
			err = fmt.Errorf("%w; or, as a type, did you mean %s?", err, near)
		}
		if err == nil && !slices.Contains(v.kinds, o.Type) {
			err = fmt.Errorf("%s is a %s: %s", o.GetName(), o.Kind, strings.ReplaceAll(v.wrong(o.Type), "NAME", o.Plain()))
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		objects = append(objects, o)
	}
	if v.whole && len(errs) > 0 && len(objects) > 0 {
		return nil, append(errs, fmt.Errorf("nothing is %s, because some of them do not exist", v.past))
	}
	return objects, errs
}

func (t *targets) list(ctx context.Context, c *connection, args []string, v verb) ([]inspect.Object, error) {
	k := v.kinds[0]
	if len(args) > 0 {
		var err error
		if k, err = inspect.TypeOf(args[0]); err != nil {
			return nil, fmt.Errorf("with --all and --selector there is a type and no name: %w", err)
		}
	}
	if !slices.Contains(v.kinds, k) {
		return nil, fmt.Errorf("not for %ss: %s", k.Kind, v.wrong(k))
	}
	which, err := labels.Parse(t.selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	return c.Select(ctx, k, which)
}
