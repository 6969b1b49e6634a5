// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
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

// invalid is an application that cannot run.
func invalid(namespace, name string) *v1beta2.SparkApplication {
	app := sparkPi(namespace, name)
	app.Spec.Driver.Memory = ptr.To("2gb")
	return app
}

// refusal is what the API server says of an application that cannot run.
func refusal(namespace string) error {
	return admin.Create(context.Background(), invalid(namespace, "refused"), client.DryRunAll)
}

// It is asked about the applications of all namespaces.
var _ = Describe("The webhook", Serial, func() {
	ctx := context.Background()

	It("refuses early, writes defaults down, and stops nothing when it is gone", func() {
		ns := newNamespace(ctx, "webhook")
		refused := func() error { return refusal(ns) }
		kubectl("apply", "--server-side", "--force-conflicts", "-k", filepath.Join("testdata", "webhook"))
		DeferCleanup(func() { kubectl("delete", "-k", filepath.Join(repository, "config", "webhook"), "--ignore-not-found") })
		eventuallyReady(webhookName, 1)
		Eventually(refused, installWait, poll).Should(Satisfy(apierrors.IsInvalid), "the API server asks the webhook")
		said := refused().(apierrors.APIStatus).Status().Details.Causes
		Expect(said).To(HaveLen(1))
		created := func() *v1beta2.SparkApplication {
			app := sparkPi(ns, "defaults")
			app.Spec.Executor.Instances = nil
			Expect(admin.Create(ctx, app, client.DryRunAll)).To(Succeed())
			return app
		}
		Expect(created().Spec.Executor.Instances).To(HaveValue(BeEquivalentTo(1)), "the webhook writes defaults down")

		By("killing the webhook permanently")
		kubectl("scale", "deployment", webhookName, "-n", operatorNamespace, "--replicas=0")
		Eventually(endpoints, installWait, poll).Should(BeZero())
		Expect(created().Spec.Executor.Instances).To(BeNil(), "no one writes defaults down")

		By("hearing the same words from the operator")
		late := invalid(ns, "invalid")
		Expect(admin.Create(ctx, late)).To(Succeed())
		s := eventuallyState(ctx, late, v1beta2.ApplicationStateFailed)
		Expect(s.AppState.ErrorMessage).To(ContainSubstring(said[0].Field + ": " + said[0].Message))

		By("bringing it back")
		kubectl("scale", "deployment", webhookName, "-n", operatorNamespace, "--replicas=1")
		eventuallyReady(webhookName, 1)
		Eventually(refused, installWait, poll).Should(Satisfy(apierrors.IsInvalid))
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
