// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// released is an installation as a release of another name has it, and its configuration.
func released(namespace, text string) (*appsv1.Deployment, []client.Object) {
	d, stored := operatorWith(configHead + text)
	d.Namespace, d.Name, stored.Namespace = namespace, namespace+"-spark-operator-controller", namespace
	return d, []client.Object{d, stored}
}

// The operator is found whatever its release is called, and of several the one of the namespace.
func TestExplainFindsTheOperator(t *testing.T) {
	const limit = "policies: [{name: small, namespaces: [jobs], limits: {executors: 1}}]\n"
	const refused = `(operator policy "small")`
	_, firesteel := released("firesteel", limit)
	_, elsewhere := released("other", "namespaces: [etl]\n")
	_, here := released("here", "namespaces: [jobs]\n"+limit)
	_, everywhere := released("wide", "")
	_, labeled := released("labeled", "namespaceSelector: team=a\n"+limit)
	kubeflow, _ := released("kubeflow", "")
	kubeflow.Spec.Template.Spec.Volumes = nil
	inUsual, usualStored := operatorWith(configHead + limit)
	inUsual.Name = "firesteel-spark-operator-controller"
	unlabeled, unlabeledStored := operatorWith(configHead + limit)
	unlabeled.Labels = nil
	all := apiserver.Request{Verb: "list", Resource: "deployments"}
	team := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "jobs", Labels: map[string]string{"team": "a"}}}
	cases := map[string]struct {
		reason  string
		objects []client.Object
		deny    []apiserver.Request
		args    []string
		says    string
		asked   int
	}{
		"Release":   {reason: "the documented migration installs a release firesteel; a list and a get, as for a name", objects: firesteel, says: refused, asked: 2},
		"Kubeflow":  {reason: "Kubeflow's operator has the same labels and no such configuration", objects: append(firesteel, kubeflow), says: refused, asked: 2},
		"Other":     {reason: "only Kubeflow's operator is there", objects: []client.Object{kubeflow}, says: `kubeflow/kubeflow-spark-operator-controller is another operator: it has no volume "config" of a ConfigMap`, asked: 1},
		"Named":     {reason: "the flag is one request more exact", objects: append(firesteel, here...), args: []string{"--operator", "here/here-spark-operator-controller"}, says: refused, asked: 2},
		"Unlabeled": {reason: "the usual name suffices where the labels are others", objects: []client.Object{unlabeled, unlabeledStored}, says: refused, asked: 3},
		"NoList":    {reason: "a user who may get the usual one only", objects: []client.Object{inUsual, usualStored, unlabeled, unlabeledStored}, deny: []apiserver.Request{all}, says: refused, asked: 3},
		"Nothing": {
			reason: "a user who may read no Deployment", objects: firesteel, deny: []apiserver.Request{{Resource: "deployments"}},
			says: "you may not get deployments.apps in namespace spark-operator: an administrator can grant you that permission (kubectl auth can-i get deployments.apps -n spark-operator); if it is installed elsewhere, name",
		},
		"Of two":     {reason: "the one that works in the namespace", objects: append(elsewhere, here...), says: refused},
		"By labels":  {reason: "the one whose selector matches", objects: append([]client.Object{team}, append(elsewhere, labeled...)...), says: refused},
		"Both":       {reason: "two that work in it", objects: append(everywhere, here...), says: "there are 2 operators, wide/wide-spark-operator-controller and here/here-spark-operator-controller, and 2 of them work in namespace jobs; name the operator's Deployment with --operator NAMESPACE/NAME"},
		"Neither":    {reason: "none works in it", objects: append(elsewhere, labeled...), says: "the one for namespace jobs is unknown"},
		"Not theirs": {reason: "none works in it", objects: append([]client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "jobs"}}}, append(elsewhere, labeled...)...), says: "and none of them works in namespace jobs"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, append([]client.Object{inState("new", v1beta2.ApplicationStateNew)}, tc.objects...)...)
			a.Deny(tc.deny...)
			out, errOut, code := execute(t, "", append([]string{"explain", "new"}, tc.args...)...)
			if code != 0 || !strings.Contains(out, tc.says) {
				t.Errorf("%s: exit code %d, it does not say %q:\n%s%s", tc.reason, code, tc.says, out, errOut)
			}
			asked := 0
			for _, r := range a.Requests() {
				if r.Resource == "deployments" || r.Resource == "configmaps" {
					asked++
				}
			}
			if tc.asked > 0 && asked != tc.asked {
				t.Errorf("%s: %d requests, want %d", tc.reason, asked, tc.asked)
			}
		})
	}
}

// With several operators nothing is said of all namespaces at once.
func TestQueueOfAllNamespacesHasOneOperator(t *testing.T) {
	_, elsewhere := released("other", "namespaces: [etl]\n")
	_, here := released("here", "namespaces: [jobs]\n")
	objects := append(elsewhere, here...)
	newAPI(t, append(objects, inState("new", v1beta2.ApplicationStateSubmitted, queued, func(o *v1beta2.SparkApplication) {
		o.Status.Cause.Reason = "WaitingForQuota"
		o.Status.Conditions[0].Reason = "WaitingForQuota"
	}))...)
	for flag, want := range map[string]bool{"-A": true, "-n=jobs": false} {
		_, errOut, _ := execute(t, "", "queue", flag, "-o", "json")
		if got := strings.Contains(errOut, "which work in namespaces of their own"); got != want {
			t.Errorf("%s: %q", flag, errOut)
		}
	}
}
