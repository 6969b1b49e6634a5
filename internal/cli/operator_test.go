// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// operatorWith is what an installation has of its configuration: the Deployment, and the ConfigMap that it mounts.
func operatorWith(text string) (*appsv1.Deployment, *corev1.ConfigMap) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "spark-operator", Name: "spark-operator-controller",
		Labels: map[string]string{"app.kubernetes.io/name": "spark-operator", "app.kubernetes.io/component": "controller"},
	}}
	other := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "certificates"}}
	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings-5f6b"}}
	d.Spec.Template.Spec.Volumes = []corev1.Volume{
		{Name: "certificates", VolumeSource: corev1.VolumeSource{ConfigMap: other}}, {Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: source}},
	}
	return d, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "spark-operator", Name: "settings-5f6b"}, Data: map[string]string{"config.yaml": text},
	}
}

const configHead = "apiVersion: " + config.APIVersion + "\nkind: " + config.Kind + "\n"

// explain decides as the operator whose configuration it finds, and says so if it finds none.
func TestExplainConsidersTheConfiguration(t *testing.T) {
	const ignored = "policies and default scheduler are not considered"
	const policies = configHead + "policies: [{name: small, namespaces: [jobs], limits: {executors: 1}}]\nbatchScheduler: {default: kube}\n"
	const refused = `namespace jobs allows at most 1 executors at a time (operator policy "small")`
	deployment, stored := operatorWith(policies)
	unmounted := deployment.DeepCopy()
	unmounted.Spec.Template.Spec.Volumes = unmounted.Spec.Template.Spec.Volumes[:1]
	elsewhere, other := operatorWith(policies)
	elsewhere.Namespace, elsewhere.Name, other.Namespace = "platform", "controller", "platform"
	_, wrong := operatorWith(configHead + "policy: []\n")
	_, unknown := operatorWith(configHead + "batchScheduler: {default: own}\n")
	_, keyless := operatorWith("")
	keyless.Data = nil
	cases := map[string]struct {
		reason   string
		prepare  func(*apiserver.Server)
		args     []string
		says     []string
		mustNot  string
		errOut   string
		wantCode int
	}{
		"Found": {
			reason: "the Deployment says which ConfigMap", prepare: func(a *apiserver.Server) { a.Put(deployment); a.Put(stored) },
			says: []string{refused}, mustNot: ignored,
		},
		"Elsewhere": {
			reason: "the flag says where", prepare: func(a *apiserver.Server) { a.Put(elsewhere); a.Put(other) },
			args: []string{"--operator", "platform/controller"}, says: []string{refused}, mustNot: ignored,
		},
		"File": {
			reason: "a file wins and no one is asked", prepare: func(a *apiserver.Server) { a.Deny(request("get", "deployments")) },
			args: []string{"--config", "testdata/strict.yaml"}, says: []string{refused}, mustNot: ignored,
		},
		"NoFile": {
			reason: "a file that was named must be there", args: []string{"--config", "testdata/none.yaml"}, wantCode: 1, errOut: "testdata/none.yaml",
		},
		"NotThere": {
			reason: "not installed", says: []string{`there is no Deployment with the labels`, ignored}, mustNot: refused,
		},
		"Forbidden": {
			reason: "most users may not", prepare: func(a *apiserver.Server) { a.Put(deployment); a.Put(stored); a.Deny(request("get", "configmaps")) },
			says: []string{"you may not get configmaps in namespace spark-operator", ignored}, mustNot: refused,
		},
		"Unmounted": {
			reason: "not our Deployment", prepare: func(a *apiserver.Server) { a.Put(unmounted) }, says: []string{`no volume "config"`, ignored}, mustNot: refused,
		},
		"Gone": {
			reason: "the ConfigMap is not there", prepare: func(a *apiserver.Server) { a.Put(deployment) }, says: []string{`"settings-5f6b" not found`, ignored}, mustNot: refused,
		},
		"Keyless": {
			reason: "the ConfigMap is another's", prepare: func(a *apiserver.Server) { a.Put(deployment); a.Put(keyless) },
			says: []string{"settings-5f6b has no config.yaml", ignored}, mustNot: refused,
		},
		"Wrong": {
			reason: "of another version", prepare: func(a *apiserver.Server) { a.Put(deployment); a.Put(wrong) }, says: []string{`unknown field "policy"`, ignored}, mustNot: refused,
		},
		"UnknownScheduler": {
			reason: "the operator has a plugin that this program lacks", prepare: func(a *apiserver.Server) { a.Put(deployment); a.Put(unknown) },
			says: []string{`"own" is not a known scheduler`, ignored},
		},
		"NoNamespace": {
			reason: "half a name", args: []string{"--operator", "controller"}, says: []string{"--operator: write namespace/name", ignored},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, inState("new", v1beta2.ApplicationStateNew))
			if tc.prepare != nil {
				tc.prepare(a)
			}
			out, errOut, code := execute(t, "", append([]string{"explain", "new"}, tc.args...)...)
			if code != tc.wantCode || !strings.Contains(errOut, tc.errOut) {
				t.Errorf("%s: exit code %d: %s", tc.reason, code, errOut)
			}
			for _, text := range tc.says {
				if !strings.Contains(out, text) {
					t.Errorf("%s: it does not say %q:\n%s", tc.reason, text, out)
				}
			}
			if tc.mustNot != "" && strings.Contains(out, tc.mustNot) {
				t.Errorf("%s: it says %q:\n%s", tc.reason, tc.mustNot, out)
			}
		})
	}
}

// The scheduler is the configured one, and the annotations of the namespace are asked if they may choose.
func TestExplainChoosesTheSchedulerOfTheConfiguration(t *testing.T) {
	cases := map[string]struct {
		reason, config, says string
		annotations          map[string]string
		missing              bool
	}{
		"Default":  {reason: "of the cluster", config: "{default: yunikorn}", says: "yunikorn (the operator's default)"},
		"Disabled": {reason: "no annotation is applied", config: "{}", annotations: map[string]string{"firesteel.dev/batch-scheduler": "yunikorn"}, says: "kube (the operator's default)"},
		"Annotation": {
			reason: "of the namespace", config: "{enabled: [kube, yunikorn], namespaceDefaults: true}",
			annotations: map[string]string{"firesteel.dev/batch-scheduler": "yunikorn", "firesteel.dev/queue": "root.x"}, says: "yunikorn, queue root.x (the namespace's default)",
		},
		"Unread": {reason: "a missing right is reported", config: "{namespaceDefaults: true}", missing: true, says: `the objects that the batch scheduler needs: get namespace jobs: namespaces "jobs" not found`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			deployment, stored := operatorWith(configHead + "batchScheduler: " + tc.config)
			a := newAPI(t, inState("new", v1beta2.ApplicationStateNew), deployment, stored)
			if !tc.missing {
				a.Put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "jobs", Annotations: tc.annotations}})
			}
			if out, errOut, _ := execute(t, "", "explain", "new"); !strings.Contains(out, tc.says) {
				t.Errorf("%s: it does not say %q:\n%s%s", tc.reason, tc.says, out, errOut)
			}
		})
	}
}
