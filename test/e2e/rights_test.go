// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// right is what one of our service accounts may do. The resource includes its subresource: "pods/log".
type right struct{ who, group, resource, verb string }

func (r right) String() string {
	return fmt.Sprintf("%s: %s %s", r.who, r.verb, strings.TrimSuffix(r.resource+"."+r.group, "."))
}

// rules are the files that grant rights, by whose they are.
var rules = map[string][]string{
	"controller": {"rbac/role.yaml", "rbac/leader_election_role.yaml", "rbac/namespaces/*.yaml", "rbac/exposure/*.yaml", "rbac/families/*.yaml", "rbac/schedulers/*.yaml"},
	"webhook":    {"webhook/role.yaml"},
}

// needed are rights that no audit log shows, or that this suite has no occasion to use.
var needed = needs(map[string][]right{
	"the admission plugin that protects owner references asks for it, and no audit log shows that": {
		{"controller", "sparkoperator.k8s.io", "sparkapplications/finalizers", "update"},
		{"controller", "sparkoperator.k8s.io", "scheduledsparkapplications/finalizers", "update"},
		{"controller", "sparkoperator.k8s.io", "sparkconnects/finalizers", "update"}, {"controller", "spark.apache.org", "sparkapplications/finalizers", "update"},
		{"controller", "spark.apache.org", "sparkclusters/finalizers", "update"},
	},
	"a series of equal events, which only the leader election has: Kubernetes' own recorder": {{"controller", "events.k8s.io", "events", "patch"}},
	"the annotations of a namespace, with namespaceDefaults: test/integration":               {{"controller", "", "namespaces", "get"}},
	"a submission that is refused in its middle, or met again after a crash: test/integration": {
		{"controller", "", "persistentvolumeclaims", "get"}, {"controller", "", "persistentvolumeclaims", "delete"},
	},
	"the newest Spark, of which there is no image here: internal/spark": {
		{"controller", "networking.k8s.io", "networkpolicies", "create"}, {"controller", "networking.k8s.io", "networkpolicies", "get"}, {"controller", "networking.k8s.io", "networkpolicies", "delete"},
	},
	"someone edits what the operator has made, or takes an option back: test/integration, test/schedulers": {
		{"controller", "", "services", "patch"}, {"controller", "networking.k8s.io", "ingresses", "patch"}, {"controller", "policy", "poddisruptionbudgets", "patch"},
		{"controller", "scheduling.volcano.sh", "podgroups", "patch"}, {"controller", "networking.k8s.io", "networkpolicies", "patch"},
		{"controller", "autoscaling", "horizontalpodautoscalers", "patch"}, {"controller", "autoscaling", "horizontalpodautoscalers", "get"},
	},
	"the moment in which a kind is read live because it is not watched yet, of which services are an example": {
		{"controller", "networking.k8s.io", "ingresses", "get"}, {"controller", "policy", "poddisruptionbudgets", "get"},
	},
	"there is no Gateway API here: test/integration": {
		{"controller", "gateway.networking.k8s.io", "httproutes", "get"}, {"controller", "gateway.networking.k8s.io", "httproutes", "list"}, {"controller", "gateway.networking.k8s.io", "httproutes", "watch"},
		{"controller", "gateway.networking.k8s.io", "httproutes", "create"}, {"controller", "gateway.networking.k8s.io", "httproutes", "patch"}, {"controller", "gateway.networking.k8s.io", "httproutes", "delete"},
		{"controller", "gateway.networking.k8s.io", "grpcroutes", "get"}, {"controller", "gateway.networking.k8s.io", "grpcroutes", "create"},
	},
})

func needs(reasons map[string][]right) map[right]string {
	out := map[right]string{}
	for reason, all := range reasons {
		for _, r := range all {
			out[r] = reason
		}
	}
	return out
}

// The whole suite runs with exactly these rules: each must have been of use, and nothing else have been asked for.
var _ = ReportAfterSuite("The rights of the service accounts", func(report Report) {
	if !report.SuiteSucceeded {
		return // and the run is red
	}
	if missing := leftOut(report.SpecReports, passedBefore()); len(missing) > 0 {
		Expect(os.Getenv("CI")).To(BeEmpty(), "all specs of a landing have to run for this to be judged; these did not: %q", missing)
		Expect(report.SuiteConfig.FocusStrings).NotTo(BeEmpty(), "who chose no specs has to run all of a landing; these did not run: %q", missing)
		return
	}
	granted := map[right]bool{}
	for who, patterns := range rules {
		for _, pattern := range patterns {
			files, err := filepath.Glob(filepath.Join("..", "..", "config", pattern))
			Expect(err).NotTo(HaveOccurred())
			Expect(files).NotTo(BeEmpty(), pattern)
			for _, file := range files {
				f, err := os.Open(file)
				Expect(err).NotTo(HaveOccurred())
				Expect(addRights(granted, who, f)).To(Succeed(), file)
				Expect(f.Close()).To(Succeed())
			}
		}
	}
	seen := &audit{used: map[right]bool{}}
	logs, err := filepath.Glob(filepath.Join(filepath.Dir(os.Getenv("FIRESTEEL_E2E_KUBECONFIG")), "..", "logs", "audit*.log"))
	Expect(err).NotTo(HaveOccurred())
	Expect(logs).NotTo(BeEmpty(), "the cluster writes no audit log")
	for _, file := range logs {
		f, err := os.Open(file)
		Expect(err).NotTo(HaveOccurred())
		Expect(seen.read(f)).To(Succeed(), file)
		Expect(f.Close()).To(Succeed())
	}
	Expect(misfits(granted, seen.used, seen.denied())).To(BeEmpty())
})

