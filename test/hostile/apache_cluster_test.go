// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apachev1 "github.com/firesteel-dev/firesteel/api/spark/v1"
)

// This file attacks by standalone clusters of spark.apache.org.

// Clusters that can run, and that attacks lay their own over; what the hardened chart asks for beside that.
const (
	standaloneSpec = `
runtimeVersions: {sparkVersion: 4.1.4}
sparkConf: {spark.kubernetes.container.image: "registry.example/spark:4.1.4"}
clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 1}}
masterSpec: &account {statefulSetSpec: {template: {spec: {serviceAccountName: spark}}}}
workerSpec: *account
`
	hardenedStandaloneSpec = `
masterSpec:
  statefulSetSpec:
    template:
      spec:
        securityContext: &pod {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
        containers: [{name: master, securityContext: &container {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]
workerSpec:
  statefulSetSpec:
    template:
      spec:
        securityContext: *pod
        containers: [{name: worker, securityContext: *container}]
`
)

// keys are keys of properties that are read otherwise as options of a JVM; KEY is where they go.
func keys(spec string) tries {
	all := tries{}
	for name, key := range map[string]string{"option": `spark.a=x -Dspark.master.rest.enabled`, "blank": `spark.a spark.master.rest.enabled`, "quote": `spark.a\"b`, "reference": `spark.$(NAME)`} {
		all[name] = try{strings.ReplaceAll(spec, "KEY", `"`+key+`"`), "not the name of a property"}
	}
	return all
}

// anyClusterContainer and anyClusterPod are the ways of this kind to write a security context, and a part of a pod's spec.
var (
	anyClusterContainer = map[string]string{
		"master": `masterSpec: {statefulSetSpec: {template: {spec: {containers: [{name: master, securityContext: CONTEXT}]}}}}`,
		"worker": `workerSpec: {statefulSetSpec: {template: {spec: {containers: [{name: worker, securityContext: CONTEXT}]}}}}`,
		"other":  `workerSpec: {statefulSetSpec: {template: {spec: {containers: [{name: x, image: registry.example/x, securityContext: CONTEXT}]}}}}`,
		"init":   `masterSpec: {statefulSetSpec: {template: {spec: {initContainers: [{name: x, image: registry.example/x, securityContext: CONTEXT}]}}}}`,
	}
	anyClusterPod = map[string]string{
		"master-template": `masterSpec: {statefulSetSpec: {template: {spec: {PART}}}}`,
		"worker-template": `workerSpec: {statefulSetSpec: {template: {spec: {PART}}}}`,
	}
)

// finalizedClusters are templates of clusters with what keeps their pods and claims, or hands them on.
var finalizedClusters = tries{
	"master":    {`masterSpec: {statefulSetSpec: {template: {metadata: {finalizers: [a.example/keep]}}}}`, finalizers},
	"worker":    {`workerSpec: {statefulSetSpec: {template: {metadata: {finalizers: [a.example/keep]}}}}`, finalizers},
	"claim":     {`workerSpec: {statefulSetSpec: {volumeClaimTemplates: [{metadata: {name: d, finalizers: [a.example/keep]}}]}}`, finalizers},
	"ephemeral": {`masterSpec: {statefulSetSpec: {template: {spec: {volumes: [{name: e, ephemeral: {volumeClaimTemplate: {metadata: {finalizers: [a.example/keep]}, spec: {}}}}]}}}}`, finalizers},
	"owner":     {`masterSpec: {statefulSetSpec: {volumeClaimTemplates: [{metadata: {name: d, ownerReferences: [{apiVersion: v1, kind: Pod, name: bank, uid: bank}]}}]}}`, owners},
}

// sets are the most writes of a cluster that starts: its objects, each once.
const sets = 7

