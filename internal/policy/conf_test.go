// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
)

// A forbidden property is the user's: neither what a kind sets by itself nor what an administrator has by default is meant, of
// applications and of clusters.
func TestForbiddenConfIsTheUsers(t *testing.T) {
	const (
		own     = "defaults: {sparkConf: {spark.hadoop.fs.s3a.endpoint: ours}}, limits: {forbiddenConf: ['spark.hadoop.fs.*endpoint*', spark.master*, spark.authenticate, 'spark.io.*', spark.kubernetes.driver.*, spark.kubernetes.executor.*]}"
		refused = `spec.sparkConf["spark.hadoop.fs.s3a.endpoint"]`
	)
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	var policies policy.Set
	if err := yaml.UnmarshalStrict([]byte(`[{name: a, namespaces: ["*"], `+own+`}]`), &policies); err != nil {
		t.Fatal(err)
	}
	application := func(conf map[string]string) (said []string) {
		o := &v1.SparkApplication{}
		o.Namespace, o.Name, o.Spec.MainClass, o.Spec.RuntimeVersions.SparkVersion, o.Spec.SparkConf = "jobs", "pi", "A", "4.1.4", conf
		for _, e := range admission.DryRun(resolve.Load(apache.SparkApplications{}, o, lifecycle.Record{}, resolve.Operator{Registry: registry, Policies: policies}, time.Unix(0, 0)), registry).Errors {
			said = append(said, e.Error())
		}
		return said
	}
	cluster := func(conf map[string]string) (said []string) {
		o := &v1.SparkCluster{}
		o.Namespace, o.Name, o.Spec.RuntimeVersions.SparkVersion, o.Spec.SparkConf = "jobs", "pi", "4.1.4", conf
		for _, e := range (apache.Clusters{}).Load(o, policies.Apply, policies.CheckCluster).Objections {
			said = append(said, e.About(apache.ClusterNames(o).PathOf(e)))
		}
		return said
	}
	for name, judge := range map[string]func(map[string]string) []string{"application": application, "cluster": cluster} {
		if said := judge(map[string]string{"spark.kubernetes.container.image": "a"}); len(said) > 0 {
			t.Errorf("%s: what its user did not write is refused: %q", name, said)
		}
		said := judge(map[string]string{"spark.kubernetes.container.image": "a", "spark.hadoop.fs.s3a.endpoint": "theirs"})
		if len(said) != 1 || !strings.HasPrefix(said[0], refused) {
			t.Errorf("%s: said %q, want only %s", name, said, refused)
		}
	}
}
