// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/text"
)

func right(name, format string, args ...any) CheckLine {
	return CheckLine{Name: name, Status: CheckOK, Message: fmt.Sprintf(format, args...)}
}

func wrong(name, message, action string) CheckLine {
	return CheckLine{Name: name, Status: CheckWrong, Message: message, Action: action}
}

func unknown(name, why, would string) CheckLine {
	return CheckLine{Name: name, Status: CheckUnknown, Message: why, Right: would}
}

func checkOperator(c Checked) []CheckLine {
	const name = "operator"
	o := c.Operator
	at := o.Namespace + "/" + o.Name
	version := ""
	if o.Version != "" {
		version = ", version " + o.Version
	}
	describe := fmt.Sprintf("an administrator finds the reason with kubectl describe deployment %s -n %s", o.Name, o.Namespace)
	var lines []CheckLine
	switch {
	case o.Missing != "":
		return []CheckLine{wrong(name, o.Missing, o.missingAction())}
	case o.Unread != "":
		return []CheckLine{unknown(name, o.Unread, "a Deployment of the operator that has a ready replica")}
	case o.Wanted == 0:
		lines = append(lines, wrong(name, at+version+" is scaled to 0 replicas: applications wait",
			fmt.Sprintf("an administrator scales it: kubectl scale deployment %s -n %s --replicas=1", o.Name, o.Namespace)))
	case o.Ready == 0:
		lines = append(lines, wrong(name, fmt.Sprintf("%s%s: 0 of %d replicas are ready: applications wait", at, version, o.Wanted), describe))
	default:
		lines = append(lines, right(name, "%s%s: %d of %d replicas are ready", at, version, o.Ready, o.Wanted))
	}
	if len(o.Working) > 1 {
		lines = append(lines, wrong(name, fmt.Sprintf("%d operators work in namespace %s: %s; each of them acts on every application",
			len(o.Working), c.Namespace, strings.Join(o.Working, " and ")),
			"an administrator removes the namespace from all but one: spark.jobNamespaces in the values of the chart"))
	}
	return lines
}

// missingAction returns the advice for a missing operator.
func (o CheckedOperator) missingAction() string {
	if o.Named {
		return "write another name after --operator, or leave it out"
	}
	return "an administrator installs it: docs/install.md"
}

func checkPlugin(c Checked) []CheckLine {
	const name, would = "plugin", "the minor version that the operator has"
	theirs := c.Operator.Version
	mine, mineKnown := minor(c.Plugin)
	other, otherKnown := minor(theirs)
	both := fmt.Sprintf("the plugin has version %s and the operator %s", c.Plugin, theirs)
	switch {
	case theirs == "":
		return []CheckLine{unknown(name, fmt.Sprintf("the plugin has version %s, and the operator's version is unknown", c.Plugin), would)}
	case theirs == c.Plugin:
		return []CheckLine{right(name, "the plugin has the operator's version, %s", theirs)}
	case !mineKnown || !otherKnown:
		return []CheckLine{unknown(name, both+", which cannot be compared", would)}
	case mine != other:
		return []CheckLine{wrong(name, both+": the plugin's answers may differ from the operator's behavior",
			fmt.Sprintf("take the plugin of release %s: kubectl-spark_%s_OS_ARCH", theirs, theirs))}
	}
	return []CheckLine{right(name, "%s", both)}
}

// minor returns the major and minor version of a release.
func minor(version string) (string, bool) {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 3 {
		return "", false
	}
	for _, part := range parts[:2] {
		if _, err := strconv.Atoi(part); err != nil {
			return "", false
		}
	}
	return parts[0] + "." + parts[1], true
}

func checkDefinitions(c Checked) []CheckLine {
	const name = "definitions"
	const page = "docs/install.md, Custom resource definitions"
	const install, update = "an administrator installs it: " + page, "an administrator updates it: " + page
	var lines []CheckLine
	var current, uncompared []CheckedDefinition
	why := ""
	for _, d := range c.Definitions {
		kind := fmt.Sprintf("%s of %s", d.Kind, d.Version)
		switch {
		case d.Optional && !d.On && (!d.Installed || d.Lacks != ""): // the kind may belong to another operator
		case !d.Installed:
			lines = append(lines, wrong(name, kind+" is not installed", install))
		case d.Unread != "":
			uncompared, why = append(uncompared, d), d.Unread
		case d.Lacks != "":
			lines = append(lines, wrong(name, kind+" is older than this plugin: the API server drops the fields that it lacks: "+d.Lacks, update))
		default:
			current = append(current, d)
		}
	}
	if len(uncompared) > 0 {
		lines = append(lines, unknown(name, fmt.Sprintf("installed are %s; their fields are unknown: %s", kindsOf(uncompared), why),
			"all fields that this plugin knows"))
	}
	if len(current) > 0 {
		lines = append(lines, right(name, "installed and current: %s", kindsOf(current)))
	}
	return lines
}

// kindsOf lists kinds, grouped by version.
func kindsOf(all []CheckedDefinition) string {
	var versions []string
	kinds := map[string][]string{}
	for _, d := range all {
		if kinds[d.Version] == nil {
			versions = append(versions, d.Version)
		}
		kinds[d.Version] = append(kinds[d.Version], d.Kind)
	}
	for i, version := range versions {
		versions[i] = strings.Join(kinds[version], " and ") + " of " + version
	}
	return strings.Join(versions, ", ")
}

