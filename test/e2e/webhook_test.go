// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

const webhookName = "spark-operator-webhook"

// installWebhook adds the webhook to the operator that is installed, and waits until the API server asks it.
func installWebhook() {
	GinkgoHelper()
	kubectl("apply", "--server-side", "--force-conflicts", "-k", filepath.Join("..", "..", "config", "overlays", "webhook"))
	eventuallyReady(webhookName, 1)
	Eventually(refusal, installWait, poll).Should(Satisfy(apierrors.IsInvalid), "the API server asks the webhook")
}

// invalid is an application that cannot run.
func invalid(namespace, name string) *v1beta2.SparkApplication {
	app := sparkPi(namespace, name)
	app.Spec.Driver.Memory = ptr.To("2gb")
	return app
}

// refusal is what the API server says of an application that cannot run.
func refusal() error {
	return admin.Create(context.Background(), invalid("default", "invalid"), client.DryRunAll)
}

var _ = Describe("The webhook", Serial, func() {
	ctx := context.Background()

	It("refuses early, and changes nothing of what runs when it is gone", func() {
		installWebhook()
		DeferCleanup(func() {
			if os.Getenv("FIRESTEEL_E2E_WEBHOOK") != "1" {
				kubectl("delete", "-k", filepath.Join("..", "..", "config", "webhook"), "--ignore-not-found")
			} else {
				installWebhook()
			}
		})
		said := refusal().(apierrors.APIStatus).Status().Details.Causes
		Expect(said).To(HaveLen(1))
		ns := newNamespace(ctx, "webhook")
		before := sparkPi(ns, "before", "400")
		before.Spec.Executor.Instances, before.Spec.Mode = nil, ""
		Expect(admin.Create(ctx, before)).To(Succeed())
		Expect(before.Spec.Executor.Instances).To(HaveValue(BeEquivalentTo(1)), "the webhook writes defaults down")
		eventuallyState(ctx, before, v1beta2.ApplicationStateRunning)

		By("killing the webhook permanently")
		kubectl("scale", "deployment", webhookName, "-n", operatorNamespace, "--replicas=0")
		Eventually(endpoints, installWait, poll).Should(BeZero())

		after := sparkPi(ns, "after", "10")
		after.Spec.Executor.Instances, after.Spec.Mode = nil, ""
		Expect(admin.Create(ctx, after)).To(Succeed())
		Expect(after.Spec.Executor.Instances).To(BeNil(), "no one writes defaults down")
		s := eventuallyState(ctx, after, v1beta2.ApplicationStateCompleted)
		Expect(s.ExecutorState).To(HaveLen(1))
		Expect(driverLog(ctx, after)).To(ContainSubstring("Pi is roughly 3.1"))
		eventuallyState(ctx, before, v1beta2.ApplicationStateCompleted)
		Expect(statusOf(ctx, before).ExecutionAttempts).To(BeEquivalentTo(1))

		By("hearing the same words from the operator")
		late := invalid(ns, "invalid")
		Expect(admin.Create(ctx, late)).To(Succeed())
		s = eventuallyState(ctx, late, v1beta2.ApplicationStateFailed)
		Expect(s.AppState.ErrorMessage).To(ContainSubstring(said[0].Field + ": " + said[0].Message))

		By("bringing it back")
		kubectl("scale", "deployment", webhookName, "-n", operatorNamespace, "--replicas=1")
		eventuallyReady(webhookName, 1)
		Eventually(refusal, installWait, poll).Should(Satisfy(apierrors.IsInvalid))
	})
})

// endpoints counts where the API server could reach the webhook.
func endpoints() (int, error) {
	var slices discoveryv1.EndpointSliceList
	err := admin.List(context.Background(), &slices, client.InNamespace(operatorNamespace), client.MatchingLabels{discoveryv1.LabelServiceName: webhookName + "-svc"})
	n := 0
	for _, s := range slices.Items {
		n += len(s.Endpoints)
	}
	return n, err
}
