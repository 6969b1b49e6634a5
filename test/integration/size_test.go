// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// maxObject bounds what the API server stores for an application beside what its user has written, in bytes.
const maxObject = 20 << 10

// longLived lives through ten failing attempts and into the eleventh, each with 600 executors of the longest names that
// come and go, and a driver that says a lot. It returns the outcome of the last reconcile.
func longLived(log string) lifecycle.Outcome {
	GinkgoHelper()
	words := strings.Repeat("the words of the kubelet are many; ", 120)
	app := lifecycle.Application{
		Generation: 1, SpecHash: "0123456789abcdef", SubmissionID: "6e2e3f1c-6a51-4c5e-9d0a-3f1f6a2b7c11", SparkAppID: "spark-5c1e7d1f0a4b4c1f8f1d2a3b4c5d6e7f",
		DriverName: strings.Repeat("d", 63), Executors: 600, Notes: words,
		Policies: lifecycle.Policies{Restart: lifecycle.Restart{Type: lifecycle.OnFailure, Failures: lifecycle.RetryPolicy{Retries: 100}}},
	}
	env := lifecycle.Env{Now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	var rec lifecycle.Record
	var o lifecycle.Outcome
	step := func(obs lifecycle.Observation) {
		env.Now = env.Now.Add(time.Minute)
		plan := lifecycle.Decide(app, rec, obs, scheduler.Admission{Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted, Message: words}, env)
		var results []lifecycle.Result
		for _, a := range plan.Actions {
			results = append(results, lifecycle.Result{Kind: a.Kind, Class: lifecycle.ClassDone})
		}
		o = lifecycle.Settle(plan, results, env)
		rec = o.Record
	}
	for attempt := range 11 {
		step(lifecycle.Observation{Driver: lifecycle.Driver{Presence: lifecycle.Absent}})
		driver := lifecycle.Driver{Presence: lifecycle.Present, Ownership: lifecycle.Current, Name: app.DriverName, UID: "u", Phase: lifecycle.DriverRunning, StartedAt: env.Now}
		driver.SubmissionID = app.SubmissionID
		for wave := range 4 {
			obs := lifecycle.Observation{Driver: driver}
			for n := range 600 {
				e := lifecycle.Executor{Name: fmt.Sprintf("%s-exec-%d", strings.Repeat("e", 53), wave*600+n), State: lifecycle.ExecutorRunning}
				if wave == 3 && n%2 == 0 {
					e.State, e.ExitCode, e.Reason = lifecycle.ExecutorFailed, ptr.To[int32](137), "ContainerStatusUnknown"
				}
				obs.Executors = append(obs.Executors, e)
			}
			step(obs)
		}
		if attempt == 10 {
			break
		}
		driver.Phase, driver.LogTail = lifecycle.DriverFailed, log
		driver.Exit = lifecycle.Exit{Code: 137, Reason: "ContainerStatusUnknown", Message: words}
		step(lifecycle.Observation{Driver: driver})
		step(lifecycle.Observation{Driver: driver})
	}
	driverFails := lifecycle.Driver{Presence: lifecycle.Present, Ownership: lifecycle.Current, Name: app.DriverName, UID: "u", SubmissionID: app.SubmissionID, Phase: lifecycle.DriverFailed, LogTail: log, StartedAt: env.Now}
	driverFails.Exit = lifecycle.Exit{Code: 1, Reason: "Error", Message: words}
	step(lifecycle.Observation{Driver: driverFails})
	return o
}

var _ = Describe("The stored object", func() {
	frame := "\tat org.apache.spark.scheduler.DAGScheduler.<init>(DAGScheduler.scala:2785) ~[spark-core_2.13-4.1.4.jar:4.1.4]\n"
	DescribeTable("stays small, whatever happens",
		func(log string) {
			ctx := context.Background()
			ns := newNamespace(ctx)
			a := sparkPi(ns, "pi")
			a.Spec.Suspend = ptr.To(true)
			Expect(admin.Create(ctx, a)).To(Succeed())
			Eventually(func() string { return condition(ctx, ns, "pi", "Submitted").Reason }, wait, poll).Should(Equal("Suspended"))

			stopOperator() // it would have something to say about this status
			defer func() { startOperator(server.Config) }()
			before := app(ctx, ns, "pi")
			next := before.DeepCopy()
			next.Status = kubeflow.ToStatus(&before.Status, longLived(log), time.Now())
			writer := actuate.Writer{Client: client.WithFieldOwner(admin, "spark-operator")}
			Expect(writer.PatchStatus(ctx, before, next)).To(Succeed())

			var stored unstructured.Unstructured
			stored.SetAPIVersion("sparkoperator.k8s.io/v1beta2")
			stored.SetKind("SparkApplication")
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(before), &stored)).To(Succeed())
			stored.SetAnnotations(nil) // who has created it, while the policy of another spec is still in the API server's memory
			whole, status, fields := size(stored.Object), size(stored.Object["status"]), size(stored.GetManagedFields())
			GinkgoWriter.Printf("stored %d bytes: status %d, managedFields %d; %d executors in the sample\n", whole, status, fields, len(next.Status.ExecutorState))
			for k, v := range stored.Object["status"].(map[string]any) {
				GinkgoWriter.Printf("  %s %d\n", k, size(v))
			}
			Expect(next.Status.Attempts).To(HaveLen(10))
			Expect(next.Status.AppState.ErrorMessage).NotTo(BeEmpty())
			Expect(len(next.Status.ExecutorState)).To(BeNumerically(">=", 60), "of the longest names; nearly twice as many of usual ones")
			Expect(whole).To(BeNumerically("<", maxObject))
		},
		Entry("with stack traces", strings.Repeat(frame, 200)),
		Entry("with colors", strings.Repeat("\x1b[31mERROR\x1b[0m <b>&</b> \"quoted\"\n", 500)),
		Entry("with bytes that are no text", strings.Repeat("\x00\x01\xff", 6000)),
	)
})

func size(v any) int {
	text, err := json.Marshal(v)
	Expect(err).NotTo(HaveOccurred())
	return len(text)
}
