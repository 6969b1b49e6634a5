// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/text"
)

// Check returns the fields with which the application exceeds the policies' limits: for each field, the first violation. The set must contain the policies of
// the application's namespace, and the application must have their defaults. built is the submission that would be created.
func (s Set) Check(app spark.Application, built spark.Submission) []*spark.ConfError {
	if !slices.ContainsFunc(s, func(p Policy) bool { return p.Limits.any() }) {
		return nil
	}
	c := checkerOf(s, app, built)
	for i := range s {
		c.policy, c.limits = s[i].Name, s[i].Limits
		c.check()
	}
	for _, o := range s.CheckExposure(app, "") {
		if !c.said[c.about(o.ConfError)] { // attached objects are also in the submission, which was checked above
			c.found = append(c.found, o.ConfError)
		}
	}
	return c.found
}

// check checks all limits of one policy.
func (c *checker) check() {
	for _, limit := range []func(*checker){
		(*checker).seen, (*checker).sparkImages, (*checker).accounts, (*checker).sizes, (*checker).group, (*checker).executors, (*checker).conf, (*checker).urls,
		(*checker).requiredLabels, (*checker).volumeClaims,
	} {
		limit(c)
	}
	for _, s := range c.subjects {
		c.judge(s)
	}
	c.executorPaths()
}

// CheckRetention returns the errors of an application's retention settings.
func (s Set) CheckRetention(namespace string, fields spark.Fields, r lifecycle.Retention) []*spark.ConfError {
	c := checker{app: spark.Application{Namespace: namespace, Fields: fields}, said: map[string]bool{}}
	for i := range s {
		c.policy = s[i].Name
		limit := s[i].Limits.TimeToLiveSeconds
		if limit == nil {
			continue
		}
		for field, keep := range map[spark.Field]*time.Duration{"onSuccess": r.OnSuccess.Application, "onFailure": r.OnFailure.Application} {
			if keep == nil || *keep <= *seconds(*limit) {
				continue
			}
			name := "retention." + field + ".application"
			if r.OnSuccess.Application != nil && r.OnFailure.Application != nil && *r.OnSuccess.Application == *r.OnFailure.Application {
				name = "timeToLiveSeconds"
			}
			c.refuse(&spark.ConfError{Field: name, Value: keep.String()}, "at most %d seconds", *limit)
		}
	}
	slices.SortFunc(c.found, func(x, y *spark.ConfError) int { return cmp.Compare(x.Field, y.Field) })
	return c.found
}

// RetriesPerHour returns the smallest limit of retries within an hour; nil for none.
func (s Set) RetriesPerHour() *int32 {
	var least *int32
	for i := range s {
		if n := s[i].Limits.RetriesPerHour; n != nil && (least == nil || *n < *least) {
			least = n
		}
	}
	return least
}

// any reports whether any limit needs Check.
func (l Limits) any() bool {
	l.TimeToLiveSeconds, l.RetriesPerHour, l.ForbidLogTails = nil, nil, false
	return !reflect.ValueOf(l).IsZero()
}

// ofExecutors reports whether any limit applies to executors.
func (l Limits) ofExecutors() bool {
	l.ServiceTypes, l.Hosts, l.Paths, l.ForbiddenConf, l.Driver, l.Executors = nil, nil, nil, nil, RoleLimits{}, nil
	l.IngressClasses, l.Gateways, l.PlainServices, l.ForbidNetworkPeers = nil, nil, false, false
	return l.any()
}

// checker checks the limits of one policy.
type checker struct {
	app   spark.Application
	built spark.Submission
	// read reads the configuration as the driver will read it.
	read spark.Reader
	// subjects are all created objects, pods first.
	subjects []subject
	// claims sum the PersistentVolumeClaims of the driver and of each executor.
	claims struct{ driver, executor claimed }
	// preset holds the labels and properties that the administrator's defaults set.
	preset preset

	policy string
	limits Limits
	said   map[string]bool
	found  []*spark.ConfError
}

