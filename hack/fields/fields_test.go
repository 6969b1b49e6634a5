// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Anyone who adds a field to the API has to give it a meaning, or say why it has none.
func TestEveryFieldActsOrIsIgnored(t *testing.T) {
	used := map[string]bool{}
	for _, f := range apiFields() {
		for path := range kubeflow.Ignored() {
			if f.Path == path || strings.HasPrefix(f.Path, path+".") || strings.HasPrefix(f.Path, path+"[]") {
				used[path] = true
			}
		}
		switch acts := len(f.Effects) > 0; {
		case !acts && f.Ignored == "":
			t.Errorf("spec.%s: changing it changes nothing, and no reason is given in kubeflow.Ignored", f.Path)
		case acts && f.Ignored != "" && !onlyProblems(f.Effects):
			t.Errorf("spec.%s is said to be ignored, because %q; but it changes %v", f.Path, f.Ignored, f.Effects)
		}
		for _, effect := range f.Effects {
			if strings.HasPrefix(effect, "model: ") {
				t.Errorf("spec.%s: say in inModel what %s means", f.Path, effect)
			}
			if effect == "policy without words" {
				t.Errorf("spec.%s: say in inPolicies which policy it is", f.Path)
			}
			if effect == "exposure without words" {
				t.Errorf("spec.%s: say in inExposure what it describes", f.Path)
			}
		}
	}
	for path := range kubeflow.Ignored() {
		if !used[path] {
			t.Errorf("kubeflow.Ignored names spec.%s, which does not exist", path)
		}
	}
}

func onlyProblems(effects []string) bool {
	for _, e := range effects {
		if !strings.HasPrefix(e, "refused: ") {
			return false
		}
	}
	return true
}

// A walk that loses its way would make the test above pass.
func TestTheWalkReachesEverything(t *testing.T) {
	paths := map[string]bool{}
	for _, f := range apiFields() {
		if paths[f.Path] {
			t.Errorf("%s is there twice", f.Path)
		}
		paths[f.Path] = true
	}
	for _, path := range []string{
		"sparkVersion", "driver.cores", "executor.cores", "driver.template", "executor.instances", "deps.jars", "dynamicAllocation.enabled",
		"driver.secrets[].secretType", "executor.envSecretKeyRefs.<name>.key", "driver.ports[].containerPort", "monitoring.prometheus.configFile",
		"restartPolicy.onFailureRetries", "driverIngressOptions[].ingressTLS", "batchSchedulerOptions.resources", "driver.gpu.quantity",
	} {
		if !paths[path] {
			t.Errorf("spec.%s is not reached", path)
		}
	}
	if want := reflect.TypeFor[v1beta2.SparkApplicationSpec]().NumField(); len(paths) < 3*want {
		t.Errorf("%d fields found, the spec alone has %d", len(paths), want)
	}
}

func TestEffectsAreTold(t *testing.T) {
	cases := map[string]struct {
		reason string
		path   string
		want   string
	}{
		"Property":  {reason: "a field that is a property", path: "driver.memory", want: "`spark.driver.memory`"},
		"Map":       {reason: "a map that is a family of properties", path: "hadoopConf", want: "`spark.hadoop.<key>`"},
		"Pod":       {reason: "a field that is a pod's", path: "executor.tolerations", want: "pod: `spec.tolerations`"},
		"Both":      {reason: "what the driver would overwrite goes both ways", path: "executor.terminationGracePeriodSeconds", want: "`spark.kubernetes.executor.terminationGracePeriodSeconds`"},
		"ConfigMap": {reason: "an object of its own", path: "monitoring.prometheus.configuration", want: "ConfigMap `<application>-prom-conf`"},
		"Policy":    {reason: "a field that decides on the next attempt", path: "restartPolicy.outOfMemory.retries", want: "policy: retries of drivers that ran out of memory"},
		"Raised":    {reason: "a policy that ends in a property", path: "restartPolicy.outOfMemory.maxMemory", want: "policy: bound of the raised `spark.driver.memory`"},
		"Deadline":  {reason: "a stage's bound", path: "deadlines.firstExecutors", want: "policy: when a stage that takes too long ends the attempt"},
		"Service":   {reason: "an auxiliary object", path: "sparkUIOptions.servicePort", want: "auxiliary object: Service `<application>-ui-svc`"},
		"Ingress":   {reason: "another one", path: "driverIngressOptions[].ingressTLS", want: "auxiliary object: Ingress `<application>-ing-<servicePort>`, if the operator makes Ingresses"},
		"Budget":    {reason: "and one that protects it", path: "driverPodDisruptionBudget", want: "auxiliary object: PodDisruptionBudget of the driver pod's name, if the operator makes them"},
		"Refused":   {reason: "a value that is refused", path: "mode", want: `refused: the operator runs drivers in pods only; use "cluster"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, e := range effects(tc.path).Effects {
				if e == tc.want {
					return
				}
			}
			t.Errorf("%s: %s has the effects %q, want %q", tc.reason, tc.path, effects(tc.path).Effects, tc.want)
		})
	}
}

// An edit restarts a running application only if its pods would be made otherwise: what acts on the running application
// or on the next attempt, and what has no effect at all, restarts nothing.
func TestRestarts(t *testing.T) {
	live := func(f apiField) bool {
		for _, e := range f.Effects {
			if strings.HasPrefix(e, "policy: ") || strings.HasPrefix(e, "auxiliary object: ") {
				return true
			}
		}
		// The limit had no effect once, and the hashes of what runs must not change: it acts on the next attempt.
		return f.Path == "suspend" || f.Path == "executor.memoryLimit" || f.Ignored != "" || f.Late
	}
	restarting, late := 0, []string(nil)
	for _, f := range apiFields() {
		if f.Restarts {
			restarting++
		}
		if f.Late {
			late = append(late, f.Path)
		}
		if f.Restarts == live(f) {
			t.Errorf("spec.%s: an edit restarts a running application: %t; its effects: %q, ignored: %q", f.Path, f.Restarts, f.Effects, f.Ignored)
		}
	}
	if want := []string{"executor.affinity", "executor.tolerations", "executor.nodeSelector", "executor.priorityClassName"}; !slices.Equal(late, want) {
		t.Errorf("%q reach the next executors, want %q", late, want)
	}
	if restarting < 100 {
		t.Errorf("%d fields restart an application, want most of them", restarting)
	}
}

func TestWordsArePolicies(t *testing.T) {
	used := map[string]bool{}
	for _, f := range apiFields() {
		for _, e := range f.Effects {
			used[e] = true
		}
	}
	for path, words := range inPolicies {
		if !used[words] && path != "restartPolicy" {
			t.Errorf("inPolicies names %s, which changes no policy", path)
		}
	}
	for path, words := range inExposure {
		if !used[words] {
			t.Errorf("inExposure names %s, which changes no auxiliary object", path)
		}
	}
}

func TestWordsAreOfTheModel(t *testing.T) {
	names := map[string]bool{}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[spark.Application](), reflect.TypeFor[spark.Dependencies](), reflect.TypeFor[spark.Role](),
		reflect.TypeFor[spark.PodOverlay](), reflect.TypeFor[spark.Scheduling](),
	} {
		for f := range typ.Fields() {
			names[f.Name] = true
		}
	}
	for name := range inModel {
		if !names[name] {
			t.Errorf("inModel names %s, which the model does not have", name)
		}
	}
}
