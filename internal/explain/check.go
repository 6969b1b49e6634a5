// SPDX-License-Identifier: Apache-2.0

package explain

import (
	corev1 "k8s.io/api/core/v1"
)

// Checked is what was read for the checks of an installation and of a namespace. Of each part Unread says why it could not be read.
type Checked struct {
	Namespace string
	// Plugin is the version of this program.
	Plugin string
	// Unconfigured says why the operator's configuration is not known; "" if it is. Without it there are no Policies and no Schedulers, and
	// it is not known where the operator works.
	Unconfigured string
	Operator     CheckedOperator
	Definitions  []CheckedDefinition
	Scope        CheckedScope
	Rights       CheckedRights
	Accounts     CheckedAccounts
	Schedulers   []CheckedScheduler
	Quotas       CheckedQuotas
	// Policies are the names of those that hold in the namespace.
	Policies []string
	Webhooks CheckedWebhooks
}

// CheckedOperator is the operator's Deployment.
type CheckedOperator struct {
	Unread string
	// Missing says that there is none, and why; Named says that the user has named one.
	Missing string
	Named   bool
	// Namespace and Name are those of the Deployment; Version is "" if neither its image nor its labels have one.
	Namespace, Name, Version string
	Ready, Wanted            int32
	// Working are the operators that work in the namespace, if there are several.
	Working []string
}

// CheckedDefinition is a kind that the plugin knows.
type CheckedDefinition struct {
	// Kind is the kind, and Version its group version.
	Kind, Version string
	// Unread says why the schema could not be read.
	Unread    string
	Installed bool
	// Optional says that the operator needs it only if its configuration turns it on, and On that it does.
	Optional, On bool
	// Lacks are fields, shortened.
	Lacks string
}

// CheckedScope is where the operator works.
type CheckedScope struct {
	// Unread says why the labels of the namespace could not be read, if they matter.
	Unread string
	// Absent says that the namespace does not exist.
	Absent bool
	// Works says that the operator works in the namespace, by its Namespaces or by its Selector; both are empty for all namespaces.
	Works      bool
	Namespaces []string
	Selector   string
}

// CheckedRights are the resources of which the user may create objects in the namespace, and those of which not.
type CheckedRights struct {
	Unread      string
	May, MayNot []string
}

// CheckedAccounts are the service accounts that drivers may run as.
type CheckedAccounts struct {
	Unread string
	// Policy is the operator's policy that has a default, which is the only one of All then; "" for none.
	Policy string
	All    []CheckedAccount
}

// CheckedAccount is one service account.
type CheckedAccount struct {
	Name   string
	Absent bool
	// Creates says whether it may create pods, and Unread why that is not known.
	Creates bool
	Unread  string
	// Meant says that the account was made for drivers.
	Meant bool
}

// CheckedScheduler is a scheduler plugin that is enabled.
type CheckedScheduler struct {
	Name    string
	Default bool
	// Problem says which of its APIs is not installed.
	Problem string
}

// CheckedQuotas are the quotas of the namespace.
type CheckedQuotas struct {
	Unread string
	All    []corev1.ResourceQuota
}

// CheckedWebhooks are the configurations for the kinds of the operator.
type CheckedWebhooks struct {
	Unread string
	All    []CheckedWebhook
}

// CheckedWebhook is a service that the API server asks about objects.
type CheckedWebhook struct {
	// Configurations are the names of the configurations that name the service.
	Configurations []string
	// Service is namespace/name.
	Service string
	// Unread says why its endpoints could not be read, and Ready whether one is ready.
	Unread string
	Ready  bool
	// Refuses says that nothing is admitted while it does not answer.
	Refuses bool
}

// CheckStatus is the outcome of a check.
type CheckStatus string

// The outcomes of a check. What could not be read is unknown, and not wrong.
const (
	CheckOK      CheckStatus = "ok"
	CheckWrong   CheckStatus = "wrong"
	CheckUnknown CheckStatus = "unknown"
)

// CheckLine is the outcome of one check. Of several things a check may have several.
type CheckLine struct {
	// Name is operator, plugin, definitions, namespace, rights, account, schedulers, quotas, policies or webhook.
	Name    string      `json:"name"`
	Status  CheckStatus `json:"status"`
	Message string      `json:"message"`
	// Action says of what is wrong what to do, and who can.
	Action string `json:"action,omitempty"`
	// Right says of what is unknown what would be right.
	Right string `json:"right,omitempty"`
}

// CheckReport has the outcomes for a namespace.
type CheckReport struct {
	Namespace string      `json:"namespace"`
	Checks    []CheckLine `json:"checks"`
}

// Check says what is right and what is wrong with an installation, for those who work in a namespace.
func Check(c Checked) CheckReport {
	r := CheckReport{Namespace: c.Namespace}
	for _, lines := range []func(Checked) []CheckLine{
		checkOperator, checkPlugin, checkDefinitions, checkScope, checkRights, checkAccounts, checkSchedulers, checkQuotas, checkPolicies, checkWebhooks,
	} {
		r.Checks = append(r.Checks, lines(c)...)
	}
	return r
}

// Wrong is how many things are wrong.
func (r CheckReport) Wrong() int {
	n := 0
	for _, line := range r.Checks {
		if line.Status == CheckWrong {
			n++
		}
	}
	return n
}

// Text is the report for people.
func (r CheckReport) Text() string {
	p := printer{}
	for _, line := range r.Checks {
		p.line("%-12s  %-7s  %s", line.Name, line.Status, oneLine(line.Message))
		if line.Action != "" {
			p.line("%23s  %s", "", oneLine(line.Action))
		}
		if line.Right != "" {
			p.line("%23s  right is: %s", "", oneLine(line.Right))
		}
	}
	return p.String()
}
