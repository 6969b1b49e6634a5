// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/firesteel-dev/firesteel/cmd/plugins"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/testutil/ports"
)

const patience = 30 * time.Second

// admission is the process of the webhook, asked as the API server asks it.
type admission struct {
	t    *testing.T
	file string
	port int
}

// journal is what the processes of this test log: only the first logger that controller-runtime is given counts.
var journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(funcr.New(func(_, line string) {
		journal.mu.Lock()
		defer journal.mu.Unlock()
		journal.text.WriteString(line + "\n")
	}, funcr.Options{}))
	os.Exit(m.Run())
}

func logged(text string) bool {
	journal.mu.Lock()
	defer journal.mu.Unlock()
	return strings.Contains(journal.text.String(), text)
}

// admit starts the webhook with sections of a configuration file.
func admit(t *testing.T, sections string) *admission {
	t.Helper()
	a := &admission{t: t, file: filepath.Join(t.TempDir(), "config.yaml"), port: ports.ForTest(t)}
	certificate, key, err := certutil.GenerateSelfSignedCertKey("webhook", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(a.file), name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.write(sections)
	c, err := config.Load(a.file)
	if err != nil {
		t.Fatal(err)
	}
	mgr, _, err := webhookProcess(t.Context(), &rest.Config{Host: "127.0.0.1:1"}, c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the process ends with %v", err)
		}
	})
	return a
}

func (a *admission) write(sections string) {
	a.t.Helper()
	text := fmt.Sprintf("apiVersion: config.firesteel.dev/v1alpha1\nkind: OperatorConfiguration\nmetrics: {bindAddress: \"0\"}\nhealth: {bindAddress: \"0\"}\n"+
		"webhook: {certificates: files, certDir: %s, port: %d}\n%s\n", filepath.Dir(a.file), a.port, sections)
	if err := os.WriteFile(a.file+".new", []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Rename(a.file+".new", a.file); err != nil {
		a.t.Fatal(err)
	}
}

// says is the answer to the creation of an application: what is refused and what is warned of; nil and nil if it is
// accepted without a word.
func (a *admission) says(spec string) (refused string, warnings []string, err error) {
	object := `{"apiVersion":"sparkoperator.k8s.io/v1beta2","kind":"SparkApplication","metadata":{"namespace":"jobs","name":"pi"},"spec":` + spec + `}`
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "u", Operation: admissionv1.Create, Namespace: "jobs", Name: "pi", Object: runtime.RawExtension{Raw: []byte(object)},
		},
	}
	text, err := json.Marshal(review)
	if err != nil {
		return "", nil, err
	}
	url := fmt.Sprintf("https://127.0.0.1:%d/validate-sparkoperator-k8s-io-v1beta2-sparkapplication", a.port)
	request, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return "", nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	anybody := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	response, err := (&http.Client{Transport: anybody, Timeout: patience}).Do(request)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer admissionv1.AdmissionReview
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", nil, err
	}
	if !answer.Response.Allowed {
		refused = answer.Response.Result.Message
	}
	return refused, answer.Response.Warnings, nil
}

// eventually waits until the webhook answers in a way.
func (a *admission) eventually(reason, spec string, holds func(refused string) bool) {
	a.t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for {
		refused, _, err := a.says(spec)
		if err == nil && holds(refused) {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			a.t.Fatalf("%s: not within %s; it refuses %q, %v", reason, patience, refused, err)
		}
	}
}

// A policy that is changed while the operator runs binds in the webhook, too: else it would refuse by an old limit what the
// controller runs.
func TestWebhookFollowsPolicies(t *testing.T) {
	const limit = "policies: [{name: small, namespaces: [jobs], limits: {executor: {cores: %q}}}]"
	const eight = `{"type":"Scala","mode":"cluster","sparkVersion":"4.1.4","image":"spark:4.1.4","mainClass":"Main","mainApplicationFile":"local:///a.jar","executor":{"cores":8,"instances":1}}`
	a := admit(t, fmt.Sprintf(limit, "4"))
	tooMany := func(refused string) bool { return strings.Contains(refused, `operator policy "small"`) }
	accepted := func(refused string) bool { return refused == "" }
	a.eventually("the policy at the start", eight, tooMany)
	a.write(fmt.Sprintf(limit, "8"))
	a.eventually("a raised limit", eight, accepted)
	a.write("policies: [{name: small}]")
	a.eventually("a wrong file keeps the previous policies, and is reported", eight, func(refused string) bool {
		return refused == "" && logged("the previous one stays in force") && logged("policies[0].namespaces")
	})
	a.write(fmt.Sprintf(limit, "2"))
	a.eventually("a lowered limit", eight, tooMany)
}

