// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

const (
	shutdownTimeout = 10 * time.Second
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
)

// Scheme returns the types that the webhook decodes.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	for _, row := range kinds.All() {
		utilruntime.Must(row.AddToScheme(s))
	}
	return s
}

// podNamespaceFile has the namespace of the pod. The service account admission of Kubernetes mounts it.
var podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// New returns the manager of the webhook's process. The process is ready when the API server can call it. There is no leader election, because every replica
// serves. operator returns the operator's current configuration.
func New(cfg *rest.Config, c config.OperatorConfiguration, operator func() resolve.Operator) (ctrl.Manager, error) {
	self := c.Webhook.Certificates == config.CertificatesSelf
	if self && c.Webhook.Namespace == "" {
		text, err := os.ReadFile(podNamespaceFile)
		if err != nil {
			return nil, fmt.Errorf("webhook.namespace: name one, because this process does not run in a pod: %w", err)
		}
		c.Webhook.Namespace = string(text)
	}
	served, err := metrics.ServerOptions(c.Metrics)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(narrowed(cfg, c.Webhook), ctrl.Options{
		Scheme:                  Scheme(),
		Metrics:                 served,
		HealthProbeBindAddress:  c.Health.BindAddress,
		GracefulShutdownTimeout: ptr.To(shutdownTimeout),
		Cache:                   cache.Options{DefaultNamespaces: map[string]cache.Config{c.Webhook.Namespace: {}}},
	})
	if err != nil {
		return nil, fmt.Errorf("create manager: %w", err)
	}
	ready := map[string]healthz.Checker{}
	if ready["webhook"], err = addServer(mgr, c, operator); err != nil {
		return nil, err
	}
	if self {
		if ready["certificates"], err = addRotation(mgr, c.Webhook); err != nil {
			return nil, fmt.Errorf("set up rotation of certificates: %w", err)
		}
	}
	for name, check := range ready {
		if err := mgr.AddReadyzCheck(name, check); err != nil {
			return nil, fmt.Errorf("add readiness check: %w", err)
		}
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add health check: %w", err)
	}
	return mgr, nil
}

// addServer adds the server to the manager. It returns a check that connects to the server.
func addServer(mgr ctrl.Manager, c config.OperatorConfiguration, operator func() resolve.Operator) (healthz.Checker, error) {
	options := webhook.Options{Port: c.Webhook.Port, CertDir: c.Webhook.CertDir, CertName: certificateFile, KeyName: keyFile}
	s := server{webhook.NewServer(options), c.Webhook.CertDir, newSlots()}
	register(s, mgr.GetScheme(), operator, c)
	if err := mgr.Add(s); err != nil {
		return nil, fmt.Errorf("add webhook server: %w", err)
	}
	return s.StartedChecker(), nil
}

// server listens once a certificate exists. controller-runtime's server would fail without one.
type server struct {
	webhook.Server
	certDir string
	*slots
}

const look = 200 * time.Millisecond

// Start serves until the context ends.
func (s server) Start(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, look, true, func(context.Context) (bool, error) {
		for _, name := range []string{keyFile, certificateFile} {
			if _, err := os.Stat(filepath.Join(s.certDir, name)); err != nil {
				return false, nil //nolint:nilerr // wait for it; the readiness check fails meanwhile
			}
		}
		return true, nil
	})
	if err != nil {
		return nil //nolint:nilerr // stopped before a certificate existed
	}
	return s.Server.Start(ctx)
}

// closed returns a check that fails until the channel is closed.
func closed(c <-chan struct{}, missing string) healthz.Checker {
	return func(*http.Request) error {
		select {
		case <-c:
			return nil
		default:
			return errors.New(missing)
		}
	}
}

// +kubebuilder:webhookconfiguration:mutating=true,name=webhook
// +kubebuilder:webhookconfiguration:mutating=false,name=webhook
// +kubebuilder:webhook:path=/mutate-sparkoperator-k8s-io-v1beta2-sparkapplication,mutating=true,failurePolicy=ignore,sideEffects=None,matchPolicy=Exact,timeoutSeconds=10,groups=sparkoperator.k8s.io,resources=sparkapplications,verbs=create;update,versions=v1beta2,name=mutate-sparkoperator-k8s-io-v1beta2-sparkapplication.sparkoperator.k8s.io,admissionReviewVersions=v1,serviceName=webhook-svc,serviceNamespace=spark-operator,reinvocationPolicy=Never
// +kubebuilder:webhook:path=/validate-sparkoperator-k8s-io-v1beta2-sparkapplication,mutating=false,failurePolicy=ignore,sideEffects=None,matchPolicy=Exact,timeoutSeconds=10,groups=sparkoperator.k8s.io,resources=sparkapplications,verbs=create;update,versions=v1beta2,name=validate-sparkoperator-k8s-io-v1beta2-sparkapplication.sparkoperator.k8s.io,admissionReviewVersions=v1,serviceName=webhook-svc,serviceNamespace=spark-operator

// +kubebuilder:webhook:path=/validate-sparkoperator-k8s-io-v1alpha1-sparkconnect,mutating=false,failurePolicy=ignore,sideEffects=None,matchPolicy=Exact,timeoutSeconds=10,groups=sparkoperator.k8s.io,resources=sparkconnects,verbs=create;update,versions=v1alpha1,name=validate-sparkoperator-k8s-io-v1alpha1-sparkconnect.sparkoperator.k8s.io,admissionReviewVersions=v1,serviceName=webhook-svc,serviceNamespace=spark-operator
// +kubebuilder:webhook:path=/mutate-sparkoperator-k8s-io-v1alpha1-sparkconnect,mutating=true,failurePolicy=ignore,sideEffects=None,matchPolicy=Exact,timeoutSeconds=10,groups=sparkoperator.k8s.io,resources=sparkconnects,verbs=create;update,versions=v1alpha1,name=mutate-sparkoperator-k8s-io-v1alpha1-sparkconnect.sparkoperator.k8s.io,admissionReviewVersions=v1,serviceName=webhook-svc,serviceNamespace=spark-operator,reinvocationPolicy=Never

// +kubebuilder:webhook:path=/validate-sparkoperator-k8s-io-v1beta2-scheduledsparkapplication,mutating=false,failurePolicy=ignore,sideEffects=None,matchPolicy=Exact,timeoutSeconds=10,groups=sparkoperator.k8s.io,resources=scheduledsparkapplications,verbs=create;update,versions=v1beta2,name=validate-sparkoperator-k8s-io-v1beta2-scheduledsparkapplication.sparkoperator.k8s.io,admissionReviewVersions=v1,serviceName=webhook-svc,serviceNamespace=spark-operator
// +kubebuilder:webhook:path=/mutate-sparkoperator-k8s-io-v1beta2-scheduledsparkapplication,mutating=true,failurePolicy=ignore,sideEffects=None,matchPolicy=Exact,timeoutSeconds=10,groups=sparkoperator.k8s.io,resources=scheduledsparkapplications,verbs=create;update,versions=v1beta2,name=mutate-sparkoperator-k8s-io-v1beta2-scheduledsparkapplication.sparkoperator.k8s.io,admissionReviewVersions=v1,serviceName=webhook-svc,serviceNamespace=spark-operator,reinvocationPolicy=Never
