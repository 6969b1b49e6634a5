// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

const (
	mutate   = "/mutate-sparkoperator-k8s-io-v1beta2-sparkapplication"
	validate = "/validate-sparkoperator-k8s-io-v1beta2-sparkapplication"
)

// recorder remembers what is served where.
type recorder struct {
	webhook.Server
	served map[string]*admission.Webhook
}

// Register remembers a handler.
func (r *recorder) Register(path string, hook http.Handler) {
	r.served[path] = hook.(*admission.Webhook)
}

// operator is one that knows plain Kubernetes, with policies for all namespaces.
func operator(t *testing.T, policies ...policy.Policy) func() resolve.Operator {
	t.Helper()
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	return func() resolve.Operator { return resolve.Operator{Registry: registry, Policies: policies} }
}

// call asks the webhook at a path, as the API server would.
func call(t *testing.T, path string, operation admissionv1.Operation, stored, sent string, policies ...policy.Policy) admission.Response {
	t.Helper()
	return callWith(t, config.OperatorConfiguration{}, path, operation, stored, sent, policies...)
}

// callWith does so with a configuration.
func callWith(t *testing.T, c config.OperatorConfiguration, path string, operation admissionv1.Operation, stored, sent string, policies ...policy.Policy) admission.Response {
	t.Helper()
	server := &recorder{served: map[string]*admission.Webhook{}}
	register(server, Scheme(), operator(t, policies...), c)
	hook, ok := server.served[path]
	if !ok {
		t.Fatalf("nothing is served at %s", path)
	}
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "u", Operation: operation, Namespace: "jobs", Name: "pi",
		Object: runtime.RawExtension{Raw: object(t, sent)}, OldObject: runtime.RawExtension{Raw: object(t, stored)},
	}}
	return hook.Handle(t.Context(), request)
}

// object is a manifest as the API server sends it; one that begins with spec gets the rest.
func object(t *testing.T, text string) []byte {
	t.Helper()
	if text == "" {
		return nil
	}
	if strings.HasPrefix(text, "spec:") {
		text = "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: pi, namespace: jobs}\n" + text
	}
	out, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	good      = "spec: {type: Scala, sparkVersion: 4.1.4, image: 'spark:4.1.4', mainClass: Main, mainApplicationFile: 'local:///a.jar'}"
	defaulted = `spec: {type: Scala, mode: cluster, restartPolicy: {type: Never}, sparkVersion: 4.1.4, image: 'spark:4.1.4', mainClass: Main,
  mainApplicationFile: 'local:///a.jar', driver: {cores: 1, memory: 1g}, executor: {cores: 1, memory: 1g, instances: 1}}`
	badMemory = "spec: {type: Scala, sparkVersion: 4.1.4, image: 'spark:4.1.4', mainClass: Main, mainApplicationFile: 'local:///a.jar', driver: {memory: 2gb}}"
)

// with is a manifest with more of metadata.
func with(metadata, spec string) string {
	return "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: pi, namespace: jobs, " + metadata + "}\n" + spec
}

