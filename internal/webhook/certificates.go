// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/firesteel-dev/firesteel/internal/config"
)

// The lifetimes of created certificates, and how long before their end they are renewed. They limit the damage of a stolen certificate. Only the Secret has the
// CA's key.
const (
	day             = 24 * time.Hour
	authorityLife   = 365 * day
	certificateLife = 90 * day
	renewBefore     = 30 * day
)

// addRotation makes cert-controller create and renew the certificates in the Secret and publish the CA in the webhook configurations. It also writes the
// certificates to the server's files. The returned check fails until all of this has happened once.
func addRotation(mgr ctrl.Manager, c config.Webhook) (healthz.Checker, error) {
	host := fmt.Sprintf("%s.%s.svc", c.ServiceName, c.Namespace)
	ready := make(chan struct{})
	err := rotator.AddRotator(mgr, &rotator.CertRotator{
		SecretKey:      types.NamespacedName{Namespace: c.Namespace, Name: c.SecretName},
		CertDir:        c.CertDir,
		CertName:       certificateFile,
		KeyName:        keyFile,
		CAName:         c.Configurations + "-ca",
		CAOrganization: "spark-operator",
		DNSName:        host,
		ExtraDNSNames:  []string{host + ".cluster.local", "localhost"},
		IsReady:        ready,
		Webhooks:       []rotator.WebhookInfo{{Name: c.Configurations, Type: rotator.Mutating}, {Name: c.Configurations, Type: rotator.Validating}},
		FieldOwner:     "spark-operator-webhook",
		ControllerName: c.Configurations + "-authority",

		CaCertDuration:     authorityLife,
		ServerCertDuration: certificateLife,
		LookaheadInterval:  renewBefore,
	})
	if err != nil {
		return nil, err
	}
	err = ctrl.NewControllerManagedBy(mgr).Named(c.Configurations + "-certificates").For(&corev1.Secret{}).
		Complete(mirror{Reader: mgr.GetClient(), dir: c.CertDir})
	if err != nil {
		return nil, err
	}
	return closed(ready, fmt.Sprintf("the certificates in Secret %s/%s are not ready", c.Namespace, c.SecretName)), nil
}

// mirror writes the Secret's certificate to files when it changes. A mounted Secret would be late by a minute. The server watches the files.
type mirror struct {
	client.Reader
	dir string
}

// Reconcile writes the content of the Secret.
func (m mirror) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var secret corev1.Secret
	if err := m.Get(ctx, request.NamespacedName, &secret); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	for _, name := range []string{keyFile, certificateFile} { // the certificate is last, because the server waits for it
		content := secret.Data[name]
		if len(content) == 0 {
			return ctrl.Result{}, nil // it will be filled
		}
		if err := replace(filepath.Join(m.dir, name), content); err != nil {
			return ctrl.Result{}, fmt.Errorf("write certificate: %w", err)
		}
	}
	return ctrl.Result{}, nil
}

// replace writes a file atomically.
func replace(file string, content []byte) error {
	const owner = 0o600
	next := file + ".next"
	if err := os.WriteFile(next, content, owner); err != nil {
		return err
	}
	return os.Rename(next, file)
}

// narrowed returns a client configuration whose lists and watches select single objects by name, as the role requires. cert-controller would list every Secret
// of its namespace.
func narrowed(cfg *rest.Config, c config.Webhook) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return narrow{next: next, names: map[string]string{
			"secrets": c.SecretName, "mutatingwebhookconfigurations": c.Configurations, "validatingwebhookconfigurations": c.Configurations,
		}}
	})
	return cfg
}

// narrow adds a field selector to requests for collections, by resource.
type narrow struct {
	next  http.RoundTripper
	names map[string]string
}

// RoundTrip restricts the request to one object and sends it.
func (n narrow) RoundTrip(request *http.Request) (*http.Response, error) {
	if name, ok := n.names[path.Base(request.URL.Path)]; ok && request.Method == http.MethodGet {
		request = request.Clone(request.Context())
		query := request.URL.Query()
		query.Set("fieldSelector", "metadata.name="+name)
		request.URL.RawQuery = query.Encode()
	}
	return n.next.RoundTrip(request)
}