func init() {
	add(
		beyondAs(standalone, "ClusterPrivileged", "a template of a cluster gets the node", baseline, each(anyClusterContainer, "CONTEXT", `{privileged: true}`, breaksBaseline+"privileged", nil)),
		beyondAs(standalone, "ClusterHostNetwork", "a template of a cluster gets the node's network", baseline, each(anyClusterPod, "PART", "hostNetwork: true", breaksBaseline+"host namespaces", nil)),
		beyondAs(standalone, "ClusterHostPaths", "a template of a cluster gets the node's directories", baseline, each(anyClusterPod, "PART", "volumes: [{name: h, hostPath: {path: /}}]", breaksBaseline+"hostPath volumes", nil)),
		beyondAs(standalone, "ClusterServiceTypes", "a master on the Internet", limited, tries{
			"master": {`masterSpec: {serviceSpec: {type: LoadBalancer}}`, clusterOnly},
			"worker": {`workerSpec: {serviceSpec: {type: NodePort}}`, clusterOnly},
		}),
		beyondAs(standalone, "ClusterOfManyWorkers", "more workers than a namespace may have, now or when an autoscaler wants them", limited, tries{
			"now":   {`clusterTolerations: {instanceConfig: {initWorkers: 11, minWorkers: 1, maxWorkers: 1}}`, "at most 10 workers"},
			"later": {`clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 2147483647}}`, "at most 10 workers"},
		}),
		beyondAs(standalone, "ClusterFinalizers", "pods and claims of a cluster that cannot be deleted, or are deleted with others", open, finalizedClusters),
		beyondAs(standaloneOlder, "ClusterOlderFinalizers", "the same in the older version", open, finalizedClusters),
		beyondAs(standalone, "ClusterKeys", "a key that is several properties, of which limits see one", open, keys(`sparkConf: {KEY: x}`)),
		beyondAs(standalone, "ClusterClaims", "as many claims for each role as are allowed for both", strict, tries{
			"both": {`{clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 4}}, masterSpec: {statefulSetSpec: {volumeClaimTemplates: [{metadata: {name: d}}]}}, workerSpec: {statefulSetSpec: {volumeClaimTemplates: [{metadata: {name: d}}]}}}`,
				"PersistentVolumeClaims of a cluster are"},
		}),
		attack{
			name: "ClusterThatFits", reason: "an object of the largest size that is stored costs the operator its memory", by: tenant, bomb: true,
			do: func(a *arena) error {
				for _, h := range holes(standalone, apachev1.SparkCluster{}) {
					if len(h.path) == 2 || strings.Join(h.path, ".") == "spec.workerSpec.statefulSetSpec.volumeClaimTemplates" {
						if err := a.bomb([]hole{h}, largest); err != nil {
							return err
						}
					}
				}
				return nil
			},
			told: "the operator reads at most",
		},
		attack{
			name: "ClusterTextForAList", reason: "a cluster that cannot be decoded hides no other", by: tenant,
			do: func(a *arena) error {
				return errors.Join(a.apply(standalone, "malformed", "masterSpec: {statefulSetSpec: {template: {spec: {containers: none}}}}"), a.apply(standalone, "after"))
			},
			cannot: func(a *arena) error { return a.workers("after", 1) },
			told:   "cannot be decoded",
		},
		attack{
			name: "ClusterOfBillions", reason: "numbers at their ends, and what they are multiplied with", by: tenant,
			do: func(a *arena) error {
				sizes := `workerSpec: {statefulSetSpec: {template: {spec: {containers: [{name: worker, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}, resources: {requests: {cpu: 9E, memory: 9E}}}]}}}}
clusterTolerations: {instanceConfig: {initWorkers: N, minWorkers: N, maxWorkers: M}}`
				most, least := fmt.Sprint(math.MaxInt32), fmt.Sprint(math.MinInt32)
				return errors.Join(
					a.apply(standalone, "most", strings.NewReplacer("N", most, "M", most).Replace(sizes)),
					a.apply(standalone, "least", strings.NewReplacer("N", least, "M", most).Replace(sizes)),
				)
			},
			cannot: func(a *arena) error {
				return errors.Join(a.workers("most", math.MaxInt32), a.looked(standalone, "least"), a.most(2*sets, "patch", "statefulsets"), a.most(0, "create", "pods"))
			},
			told: "is not a number of workers",
		},
		attack{
			name: "ClusterNamesOfAnother", reason: "what a cluster consists of stands where objects of somebody else are", by: tenant, do: takesClusterNames,
			cannot: func(a *arena) error {
				if err := a.refuses(standalone, "bank", "already exists and does not belong to"); err != nil {
					return err
				}
				for _, want := range bankCluster(a.namespace) {
					got := want.DeepCopyObject().(client.Object)
					if err := a.admin.Get(a.ctx, client.ObjectKeyFromObject(want), got); err != nil {
						return err
					}
					if got.GetGeneration() > 1 || len(got.GetLabels()) > 0 || len(got.GetOwnerReferences()) != 1 || got.GetOwnerReferences()[0].UID != "bank" {
						return fmt.Errorf("%T %s is owned by %v and has the labels %v", got, got.GetName(), got.GetOwnerReferences(), got.GetLabels())
					}
				}
				return nil
			},
			told: "already exists and does not belong to",
		},
		attack{
			name: "ClusterForgedPods", reason: "pods with the labels of a cluster's are not counted as its own", by: driverCode,
			do: func(a *arena) error {
				if err := errors.Join(a.apply(standalone, "own"), a.workers("own", 1)); err != nil {
					return err
				}
				for i := range 20 {
					labels := map[string]string{apachev1.LabelClusterName: "own", "spark-role": []string{"master", "worker"}[i%2]}
					pod := &corev1.Pod{
						ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: fmt.Sprintf("own-%s-%d", labels["spark-role"], i), Labels: labels},
						Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: labels["spark-role"], Image: "registry.example/x"}}},
					}
					if err := a.as.Create(a.ctx, pod); err != nil {
						return answered(err)
					}
					ready := pod.DeepCopy()
					ready.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
					if err := a.admin.Status().Patch(a.ctx, ready, client.MergeFrom(pod)); err != nil {
						return err
					}
				}
				return nil
			},
			cannot: func(a *arena) error {
				said, err := a.said()
				if err == nil && strings.Contains(said, "Ready=True") {
					err = fmt.Errorf("they count: %s", said)
				}
				return errors.Join(err, a.most(50, "patch", "sparkclusters/status"))
			},
		},
		attack{
			name: "ClusterHistory", reason: "a status that another operator left has 10,000 states, and keys that are no numbers", by: tenant,
			do: func(a *arena) error {
				if err := errors.Join(a.apply(standalone, "history"), a.workers("history", 1)); err != nil {
					return err
				}
				states := map[string]any{"-1": nil, "99999999999999999999": nil, "1e3": nil, "": nil, "9223372036854775807": nil}
				for i := range 10_000 {
					states[fmt.Sprint(i-100)] = nil
				}
				for key := range states {
					states[key] = map[string]any{"currentStateSummary": "Failed", "lastTransitionTime": "never"}
				}
				text, err := json.Marshal(map[string]any{"status": map[string]any{"stateTransitionHistory": states, "currentState": states["-1"], "scheduling": nil, "observedGeneration": 1}})
				if err != nil {
					return err
				}
				patch := client.RawPatch(types.MergePatchType, text)
				if err := answered(a.tenant.Status().Patch(a.ctx, a.reference(standalone, "history"), patch)); err != nil {
					return err
				}
				if err := a.admin.Status().Patch(a.ctx, a.reference(standalone, "history"), patch); err != nil {
					return err
				}
				return a.edit(standalone, "history", "spec: {clusterTolerations: {instanceConfig: {initWorkers: 2}}}") // it begins again
			},
			cannot: func(a *arena) error {
				return errors.Join(a.workers("history", 2), a.most(50, "patch", "sparkclusters/status"))
			},
			told: "cannot patch resource",
		},
	)
}