// unconfigured explains once why the configuration is unknown: on the line of the operator, or on the first line that needs the configuration. Other lines
// refer to that line.
func (c Checked) unconfigured(name, what string) string {
	switch {
	case c.Operator.Missing != "" || c.Operator.Unread != "":
		return what + ": see operator"
	case name != scopeCheck:
		return what + ": see namespace"
	}
	return what + ": " + c.Unconfigured
}

const scopeCheck = "namespace"

func checkScope(c Checked) []CheckLine {
	const name = scopeCheck
	s := c.Scope
	var places []string
	if len(s.Namespaces) > 0 {
		places = append(places, text.Some(s.Namespaces))
	}
	if s.Selector != "" {
		places = append(places, "namespaces with the labels "+s.Selector)
	}
	where := strings.Join(places, " and ")
	switch {
	case s.Absent:
		return []CheckLine{wrong(name, "namespace "+c.Namespace+" does not exist", "write another one after -n, or an administrator creates it")}
	case c.Unconfigured != "":
		return []CheckLine{unknown(name, c.unconfigured(name, "the operator's namespaces are unknown"), c.Namespace+" is among its namespaces")}
	case s.Unread != "":
		return []CheckLine{unknown(name, fmt.Sprintf("the operator works in %s; the labels of %s are unknown: %s", where, c.Namespace, s.Unread),
			c.Namespace+" has these labels")}
	case !s.Works:
		action := "an administrator adds it: spark.jobNamespaces in the values of the chart, namespaces in the operator's configuration"
		if s.Selector != "" {
			action = "an administrator labels it or adds it: spark.jobNamespaces in the values of the chart, namespaces in the operator's configuration"
		}
		return []CheckLine{wrong(name, fmt.Sprintf("%s is not among the namespaces that the operator works in: %s", c.Namespace, where), action)}
	case where == "":
		return []CheckLine{right(name, "the operator works in all namespaces")}
	}
	return []CheckLine{right(name, "%s is among the namespaces that the operator works in: %s", c.Namespace, where)}
}

func checkSchedulers(c Checked) []CheckLine {
	const name = "schedulers"
	if c.Unconfigured != "" {
		return []CheckLine{unknown(name, c.unconfigured(name, "the enabled schedulers are unknown"),
			"the scheduler that your applications name is enabled, and its API is installed")}
	}
	var lines []CheckLine
	var names []string
	for _, s := range c.Schedulers {
		named := s.Name
		if s.Default {
			named += " (default)"
		}
		if s.Problem == "" {
			names = append(names, named)
			continue
		}
		enabled := "enabled, but "
		if s.Default {
			enabled = "enabled as the default, but "
		}
		lines = append(lines, wrong(name, enabled+s.Problem,
			"an administrator installs it, or removes it from batchScheduler.enabled of the operator's configuration"))
	}
	if len(names) > 0 {
		lines = append(lines, right(name, "enabled and installed: %s", strings.Join(names, ", ")))
	}
	return lines
}

// needed are the resources that every Spark pod uses.
var needed = []string{"pods", "count/pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}

func checkQuotas(c Checked) []CheckLine {
	const name = "quotas"
	switch {
	case c.Scope.Absent:
		return nil
	case c.Quotas.Unread != "":
		return []CheckLine{unknown(name, c.Quotas.Unread, "room for a driver and its executors")}
	}
	var lines []CheckLine
	var rest []string
	for _, q := range Usage(c.Quotas.All) {
		switch {
		case q.Hard == "0" && slices.Contains(needed, q.Resource):
			lines = append(lines, wrong(name, fmt.Sprintf("quota %s allows no %s: no pod can be created", q.Name, q.Resource), "an administrator raises it"))
		case q.Exhausted:
			rest = append(rest, fmt.Sprintf("0 of %s's %s %s: objects that need more wait", q.Name, q.Hard, q.Resource))
		default:
			rest = append(rest, fmt.Sprintf("%s of %s's %s %s", left(q), q.Name, q.Hard, q.Resource))
		}
	}
	switch {
	case len(rest) > 0:
		lines = append(lines, right(name, "left: %s", strings.Join(rest, "; ")))
	case len(lines) == 0:
		lines = append(lines, right(name, "namespace %s has none", c.Namespace))
	}
	return lines
}

// left returns the remainder of a quota.
func left(q Quota) string {
	hard, err := resource.ParseQuantity(q.Hard)
	used, wrong := resource.ParseQuantity(q.Used)
	if err != nil || wrong != nil {
		return "?"
	}
	hard.Sub(used)
	return scheduler.Amount(hard)
}

func checkPolicies(c Checked) []CheckLine {
	const name = "policies"
	switch {
	case c.Unconfigured != "":
		return []CheckLine{unknown(name, c.unconfigured(name, "the policies are unknown"), "your applications keep their limits")}
	case len(c.Policies) == 0:
		return []CheckLine{right(name, "none holds in %s", c.Namespace)}
	}
	return []CheckLine{right(name, "those that hold in %s: %s", c.Namespace, strings.Join(c.Policies, ", "))}
}
