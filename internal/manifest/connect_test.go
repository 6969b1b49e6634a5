// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

const connectHead = "apiVersion: sparkoperator.k8s.io/v1alpha1\nkind: SparkConnect\nmetadata: {name: lab}\nspec:\n"

// lab is a server with lines of its spec, from the fifth line of the file on.
func lab(lines string) string {
	for _, field := range []string{"sparkVersion: 4.1.4", "image: spark:4.1.4", "server: {}", "executor: {instances: 1}"} {
		name, _, _ := strings.Cut(field, ":")
		if !strings.Contains("\n"+lines, "\n  "+name+":") {
			lines += "  " + field + "\n"
		}
	}
	return connectHead + lines
}

// What users read about a server, and at which line.
func TestCheckConnects(t *testing.T) {
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	limits := policy.Set{{Name: "small", Namespaces: []string{"*"}, Limits: policy.Limits{Driver: policy.RoleLimits{Memory: "4Gi"}, ForbidHostAccess: true}}}
	cases := map[string]struct {
		reason, text string
		policies     policy.Set
		want         []Finding
	}{
		"Good":        {reason: "nothing is wrong", text: lab("  idleTimeout: 1h\n")},
		"Memory":      {reason: "Spark reads it, a JVM does not", text: lab("  server:\n    memory: 2gb\n"), want: []Finding{{6, Error, `spec.server.memory: "2gb": not a heap size that a JVM takes; write a whole number and one of k, m, g, t, such as "512m" or "2g"`}}},
		"Quantity":    {reason: "Kubernetes' sizes are others", text: lab("  executor:\n    memory: 2Gi\n"), want: []Finding{{6, Error, `spec.executor.memory: "2Gi": a Kubernetes quantity, where Spark expects its own size format; write "2g"`}}},
		"Sizes":       {reason: "fields of the newest version of Kubeflow's operator", text: lab("  server: {cores: 1, coreRequest: 500m, coreLimit: '2', gpu: {name: nvidia.com/gpu, quantity: 1}}\n  executor: {cores: 2, coreRequest: '1', coreLimit: '2', gpu: {name: nvidia.com/gpu, quantity: 1}}\n")},
		"CoreLimit":   {reason: "less than is requested", text: lab("  executor:\n    coreRequest: '2'\n    coreLimit: '1'\n"), want: []Finding{{7, Error, `spec.executor.coreLimit: "1": the limit of cpu is lower than the 2 that container spark-kubernetes-executor requests; raise it or request less`}}},
		"GPU":         {reason: "no resource has such a name", text: lab("  executor:\n    gpu: {name: gpu, quantity: 1}\n"), want: []Finding{{5, Error, `spec.executor: "gpu": not the name of a resource; GPUs and the like have a domain, such as "nvidia.com/gpu"`}}},
		"Typo":        {reason: "no such field", text: lab("  server:\n    memori: 2g\n"), want: []Finding{{6, Error, "spec.server.memori: unknown field; the operator would not see it; did you mean memory?"}}},
		"Template":    {reason: "no such field of a pod", text: lab("  executor:\n    template:\n      spec:\n        tolerations:\n        - key: a\n          efect: NoSchedule\n"), want: []Finding{{10, Warning, "spec.executor.template.spec.tolerations[0].efect: unknown field; it has no effect; did you mean effect?"}}},
		"Idle":        {reason: "no time before now", text: lab("  idleTimeout: -5m\n"), want: []Finding{{5, Error, `spec.idleTimeout: "-5m0s": must not be negative; write e.g. "30m"`}}},
		"Duration":    {reason: "not a time", text: lab("  idleTimeout: soon\n"), want: []Finding{{5, Error, `spec.idleTimeout: "soon": not a duration; write a number and a unit, such as "90s", "30m" or "24h"`}}},
		"Drain":       {reason: "no time before now", text: lab("  drainTimeout: -1s\n"), want: []Finding{{5, Error, `spec.drainTimeout: "-1s": must not be negative; write e.g. "30m"`}}},
		"Token":       {reason: "Spark asks for one since 4.0", text: lab("  sparkVersion: 3.5.9\n  authentication:\n    token: true\n"), want: []Finding{{7, Error, "spec.authentication.token: the server of Spark 3.5 asks for no token; use Spark 4.0 or newer, or remove the token"}}},
		"Old":         {reason: "there was no Spark Connect", text: lab("  sparkVersion: 3.3.4\n"), want: []Finding{{5, Error, `spec.sparkVersion: "3.3.4": this release has no Spark Connect; write 3.4 or newer`}}},
		"Name":        {reason: "names are made from it", text: strings.Replace(lab(""), "lab", strings.Repeat("l", 57), 1), want: []Finding{{3, Error, `metadata.name: invalid SparkConnect name "` + strings.Repeat("l", 57) + `": must be no more than 56 characters`}}},
		"NoName":      {reason: "everything is called after it", text: strings.Replace(lab(""), "name: lab", "", 1), want: []Finding{{3, Error, "metadata.name: missing; a server needs a name"}}},
		"Service":     {reason: "no Service can be called so", text: lab("  server:\n    service:\n      metadata:\n        name: my.books\n"), want: []Finding{{8, Error, `spec.server.service.metadata.name: "my.books": not the name of a Service; write at most 63 lower-case letters, digits and '-', such as "notebooks"`}}},
		"ServicePort": {reason: "it would lead nowhere", text: lab("  server:\n    service:\n      spec:\n        ports: [{port: 1}]\n"), want: []Finding{{8, Warning, "spec.server.service.spec.ports: has no effect: the operator sets the ports of the server"}}},
		"Image":       {reason: "nothing could start", text: lab("  image: ''\n"), want: []Finding{{5, Error, "spec.image: the server has no image; write one here, or in both templates"}}},
		"OneImage": {
			reason: "no executor could start", text: lab("  server:\n    template:\n      spec:\n        containers: [{name: spark-kubernetes-driver, image: a}]\n  image: ''\n"),
			want: []Finding{{9, Error, "spec.image: the executors have no image; write one here, or in both templates"}},
		},
		"Denied":    {reason: "the templates name them", text: lab("  sparkConf:\n    spark.kubernetes.authenticate.driver.serviceAccountName: x\n"), want: []Finding{{6, Error, `spec.sparkConf["spark.kubernetes.authenticate.driver.serviceAccountName"]: sparkConf key "spark.kubernetes.authenticate.driver.serviceAccountName" is not allowed: use spec.server.template`}}},
		"Mount":     {reason: "the pod would be refused", text: lab("  server:\n    template:\n      spec:\n        containers: [{name: spark-kubernetes-driver, volumeMounts: [{name: data, mountPath: /data}]}]\n"), want: []Finding{{8, Error, `spec.server.template.spec.containers[0].volumeMounts[0].name: "data": no volume of the pod has this name; add it to the volumes of the template`}}},
		"Scheduler": {reason: "this operator has none of the name", text: lab("  batchScheduler: volcano\n"), want: []Finding{{5, Warning, `spec.batchScheduler: "volcano" is not known to this operator; known: kube; the application waits until then`}}},
		"Suspend":   {reason: "nothing is made", text: lab("  suspend: true\n"), want: []Finding{{5, Note, "spec.suspend: nothing is created while it is true"}}},
		"Limit":     {reason: "of what is built", policies: limits, text: lab("  server:\n    memory: 4g\n"), want: []Finding{{6, Error, `spec.server.memory: "4g": the driver pod requests 4505Mi of memory in total; namespace default allows at most 4Gi (operator policy "small")`}}},
		"Host": {
			reason: "of a template", policies: limits, text: lab("  executor:\n    instances: 1\n    template:\n      spec:\n        volumes: [{name: a, hostPath: {path: /}}]\n"),
			want: []Finding{{7, Error, `spec.executor.template: "a": is a directory of the node (hostPath); namespace default allows no access to nodes (operator policy "small")`}},
		},
		"Version": {reason: "of the other kinds", text: strings.Replace(lab(""), "v1alpha1", "v1beta2", 1), want: []Finding{{1, Error, "SparkConnect lab (sparkoperator.k8s.io/v1beta2): sparkoperator.k8s.io has no such kind; write kind: SparkApplication or ScheduledSparkApplication, apiVersion: sparkoperator.k8s.io/v1beta2, or kind: SparkConnect, apiVersion: sparkoperator.k8s.io/v1alpha1"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Check(documents(t, tc.text), kinds.Assumed{}, resolve.Operator{Registry: registry, Policies: tc.policies})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What is rendered is what the operator would create, by names that are known beforehand.
func TestDryRunConnect(t *testing.T) {
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	d := documents(t, lab(""))[0]
	objects, err := d.DryRun(kinds.Assumed{Namespace: "notebooks"}, resolve.Operator{Registry: registry}).Objects()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, object := range objects {
		kind := object.GetObjectKind().GroupVersionKind().Kind
		names = append(names, kind+" "+object.GetNamespace()+"/"+object.GetName())
		if owner := object.GetOwnerReferences()[0]; owner.Kind != "SparkConnect" || owner.APIVersion != "sparkoperator.k8s.io/v1alpha1" || owner.UID != kinds.DefaultUID {
			t.Errorf("%s belongs to %+v", object.GetName(), owner)
		}
		if kind == "Pod" && object.GetLabels()[spark.LabelRole] != spark.RoleServer {
			t.Errorf("the pod has the labels %v", object.GetLabels())
		}
	}
	if text := strings.Join(names, "\n"); !strings.Contains(text, "Pod notebooks/lab-server") || !strings.Contains(text, "ConfigMap notebooks/lab-conf") {
		t.Errorf("rendered:\n%s", text)
	}
}
