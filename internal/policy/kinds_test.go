// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// ownRights are what the operator writes that is not an application's.
var ownRights = []schema.GroupResource{
	{Group: "coordination.k8s.io", Resource: "leases"},
}

// What the operator has a right to create or change is judged, or there is a reason why not; and nothing is listed that it cannot
// write. Roles of users and of drivers are not the operator's.
func TestEveryKindIsJudged(t *testing.T) {
	rights := writable(t)
	for resource, file := range rights {
		if slices.Contains(ownRights, resource) {
			continue
		}
		if !slices.ContainsFunc(knownKinds(), func(kind schema.GroupKind) bool { return resourceOf(kind, resource.Group) == resource }) {
			t.Errorf("%s gives the operator the right to write %s: add its kind to kinds, with what is limited of it", file, resource)
		}
	}
	for kind, j := range kinds {
		if !slices.ContainsFunc(keys(rights), func(r schema.GroupResource) bool {
			return (kind.Group == anyGroup || kind.Group == r.Group) && resourceOf(kind, r.Group) == r
		}) {
			t.Errorf("%s is listed, and the operator cannot write it", kind)
		}
		if len(j.limits) == 0 && !j.exposed && j.why == "" {
			t.Errorf("%s: nothing is limited of it: say why", kind)
		}
	}
}

func knownKinds() []schema.GroupKind { return keys(kinds) }

func keys[K comparable, V any](m map[K]V) []K {
	var all []K
	for k := range m {
		all = append(all, k)
	}
	return all
}

func resourceOf(kind schema.GroupKind, group string) schema.GroupResource {
	if kind.Group == anyGroup {
		kind.Group = group
	}
	plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion("v1"))
	return plural.GroupResource()
}

// writable are the resources that roles of the operator may create, patch or update, with a file that says so. Status and finalizers
// are its own words.
func writable(t *testing.T) map[schema.GroupResource]string {
	t.Helper()
	found := map[schema.GroupResource]string{}
	root := filepath.Join("..", "..", "config", "rbac")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" || ofUsers(path) {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, document := range strings.Split(string(content), "\n---\n") {
			var role rbacv1.ClusterRole
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				return err
			}
			for _, rule := range role.Rules {
				collect(found, rule, path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 10 {
		t.Fatalf("only %d rights in %s: %v", len(found), root, found)
	}
	return found
}

// ofUsers reports whether a file has the rights of people, or of drivers.
func ofUsers(path string) bool {
	for _, part := range []string{"spark-driver", "_admin_role", "_editor_role", "_viewer_role"} {
		if strings.Contains(path, part) {
			return true
		}
	}
	return false
}

func collect(found map[schema.GroupResource]string, rule rbacv1.PolicyRule, path string) {
	if !slices.ContainsFunc(rule.Verbs, func(v string) bool { return slices.Contains([]string{"create", "patch", "update", "*"}, v) }) {
		return
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			if !strings.Contains(resource, "/") {
				found[schema.GroupResource{Group: group, Resource: resource}] = path
			}
		}
	}
}