// passedBefore are the specs that passed in the run of which this one tries again what failed, which the same audit log shows.
func passedBefore() map[string]bool {
	GinkgoHelper()
	passed := map[string]bool{}
	before := os.Getenv("FIRESTEEL_SPECS_BEFORE")
	if before == "" {
		return passed
	}
	text, err := os.ReadFile(filepath.Join(before, specsFile))
	Expect(err).NotTo(HaveOccurred())
	var reports []Report
	Expect(json.Unmarshal(text, &reports)).To(Succeed())
	for _, report := range reports {
		for _, spec := range report.SpecReports {
			passed[spec.FullText()] = passed[spec.FullText()] || spec.State == types.SpecStatePassed
		}
	}
	return passed
}

// leftOut are the specs of a landing that did not run.
func leftOut(specs []SpecReport, passed map[string]bool) []string {
	var out []string
	for _, spec := range specs {
		ran := !spec.State.Is(types.SpecStateSkipped|types.SpecStatePending) || passed[spec.FullText()]
		if spec.LeafNodeType.Is(types.NodeTypeIt) && !ran && !slices.Contains(spec.Labels(), exhaustive) {
			out = append(out, spec.FullText())
		}
	}
	return out
}

// addRights adds what the roles of a file grant.
func addRights(granted map[right]bool, who string, file io.Reader) error {
	decoder := utilyaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		var role rbacv1.ClusterRole // a Role has the same rules
		if err := decoder.Decode(&role); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						granted[right{who, group, resource, verb}] = true
					}
				}
			}
		}
	}
}

// misfits are the rights that no one needs, and what was asked for in vain.
func misfits(granted, used, denied map[right]bool) []string {
	var out []string
	for r := range granted {
		// An API server of today streams what a client of ours would list first from one of yesterday.
		streamed := r.verb == "list" && used[right{r.who, r.group, r.resource, "watch"}]
		if _, excused := needed[r]; !used[r] && !streamed && !excused {
			out = append(out, r.String()+": is granted and was never used")
		}
	}
	for r := range needed { // some are used when the timing is right
		if !granted[r] {
			out = append(out, r.String()+": is excused and not granted")
		}
	}
	for r := range denied {
		out = append(out, r.String()+": was refused")
	}
	slices.Sort(out)
	return out
}

func TestLeftOut(t *testing.T) {
	spec := func(name string, state types.SpecState, labels ...string) SpecReport {
		return SpecReport{LeafNodeText: name, LeafNodeType: types.NodeTypeIt, LeafNodeLabels: labels, State: state}
	}
	specs := []SpecReport{
		spec("ran", types.SpecStatePassed), spec("filtered", types.SpecStateSkipped), spec("pending", types.SpecStatePending),
		spec("dear", types.SpecStateSkipped, exhaustive), spec("dear, and ran", types.SpecStatePassed, exhaustive),
		{LeafNodeType: types.NodeTypeBeforeSuite, State: types.SpecStateSkipped}, spec("before", types.SpecStateSkipped),
	}
	if diff := cmp.Diff([]string{"filtered", "pending"}, leftOut(specs, map[string]bool{"before": true, "pending": false})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRights(t *testing.T) {
	granted, seen := map[right]bool{}, &audit{used: map[right]bool{}}
	role := "kind: ClusterRoleBinding\n---\nkind: Role\nrules:\n- {apiGroups: [\"\", apps], resources: [pods/log, pods], verbs: [get]}\n"
	if err := addRights(granted, "controller", strings.NewReader(role)); err != nil {
		t.Fatal(err)
	}
	want := map[right]bool{
		{"controller", "", "pods/log", "get"}: true, {"controller", "", "pods", "get"}: true,
		{"controller", "apps", "pods/log", "get"}: true, {"controller", "apps", "pods", "get"}: true,
	}
	if diff := cmp.Diff(want, granted, cmp.AllowUnexported(right{})); diff != "" {
		t.Errorf("granted (-want +got):\n%s", diff)
	}
	granted[right{"controller", "", "streams", "list"}], seen.used[right{"controller", "", "streams", "watch"}] = true, true
	log := line(time.Second, "a:x-controller", "get", "a", "pods/log", "", "allow") + line(time.Second, "a:default", "get", "a", "pods", "", "allow") +
		line(time.Second, "a:spark", "get", "a", "pods", "", "forbid") + line(time.Second, "a:x-controller", "get", "a", "pods", "apps", "forbid")
	if err := seen.read(strings.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[right]bool{{"controller", "", "pods/log", "get"}: true, {"controller", "", "streams", "watch"}: true}, seen.used, cmp.AllowUnexported(right{})); diff != "" {
		t.Errorf("used (-want +got):\n%s", diff)
	}
	for excused := range maps.Keys(needed) {
		granted[excused] = true
	}
	wantMisfits := []string{
		"controller: get pods.apps: is granted and was never used",
		"controller: get pods.apps: was refused",
		"controller: get pods/log.apps: is granted and was never used",
		"controller: get pods: is granted and was never used",
		"driver: get pods: was refused",
	}
	if diff := cmp.Diff(wantMisfits, misfits(granted, seen.used, seen.denied())); diff != "" {
		t.Errorf("misfits (-want +got):\n%s", diff)
	}
	if err := seen.read(strings.NewReader("no line of an audit log\n")); err == nil {
		t.Error("a log that cannot be read is taken for one that tells nothing")
	}
}
