// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Webhook configures the admission webhook, a process of its own (spark-operator webhook).
type Webhook struct {
	// Port that the API server connects to; 9443 by default.
	Port int `json:"port,omitempty"`
	// CertDir holds tls.crt and tls.key.
	CertDir string `json:"certDir,omitempty"`
	// Certificates says where they come from: self, the default, makes them and renews them; files takes what is mounted
	// at CertDir, from cert-manager for example, and notices renewals.
	Certificates Certificates `json:"certificates,omitempty"`
	// Namespace of the Secret and the Service; by default the one that the webhook's pod runs in.
	Namespace string `json:"namespace,omitempty"`
	// SecretName is the Secret in which self keeps its certificates. It must exist.
	SecretName string `json:"secretName,omitempty"`
	// ServiceName is the Service by which the API server connects; self's certificates are for it.
	ServiceName string `json:"serviceName,omitempty"`
	// Configurations is the name of the MutatingWebhookConfiguration and of the ValidatingWebhookConfiguration that self
	// tells its authority.
	Configurations string `json:"configurations,omitempty"`
}

// Certificates is one of self and files.
type Certificates string

// Where certificates come from.
const (
	CertificatesSelf  Certificates = "self"
	CertificatesFiles Certificates = "files"
)

// DefaultWebhook is the configuration of a webhook that is installed under its usual names.
func DefaultWebhook() Webhook {
	return Webhook{
		Port:           9443,
		CertDir:        "/etc/k8s-webhook-server/serving-certs",
		Certificates:   CertificatesSelf,
		SecretName:     "spark-operator-webhook-certs",
		ServiceName:    "spark-operator-webhook-svc",
		Configurations: "spark-operator-webhook",
	}
}

func (w Webhook) validate() error {
	var errs []error
	if len(validation.IsValidPortNum(w.Port)) > 0 {
		errs = append(errs, fmt.Errorf("webhook.port: %d: must be between 1 and 65535", w.Port))
	}
	if !filepath.IsAbs(w.CertDir) {
		errs = append(errs, fmt.Errorf("webhook.certDir: %q: must be an absolute path", w.CertDir))
	}
	if w.Certificates != CertificatesSelf && w.Certificates != CertificatesFiles {
		errs = append(errs, fmt.Errorf("webhook.certificates: %q: must be %q or %q", w.Certificates, CertificatesSelf, CertificatesFiles))
	}
	if w.Namespace != "" && len(validation.IsDNS1123Label(w.Namespace)) > 0 {
		errs = append(errs, fmt.Errorf("webhook.namespace: %q is not a namespace; leave it out for the pod's own", w.Namespace))
	}
	for _, name := range []struct{ field, value string }{
		{"secretName", w.SecretName}, {"serviceName", w.ServiceName}, {"configurations", w.Configurations},
	} {
		if len(validation.IsDNS1123Subdomain(name.value)) > 0 {
			errs = append(errs, fmt.Errorf("webhook.%s: %q is not the name of an object", name.field, name.value))
		}
	}
	return errors.Join(errs...)
}
