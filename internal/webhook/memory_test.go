// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

// memory is that of the container of config/webhook, and collected the part of it that the process's collector is told (cmd/spark-operator,
// limitMemory): if more than that is in use, it never rests.
const memory, collected = 128 << 20, memory * 7 / 10

// largest are the specs that take the most for what may be sent.
func largest() map[string]string {
	fill := func(element string, size int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", size/(len(element)+1)), ",") + "]"
	}
	pair := maxRequest/2 - 4096
	return map[string]string{
		"Objects": `{"deps":{"jars":` + fill(`{}`, pair) + `}}`,
		"Lists":   `{"volumes":` + fill(`[]`, pair) + `}`,
		"Volumes": `{"volumes":` + fill(`{"name":""}`, pair) + `}`,
		"Texts":   `{"arguments":` + fill(`""`, pair) + `}`,
		"Numbers": `{"arguments":` + fill(`1`, pair) + `}`,
		"Text":    `{"mainClass":"` + strings.Repeat("x", pair) + `"}`,
	}
}

// As many of the largest requests as are read at the same time, and as many as are answered, fit in what the collector is told, beside
// the process itself. All that they allocate counts, so that the answer does not depend on when a collector runs.
func TestMemory(t *testing.T) {
	hooks := registered(t)
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	for name, spec := range largest() {
		t.Run(name, func(t *testing.T) {
			body := edit(t, spec)
			nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
			reading := heaptest.Taken(func() { ask(t, boundedHandler{nothing, newSlots()}, body) })
			answering := max(heaptest.Taken(func() { ask(t, hooks[mutate], body) }), heaptest.Taken(func() { ask(t, hooks[validate], body) }))
			took := stats.HeapAlloc + maxReading*reading + maxAnswering*answering
			t.Logf("the process takes %d KiB, reading %d KiB, and answering %d KiB, which is %d MiB in all", stats.HeapAlloc>>10, reading>>10, answering>>10, took>>20)
			if took > collected {
				t.Errorf("want %d MiB at most", collected>>20)
			}
		})
	}
}

// Requests that come all at the same time are answered, and the number of what they take is published: it depends on the collector.
func TestMemoryTogether(t *testing.T) {
	before := debug.SetMemoryLimit(collected)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	line := fmt.Sprintf("%d requests of %d KiB took at most %d MiB of %d MiB", maxReading, maxRequest>>10, peakOf(t, edit(t, largest()["Lists"]))>>20, memory>>20)
	t.Log(line)
	dir := filepath.Join("..", "..", "dist", "numbers")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "webhook.txt"), []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// registered are the webhooks by their paths.
func registered(t *testing.T) map[string]*admission.Webhook {
	t.Helper()
	handlers := &recorder{served: map[string]*admission.Webhook{}}
	register(handlers, Scheme(), operator(t), config.OperatorConfiguration{})
	return handlers.served
}

// edit is the request of an application's edit, which is of nearly nothing.
func edit(t *testing.T, spec string) []byte {
	t.Helper()
	object := []byte(`{"apiVersion":"sparkoperator.k8s.io/v1beta2","kind":"SparkApplication","metadata":{"name":"pi","namespace":"jobs"},"spec":` + spec + `}`)
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "u", Operation: admissionv1.Update, Namespace: "jobs", Name: "pi", Object: k8sruntime.RawExtension{Raw: object},
			OldObject: k8sruntime.RawExtension{Raw: bytes.Replace(object, []byte(`"spec":{`), []byte(`"spec":{"mode":"cluster",`), 1)},
		},
	})
	if err != nil || len(body) > maxRequest {
		t.Fatalf("%d bytes, %v", len(body), err)
	}
	return body
}

// connected is an answer whose connection has deadlines.
type connected struct{ *httptest.ResponseRecorder }

func (connected) SetReadDeadline(time.Time) error  { return nil }
func (connected) SetWriteDeadline(time.Time) error { return nil }

// ask sends a request without a network.
func ask(t *testing.T, to http.Handler, body []byte) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	answer := connected{httptest.NewRecorder()}
	if to.ServeHTTP(answer, request); answer.Code != http.StatusOK {
		t.Errorf("answered with %d %.200s", answer.Code, answer.Body)
	}
}

// peakOf is the most memory that was seen in use while a request is sent eight times at once to both webhooks.
func peakOf(t *testing.T, body []byte) uint64 {
	t.Helper()
	hooks := registered(t)
	places := newSlots()
	places.readTime, places.answerTime = time.Minute, time.Minute
	runtime.GC()
	var most atomic.Uint64
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			most.Store(max(most.Load(), stats.HeapInuse+stats.StackInuse))
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	})
	for _, path := range []string{mutate, validate} {
		served := httptest.NewServer(boundedHandler{hooks[path], places})
		var sending sync.WaitGroup
		for range maxReading {
			sending.Go(func() {
				if code, said := post(t.Context(), served.URL, bytes.NewReader(body)); code != 200 {
					t.Errorf("answered with %d %.200s", code, said)
				}
			})
		}
		sending.Wait()
		served.Close()
	}
	close(done)
	watching.Wait()
	return most.Load()
}

// Whatever can be posted is answered, and costs no more memory than its size justifies.
func TestBombsAreRefused(t *testing.T) {
	for name, conf := range heaptest.Bombs() {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(conf)
			if err != nil {
				t.Fatal(err)
			}
			sent := strings.Replace(good, "{", "{sparkConf: "+string(text)+", ", 1)
			defer heaptest.Bound(t, 4*len(sent))() // read twice, and made from YAML twice
			if response := call(t, mutate, admissionv1.Create, "", sent); !response.Allowed {
				t.Errorf("not defaulted: %+v", response.Result)
			}
			response := call(t, validate, admissionv1.Create, "", sent)
			if response.Allowed || response.Result.Reason != metav1.StatusReasonInvalid || len(response.Result.Message) > 1000 {
				t.Fatalf("answered with %.500s", response.Result)
			}
			const field = `spec.sparkConf["spark.executor.memoryOverhead"]`
			named := func(c metav1.StatusCause) bool { return c.Field == field && strings.Contains(c.Message, "refer to") }
			if !slices.ContainsFunc(response.Result.Details.Causes, named) {
				t.Errorf("refused with %s, want something about %s", response.Result.Message, field)
			}
		})
	}
}