// What a reconcile would refuse of batch scheduling without a look at the cluster is refused when it is sent, and what it
// would let wait is not.
func TestWebhookAsksSchedulers(t *testing.T) {
	every, err := plugins.Every()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"volcano", "yunikorn", "coscheduling"} {
		if _, known := every.Plugin(name); !known && os.Getenv("CI") == "" {
			t.Skipf("this program is built without %s", name)
		}
	}
	const head = `{"type":"Scala","mode":"cluster","sparkVersion":"4.1.4","image":"spark:4.1.4","mainClass":"Main","mainApplicationFile":"local:///a.jar"`
	a := admit(t, `batchScheduler:
  enabled: [kube, volcano, yunikorn]
  allowedQueues: [{namespaces: [jobs], queues: [root.jobs, "root.jobs.*"]}]
policies: [{name: batch, namespaces: [jobs], defaults: {queue: root.jobs}}]`)
	a.eventually("it serves", head+"}", func(refused string) bool { return refused == "" })
	cases := map[string]struct {
		reason  string
		spec    string
		refused []string
		warned  string
	}{
		"Plain":     {reason: "nothing is asked of a scheduler"},
		"Good":      {reason: "as documented", spec: `,"batchScheduler":"yunikorn","batchSchedulerOptions":{"queue":"root.jobs.a","parameters":{"gangSchedulingStyle":"Hard"}}`},
		"Policy":    {reason: "the queue of a policy", spec: `,"batchScheduler":"volcano"`},
		"Parameter": {reason: "a word of its own", spec: `,"batchScheduler":"yunikorn","batchSchedulerOptions":{"parameters":{"gangSchedulingStyle":"Harder"}}`, refused: []string{`spec.batchSchedulerOptions.parameters.gangSchedulingStyle: "Harder": must be Soft, Hard or None`}},
		"Several": {
			reason: "all mistakes at once", spec: `,"driver":{"memory":"2gb"},"batchScheduler":"yunikorn","batchSchedulerOptions":{"queue":"root.other"}`,
			refused: []string{"spec.driver.memory"},
		},
		"Path":      {reason: "no path of a queue", spec: `,"batchScheduler":"yunikorn","batchSchedulerOptions":{"queue":"root.jobs.a..b"}`, refused: []string{`spec.batchSchedulerOptions.queue: "root.jobs.a..b" is not the path of a queue`}},
		"Forbidden": {reason: "someone else's queue", spec: `,"batchScheduler":"volcano","batchSchedulerOptions":{"queue":"other","parameters":{"afterStart":"Nothing"}}`, refused: []string{`spec.batchSchedulerOptions.queue: queue "other" may not be used from namespace "jobs"`, "parameters.afterStart"}},
		"Disabled":  {reason: "it waits until it is enabled", spec: `,"batchScheduler":"coscheduling"`, warned: `spec.batchScheduler: "coscheduling" is not enabled`},
		"Unknown":   {reason: "it waits for another operator", spec: `,"batchScheduler":"vulcano"`, warned: `spec.batchScheduler: "vulcano" is not known to this operator; known: kube, volcano, yunikorn; the application waits`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			refused, warnings, err := a.says(head + tc.spec + "}")
			if err != nil || len(tc.refused) == 0 && refused != "" {
				t.Fatalf("%s: refused %q, %v", tc.reason, refused, err)
			}
			for _, text := range tc.refused {
				if !strings.Contains(refused, text) {
					t.Errorf("%s: refused %q, want %q", tc.reason, refused, text)
				}
			}
			if got := strings.Join(warnings, "\n"); !strings.Contains(got, tc.warned) || tc.warned == "" && got != "" {
				t.Errorf("%s: warned %q, want %q", tc.reason, got, tc.warned)
			}
		})
	}
}

// The webhook starts with no configuration with which the controller would not.
func TestWebhookRefusesUnknownSchedulers(t *testing.T) {
	c := config.OperatorConfiguration{BatchScheduler: config.BatchScheduler{Default: "vulcano"}}
	if _, _, err := webhookProcess(t.Context(), &rest.Config{}, c); err == nil || !strings.Contains(err.Error(), `batchScheduler.default: "vulcano" is not a known scheduler`) {
		t.Errorf("it says %v", err)
	}
}
