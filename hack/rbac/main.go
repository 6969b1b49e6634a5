// SPDX-License-Identifier: Apache-2.0

// Command rbac writes the optional permissions, for kustomize and for the chart: those of each scheduler plugin, from its descriptor, those of each kind of a
// driver's auxiliary objects, and those of each API family. In both folders it fills schedulers, exposure and families. It also writes the Role for a namespace
// of jobs, from the rules that controller-gen found in the code.
//
//	rbac KUSTOMIZE_FOLDER CHART_FOLDER CLUSTER_ROLE NAMESPACE_ROLE
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/cmd/plugins"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/exposure"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rbac:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("usage: rbac KUSTOMIZE_FOLDER CHART_FOLDER CLUSTER_ROLE NAMESPACE_ROLE")
	}
	if err := namespaceRole(args[2], args[3]); err != nil {
		return err
	}
	for folder, fragments := range map[string][]exposure.Fragment{"schedulers": ofSchedulers(),
		"exposure": exposure.Fragments(), "families": controller.Fragments()} {
		if err := writeAll(filepath.Join(args[0], folder), filepath.Join(args[1], folder), prefixes[folder], fragments); err != nil {
			return err
		}
	}
	return nil
}

// prefixes are the prefixes of ClusterRole names, by folder.
var prefixes = map[string]string{"schedulers": "spark-operator-scheduler-", "exposure": "spark-operator-", "families": "spark-operator-"}

// ofSchedulers returns the permissions of all scheduler plugins. It assumes that quotas are enforced and apply to some scheduler, which needs the most
// permissions.
func ofSchedulers() []exposure.Fragment {
	all := plugins.All(config.BatchScheduler{Quota: config.Quota{Mode: "Enforce", ElasticQuotaSchedulers: []string{"any"}}})
	var fragments []exposure.Fragment
	for _, p := range all {
		if d := p.Describe(); len(d.Rules) > 0 && !d.NoBatchScheduler { // the operator's own role has the permissions of plain scheduling
			fragments = append(fragments, exposure.Fragment{Name: d.Name, Rules: d.Rules})
		}
	}
	return fragments
}

// writeAll writes, for each fragment, a role for kustomize and the rules for the chart.
func writeAll(kustomize, chart, prefix string, fragments []exposure.Fragment) error {
	var resources []string
	for _, f := range fragments {
		rules, err := yaml.Marshal(f.Rules)
		if err != nil {
			return fmt.Errorf("rules of %s: %w", f.Name, err)
		}
		if err := write(filepath.Join(chart, f.Name+".yaml"), rules); err != nil {
			return err
		}
		text, err := role(prefix+f.Name, f.Rules)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(kustomize, f.Name+".yaml"), text); err != nil {
			return err
		}
		resources = append(resources, f.Name+".yaml")
	}
	list, err := yaml.Marshal(map[string]any{"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component", "resources": resources})
	if err != nil {
		return err
	}
	return write(filepath.Join(kustomize, "kustomization.yaml"), list)
}

// role returns a ClusterRole and its binding to the operator's service account.
func role(name string, rules []rbacv1.PolicyRule) ([]byte, error) {
	objects := []any{
		rbacv1.ClusterRole{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
			ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules,
		},
		rbacv1.ClusterRoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "spark-operator", Name: "spark-operator-controller"}},
		},
	}
	var out bytes.Buffer
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("role %s: %w", name, err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.Bytes(), nil
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append([]byte("# Written by hack/rbac from what the code declares; see make manifests.\n"), text...), 0o644)
}
