// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pods are those of the Deployments of a tree or of the chart.
func pods(t *testing.T, all objects) []*corev1.Pod {
	t.Helper()
	var found []*corev1.Pod
	for _, key := range all.keys("Deployment") {
		d := as[appsv1.Deployment](t, all, key)
		found = append(found, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: d.Name, Labels: d.Spec.Template.Labels}, Spec: d.Spec.Template.Spec})
	}
	if len(found) == 0 {
		t.Fatal("there is no Deployment")
	}
	return found
}

// restricted shows the pods to the pod security standard "restricted", which is most of OpenShift's SCC restricted-v2, and
// holds them to the rest of it: user, groups and SELinux labels are the cluster's to choose.
func restricted(t *testing.T, c client.Client) {
	t.Helper()
	const name = "restricted"
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	for what, all := range map[string]objects{
		"config/overlays/openshift": kustomize(t, "config/overlays/openshift"),
		"config/overlays/webhook":   kustomize(t, "config/overlays/webhook"),
		"config/overlays/hardened":  kustomize(t, "config/overlays/hardened"),
		"the chart":                 render(t, `webhook: {enable: true}`),
		"the hardened chart":        render(t, must),
	} {
		for _, pod := range pods(t, all) {
			pod.Namespace, pod.Spec.ServiceAccountName = name, "" // accounts do not matter here
			if err := c.Create(t.Context(), pod.DeepCopy(), client.DryRunAll); err != nil {
				t.Errorf("%s: %s: %v", what, pod.Name, err)
			}
			for _, problem := range chosen(pod) {
				t.Errorf("%s: %s: %s, which OpenShift chooses", what, pod.Name, problem)
			}
			root := pod.DeepCopy()
			root.Spec.Containers[0].SecurityContext.RunAsNonRoot = new(false)
			if err := c.Create(t.Context(), root, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
				t.Errorf("%s: %s as root: %v", what, pod.Name, err)
			}
		}
	}
}

// chosen says what a pod fixes that restricted-v2 wants to choose.
func chosen(pod *corev1.Pod) []string {
	var problems []string
	note := func(set bool, what string) {
		if set {
			problems = append(problems, what+" is fixed")
		}
	}
	if s := pod.Spec.SecurityContext; s != nil {
		note(s.RunAsUser != nil || s.RunAsGroup != nil, "the user")
		note(s.FSGroup != nil || len(s.SupplementalGroups) > 0, "a group")
		note(s.SELinuxOptions != nil, "the SELinux label")
	}
	for _, container := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		if s := container.SecurityContext; s != nil {
			note(s.RunAsUser != nil || s.RunAsGroup != nil, "the user of "+container.Name)
			note(s.SELinuxOptions != nil, "the SELinux label of "+container.Name)
		}
	}
	return problems
}

func TestChosen(t *testing.T) {
	in := func(pod *corev1.PodSecurityContext, container *corev1.SecurityContext) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{SecurityContext: pod, Containers: []corev1.Container{{Name: "c", SecurityContext: container}}}}
	}
	cases := map[string]struct {
		reason string
		pod    *corev1.Pod
		want   string
	}{
		"Nothing":   {"the cluster chooses", in(nil, nil), ""},
		"NonRoot":   {"this is no user", in(&corev1.PodSecurityContext{RunAsNonRoot: new(true)}, &corev1.SecurityContext{RunAsNonRoot: new(true)}), ""},
		"User":      {"outside of the namespace's range", in(&corev1.PodSecurityContext{RunAsUser: new(int64(185))}, nil), "the user is fixed"},
		"Group":     {"as much as a user", in(&corev1.PodSecurityContext{FSGroup: new(int64(185))}, nil), "a group is fixed"},
		"Container": {"it overrides the pod", in(nil, &corev1.SecurityContext{RunAsUser: new(int64(0))}), "the user of c is fixed"},
		"SELinux":   {"each namespace has its own", in(nil, &corev1.SecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Level: "s0"}}), "the SELinux label of c is fixed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(chosen(tc.pod), ", "); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestOpenShiftImage rewrites params.env, as the operator of Open Data Hub does.
func TestOpenShiftImage(t *testing.T) {
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(filepath.Join(root, "config"))); err != nil {
		t.Fatal(err)
	}
	const image = "example.org/spark-operator@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	if err := os.WriteFile(filepath.Join(copied, "overlays/openshift/params.env"), []byte("spark-operator-image="+image+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := run(t, tool(t, "kubernetes", "kubectl"), "kustomize", filepath.Join(copied, "overlays/openshift"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods(t, parse(t, text)) {
		if got := pod.Spec.Containers[0].Image; got != image {
			t.Errorf("%s runs %s", pod.Name, got)
		}
	}
}