func checkerOf(s Set, app spark.Application, built spark.Submission) checker {
	c := checker{app: app, built: built, read: spark.NewReader(app, built), preset: presetOf(s), said: map[string]bool{}}
	c.gather()
	return c
}

// refuse adds a violation: "<problem, if any>namespace team-a allows <what> (operator policy "small")".
func (c *checker) refuse(e *spark.ConfError, allows string, args ...any) {
	if c.said[c.about(e)] {
		return
	}
	c.said[c.about(e)] = true
	if e.Problem != "" {
		e.Problem += "; "
	}
	e.Policy, e.Limit = c.policy, fmt.Sprintf(allows, args...)
	e.Problem += fmt.Sprintf("namespace %s allows %s (operator policy %q)", c.app.Namespace, e.Limit, e.Policy)
	c.found = append(c.found, e)
}

// allow refuses a name that matches none of the patterns. An empty list allows all names.
func (c *checker) allow(e *spark.ConfError, patterns []string, name, what string) {
	if len(patterns) > 0 && !text.MatchesAny(patterns, name) {
		c.refuse(e, "the %s %s", what, strings.Join(patterns, ", "))
	}
}

// about returns the key under which a violation is reported once: the property, or the path, which several fields may share.
func (c *checker) about(e *spark.ConfError) string {
	if e.Key != "" {
		return e.Key
	}
	return c.app.Fields.Path(e.Field)
}

// value returns a property as the user or the operator wrote it.
func (c *checker) value(key string) string {
	if v, ok := c.app.OperatorConf[key]; ok {
		return v
	}
	return c.app.Conf[key]
}

// at returns the source of a value: the property if it is set, else the field.
func (c *checker) at(key string, field spark.Field) *spark.ConfError {
	if _, set := c.app.Conf[key]; set {
		return &spark.ConfError{Key: key, Value: c.value(key)}
	}
	return &spark.ConfError{Field: field}
}

// naming returns the source of a value: the first of the properties that has the value, else the field.
func (c *checker) naming(value string, field spark.Field, keys ...string) *spark.ConfError {
	for _, key := range keys {
		if _, set := c.app.Conf[key]; set && slices.Contains(splitList(c.read.Text(key)), value) {
			return &spark.ConfError{Key: key, Value: value}
		}
	}
	return &spark.ConfError{Field: field, Value: value}
}

// splitList splits a list in Spark's syntax.
func splitList(list string) []string {
	parts := strings.Split(list, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// conf checks the names of the user's properties in sparkConf and hadoopConf. Properties that fields set have limits of their own.
func (c *checker) conf() {
	for _, key := range slices.Sorted(maps.Keys(c.app.Conf)) {
		if origin, typed := c.app.Origins[key]; typed && !strings.HasPrefix(string(origin.Field), "hadoopConf") {
			continue
		}
		if value, set := c.app.OperatorConf[key]; set && value == c.app.Conf[key] {
			continue
		}
		if text.MatchesAny(c.limits.ForbiddenConf, key) {
			c.refuse(&spark.ConfError{Key: key}, "no such property")
		}
	}
}

// seen refuses values that only the driver will know: executors can be limited only if the values are known before the driver runs.
func (c *checker) seen() {
	if !c.limits.ofExecutors() {
		return
	}
	for _, key := range c.read.Unknown() {
		e := &spark.ConfError{Key: key, Value: c.value(key), Problem: "refers to the driver's environment, which is not known before it runs"}
		c.refuse(e, "only values that can be checked")
	}
	if path := c.read.UnseenTemplate(); path != "" {
		e := &spark.ConfError{Key: spark.ConfExecTemplateFile, Value: path}
		e.Problem = "a file of the driver's pod, which the operator cannot read; write the template into " + c.app.Fields.Path("executor.template")
		c.refuse(e, "only templates that can be checked")
	}
}
