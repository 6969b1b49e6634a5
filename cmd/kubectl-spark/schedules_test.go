// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// sampleSchedule is the one of the samples.
const sampleSchedule = "../../config/samples/scheduled-spark-pi.yaml"

// anyTime is a time in any zone: when the next run is due depends on the day.
var anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)`)

func TestValidateSchedules(t *testing.T) {
	for name, tc := range map[string]struct {
		files []string
		code  int
	}{
		"validate-schedules": {[]string{"-f", "testdata/schedules.yaml"}, 1},
		"validate-mixed":     {[]string{"-f", sampleSchedule, "-f", "testdata/pi.yaml"}, 0},
	} {
		out, errOut, code := execute(t, "", append([]string{"validate"}, tc.files...)...)
		if code != tc.code {
			t.Errorf("%s: exit code %d: %s", name, code, errOut)
		}
		testutil.Golden(t, "testdata/"+name+".golden", "# stdout\n"+anyTime.ReplaceAllString(out, "TIME")+"# stderr\n"+errOut)
	}
}

// The run of a time has the variables of that time, and leads to the objects of an application.
func TestRenderSchedule(t *testing.T) {
	out, errOut, code := execute(t, "", "render", "-f", sampleSchedule, "--submit-time", "2026-03-28T12:00:00Z")
	if code != 0 {
		t.Fatal(errOut)
	}
	for _, text := range []string{
		"name: scheduled-spark-pi-1774747800000000000\n", // 2026-03-29 has no 02:30 in Berlin: it is 03:30 there
		`sparkoperator.k8s.io/scheduled-time: "2026-03-29T03:30:00+02:00"`, `spark.pi.day: "2026-03-28"`, "kind: ConfigMap\n", "kind: Pod\n",
	} {
		if !strings.Contains(out, text) {
			t.Errorf("it lacks %q:\n%s", text, out)
		}
	}
	if again, _, _ := execute(t, "", "render", "-f", sampleSchedule, "--submit-time", "2026-03-28T12:00:00Z"); again != out {
		t.Error("the same time gives something else")
	}
	out, errOut, code = execute(t, "", "render", "-f", "testdata/schedules.yaml")
	if want := "testdata/schedules.yaml:10: spec.schedule: "; code != 1 || out != "" || !strings.Contains(errOut, want) {
		t.Errorf("exit code %d, want 1 and %q: %s%s", code, want, out, errOut)
	}
	if out, _, _ := execute(t, "", "render", "-f", sampleSchedule); !strings.Contains(out, "kind: Pod\n") {
		t.Errorf("the next run from now on:\n%s", out)
	}
}
