// SPDX-License-Identifier: Apache-2.0

package schedulers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/cmd/plugins"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/controller"
)

// kueueTitle is the name of this test in CONFORMANCE_SUBJECTS.
const kueueTitle = "kueue-2"

const kueueNamespace = "kueue-jobs"

var kueueVersion = schema.GroupVersion{Group: "kueue.x-k8s.io", Version: "v1beta2"}

// kueue is Kueue itself, with its integration for SparkApplications.
type kueue struct{ *cluster }

// start installs and starts Kueue. Its metrics have a certificate at a fixed path, so that it gets an /etc of its own.
func (k kueue) start(ctx context.Context) error {
	programs, err := tool(ctx, "kueue")
	if err != nil {
		return err
	}
	module, err := moduleDir(ctx, "kueue", "sigs.k8s.io/kueue")
	if err != nil {
		return err
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return fmt.Errorf("make a certificate: %w", err)
	}
	etc := filepath.Join(k.dir, "kueue-etc")
	certificates := filepath.Join(etc, "kueue", "metrics", "certs")
	text, err := os.ReadFile(filepath.Join("testdata", "kueue.yaml"))
	if err != nil {
		return fmt.Errorf("read Kueue's configuration: %w", err)
	}
	settings := strings.ReplaceAll(string(text), "FOLDER", etc)
	addresses := map[string]string{}
	for _, name := range []string{"HEALTH", "METRICS", "WEBHOOK"} {
		address, err := freeAddress(ctx)
		if err != nil {
			return err
		}
		addresses[name] = address
		settings = strings.ReplaceAll(settings, name, strings.TrimPrefix(address, "127.0.0.1:"))
	}
	path := filepath.Join(k.dir, "kueue.yaml")
	err = errors.Join(os.MkdirAll(certificates, 0o750), os.WriteFile(filepath.Join(certificates, "tls.crt"), certificate, 0o600),
		os.WriteFile(filepath.Join(certificates, "tls.key"), key, 0o600), os.WriteFile(path, []byte(settings), 0o600))
	if err != nil {
		return fmt.Errorf("write Kueue's configuration: %w", err)
	}
	if err := k.install(ctx, filepath.Join(module, "config", "components", "crd", "bases")); err != nil {
		return err
	}
	for _, name := range []string{"kueue-system", kueueNamespace} {
		if err := k.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	const ownEtc = `mount -t overlay overlay -o "lowerdir=$1:/etc" /etc && shift && exec "$@"`
	if _, err = k.run(ctx, "kueue", "unshare", nil, "--mount", "--propagation=private", "sh", "-c", ownEtc, "sh", etc,
		filepath.Join(programs, "kueue"), "--config="+path, "--kubeconfig="+k.kubeconfig,
		"--feature-gates=VisibilityOnDemand=false,SparkApplicationIntegration=true"); err != nil {
		return err
	}
	if err := k.answers(ctx, "http://"+addresses["HEALTH"]+"/readyz"); err != nil {
		return err
	}
	return k.registerWebhooks(ctx, filepath.Join(module, "config", "components", "webhook", "manifests.yaml"), addresses["WEBHOOK"], certificate)
}

// registerWebhooks registers Kueue's own webhooks for SparkApplications and for its own kinds.
func (k kueue) registerWebhooks(ctx context.Context, file, address string, authority []byte) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read Kueue's webhooks: %w", err)
	}
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	for _, document := range strings.Split(string(text), "\n---\n") {
		var into client.Object = &mutating
		if strings.Contains(document, "kind: ValidatingWebhookConfiguration") {
			into = &validating
		}
		if err := yaml.Unmarshal([]byte(document), into); err != nil {
			return fmt.Errorf("read Kueue's webhooks: %w", err)
		}
	}
	others := func(c admissionregistrationv1.WebhookClientConfig) bool {
		return !strings.Contains(*c.Service.Path, "sparkapplication") && !strings.Contains(*c.Service.Path, "kueue-x-k8s-io")
	}
	direct := func(c *admissionregistrationv1.WebhookClientConfig) {
		*c = admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://" + address + *c.Service.Path), CABundle: authority}
	}
	mutating.Webhooks = slices.DeleteFunc(mutating.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool { return others(w.ClientConfig) })
	validating.Webhooks = slices.DeleteFunc(validating.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return others(w.ClientConfig) })
	for i := range mutating.Webhooks {
		direct(&mutating.Webhooks[i].ClientConfig)
	}
	for i := range validating.Webhooks {
		direct(&validating.Webhooks[i].ClientConfig)
	}
	return errors.Join(k.client.Create(ctx, &mutating), k.client.Create(ctx, &validating))
}

// queues makes the queue of testdata/kueue-queue.yaml. Kueue's webhook may not answer yet.
func (k kueue) queues(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join("testdata", "kueue-queue.yaml"))
	if err != nil {
		return fmt.Errorf("read the queue: %w", err)
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			return fmt.Errorf("read the queue: %w", err)
		}
		if err := k.eventually(ctx, o.GetKind(), func() error { return k.client.Create(ctx, o) }); err != nil {
			return err
		}
	}
	return nil
}

// setStop sets the ClusterQueue's stopPolicy: None, Hold, or HoldAndDrain, which evicts.
func (k kueue) setStop(ctx context.Context, policy string) error {
	queue := &unstructured.Unstructured{}
	queue.SetGroupVersionKind(kueueVersion.WithKind("ClusterQueue"))
	queue.SetName("spark")
	return k.client.Patch(ctx, queue, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"stopPolicy":"`+policy+`"}}`)))
}

// oneOfMany lets the operator run in one process with others.
type oneOfMany struct{ ctrl.Manager }

func (m oneOfMany) GetControllerOptions() ctrlconfig.Controller {
	options := m.Manager.GetControllerOptions()
	options.SkipNameValidation = ptr.To(true)
	return options
}

// operate runs the operator for the namespace, without its webhook.
func (k kueue) operate(t *testing.T) {
	t.Helper()
	registry, err := plugins.Registry(settings("kube"))
	if err != nil {
		t.Fatal(err)
	}
	c := config.OperatorConfiguration{
		Namespaces: []string{kueueNamespace}, Workers: 4, BatchScheduler: settings("kube"),
		Metrics: config.Metrics{Endpoint: config.Endpoint{BindAddress: "0"}}, Health: config.Endpoint{BindAddress: "0"},
	}
	mgr, err := controller.NewManager(k.rest, c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := controller.Setup(ctx, oneOfMany{mgr}, c, registry); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
