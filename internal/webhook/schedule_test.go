// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

const validateSchedule = "/validate-sparkoperator-k8s-io-v1beta2-scheduledsparkapplication"

// nightly is a schedule whose fields begin its spec, and whose template is good.
func nightly(fields string) string {
	return "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: ScheduledSparkApplication\nmetadata: {name: nightly, namespace: jobs}\nspec: {" + fields +
		", template: {type: Scala, sparkVersion: 4.1.4, image: 'spark:4.1.4', mainClass: Main, mainApplicationFile: 'local:///a.jar'}}"
}

func TestValidateSchedule(t *testing.T) {
	good := nightly("schedule: '30 2 * * *', timeZone: UTC")
	tight := policy.Policy{Name: "tight", Namespaces: []string{"jobs"}, Limits: policy.Limits{Executors: new(int32(1))}}
	for name, tc := range map[string]struct {
		reason    string
		operation admissionv1.Operation
		stored    string
		sent      string
		refused   []string
		warned    []string
	}{
		"Good": {"finding 8: where nothing is wrong, kubectl --warnings-as-errors has nothing to fail for", admissionv1.Create, "", good, nil, nil},
		"Everything": {
			"schedule and template at once, each with its field", admissionv1.Create, "",
			strings.Replace(nightly("schedule: '30 25 * * *', concurrencyPolicy: Never"), "type:", "driver: {memory: 2gb}, type:", 1),
			[]string{`spec.schedule: "30 25 * * *"`, `spec.concurrencyPolicy: "Never"`, `spec.template.driver.memory: "2gb"`}, nil,
		},
		"Policy": {
			"limits of the installation", admissionv1.Create, "", strings.Replace(good, "type:", "executor: {instances: 2}, type:", 1),
			[]string{`spec.template.executor.instances: "2": namespace jobs allows at most 1 executors`}, nil,
		},
		"Kueue": {
			"finding 2 of the review of the schedulers: the runs have the labels of their schedule", admissionv1.Create, "",
			strings.NewReplacer("metadata: {", "metadata: {labels: {kueue.x-k8s.io/queue-name: q}, ", "type:", "executor: {instances: 1}, sparkConf: {spark.dynamicAllocation.enabled: 'true'}, type:").Replace(good),
			[]string{`spec.template.sparkConf["spark.dynamicAllocation.enabled"]: "true": any number of executors may run, and Kueue counts 1, from spec.template.executor.instances`},
			[]string{"spec.template.driver: a pod requests cpu 1 and memory 1408Mi, and Kueue counts cpu 0 and memory 0", "spec.template.executor: a pod requests cpu 1"},
		},
		"Variable": {
			"one that there is not", admissionv1.Create, "", strings.Replace(good, "type:", "sparkConf: {spark.a: $(SCHEDULED_DAY)}, type:", 1),
			[]string{`spec.template.sparkConf["spark.a"]: "$(SCHEDULED_DAY)"`}, nil,
		},
		"Malformed": {"the schema is open there", admissionv1.Create, "", "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: ScheduledSparkApplication\nmetadata: {name: nightly}\nspec: {template: {driver: {template: text}}}", []string{"spec: "}, nil},
		"Suspend": {
			"what is wrong must not keep people from stopping it", admissionv1.Update, nightly("schedule: x"), nightly("schedule: x, suspend: true"), nil,
			[]string{"invalid before this change, too: spec.schedule"},
		},
		"Worse":  {"an edit that makes it wrong", admissionv1.Update, good, nightly("schedule: x"), []string{`spec.schedule: "x"`}, nil},
		"Delete": {"anything may go", admissionv1.Delete, nightly("schedule: x"), "", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			response := call(t, validateSchedule, tc.operation, tc.stored, tc.sent, tight)
			if response.Allowed != (len(tc.refused) == 0) {
				t.Fatalf("%s: allowed: %t, %v", tc.reason, response.Allowed, response.Result)
			}
			for _, text := range tc.refused {
				if response.Result.Details.Kind != "ScheduledSparkApplication" || !strings.Contains(response.Result.Message, text) {
					t.Errorf("%s: it does not say %q of its kind: %+v", tc.reason, text, response.Result)
				}
			}
			warnings := strings.Join(response.Warnings, "\n")
			for _, text := range tc.warned {
				if !strings.Contains(warnings, text) {
					t.Errorf("%s: no warning says %q: %s", tc.reason, text, warnings)
				}
			}
			if len(tc.warned) == 0 && warnings != "" {
				t.Errorf("%s: warned of %s", tc.reason, warnings)
			}
		})
	}
}

// A schedule is sent as it is: what is assumed of its runs is written down when they are created.
func TestNothingIsAssumedOfASchedule(t *testing.T) {
	server := &recorder{served: map[string]*admission.Webhook{}}
	register(server, Scheme(), operator(t), config.OperatorConfiguration{})
	for path, text := range map[string]string{
		"/mutate-sparkoperator-k8s-io-v1beta2-scheduledsparkapplication": nightly("schedule: '30 2 * * *'"),
		"/mutate-sparkoperator-k8s-io-v1alpha1-sparkconnect":             "{apiVersion: sparkoperator.k8s.io/v1alpha1, kind: SparkConnect, metadata: {name: c}, spec: {}}",
	} {
		response := server.served[path].Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: object(t, text)},
		}})
		if !response.Allowed || len(response.Patch)+len(response.Patches) > 0 {
			t.Errorf("%s answers with %+v", path, response)
		}
	}
}

func TestScheduleWithoutWarnings(t *testing.T) {
	var o v1beta2.ScheduledSparkApplication
	if err := json.Unmarshal(object(t, nightly("schedule: '@every 1h'")), &o); err != nil {
		t.Fatal(err)
	}
	if errs, warnings := judge(kinds.ScheduledSparkApplication, operator(t)).findings(&o); len(errs)+len(warnings) > 0 {
		t.Errorf("%v, %v", validation.Sentences(errs), warnings)
	}
}