func TestMutate(t *testing.T) {
	const said = "type,mode,restartPolicy.type,driver.cores,driver.memory,executor.cores,executor.memory,executor.instances"
	withoutType := strings.ReplaceAll(good, "type: Scala, ", "")
	note := "annotations: {firesteel.dev/defaulted: 'mode,restartPolicy.type,driver.cores,driver.memory,executor.cores,executor.memory,executor.instances'}"
	cases := map[string]struct {
		reason    string
		operation admissionv1.Operation
		stored    string
		sent      string
		want      string
	}{
		"Create": {"defaults, and a note of which", admissionv1.Create, "", withoutType, with("annotations: {firesteel.dev/defaulted: '"+said+"'}", defaulted)},
		"Replace": {
			"a manifest without defaults is no change of what is stored (C12)", admissionv1.Update,
			with(note, defaulted), good, with(note, defaulted),
		},
		"Complete": {"there is nothing to add", admissionv1.Create, "", defaulted, defaulted},
		"Metadata": {"an edit of a label is no occasion to write into the spec", admissionv1.Update, good, with("labels: {a: b}", good), with("labels: {a: b}", good)},
		"Deleting": {
			"it is being deleted", admissionv1.Update, good,
			with("deletionTimestamp: '2026-11-21T09:00:00Z'", withoutType), with("deletionTimestamp: '2026-11-21T09:00:00Z'", withoutType),
		},
		"TakenBack": {
			"a default must not win over sparkConf", admissionv1.Update, with(note, defaulted),
			with(note, strings.Replace(defaulted, "mode:", "sparkConf: {spark.driver.memory: 4g}, mode:", 1)),
			with(strings.Replace(note, "driver.memory,", "", 1),
				strings.NewReplacer("mode:", "sparkConf: {spark.driver.memory: 4g}, mode:", "driver: {cores: 1, memory: 1g}", "driver: {cores: 1}").Replace(defaulted)),
		},
		"Unknown": {
			"what our types do not know stays as it is", admissionv1.Create, "", strings.Replace(defaulted, "mode: cluster,", "news: {b: null, a: 1000m},", 1),
			with("annotations: {firesteel.dev/defaulted: mode}", strings.Replace(defaulted, "mode: cluster,", "mode: cluster, news: {b: null, a: 1000m},", 1)),
		},
		"Malformed": {"what cannot be decoded would be lost", admissionv1.Create, "", "spec: {driver: {template: text}}", "spec: {driver: {template: text}}"},
		"Delete":    {"there is nothing to complete", admissionv1.Delete, good, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			response := call(t, mutate, tc.operation, tc.stored, tc.sent)
			if !response.Allowed {
				t.Fatalf("%s: refused: %v", tc.reason, response.Result)
			}
			got := object(t, tc.sent)
			if len(response.Patches) > 0 {
				text, err := json.Marshal(response.Patches)
				if err != nil {
					t.Fatal(err)
				}
				patch, err := jsonpatch.DecodePatch(text)
				if err != nil {
					t.Fatal(err)
				}
				if got, err = patch.Apply(got); err != nil {
					t.Fatalf("%s: the patch cannot be applied: %v", tc.reason, err)
				}
			}
			if diff := cmp.Diff(tree(t, object(t, tc.want)), tree(t, got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func tree(t *testing.T, text []byte) (out any) {
	t.Helper()
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestValidate(t *testing.T) {
	tight := policy.Policy{
		Name: "tight", Namespaces: []string{"*"}, Defaults: policy.Defaults{Image: "preset:1"},
		Limits: policy.Limits{Executors: new(int32(1)), TimeToLiveSeconds: new(int64(60))},
	}
	more := strings.Replace(good, "type:", "executor: {instances: 2}, type:", 1)
	const queued = "labels: {kueue.x-k8s.io/queue-name: q}"
	cases := map[string]struct {
		reason    string
		operation admissionv1.Operation
		stored    string
		sent      string
		refused   []string
		warned    []string
	}{
		"Good": {reason: "nothing is wrong", operation: admissionv1.Create, sent: good},
		"Everything": {
			reason: "all mistakes at once, each with its field", operation: admissionv1.Create,
			sent: "spec: {type: Scala, sparkVersion: '1.6', mainApplicationFile: 'local:///a.jar', driver: {memory: 2gb}, sparkConf: {spark.master: local}}",
			refused: []string{
				`spec.driver.memory: "2gb"`, `spec.sparkConf["spark.master"]: sparkConf key "spark.master" is not allowed`,
			},
			warned: []string{`spec.sparkVersion: "1.6"`},
		},
		"KueueEvicts": {
			reason: "finding 2 of the review of the schedulers: what an older operator started can be evicted", operation: admissionv1.Update,
			stored: with(queued, strings.Replace(good, "type:", "executor: {instances: 1}, dynamicAllocation: {enabled: true, maxExecutors: 1, initialExecutors: 2}, type:", 1)),
			sent:   with(queued, strings.Replace(good, "type:", "suspend: true, executor: {instances: 1}, dynamicAllocation: {enabled: true, maxExecutors: 1, initialExecutors: 2}, type:", 1)),
			warned: []string{`invalid before this change, too: spec.dynamicAllocation.initialExecutors: "2": up to 2 executors may run, and Kueue counts 1`},
		},
		"Malformed": {
			reason: "the schema is open there", operation: admissionv1.Create, sent: "spec: {driver: {template: text}}",
			refused: []string{"spec: cannot be decoded"},
		},
		"Warning": {
			reason: "it would be accepted and ignored", operation: admissionv1.Create, sent: strings.Replace(good, "Scala", "Python", 1),
			warned: []string{`spec.type: "Python"`},
		},
		"Unknown": {
			reason: "the schema is open there, and a typing error would vanish", operation: admissionv1.Create,
			sent:   strings.Replace(good, "type:", "executor: {tolerations: [{key: a, efect: NoSchedule}]}, type:", 1),
			warned: []string{"spec.executor.tolerations[0].efect: unknown field, which has no effect; did you mean effect?"},
		},
		"Policy":       {reason: "checks of the installation", operation: admissionv1.Create, sent: more, refused: []string{`spec.executor.instances: "2": namespace jobs allows at most 1 executors`}},
		"PolicyOfLife": {reason: "checks of the installation", operation: admissionv1.Create, sent: strings.Replace(good, "type:", "timeToLiveSeconds: 61, type:", 1), refused: []string{`spec.timeToLiveSeconds: "1m1s": namespace jobs allows at most 60 seconds`}},
		"PolicyRemarks": {
			reason: "nothing is wrong, but it would wait", operation: admissionv1.Create,
			sent: strings.Replace(good, "type:", "batchScheduler: later, type:", 1), warned: []string{`"later" is not known to this operator; known: kube; the application waits until then`},
		},
		"Preset":          {reason: "the installation has an image", operation: admissionv1.Create, sent: strings.Replace(good, " image: 'spark:4.1.4',", "", 1)},
		"Worse":           {reason: "an edit that makes it wrong", operation: admissionv1.Update, stored: good, sent: badMemory, refused: []string{"spec.driver.memory"}},
		"OtherwiseWrong":  {reason: "wrong in another way than before", operation: admissionv1.Update, stored: badMemory, sent: strings.Replace(badMemory, "2gb", "3gb", 1), refused: []string{`"3gb"`}},
		"Better":          {reason: "an edit that repairs it", operation: admissionv1.Update, stored: badMemory, sent: good},
		"Suspend":         {reason: "anyone who tightens the rules must not keep people from stopping what runs", operation: admissionv1.Update, stored: more, sent: strings.Replace(more, "type:", "suspend: true, type:", 1), warned: []string{"invalid before this change, too: spec.executor.instances"}},
		"Label":           {reason: "metadata of what is invalid", operation: admissionv1.Update, stored: badMemory, sent: with("labels: {a: b}", badMemory)},
		"Finalizer":       {reason: "a deletion must be able to end", operation: admissionv1.Update, stored: with("finalizers: [a/b]", badMemory), sent: badMemory},
		"Deleting":        {reason: "it is being deleted", operation: admissionv1.Update, stored: good, sent: with("deletionTimestamp: '2026-11-21T09:00:00Z'", badMemory)},
		"Delete":          {reason: "anything may go", operation: admissionv1.Delete, stored: badMemory},
		"MalformedLabel":  {reason: "metadata of what cannot be decoded", operation: admissionv1.Update, stored: "spec: {driver: {template: text}}", sent: with("labels: {a: b}", "spec: {driver: {template: text}}")},
		"MalformedBefore": {reason: "what is repaired is checked alone", operation: admissionv1.Update, stored: "spec: {driver: {template: text}}", sent: good},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			response := call(t, validate, tc.operation, tc.stored, tc.sent, tight)
			if response.Allowed != (len(tc.refused) == 0) {
				t.Fatalf("%s: allowed: %t, %v", tc.reason, response.Allowed, response.Result)
			}
			if len(tc.refused) > 0 {
				checkRefusal(t, response.Result, tc.refused)
			}
			warnings := strings.Join(response.Warnings, "\n")
			for _, text := range tc.warned {
				if !strings.Contains(warnings, text) {
					t.Errorf("%s: no warning says %q: %s", tc.reason, text, warnings)
				}
			}
			if len(tc.warned) == 0 && len(response.Warnings) > 0 {
				t.Errorf("%s: warned of %s", tc.reason, warnings)
			}
		})
	}
}

// checkRefusal looks for sentences in the message and for their fields in the causes.
func checkRefusal(t *testing.T, status *metav1.Status, sentences []string) {
	t.Helper()
	if status.Reason != metav1.StatusReasonInvalid || status.Code != 422 || status.Details.Kind != "SparkApplication" || status.Details.Name != "pi" {
		t.Errorf("status %+v, details %+v: want what the API server says of a schema", status, status.Details)
	}
	if len(status.Details.Causes) < len(sentences) {
		t.Errorf("%d causes for %d mistakes", len(status.Details.Causes), len(sentences))
	}
	var causes []string
	for _, c := range status.Details.Causes {
		causes = append(causes, c.Field+": "+c.Message)
	}
	for _, text := range sentences {
		if !strings.Contains(status.Message, text) || !strings.Contains(strings.Join(causes, "\n"), text) {
			t.Errorf("%q is missing in the message or the causes:\n%s\n%s", text, status.Message, strings.Join(causes, "\n"))
		}
	}
}

// judge answers about one kind.
func judge(row *kinds.Row, operator func() resolve.Operator) *admitter {
	return &admitter{Row: row, operator: operator, now: time.Now}
}

// The words are those that the operator writes into the status: a person who knows one knows the other.
func TestSameWordsAsTheOperator(t *testing.T) {
	var o *v1beta2.SparkApplication
	if err := json.Unmarshal(object(t, badMemory), &o); err != nil {
		t.Fatal(err)
	}
	a := judge(kinds.SparkApplication, operator(t))
	errs, _ := a.findings(o)
	if len(errs) != 1 || !strings.HasPrefix(validation.Sentence(errs[0]), `spec.driver.memory: "2gb": not a heap size`) {
		t.Errorf("it says %v", errs)
	}
	kubeflow.Default(o)
	defaulted, _ := a.findings(o)
	if diff := cmp.Diff(errs, defaulted); diff != "" {
		t.Errorf("defaults change what is said (-without +with):\n%s", diff)
	}
}

func TestRefusesRubbish(t *testing.T) {
	for _, path := range []string{mutate, validate} {
		for name, sent := range map[string]string{"not an object": "[]", "another kind": "apiVersion: v1\nkind: Pod\nspec: {}", "no spec": "metadata: 1"} {
			if response := call(t, path, admissionv1.Create, "", sent); response.Allowed && path == validate {
				t.Errorf("%s: %s was accepted", path, name)
			}
		}
	}
}

func TestWarningsAreBounded(t *testing.T) {
	warnings := make([]string, 30)
	if got := bounded(warnings); len(got) != maxWarnings+1 || got[maxWarnings] != "..." {
		t.Errorf("%d warnings in one answer", len(got))
	}
	if got := bounded(warnings[:maxWarnings]); len(got) != maxWarnings {
		t.Errorf("%d warnings of %d", len(got), maxWarnings)
	}
}

// The webhook says what the controller would: a default that it has written into the spec is none of the user's words, so
// that it hides neither a policy's default nor keeps one from binding.
func TestPoliciesOfTheWebhook(t *testing.T) {
	all := []policy.Policy{
		{Name: "usual", Namespaces: []string{"jobs"}, Defaults: policy.Defaults{Driver: policy.RoleDefaults{Memory: "3g"}}},
		{Name: "small", Namespaces: []string{"jobs"}, Limits: policy.Limits{ForbiddenConf: []string{"spark.secret.*"}, Driver: policy.RoleLimits{Memory: "3Gi"}}},
	}
	o := &v1beta2.SparkApplication{}
	o.Name = "pi"
	o.Spec.SparkVersion, o.Spec.Image, o.Spec.MainApplicationFile = "4.1.0", new("spark:4.1.0"), new("local:///app/pi.py")
	o.Spec.SparkConf = map[string]string{"spark.secret.door": "open"}
	const tooMuch = `defaults.driver.memory of the operator's policy "usual": "3g"`
	for _, written := range []bool{false, true} {
		t.Run(fmt.Sprintf("defaulted=%v", written), func(t *testing.T) {
			if written {
				kubeflow.Default(o)
			}
			a := judge(kinds.SparkApplication, operator(t, all...))
			o.Namespace = "jobs"
			errs, _ := a.findings(o)
			words := strings.Join(validation.Sentences(errs), "\n")
			if len(errs) != 2 || !strings.Contains(words, "spark.secret.door") || !strings.Contains(words, tooMuch) {
				t.Errorf("errors %s, want one about the forbidden property and one about the namespace's default", words)
			}
			o.Namespace = "elsewhere"
			if errs, _ := a.findings(o); len(errs) != 0 {
				t.Errorf("another namespace is bound: %v", errs)
			}
		})
	}
}
