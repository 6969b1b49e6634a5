// SPDX-License-Identifier: Apache-2.0

package application

import (
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

// An application that is small and stands for what is not fails alone: it takes the operator no memory, now or after a
// restart.
func TestBombsFail(t *testing.T) {
	for name, conf := range heaptest.Bombs() {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			o.Spec.SparkConf = conf
			w := newHarness(t, o)
			defer heaptest.Bound(t, 4*(len(conf["spark.a"])+len(conf["spark.d"])))() // stored, cached and read again after the restart
			w.settle()
			const field = `spec.sparkConf["spark.executor.memoryOverhead"]: `
			if message := w.app().Status.AppState.ErrorMessage; w.state() != "FAILED" || !strings.HasPrefix(message, field) || !strings.Contains(message, "refer to") {
				t.Errorf("state %q: %q", w.state(), message)
			}
			w.restart()
			w.settle()
			if w.state() != "FAILED" || len(w.drivers()) != 0 {
				t.Errorf("after a restart: state %q with %d drivers", w.state(), len(w.drivers()))
			}
		})
	}
}
