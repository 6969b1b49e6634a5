// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"strings"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Foresee says what is certain about the batch scheduling of a request before anybody has looked at the cluster: what its
// scheduler will refuse, and, as remarks, what it will wait for until somebody changes the operator's configuration. It is
// for those who cannot look, e.g. admission. What an annotation of the namespace may still choose is not judged.
func Foresee(r Request, registry *scheduler.Registry) (objections []scheduler.Finding, remarks []string) {
	asked, annotated := r.App.Scheduling, registry.NamespaceDefaults() && r.NamespaceAnnotations == nil
	if annotated && asked.Scheduler == "" || len(Objections(r)) > 0 {
		return nil, nil
	}
	resolution, admission := registry.Resolve(scheduler.Wish{
		Scheduling: asked, Namespace: r.App.Namespace, NamespaceAnnotations: r.NamespaceAnnotations, Recorded: r.Recorded,
	})
	if admission.Verdict == scheduler.NotReady {
		return nil, []string{admission.Message + "; the application waits until it is"}
	}
	f := foresight{Resolution: resolution, queueKnown: !annotated || asked.Queue != ""}
	if f.Plugin == nil { // it would be asked if the queue were another one
		f.Plugin, _ = registry.Plugin(resolution.Scheduler)
	}
	if admission.Verdict == scheduler.Never && f.queueKnown {
		field := scheduler.Attempt{QueueFrom: f.QueueFrom}.QueueField()
		objections = append(objections, scheduler.Finding{Field: field, Problem: strings.TrimPrefix(admission.Message, field+": ")})
	}
	return append(objections, f.findings(r)...), nil
}

// foresight is a choice that may lack the queue.
type foresight struct {
	scheduler.Resolution
	queueKnown bool
}

// findings are what the plugin itself says against a request. What keeps it from answering is trouble for a reconcile.
func (f foresight) findings(r Request) []scheduler.Finding {
	profile, err := spark.ProfileFor(r.App.SparkVersion)
	if err != nil {
		return nil
	}
	attempt, err := attemptOf(r, profile)
	if err != nil {
		return nil
	}
	attempt = chosenFor(attempt, f.Resolution)
	all, err := scheduler.Validate(f.Plugin, attempt)
	if err != nil {
		return nil
	}
	var findings []scheduler.Finding
	for _, finding := range all {
		if f.queueKnown || finding.Field != attempt.QueueField() {
			findings = append(findings, finding)
		}
	}
	if len(findings) > 0 || !f.queueKnown {
		return findings // marks on the pods may depend on the queue
	}
	plan, err := scheduler.Admit(unseeing{f.Plugin}, attempt, nil)
	if err == nil && plan.Verdict == scheduler.Never {
		findings = append(findings, scheduler.Finding{Field: scheduler.FieldScheduler, Problem: plan.Message})
	}
	return findings
}

// unseeing is a plugin that lets everything start that it does not refuse without a look at the cluster.
type unseeing struct{ scheduler.Plugin }

// Plan lets it start.
func (unseeing) Plan(scheduler.Attempt, scheduler.Snapshot) (scheduler.Plan, error) {
	return scheduler.Plan{Admission: scheduler.Admission{Verdict: scheduler.Go}}, nil
}
