// SPDX-License-Identifier: Apache-2.0

package schedulers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/test/schedulers/conformance"
)

// controllerSettings are what docs/scheduler-yunikorn.md tells administrators to write, and where the scheduler is here. The rest is YuniKorn's default: the
// controller handles all namespaces but kube-system, and trusts the accounts of Kubernetes' controllers.
var controllerSettings = map[string]string{
	"admissionController.accessControl.externalUsers":     "^" + conformance.OperatorUser + "$",
	"admissionController.webHook.schedulerServiceAddress": yunikornAddress,
}

// controllerPort is fixed in YuniKorn.
const controllerPort = 9089

// controllerHooks are the registrations that the controller makes for itself.
func controllerHooks() []client.Object {
	return []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "yunikorn-admission-controller-mutations"}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "yunikorn-admission-controller-validations"}},
	}
}

// installController makes what YuniKorn's chart makes: a Secret, into which the controller writes its CA, and a Service. This one leads to this machine.
func (y *yunikorn) installController(ctx context.Context) error {
	for _, o := range []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: yunikornNamespace, Name: "admission-controller-secrets"}},
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: yunikornNamespace, Name: "yunikorn-admission-controller-service"},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"},
		},
	} {
		if err := y.client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("install YuniKorn's admission controller: %w", err)
		}
	}
	return nil
}

// uninstallController takes the registrations away.
func (y *yunikorn) uninstallController(ctx context.Context) error {
	var errs []error
	for _, o := range controllerHooks() {
		errs = append(errs, client.IgnoreNotFound(y.client.Delete(ctx, o)))
	}
	return errors.Join(errs...)
}

// startController starts the admission controller, which registers itself. A Service would map its port; here the registration names the port.
func (y *yunikorn) startController(ctx context.Context, dir string) error {
	var err error
	y.controller, err = y.run(ctx, "yunikorn-admission-controller", filepath.Join(dir, "admissioncontroller"),
		[]string{"KUBECONFIG=" + y.kubeconfig, "NAMESPACE=" + yunikornNamespace})
	if err != nil {
		return err
	}
	port := client.RawPatch(types.JSONPatchType, fmt.Appendf(nil, `[{"op":"add","path":"/webhooks/0/clientConfig/service/port","value":%d}]`, controllerPort))
	for _, o := range controllerHooks() {
		if err := y.eventually(ctx, o.GetName(), func() error { return y.client.Patch(ctx, o, port) }); err != nil {
			return err
		}
	}
	return y.eventually(ctx, "YuniKorn's admission controller decides", func() error { return y.refused(ctx) })
}

// refused returns an error unless the controller refuses a user on a pod whose creator is not listed. A controller that cannot be reached is ignored.
func (y *yunikorn) refused(ctx context.Context) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, GenerateName: "forged-", Annotations: map[string]string{"yunikorn.apache.org/user.info": `{"user":"root"}`},
		},
		Spec: corev1.PodSpec{AutomountServiceAccountToken: new(bool), Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}
	err := y.client.Create(ctx, pod, client.DryRunAll)
	if err == nil || !strings.Contains(err.Error(), "is not allowed to set user annotation") {
		return fmt.Errorf("a forged user is not refused: %w", errors.Join(err, errors.New("no refusal of the controller")))
	}
	return nil
}
