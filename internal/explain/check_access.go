// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"

	"github.com/firesteel-dev/firesteel/internal/text"
)

const (
	accountCheck = "account"
	noExecutors  = ": drivers get no executors"
)

// accountAction tells how to create an account for drivers in a namespace.
func accountAction(namespace string) string {
	return fmt.Sprintf("an administrator of namespace %s gives it an account and its rights: config/rbac/spark-driver, docs/install.md", namespace)
}

// checkRights checks the user's rights. A user without rights may be an administrator who creates no applications.
func checkRights(c Checked) []CheckLine {
	const name = "rights"
	switch {
	case c.Scope.Absent:
		return nil
	case c.Rights.Unread != "":
		return []CheckLine{unknown(name, c.Rights.Unread, "you may create applications in namespace "+c.Namespace)}
	case len(c.Rights.MayNot) > 0:
		return []CheckLine{wrong(name, fmt.Sprintf("you may not create %s in namespace %s", strings.Join(c.Rights.MayNot, ", "), c.Namespace), fmt.Sprintf(
			"an administrator of namespace %[1]s gives you a RoleBinding to the cluster role edit "+
				"(kubectl create rolebinding NAME -n %[1]s --clusterrole=edit --user=YOU), "+
				"which has the right with the operator's roles for users: config/rbac/sparkapplication_editor_role.yaml, or userRoles.create of the chart", c.Namespace))}
	case len(c.Rights.May) == 0: // no kind is installed
		return nil
	}
	return []CheckLine{right(name, "you may create %s", strings.Join(c.Rights.May, ", "))}
}

func checkAccounts(c Checked) []CheckLine {
	a := c.Accounts
	would := fmt.Sprintf("a service account of namespace %s may create pods, and spec.driver.serviceAccount names it", c.Namespace)
	switch {
	case c.Scope.Absent:
		return nil
	case a.Unread != "":
		return []CheckLine{unknown(accountCheck, a.Unread, would)}
	case a.Policy != "" && len(a.All) > 0:
		return []CheckLine{defaultAccount(c, a.All[0])}
	}
	var creating, asked, names []string
	var lines []CheckLine
	why := ""
	for _, one := range a.All {
		names = append(names, one.Name)
		switch {
		case one.Unread != "":
			why = one.Unread
		case one.Creates:
			creating = append(creating, one.Name)
		case one.Meant:
			lines = append(lines, wrong(accountCheck, "the service account "+one.Name+" is for drivers, and may not create pods"+noExecutors,
				accountAction(c.Namespace)))
		default:
			asked = append(asked, one.Name)
		}
	}
	switch {
	case len(creating) > 0:
		lines = append(lines, right(accountCheck, "%s may create pods; write it in spec.driver.serviceAccount", strings.Join(creating, ", ")))
	case why != "" && a.All[0].Meant:
		lines = append(lines, unknown(accountCheck, a.All[0].Name+" is for drivers: write it in spec.driver.serviceAccount; "+
			"its permission to create pods is unknown: "+why,
			"it may create pods"))
	case why != "":
		lines = append(lines, unknown(accountCheck, fmt.Sprintf("namespace %s has the service accounts %s; their permissions to create pods are unknown: %s",
			c.Namespace, text.Some(names), why), would))
	case len(lines) == 0 && len(asked) == 0:
		lines = append(lines, wrong(accountCheck, fmt.Sprintf("namespace %s has no service account", c.Namespace), accountAction(c.Namespace)))
	case len(lines) == 0:
		lines = append(lines, wrong(accountCheck, fmt.Sprintf("no service account of namespace %s may create pods (%s)", c.Namespace, text.Some(asked))+noExecutors,
			accountAction(c.Namespace)))
	}
	return lines
}

// defaultAccount checks the service account that a policy gives to drivers.
func defaultAccount(c Checked, one CheckedAccount) CheckLine {
	runs := fmt.Sprintf("drivers run as %s by default (policy %s)", one.Name, c.Accounts.Policy)
	switch {
	case one.Absent:
		return wrong(accountCheck, fmt.Sprintf("%s, and namespace %s has no such service account", runs, c.Namespace), accountAction(c.Namespace))
	case one.Unread != "":
		return unknown(accountCheck, fmt.Sprintf("%s; its permission to create pods is unknown: %s", runs, one.Unread), "it may create pods")
	case !one.Creates:
		return wrong(accountCheck, runs+", and it may not create pods"+noExecutors, accountAction(c.Namespace))
	}
	return right(accountCheck, "%s, and it may create pods", runs)
}

func checkWebhooks(c Checked) []CheckLine {
	const name = "webhook"
	if c.Webhooks.Unread != "" {
		return []CheckLine{unknown(name, c.Webhooks.Unread, "if one is configured, its service has an endpoint that is ready")}
	}
	var lines []CheckLine
	for _, w := range c.Webhooks.All {
		what := fmt.Sprintf("%s: service %s", strings.Join(w.Configurations, ", "), w.Service)
		switch {
		case w.Unread != "":
			lines = append(lines, unknown(name, fmt.Sprintf("%s; its endpoints are unknown: %s", what, w.Unread), "one of them is ready"))
		case w.Ready:
			lines = append(lines, right(name, "%s has endpoints", what))
		default:
			then := "objects are admitted unchecked"
			if w.Refuses {
				then = "the API server refuses every change of an application"
			}
			lines = append(lines, wrong(name, fmt.Sprintf("%s has no endpoint that is ready: %s", what, then),
				"an administrator starts the webhook, or deletes the configuration if no operator uses it"))
		}
	}
	if len(lines) == 0 {
		lines = append(lines, right(name, "none is configured: errors are in an application's status"))
	}
	return lines
}
