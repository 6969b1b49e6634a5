// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

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
