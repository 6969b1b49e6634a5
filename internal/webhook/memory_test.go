// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
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
)

// Eight of the largest requests at the same time take no more memory than the container of config/webhook has, the rest of the process
// included, whose collector knows of that limit (cmd/spark-operator, limitMemory).
func TestMemory(t *testing.T) {
	const limit = 128 << 20
	before := debug.SetMemoryLimit(limit * 7 / 10)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	fill := func(element string, size int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", size/(len(element)+1)), ",") + "]"
	}
	pair := maxRequest/2 - 4096
	for name, spec := range map[string]string{
		"Objects": `{"deps":{"jars":` + fill(`{}`, pair) + `}}`,
		"Lists":   `{"volumes":` + fill(`[]`, pair) + `}`,
		"Volumes": `{"volumes":` + fill(`{"name":""}`, pair) + `}`,
		"Texts":   `{"arguments":` + fill(`""`, pair) + `}`,
		"Numbers": `{"arguments":` + fill(`1`, pair) + `}`,
		"Text":    `{"mainClass":"` + strings.Repeat("x", pair) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			peak := peakOf(t, []byte(`{"apiVersion":"sparkoperator.k8s.io/v1beta2","kind":"SparkApplication","metadata":{"name":"pi","namespace":"jobs"},"spec":`+spec+`}`))
			if peak > limit {
				t.Errorf("the process took %d MiB, want %d MiB at most", peak>>20, limit>>20)
			}
			t.Logf("%d MiB", peak>>20)
		})
	}
}

// peakOf is the most memory in use while an object is sent as an edit of itself, eight times at once to both webhooks.
func peakOf(t *testing.T, object []byte) uint64 {
	t.Helper()
	handlers := &recorder{served: map[string]*admission.Webhook{}}
	if err := register(handlers, Scheme(), operator(t), config.Submitter{}); err != nil {
		t.Fatal(err)
	}
	places := newSlots()
	places.readTime, places.answerTime = time.Minute, time.Minute
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
		served := httptest.NewServer(boundedHandler{handlers.served[path], places})
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
