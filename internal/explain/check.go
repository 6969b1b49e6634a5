// SPDX-License-Identifier: Apache-2.0

package explain

import (
	corev1 "k8s.io/api/core/v1"
)

// Checked is the input for the checks of an installation and a namespace. The fields Unread explain why a part could not be read.
type Checked struct {
	Namespace string
	// Plugin is the version of this program.
	Plugin string
	// Unconfigured explains why the operator's configuration is unknown; "" if it is known. Without the configuration, Policies, Schedulers and the operator's
	// namespaces are unknown.
	Unconfigured string
	Operator     CheckedOperator
	Definitions  []CheckedDefinition
	Scope        CheckedScope
	Rights       CheckedRights
	Accounts     CheckedAccounts
	Schedulers   []CheckedScheduler
	Quotas       CheckedQuotas
	// Policies are the names of the namespace's policies.
	Policies []string
	Webhooks CheckedWebhooks
}

// CheckedOperator is the operator's Deployment.
type CheckedOperator struct {
	Unread string
	// Missing explains why there is no operator. Named is set if the user named one.
	Missing string
	Named   bool
	// Namespace and Name are the Deployment's. Version is "" if neither its image nor its labels have one.
	Namespace, Name, Version string
	Ready, Wanted            int32
	// Working lists the operators that work in the namespace, if there are several.
	Working []string
}

// CheckedDefinition is one kind of the plugin.
type CheckedDefinition struct {
	// Kind is the kind, and Version its group version.
	Kind, Version string
	// Unread explains why the schema could not be read.
	Unread    string
	Installed bool
	// Optional is set if only some configurations of the operator need the kind. On is set if the present configuration needs it.
	Optional, On bool
	// Lacks lists missing fields, shortened.
	Lacks string
}

// CheckedScope says whether the operator works in the namespace.
type CheckedScope struct {
	// Unread explains why the namespace's labels could not be read, if the labels matter.
	Unread string
	// Absent is set if the namespace does not exist.
	Absent bool
	// Works is set if the operator works in the namespace. Namespaces and Selector are the operator's; both are empty for all namespaces.
	Works      bool
	Namespaces []string
	Selector   string
}

// CheckedRights lists the resources that the user may and may not create in the namespace.
type CheckedRights struct {
	Unread      string
	May, MayNot []string
}

// CheckedAccounts are the possible service accounts of drivers.
type CheckedAccounts struct {
	Unread string
	// Policy names the operator policy with a default account, which is then the only one in All; "" for none.
	Policy string
	All    []CheckedAccount
}

// CheckedAccount is one service account.
type CheckedAccount struct {
	Name   string
	Absent bool
	// Creates is set if the account may create pods. Unread explains why that is unknown.
	Creates bool
	Unread  string
	// Meant is set if the account was created for drivers.
	Meant bool
}

// CheckedScheduler is an enabled scheduler plugin.
type CheckedScheduler struct {
	Name    string
	Default bool
	// Problem names an API of the scheduler that is not installed.
	Problem string
}

// CheckedQuotas are the quotas of the namespace.
type CheckedQuotas struct {
	Unread string
	All    []corev1.ResourceQuota
}

// CheckedWebhooks are the webhooks that the API server calls about the operator's kinds.
type CheckedWebhooks struct {
	Unread string
	All    []CheckedWebhook
}

// CheckedWebhook is a service that the API server calls about objects.
type CheckedWebhook struct {
	// Configurations are the configurations that name the service.
	Configurations []string
	// Service is namespace/name.
	Service string
	// Unread explains why the service's endpoints could not be read. Ready is set if one endpoint is ready.
	Unread string
	Ready  bool
	// Refuses is set if the API server refuses objects while the service does not respond.
	Refuses bool
}

// CheckStatus is the outcome of a check.
type CheckStatus string

// The outcomes of a check. Anything that could not be read is unknown, not wrong.
const (
	CheckOK      CheckStatus = "ok"
	CheckWrong   CheckStatus = "wrong"
	CheckUnknown CheckStatus = "unknown"
)

// CheckLine is one line of a check. A check of several objects has several lines.
type CheckLine struct {
	// Name is operator, plugin, definitions, namespace, rights, account, schedulers, quotas, policies or webhook.
	Name    string      `json:"name"`
	Status  CheckStatus `json:"status"`
	Message string      `json:"message"`
	// Action says how to correct an error, and who can do it.
	Action string `json:"action,omitempty"`
	// Right describes the correct state, if the present state is unknown.
	Right string `json:"right,omitempty"`
}

// CheckReport has the checks of a namespace.
type CheckReport struct {
	Namespace string      `json:"namespace"`
	Checks    []CheckLine `json:"checks"`
}

// Check reports the state of an installation to the users of a namespace.
func Check(c Checked) CheckReport {
	r := CheckReport{Namespace: c.Namespace}
	for _, lines := range []func(Checked) []CheckLine{
		checkOperator, checkPlugin, checkDefinitions, checkScope, checkRights, checkAccounts, checkSchedulers, checkQuotas, checkPolicies, checkWebhooks,
	} {
		r.Checks = append(r.Checks, lines(c)...)
	}
	return r
}

// Wrong counts the errors.
func (r CheckReport) Wrong() int {
	n := 0
	for _, line := range r.Checks {
		if line.Status == CheckWrong {
			n++
		}
	}
	return n
}

// Text returns the report for users.
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
