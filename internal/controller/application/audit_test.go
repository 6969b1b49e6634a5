// SPDX-License-Identifier: Apache-2.0

package application

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// Each refusal by a policy says once who asked for what, and which limit of which policy is against it.
func TestAuditOfRefusals(t *testing.T) {
	w := newHarness(t, testutil.Pi(func(o *v1beta2.SparkApplication) {
		o.Annotations = map[string]string{v1beta2.AnnotationSubmitter: "ann", v1beta2.AnnotationSubmitterGroups: "dev"}
	}))
	w.engine.Submitters.Source = lifecycle.SubmitterFromPolicy
	var lines []string
	w.log = funcr.New(func(_, args string) {
		if strings.Contains(args, "a policy refuses") {
			lines = append(lines, args)
		}
	}, funcr.Options{})
	w.govern(forJobs(policy.Limits{Executors: new(int32), Images: []string{"ours/*"}}, policy.Defaults{}))
	w.settle()
	w.reconcile()
	if len(lines) != 2 {
		t.Fatalf("%d lines, want one for each field:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	all := strings.Join(lines, "\n")
	for _, part := range []string{
		`"application"="jobs/pi"`, `"submitter"="ann"`, `"policy"="jobs"`, `"field"="spec.executor.instances"`, `"limit"="at most 0 executors at a time"`,
		`"field"="spec.image"`, "ours/*",
	} {
		if !strings.Contains(all, part) {
			t.Errorf("no %s in\n%s", part, all)
		}
	}
	if events := w.events(); len(events) != 1 || !strings.HasPrefix(events[0], "Warning SparkApplicationFailed SparkApplication pi of user ann failed: ") {
		t.Errorf("events %q", events)
	}
	if s := w.app().Status.Submitter; s == nil || s.User != "ann" || s.Source != "AdmissionPolicy" {
		t.Errorf("submitter %+v", s)
	}
}

// What an application says of itself is believed only at first sight, when something keeps users from writing it.
func TestSubmitterIsRecordedOnce(t *testing.T) {
	w := newHarness(t, testutil.Pi(func(o *v1beta2.SparkApplication) {
		o.Annotations = map[string]string{v1beta2.AnnotationSubmitter: "admin"}
	}))
	w.settle()
	w.engine.Submitters.Source = lifecycle.SubmitterFromPolicy // configured after the application had been stored
	w.settle()
	if s := w.app().Status.Submitter; s != nil {
		t.Errorf("what a user wrote is believed: %+v", s)
	}
}