// workers waits until a cluster has a set of so many workers.
func (a *arena) workers(name string, want int32) error {
	return await(a.ctx, func() error {
		var set appsv1.StatefulSet
		err := a.admin.Get(a.ctx, client.ObjectKey{Namespace: a.namespace, Name: name + "-worker"}, &set)
		if err == nil && *set.Spec.Replicas != want {
			err = fmt.Errorf("the cluster %s has %d workers, want %d", name, *set.Spec.Replicas, want)
		}
		if err != nil {
			said, _ := a.said() // it only explains
			return fmt.Errorf("%w; it is told: %.2000s", err, said)
		}
		return nil
	})
}

// bankCluster are objects of somebody else, called as those of a cluster "bank".
func bankCluster(namespace string) []client.Object {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "bank", UID: "bank", Controller: new(true)}}}
	}
	app := map[string]string{"app": "bank"}
	return []client.Object{
		&corev1.Service{ObjectMeta: meta("bank-master-svc"), Spec: corev1.ServiceSpec{Selector: app, Ports: []corev1.ServicePort{{Port: 80}}}},
		&appsv1.StatefulSet{ObjectMeta: meta("bank-worker"), Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "bank", Image: "bank"}}}},
		}},
	}
}

func takesClusterNames(a *arena) error {
	for _, o := range bankCluster(a.namespace) {
		if err := a.admin.Create(a.ctx, o); err != nil {
			return err
		}
	}
	return a.apply(standalone, "bank")
}
