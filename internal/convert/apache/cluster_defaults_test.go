// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// What policies set goes where a cluster says nothing: some into its properties, and some into the fields of its pods.
func TestDefaultsOfPoliciesFillAnEmptyPlace(t *testing.T) {
	limits := func(key, value string) map[string]string { return map[string]string{key: value} }
	cases := map[string]struct {
		reason     string
		defaults   map[string]string
		spec, want string
	}{
		"None": {reason: "nothing is filled in"},
		"Property": {
			reason: "it is the cluster's, and both daemons have it", defaults: map[string]string{"spark.a": "1", "spark.b": "2"},
			spec: "sparkConf: {spark.a: own}", want: "sparkConf: {spark.a: own, spark.b: '2'}\n" + daemons("", ""),
		},
		"Pods": {
			reason: "they are no properties of daemons", want: "sparkConf: {}\n" + daemons("imagePullPolicy: Always, resources: {requests: {cpu: 1, memory: 2Gi}, limits: {cpu: 2, memory: 2Gi}}",
				"imagePullPolicy: Always, resources: {requests: {cpu: 3, memory: 4Gi}, limits: {cpu: 4, memory: 4Gi}}", "serviceAccountName: spark"),
			defaults: map[string]string{
				"spark.driver.cores": "1", "spark.kubernetes.driver.limit.cores": "2", "spark.driver.memory": "2g", "spark.executor.cores": "3", "spark.kubernetes.executor.limit.cores": "4",
				"spark.executor.memory": "4096", "spark.kubernetes.container.image.pullPolicy": "Always", "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
			},
		},
		"Labels": {
			reason: "a driver's are the master's, and an own one stays", defaults: map[string]string{"spark.kubernetes.driver.label.team": "a", "spark.kubernetes.driver.label.more": "b", "spark.kubernetes.executor.label.tier": "c"},
			spec: "masterSpec: {statefulSetSpec: {template: {metadata: {labels: {team: own}}}}}",
			want: `sparkConf: {}
masterSpec: {statefulSetSpec: {template: {metadata: {labels: {team: own, more: b}}, spec: {containers: [{name: master}]}}}}
workerSpec: {statefulSetSpec: {template: {metadata: {labels: {tier: c}}, spec: {containers: [{name: worker}]}}}}`,
		},
		"OwnAccount": {
			reason: "both names of the field are an account", defaults: limits("spark.kubernetes.authenticate.driver.serviceAccountName", "spark"),
			spec: "masterSpec: {statefulSetSpec: {template: {spec: {serviceAccountName: a}}}}\nworkerSpec: {statefulSetSpec: {template: {spec: {serviceAccount: b}}}}",
			want: "sparkConf: {}\nmasterSpec: {statefulSetSpec: {template: {spec: {serviceAccountName: a, containers: [{name: master}]}}}}\n" +
				"workerSpec: {statefulSetSpec: {template: {spec: {serviceAccount: b, containers: [{name: worker}]}}}}",
		},
		"OwnContainer": {
			reason: "a container that says something of a resource says all of it", defaults: map[string]string{
				"spark.driver.cores": "1", "spark.kubernetes.driver.limit.cores": "2", "spark.driver.memory": "2g", "spark.executor.cores": "3", "spark.executor.memory": "4g",
				"spark.kubernetes.container.image.pullPolicy": "Always",
			},
			spec: "masterSpec: {statefulSetSpec: {template: {spec: {containers: [{name: side}, {name: master, imagePullPolicy: Never, resources: {limits: {cpu: 7}}}]}}}}\n" +
				"workerSpec: {statefulSetSpec: {template: {spec: {containers: [{name: worker, resources: {requests: {memory: 7Gi}}}, {name: side}]}}}}",
			want: "sparkConf: {}\n" +
				"masterSpec: {statefulSetSpec: {template: {spec: {containers: [{name: side}, {name: master, imagePullPolicy: Never, resources: {requests: {memory: 2Gi}, limits: {cpu: 7, memory: 2Gi}}}]}}}}\n" +
				"workerSpec: {statefulSetSpec: {template: {spec: {containers: [{name: worker, imagePullPolicy: Always, resources: {requests: {cpu: 3, memory: 7Gi}}}, {name: side}]}}}}",
		},
		"NoNumbers": {reason: "policies are checked elsewhere", defaults: map[string]string{"spark.driver.cores": "x", "spark.driver.memory": "x"}, want: "sparkConf: {}\n" + daemons("", "")},
		"NoMemory":  {reason: "a container of none would not start", defaults: limits("spark.driver.memory", "0"), want: "sparkConf: {}\n" + daemons("", "")},
		"Most": {
			reason: "more mebibytes than a quantity has", defaults: map[string]string{"spark.driver.memory": "1099511627776", "spark.executor.memory": "1099511627777"},
			want: "sparkConf: {}\n" + daemons("resources: {requests: {memory: '1152921504606846976'}, limits: {memory: '1152921504606846976'}}", ""),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, want := clusterFrom(t, tc.spec), clusterFrom(t, tc.want)
			before := o.DeepCopy()
			if diff := cmp.Diff(want.Spec, withDefaults(o, tc.defaults).Spec); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, o); diff != "" {
				t.Errorf("the cluster itself is changed (-before +after):\n%s", diff)
			}
		})
	}
}

// daemons are the containers of both roles, and what the pods of both have beside them.
func daemons(master, worker string, pods ...string) string {
	text := ""
	for _, role := range [][2]string{{"master", master}, {"worker", worker}} {
		text += role[0] + "Spec: {statefulSetSpec: {template: {spec: {containers: [{name: " + role[0] + ", " + role[1] + "}]"
		for _, more := range pods {
			text += ", " + more
		}
		text += "}}}}\n"
	}
	return text
}

// Policies are asked what they set for a cluster that starts, and one that runs keeps what it was started with.
func TestDefaultsOfAStart(t *testing.T) {
	const conf = `sparkConf: {spark.a: own, spark.driver.cores: "1", spark.kubernetes.driver.limit.cores: "1", spark.driver.memory: 1g, spark.kubernetes.executor.label.team: a,
 spark.kubernetes.container.image.pullPolicy: Never, spark.kubernetes.authenticate.driver.serviceAccountName: mine, spark.driver.coresNot: "1"}`
	running := v1.SparkClusterStatus{CurrentState: &v1.ClusterState{CurrentStateSummary: v1.ClusterRunningHealthy}, Defaults: map[string]string{"spark.c": "old"}}
	asked := spark.Application{Namespace: "jobs", Name: "c", Conf: map[string]string{"spark.a": "own", "spark.driver.coresNot": "1"}}
	for name, tc := range map[string]struct {
		reason string
		status v1.SparkClusterStatus
		sets   map[string]string
		asked  spark.Application
		want   map[string]string
	}{
		"Start":   {reason: "what is said of pods of applications is not said of those of clusters", sets: map[string]string{"spark.driver.memory": "2g", "spark.a": "2"}, asked: asked, want: map[string]string{"spark.driver.memory": "2g"}},
		"Nothing": {reason: "none are stored", asked: asked},
		"Running": {reason: "others would restart its pods", status: running, sets: map[string]string{"spark.c": "new"}, want: map[string]string{"spark.c": "old"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := clusterFrom(t, conf)
			o.Status = tc.status
			var got spark.Application
			defaults := clusterDefaults(o, func(app spark.Application) spark.Application {
				got = app
				app.Conf = with(tc.sets, app.Conf)
				return app
			})
			if diff := cmp.Diff(tc.want, defaults); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.asked, got); diff != "" {
				t.Errorf("%s: asked about (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
