// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sound is an installation in which nothing is wrong.
func sound() Checked {
	return Checked{
		Namespace: "jobs", Plugin: "v1.2.0",
		Operator:    CheckedOperator{Namespace: "firesteel", Name: "controller", Version: "v1.2.3", Ready: 1, Wanted: 2},
		Definitions: []CheckedDefinition{{Kind: "SparkApplication", Version: "g/v1", Installed: true}, {Kind: "Cluster", Version: "h/v1", Optional: true}},
		Scope:       CheckedScope{Works: true},
		Rights:      CheckedRights{May: []string{"apps.g", "schedules.g"}},
		Accounts:    CheckedAccounts{All: []CheckedAccount{{Name: "spark", Creates: true, Meant: true}, {Name: "default"}}},
		Schedulers:  []CheckedScheduler{{Name: "kube", Default: true}, {Name: "volcano"}},
	}
}

func quota(hard, used string) []corev1.ResourceQuota {
	list := func(amount string) corev1.ResourceList {
		return corev1.ResourceList{"pods": resource.MustParse(amount)}
	}
	return []corev1.ResourceQuota{{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Status: corev1.ResourceQuotaStatus{Hard: list(hard), Used: list(used)}}}
}

func TestCheck(t *testing.T) {
	line := func(name string, status CheckStatus, message, more string) CheckLine {
		l := CheckLine{Name: name, Status: status, Message: message}
		if status == CheckUnknown {
			l.Right = more
		} else {
			l.Action = more
		}
		return l
	}
	const account = "an administrator of namespace jobs gives it an account and its rights: config/rbac/spark-driver, docs/install.md"
	const mayCreate = "a service account of namespace jobs may create pods, and spec.driver.serviceAccount names it"
	const install = "an administrator installs it: docs/install.md, Custom resource definitions"
	const update = "an administrator updates it: docs/install.md, Custom resource definitions"
	const add = "an administrator adds it: spark.jobNamespaces in the values of the chart, namespaces in the operator's configuration"
	cases := map[string]struct {
		reason string
		change func(*Checked)
		about  string
		want   []CheckLine
	}{
		"Operator": {
			reason: "one ready replica works", about: "operator", change: func(*Checked) {},
			want: []CheckLine{line("operator", CheckOK, "firesteel/controller, version v1.2.3: 1 of 2 replicas are ready", "")},
		},
		"NoOperator": {
			reason: "a user cannot install one", about: "operator", change: func(c *Checked) { c.Operator = CheckedOperator{Missing: "none"} },
			want: []CheckLine{line("operator", CheckWrong, "none", "an administrator installs it: docs/install.md")},
		},
		"NoSuchOperator": {
			reason: "the flag has a typo", about: "operator", change: func(c *Checked) { c.Operator = CheckedOperator{Missing: "no a/b", Named: true} },
			want: []CheckLine{line("operator", CheckWrong, "no a/b", "write another name after --operator, or leave it out")},
		},
		"UnreadOperator": {
			reason: "most users may not", about: "operator", change: func(c *Checked) { c.Operator = CheckedOperator{Unread: "you may not"} },
			want: []CheckLine{line("operator", CheckUnknown, "you may not", "a Deployment of the operator that has a ready replica")},
		},
		"Scaled": {
			reason: "scaled away", about: "operator", change: func(c *Checked) { c.Operator.Ready, c.Operator.Wanted = 0, 0 },
			want: []CheckLine{line("operator", CheckWrong, "firesteel/controller, version v1.2.3 is scaled to 0 replicas: applications wait",
				"an administrator scales it: kubectl scale deployment controller -n firesteel --replicas=1")},
		},
		"NotReady": {
			reason: "it does not start", about: "operator", change: func(c *Checked) { c.Operator.Ready, c.Operator.Version = 0, "" },
			want: []CheckLine{line("operator", CheckWrong, "firesteel/controller: 0 of 2 replicas are ready: applications wait",
				"an administrator finds the reason with kubectl describe deployment controller -n firesteel")},
		},
		"Rivals": {
			reason: "a migration that was not finished", about: "operator", change: func(c *Checked) { c.Operator.Working = []string{"a/a", "b/b"} },
			want: []CheckLine{
				line("operator", CheckOK, "firesteel/controller, version v1.2.3: 1 of 2 replicas are ready", ""),
				line("operator", CheckWrong, "2 operators work in namespace jobs: a/a and b/b; each of them acts on every application",
					"an administrator removes the namespace from all but one: spark.jobNamespaces in the values of the chart"),
			},
		},
		"Fits": {
			reason: "a patch release changes nothing", about: "plugin", change: func(*Checked) {},
			want: []CheckLine{line("plugin", CheckOK, "the plugin has version v1.2.0 and the operator v1.2.3", "")},
		},
		"Same": {
			reason: "a version that is no release, too", about: "plugin", change: func(c *Checked) { c.Plugin, c.Operator.Version = "dev", "dev" },
			want: []CheckLine{line("plugin", CheckOK, "the plugin has the operator's version, dev", "")},
		},
		"OldPlugin": {
			reason: "another minor", about: "plugin", change: func(c *Checked) { c.Plugin = "v1.1.9" },
			want: []CheckLine{line("plugin", CheckWrong, "the plugin has version v1.1.9 and the operator v1.2.3: the plugin's answers may differ from the operator's behavior",
				"take the plugin of release v1.2.3: kubectl-spark_v1.2.3_OS_ARCH")},
		},
		"DevPlugin": {
			reason: "not known to be wrong", about: "plugin", change: func(c *Checked) { c.Plugin = "dev" },
			want: []CheckLine{line("plugin", CheckUnknown, "the plugin has version dev and the operator v1.2.3, which cannot be compared", "the minor version that the operator has")},
		},
		"NoVersion": {
			reason: "an image by its digest", about: "plugin", change: func(c *Checked) { c.Operator.Version = "" },
			want: []CheckLine{line("plugin", CheckUnknown, "the plugin has version v1.2.0, and the operator's version is unknown", "the minor version that the operator has")},
		},
		"Definitions": {
			reason: "what is off need not be installed", about: "definitions", change: func(*Checked) {},
			want: []CheckLine{line("definitions", CheckOK, "installed and current: SparkApplication of g/v1", "")},
		},
		"OldDefinitions": {
			reason: "one is older, one is missing, one is on and missing", about: "definitions",
			change: func(c *Checked) {
				c.Definitions = append(c.Definitions, CheckedDefinition{Kind: "Connect", Version: "g/v2"})
				c.Definitions[0].Lacks, c.Definitions[1].On = "spec.suspend", true
			},
			want: []CheckLine{
				line("definitions", CheckWrong, "SparkApplication of g/v1 is older than this plugin: the API server drops the fields that it lacks: spec.suspend", update),
				line("definitions", CheckWrong, "Cluster of h/v1 is not installed", install), line("definitions", CheckWrong, "Connect of g/v2 is not installed", install),
			},
		},
		"OthersDefinitions": {
			reason: "those of Apache's operator are its own while the family is off", about: "definitions",
			change: func(c *Checked) { c.Definitions[1].Installed, c.Definitions[1].Lacks = true, "spec.x" },
			want:   []CheckLine{line("definitions", CheckOK, "installed and current: SparkApplication of g/v1", "")},
		},
		"UnreadDefinitions": {
			reason: "the schema is not published to all", about: "definitions", change: func(c *Checked) { c.Definitions[0].Unread = "you may not" },
			want: []CheckLine{line("definitions", CheckUnknown, "installed are SparkApplication of g/v1; their fields are unknown: you may not", "all fields that this plugin knows")},
		},
		"All": {
			reason: "no list and no selector", about: "namespace", change: func(*Checked) {},
			want: []CheckLine{line("namespace", CheckOK, "the operator works in all namespaces", "")},
		},
		"Listed": {
			reason: "by list or selector", about: "namespace", change: func(c *Checked) { c.Scope.Namespaces, c.Scope.Selector = []string{"jobs"}, "a=b" },
			want: []CheckLine{line("namespace", CheckOK, "jobs is among the namespaces that the operator works in: jobs and namespaces with the labels a=b", "")},
		},
		"NotListed": {
			reason: "only an administrator can change it", about: "namespace", change: func(c *Checked) { c.Scope = CheckedScope{Namespaces: []string{"etl"}} },
			want: []CheckLine{line("namespace", CheckWrong, "jobs is not among the namespaces that the operator works in: etl", add)},
		},
		"NotLabeled": {
			reason: "a label is enough", about: "namespace", change: func(c *Checked) { c.Scope = CheckedScope{Selector: "a=b"} },
			want: []CheckLine{line("namespace", CheckWrong, "jobs is not among the namespaces that the operator works in: namespaces with the labels a=b",
				"an administrator labels it or adds it: spark.jobNamespaces in the values of the chart, namespaces in the operator's configuration")},
		},
		"Labels": {
			reason: "the labels decide, and cannot be read", about: "namespace", change: func(c *Checked) { c.Scope = CheckedScope{Selector: "a=b", Unread: "you may not"} },
			want: []CheckLine{line("namespace", CheckUnknown, "the operator works in namespaces with the labels a=b; the labels of jobs are unknown: you may not", "jobs has these labels")},
		},
		"Absent": {
			reason: "a typo; what is in it is not reported", about: "namespace", change: func(c *Checked) { c.Scope = CheckedScope{Absent: true} },
			want: []CheckLine{line("namespace", CheckWrong, "namespace jobs does not exist", "write another one after -n, or an administrator creates it")},
		},
		"NoConfiguration": {
			reason: "the reason is written once", about: "namespace", change: func(c *Checked) { c.Unconfigured = "you may not get configmaps" },
			want: []CheckLine{line("namespace", CheckUnknown, "the operator's namespaces are unknown: you may not get configmaps", "jobs is among its namespaces")},
		},
		"NoPolicies": {
			reason: "the reason is above", about: "policies", change: func(c *Checked) { c.Unconfigured = "you may not get configmaps" },
			want: []CheckLine{line("policies", CheckUnknown, "the policies are unknown: see namespace", "your applications keep their limits")},
		},
		"NoOperatorAtAll": {
			reason: "the reason is above", about: "schedulers", change: func(c *Checked) { c.Unconfigured, c.Operator.Unread = "you may not", "you may not" },
			want: []CheckLine{line("schedulers", CheckUnknown, "the enabled schedulers are unknown: see operator",
				"the scheduler that your applications name is enabled, and its API is installed")},
		},
		"Rights": {
			reason: "what the user may create", about: "rights", change: func(*Checked) {},
			want: []CheckLine{line("rights", CheckOK, "you may create apps.g, schedules.g", "")},
		},
		"SomeRights": {
			reason: "one of several is missing", about: "rights", change: func(c *Checked) { c.Rights.MayNot = []string{"servers.g"} },
			want: []CheckLine{line("rights", CheckWrong, "you may not create servers.g in namespace jobs", "an administrator of namespace jobs gives you a RoleBinding to the cluster role edit "+
				"(kubectl create rolebinding NAME -n jobs --clusterrole=edit --user=YOU), which has the right with the operator's roles for users: "+
				"config/rbac/sparkapplication_editor_role.yaml, or userRoles.create of the chart")},
		},
		"UnreadRights": {
			reason: "an API server may not answer", about: "rights", change: func(c *Checked) { c.Rights = CheckedRights{Unread: "you may not"} },
			want: []CheckLine{line("rights", CheckUnknown, "you may not", "you may create applications in namespace jobs")},
		},
		"NoKinds": {reason: "nothing is installed, as definitions says", about: "rights", change: func(c *Checked) { c.Rights = CheckedRights{} }, want: []CheckLine{}},
		"Account": {
			reason: "one that may", about: "account", change: func(*Checked) {},
			want: []CheckLine{line("account", CheckOK, "spark may create pods; write it in spec.driver.serviceAccount", "")},
		},
		"NoAccount": {
			reason: "the usual trap: only the account default is there", about: "account", change: func(c *Checked) { c.Accounts.All = c.Accounts.All[1:] },
			want: []CheckLine{line("account", CheckWrong, "no service account of namespace jobs may create pods (default): drivers get no executors", account)},
		},
		"Rightless": {
			reason: "the account is there, its Role is not", about: "account", change: func(c *Checked) { c.Accounts.All[0].Creates = false },
			want: []CheckLine{line("account", CheckWrong, "the service account spark is for drivers, and may not create pods: drivers get no executors", account)},
		},
		"UnaskedDriver": {
			reason: "who may not ask sees the name that counts", about: "account", change: func(c *Checked) { c.Accounts.All[0].Unread, c.Accounts.All[1].Unread = "you may not", "you may not" },
			want: []CheckLine{line("account", CheckUnknown, "spark is for drivers: write it in spec.driver.serviceAccount; its permission to create pods is unknown: you may not", "it may create pods")},
		},
		"Unasked": {
			reason: "who may not ask sees the names", about: "account",
			change: func(c *Checked) {
				c.Accounts.All[0].Meant = false
				c.Accounts.All[0].Unread, c.Accounts.All[1].Unread = "you may not", "you may not"
			},
			want: []CheckLine{line("account", CheckUnknown, "namespace jobs has the service accounts spark, default; their permissions to create pods are unknown: you may not", mayCreate)},
		},
		"UnreadAccounts": {
			reason: "nothing can be read", about: "account", change: func(c *Checked) { c.Accounts = CheckedAccounts{Unread: "you may not"} },
			want: []CheckLine{line("account", CheckUnknown, "you may not", mayCreate)},
		},
		"Empty": {
			reason: "accounts have not come yet", about: "account", change: func(c *Checked) { c.Accounts = CheckedAccounts{} },
			want: []CheckLine{line("account", CheckWrong, "namespace jobs has no service account", account)},
		},
		"Default": {
			reason: "a policy names it", about: "account", change: func(c *Checked) { c.Accounts = byPolicy(CheckedAccount{Name: "etl", Creates: true}) },
			want: []CheckLine{line("account", CheckOK, "drivers run as etl by default (policy team), and it may create pods", "")},
		},
		"DefaultAbsent": {
			reason: "a policy names one that is not there", about: "account", change: func(c *Checked) { c.Accounts = byPolicy(CheckedAccount{Name: "etl", Absent: true}) },
			want: []CheckLine{line("account", CheckWrong, "drivers run as etl by default (policy team), and namespace jobs has no such service account", account)},
		},
		"DefaultRightless": {
			reason: "a policy names one without rights", about: "account", change: func(c *Checked) { c.Accounts = byPolicy(CheckedAccount{Name: "etl"}) },
			want: []CheckLine{line("account", CheckWrong, "drivers run as etl by default (policy team), and it may not create pods: drivers get no executors", account)},
		},
		"DefaultUnasked": {
			reason: "who may not ask", about: "account", change: func(c *Checked) { c.Accounts = byPolicy(CheckedAccount{Name: "etl", Unread: "you may not"}) },
			want: []CheckLine{line("account", CheckUnknown, "drivers run as etl by default (policy team); its permission to create pods is unknown: you may not", "it may create pods")},
		},
		"Schedulers": {
			reason: "which an application may name", about: "schedulers", change: func(*Checked) {},
			want: []CheckLine{line("schedulers", CheckOK, "enabled and installed: kube (default), volcano", "")},
		},
		"NoVolcano": {
			reason: "enabled, and its API is missing", about: "schedulers", change: func(c *Checked) { c.Schedulers[1].Problem = "volcano is not installed" },
			want: []CheckLine{
				line("schedulers", CheckWrong, "enabled, but volcano is not installed", "an administrator installs it, or removes it from batchScheduler.enabled of the operator's configuration"),
				line("schedulers", CheckOK, "enabled and installed: kube (default)", ""),
			},
		},
		"NoQuota": {
			reason: "no limit", about: "quotas", change: func(*Checked) {},
			want: []CheckLine{line("quotas", CheckOK, "namespace jobs has none", "")},
		},
		"Room": {
			reason: "what is left", about: "quotas", change: func(c *Checked) { c.Quotas.All = quota("10", "3") },
			want: []CheckLine{line("quotas", CheckOK, "left: 7 of team's 10 pods", "")},
		},
		"Full": {
			reason: "full is no fault: it passes", about: "quotas", change: func(c *Checked) { c.Quotas.All = quota("10", "10") },
			want: []CheckLine{line("quotas", CheckOK, "left: 0 of team's 10 pods: objects that need more wait", "")},
		},
		"Zero": {
			reason: "no pod ever", about: "quotas", change: func(c *Checked) { c.Quotas.All = quota("0", "0") },
			want: []CheckLine{line("quotas", CheckWrong, "quota team allows no pods: no pod can be created", "an administrator raises it")},
		},
		"UnreadQuotas": {
			reason: "nothing can be read", about: "quotas", change: func(c *Checked) { c.Quotas.Unread = "you may not" },
			want: []CheckLine{line("quotas", CheckUnknown, "you may not", "room for a driver and its executors")},
		},
		"NoPolicy": {
			reason: "none", about: "policies", change: func(*Checked) {},
			want: []CheckLine{line("policies", CheckOK, "none holds in jobs", "")},
		},
		"Policies": {
			reason: "names to ask for", about: "policies", change: func(c *Checked) { c.Policies = []string{"small", "team"} },
			want: []CheckLine{line("policies", CheckOK, "those that hold in jobs: small, team", "")},
		},
		"NoWebhook": {
			reason: "it is optional", about: "webhook", change: func(*Checked) {},
			want: []CheckLine{line("webhook", CheckOK, "none is configured: errors are in an application's status", "")},
		},
		"Webhooks": {
			reason: "one answers, one is left behind, one refuses, one is not known", about: "webhook",
			change: func(c *Checked) {
				c.Webhooks.All = []CheckedWebhook{
					{Configurations: []string{"a", "b"}, Service: "n/a", Ready: true}, {Configurations: []string{"c"}, Service: "n/c"},
					{Configurations: []string{"d"}, Service: "n/d", Refuses: true}, {Configurations: []string{"e"}, Service: "n/e", Unread: "you may not"},
				}
			},
			want: []CheckLine{
				line("webhook", CheckOK, "a, b: service n/a has endpoints", ""),
				line("webhook", CheckWrong, "c: service n/c has no endpoint that is ready: objects are admitted unchecked",
					"an administrator starts the webhook, or deletes the configuration if no operator uses it"),
				line("webhook", CheckWrong, "d: service n/d has no endpoint that is ready: the API server refuses every change of an application",
					"an administrator starts the webhook, or deletes the configuration if no operator uses it"),
				line("webhook", CheckUnknown, "e: service n/e; its endpoints are unknown: you may not", "one of them is ready"),
			},
		},
		"UnreadWebhooks": {
			reason: "most users may not", about: "webhook", change: func(c *Checked) { c.Webhooks.Unread = "you may not" },
			want: []CheckLine{line("webhook", CheckUnknown, "you may not", "if one is configured, its service has an endpoint that is ready")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := sound()
			tc.change(&in)
			got := slices.DeleteFunc(Check(in).Checks, func(l CheckLine) bool { return l.Name != tc.about })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func byPolicy(one CheckedAccount) CheckedAccounts {
	return CheckedAccounts{Policy: "team", All: []CheckedAccount{one}}
}

// Unknown is not wrong, and a namespace that does not exist is wrong once.
func TestWrongIsCounted(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*Checked)
		want   int
	}{
		"Sound":   {"nothing is wrong", func(*Checked) {}, 0},
		"Unknown": {"what cannot be read", func(c *Checked) { c.Unconfigured, c.Operator = "x", CheckedOperator{Unread: "x"} }, 0},
		"Absent":  {"neither accounts nor quotas are asked of it", func(c *Checked) { c.Scope, c.Accounts = CheckedScope{Absent: true}, CheckedAccounts{} }, 1},
		"Two":     {"each is counted", func(c *Checked) { c.Plugin, c.Quotas.All = "v2.0.0", quota("0", "0") }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			in := sound()
			tc.change(&in)
			if got := Check(in).Wrong(); got != tc.want {
				t.Errorf("%s: %d, want %d:\n%s", tc.reason, got, tc.want, Check(in).Text())
			}
		})
	}
}
