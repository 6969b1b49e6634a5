// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/text"
)

// PluginParameters is an administrator's configuration for the options of one plugin.
type PluginParameters struct {
	ParameterRules
	// Queues has rules for some queues. For each parameter, the first entry that matches the queue overrides the general rules.
	Queues []QueueParameters
}

// QueueParameters are rules for some queues.
type QueueParameters struct {
	// Queues are patterns of queue names.
	Queues []string
	ParameterRules
}

// ParameterRules are defaults and bounds, by parameter.
type ParameterRules struct {
	// Parameters are the defaults of parameters that applications omit.
	Parameters map[string]json.RawMessage
	// Bounds restrict the values that applications may set.
	Bounds map[string]Bound
}

// Bound restricts the value of one parameter. An empty field restricts nothing.
type Bound struct {
	Min, Max *int64
	// OneOf are the allowed values.
	OneOf []json.RawMessage
}

// over returns the rules, overridden by the rules of a queue.
func (p ParameterRules) over(queue ParameterRules) ParameterRules {
	return ParameterRules{Parameters: overlaid(p.Parameters, queue.Parameters), Bounds: overlaid(p.Bounds, queue.Bounds)}
}

func overlaid[V any](under, over map[string]V) map[string]V {
	all := map[string]V{}
	maps.Copy(all, under)
	maps.Copy(all, over)
	return all
}

// rules returns the rules for a plugin and a queue.
func (r *Registry) rules(d Descriptor, queue string) ParameterRules {
	for _, name := range []string{d.Name, d.AliasOf} {
		p, known := r.policy.Parameters[name]
		if !known {
			continue
		}
		for _, q := range p.Queues {
			if text.MatchesAny(q.Queues, queue) {
				return p.over(q.ParameterRules)
			}
		}
		return p.ParameterRules
	}
	return ParameterRules{}
}

// encoded returns the defaults in the form of a Choice.
func (p ParameterRules) encoded() string {
	if len(p.Parameters) == 0 {
		return ""
	}
	encoded, _ := json.Marshal(p.Parameters) // checkParameters has already encoded them
	return string(encoded)
}

// beyond returns errors for the parameters that violate the bounds. The plugin reports values of a wrong type.
func (p ParameterRules) beyond(given json.RawMessage, path, whose string) field.ErrorList {
	var own map[string]json.RawMessage
	if len(p.Bounds) == 0 || json.Unmarshal(given, &own) != nil {
		return nil
	}
	var findings field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if problem := p.Bounds[name].refuses(own[name]); problem != "" {
			findings = append(findings, Invalid(path+"."+name, fmt.Sprintf("%s: %s%s", bytes.TrimSpace(own[name]), problem, whose)))
		}
	}
	return findings
}

// refuses returns a text with the allowed values if the value is out of bounds; "" otherwise.
func (b Bound) refuses(value json.RawMessage) string {
	value = bytes.TrimSpace(value)
	if string(value) == "null" { // the parameter is omitted
		return ""
	}
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		switch {
		case b.Min != nil && n < *b.Min:
			return fmt.Sprintf("must be at least %d", *b.Min)
		case b.Max != nil && n > *b.Max:
			return fmt.Sprintf("must be at most %d", *b.Max)
		}
	}
	if len(b.OneOf) == 0 || slices.ContainsFunc(b.OneOf, func(v json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(v), value) }) {
		return ""
	}
	return "must be " + b.values()
}

func (b Bound) values() string {
	texts := make([]string, 0, len(b.OneOf))
	for _, v := range b.OneOf {
		texts = append(texts, string(bytes.TrimSpace(v)))
	}
	return strings.Join(texts, " or ")
}

// checkParameters finds configured parameters that the plugin would refuse in every application, and contradictory rules.
func (r *Registry) checkParameters() error {
	names := slices.Sorted(maps.Keys(r.policy.Parameters))
	if err := r.check("plugins", names...); err != nil {
		return err
	}
	for _, name := range names {
		path, p := "batchScheduler.plugins."+name, r.policy.Parameters[name]
		if err := r.checkRules(name, path, p.ParameterRules, p.ParameterRules); err != nil {
			return err
		}
		for i, q := range p.Queues {
			if err := r.checkRules(name, fmt.Sprintf("%s.queues[%d]", path, i), q.ParameterRules, p.over(q.ParameterRules)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkRules checks the rules at one place of the configuration. It also checks that the effective defaults are within the effective bounds.
func (r *Registry) checkRules(plugin, path string, rules, whole ParameterRules) error {
	if err := r.tries(plugin, path+".parameters", rules.Parameters); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(rules.Bounds)) {
		at, b := path+".bounds", rules.Bounds[name]
		switch {
		case b.Min == nil && b.Max == nil && len(b.OneOf) == 0:
			return fmt.Errorf("%s.%s: write min, max or oneOf", at, name)
		case b.Min != nil && b.Max != nil && *b.Min > *b.Max:
			return fmt.Errorf("%s.%s: min %d is more than max %d", at, name, *b.Min, *b.Max)
		}
		values := slices.Clone(b.OneOf)
		for _, n := range []*int64{b.Min, b.Max} {
			if n != nil {
				values = append(values, json.RawMessage(strconv.FormatInt(*n, 10)))
			}
		}
		for _, v := range values {
			if err := r.tries(plugin, at, map[string]json.RawMessage{name: v}); err != nil {
				return err
			}
		}
	}
	encoded, err := json.Marshal(whole.Parameters)
	if err != nil {
		return fmt.Errorf("%s.parameters: %w", path, err)
	}
	if findings := whole.beyond(encoded, path+".parameters", ", as the bounds say"); len(findings) > 0 {
		return errors.New(sentence(findings))
	}
	return nil
}

// tries returns an error if the plugin refuses the parameters.
func (r *Registry) tries(plugin, path string, parameters map[string]json.RawMessage) error {
	encoded, err := json.Marshal(parameters)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	a := Attempt{Choice: Choice{Scheduler: plugin}, Parameters: encoded, Fields: spark.Fields{FieldParameters: path}}
	findings, err := Validate(r.plugins[plugin].plugin, a)
	if err != nil {
		return err
	}
	findings = slices.DeleteFunc(findings, func(f *field.Error) bool { return !strings.HasPrefix(f.Field, path) })
	if len(findings) > 0 {
		return errors.New(sentence(findings))
	}
	return nil
}
