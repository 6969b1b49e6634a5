// SPDX-License-Identifier: Apache-2.0

// Package config has the operator's configuration file. It is one versioned document, which is strictly decoded and gets its defaults in code. The Helm chart
// and the kustomize tree render it; no flags have the same settings.
package config

import (
	"bytes"
	encodingjson "encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"time"

	yamlv3 "go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// APIVersion and Kind are required in the file.
const (
	APIVersion = "config.firesteel.dev/v1alpha1"
	Kind       = "OperatorConfiguration"
)

// OperatorConfiguration configures the operator.
type OperatorConfiguration struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Namespaces lists namespaces whose applications run; NamespaceSelector may add more. Without both, all namespaces are included.
	Namespaces []string `json:"namespaces,omitempty"`
	// NamespaceSelector is a label selector of namespaces, e.g. "spark=enabled".
	NamespaceSelector string `json:"namespaceSelector,omitempty"`
	// Policies are defaults and limits of the applications in some namespaces.
	Policies policy.Set `json:"policies,omitempty"`
	// Workers is the number of concurrent reconciles; default 32.
	Workers        int            `json:"workers,omitempty"`
	LeaderElection LeaderElection `json:"leaderElection,omitempty"`
	Metrics        Metrics        `json:"metrics,omitempty"`
	Health         Endpoint       `json:"health,omitempty"`
	// Pprof serves Go's profiles of the controller without authentication; off by default.
	Pprof          Endpoint       `json:"pprof,omitempty"`
	BatchScheduler BatchScheduler `json:"batchScheduler,omitempty"`
	Webhook        Webhook        `json:"webhook,omitempty"`
	Submitter      Submitter      `json:"submitter,omitempty"`
	UI             UI             `json:"ui,omitempty"`

	DriverPodDisruptionBudget DriverPodDisruptionBudget `json:"driverPodDisruptionBudget,omitempty"`
	HistoryServer             HistoryServer             `json:"historyServer,omitempty"`
	ScheduledSparkApplication ScheduledSparkApplication `json:"scheduledSparkApplication,omitempty"`
	Apache                    Apache                    `json:"apache,omitempty"`
	// File is the path of the configuration; "" if it was not read from a file.
	File string `json:"-"`
}

// Endpoint is an HTTP endpoint. BindAddress "0" turns it off.
type Endpoint struct {
	BindAddress string `json:"bindAddress,omitempty"`
}

// Parse decodes a configuration file and fills in the defaults. Unknown fields, a second document, a wrong version and values out of range are errors. The
// error names the field.
func Parse(text []byte) (OperatorConfiguration, error) {
	c := OperatorConfiguration{
		Workers:                   32,
		Metrics:                   defaultMetrics(),
		Health:                    Endpoint{BindAddress: ":8081"},
		Pprof:                     Endpoint{BindAddress: "0"},
		BatchScheduler:            BatchScheduler{Default: "kube", Quota: defaultQuota()},
		LeaderElection:            defaultLeaderElection(),
		Webhook:                   DefaultWebhook(),
		ScheduledSparkApplication: ScheduledSparkApplication{TimestampPrecision: "nanos"},
		UI:                        UI{Service: true, Ingress: UIIngress{Enabled: true}},
		Apache:                    Apache{SentinelPeriod: metav1.Duration{Duration: time.Minute}},
	}
	var document, second yamlv3.Node
	decoder := yamlv3.NewDecoder(bytes.NewReader(text))
	if decoder.Decode(&document) == nil && decoder.Decode(&second) == nil {
		return OperatorConfiguration{}, fmt.Errorf("decode configuration: line %d begins a second document; there must be one", second.Line)
	}
	encoded, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return OperatorConfiguration{}, fmt.Errorf("decode configuration: %w", err)
	}
	unknown, err := json.UnmarshalStrict(encoded, &c) // unlike encoding/json, this is case-sensitive
	if err := errors.Join(append(unknown, inWords(err))...); err != nil {
		return OperatorConfiguration{}, fmt.Errorf("decode configuration: %w", err)
	}
	c.BatchScheduler = c.BatchScheduler.withApplicationIDs(c.Submitter)
	return c, c.validate()
}

// embedded matches Go's embedded structs in the path of a field. In the file, their fields are inline.
var embedded = regexp.MustCompile(`\b[A-Z]\w*\.`)

// inWords replaces the names of Go types in an error with a description of a correct value.
func inWords(err error) error {
	var mismatch *encodingjson.UnmarshalTypeError
	if !errors.As(err, &mismatch) {
		return err
	}
	right := "an object"
	switch mismatch.Type.Kind() {
	case reflect.Bool:
		right = "true or false"
	case reflect.String:
		right = "text"
	case reflect.Slice:
		right = "a list"
	case reflect.Int, reflect.Int32, reflect.Int64:
		right = "a whole number"
	default:
	}
	path := embedded.ReplaceAllString(mismatch.Field, "")
	return fmt.Errorf("%s: a %s: must be %s", path, mismatch.Value, right)
}

func (c OperatorConfiguration) validate() error {
	var errs []error
	if c.APIVersion != APIVersion || c.Kind != Kind {
		errs = append(errs, fmt.Errorf("apiVersion and kind: %q, %q: must be %q, %q", c.APIVersion, c.Kind, APIVersion, Kind))
	}
	if c.Workers < 1 {
		errs = append(errs, fmt.Errorf("workers: %d: must be at least 1", c.Workers))
	}
	errs = append(errs, c.validateNamespaces()...)
	errs = append(errs, c.Policies.Validate("policies")...)
	errs = append(errs, c.BatchScheduler.validate()...)
	errs = append(errs, c.Metrics.validate()...)
	errs = append(errs, c.Health.validate("health"), c.Pprof.validate("pprof"), c.LeaderElection.validate(), c.Webhook.validate(),
		c.Submitter.validate(), c.ScheduledSparkApplication.validate(), c.Apache.validate())
	errs = append(errs, c.validateExposure()...)
	return errors.Join(errs...)
}

func (e Endpoint) validate(field string) error {
	if _, _, err := net.SplitHostPort(e.BindAddress); err != nil && e.BindAddress != "0" {
		return fmt.Errorf("%s.bindAddress: %q: write host:port, :port, or \"0\" to turn it off", field, e.BindAddress)
	}
	return nil
}

// LeaderElection configures the election of a leader among several replicas. With the defaults, another replica takes over within half a second after the
// leader stops, and within five seconds after it crashes.
type LeaderElection struct {
	Enabled bool `json:"enabled,omitempty"`
	// Name of the Lease; spark-operator-controller-lock by default. Only one of the operators that share a Lease leads, so two operators in one namespace need
	// two names.
	Name string `json:"name,omitempty"`
	// Namespace of the Lease; the namespace of the operator's pod by default.
	Namespace string `json:"namespace,omitempty"`
	// LeaseDuration is how long other replicas wait for a silent leader; 4s by default. A leader renews the Lease four times within it.
	LeaseDuration metav1.Duration `json:"leaseDuration,omitzero"`
	// RenewDeadline is how long a leader that was replaced tries to lead again before it exits; 2.5s by default. A single renewal may take half of this time. A
	// renewal without a response is repeated without a limit.
	RenewDeadline metav1.Duration `json:"renewDeadline,omitzero"`
	// RetryPeriod is the interval at which a replica checks the Lease in its cache; 100ms by default.
	RetryPeriod metav1.Duration `json:"retryPeriod,omitzero"`
}

const (
	minLease       = 2 * time.Second
	minRetry       = 10 * time.Millisecond
	renewalsALease = 4
)

func defaultLeaderElection() LeaderElection {
	return LeaderElection{
		Name:          "spark-operator-controller-lock",
		LeaseDuration: metav1.Duration{Duration: 4 * time.Second},
		RenewDeadline: metav1.Duration{Duration: 2500 * time.Millisecond},
		RetryPeriod:   metav1.Duration{Duration: 100 * time.Millisecond},
	}
}

// RenewPeriod is the time between two renewals of the lease.
func (l LeaderElection) RenewPeriod() time.Duration { return l.LeaseDuration.Duration / renewalsALease }

func (l LeaderElection) validate() error {
	if problems := validation.IsDNS1123Subdomain(l.Name); len(problems) > 0 {
		return fmt.Errorf("leaderElection.name: %q: must be the name of a Lease: %s", l.Name, problems[0])
	}
	lease, deadline, retry := l.LeaseDuration.Duration, l.RenewDeadline.Duration, l.RetryPeriod.Duration
	if lease < minLease || lease%time.Second != 0 {
		return fmt.Errorf("leaderElection.leaseDuration: %s: must be whole seconds, at least %s: a Lease has no fractions of a second", lease, minLease)
	}
	if longest := l.RenewPeriod() / 2; retry < minRetry || retry > longest {
		return fmt.Errorf("leaderElection.retryPeriod: %s: must be between %s and %s, an eighth of leaseDuration", retry, minRetry, longest)
	}
	// When the leader begins to retry, its last renewal may be one renewal period old. It retries for renewDeadline, and notices up to one retry period later
	// that this time is over. It must stop before the lease expires.
	if longest := lease - l.RenewPeriod() - retry; deadline <= 2*retry || deadline > longest {
		return fmt.Errorf("leaderElection.renewDeadline: %s: must be more than twice retryPeriod (%s) and at most %s: "+
			"three quarters of leaseDuration, less retryPeriod", deadline, retry, longest)
	}
	return nil
}

// Webhook configures the admission webhook, a separate process (spark-operator webhook).
type Webhook struct {
	// Port is the port that the API server connects to; 9443 by default.
	Port int `json:"port,omitempty"`
	// CertDir is the directory of tls.crt and tls.key.
	CertDir string `json:"certDir,omitempty"`
	// Certificates is self, the default, or files. With self, the webhook creates and renews its certificates. With files, it reads the certificates in CertDir,
	// e.g. those of cert-manager, and notices renewals.
	Certificates Certificates `json:"certificates,omitempty"`
	// Namespace of the Secret and the Service; the namespace of the webhook's pod by default.
	Namespace string `json:"namespace,omitempty"`
	// SecretName is the existing Secret in which the webhook stores its certificates with self.
	SecretName string `json:"secretName,omitempty"`
	// ServiceName is the webhook's Service. With self, the certificates are issued for it.
	ServiceName string `json:"serviceName,omitempty"`
	// Configurations is the name of the MutatingWebhookConfiguration and of the ValidatingWebhookConfiguration. With self, the webhook sets its CA in both.
	Configurations string `json:"configurations,omitempty"`
}

// Certificates is one of self and files.
type Certificates string

// The sources of certificates.
const (
	CertificatesSelf  Certificates = "self"
	CertificatesFiles Certificates = "files"
)

// DefaultWebhook returns the configuration of a webhook with the default names.
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

// Submitter configures which component records the user who created an object. The operator trusts this record: statuses, schedulers and the log of refusals
// use the recorded user.
type Submitter struct {
	// From is AdmissionPolicy for the MutatingAdmissionPolicy of config/submitter, or Webhook for the operator's webhook, which then needs the failurePolicy
	// Fail. With the default, "", the annotations are ignored.
	From lifecycle.SubmitterSource `json:"from,omitempty"`
	// OperatorUser is the controller's user, such as system:serviceaccount:spark-operator:spark-operator-controller. The webhook needs it to recognize runs:
	// objects that this user creates are runs, which have the submitter of their schedule.
	OperatorUser string `json:"operatorUser,omitempty"`
	// Since is the time at which From took effect, such as 2026-11-29T08:00:00Z. Older objects have no submitter, because users could write the annotations
	// themselves. Without Since, From applies to all objects.
	Since metav1.Time `json:"since,omitzero"`
}

// Recorded returns the submitter configuration as the core needs it.
func (s Submitter) Recorded() lifecycle.Submitters {
	return lifecycle.Submitters{Source: s.From, Since: s.Since.Time}
}

func (s Submitter) validate() error {
	switch s.From {
	case lifecycle.SubmitterNotRecorded, lifecycle.SubmitterFromPolicy:
		return nil
	case lifecycle.SubmitterFromWebhook:
		if s.OperatorUser == "" {
			return fmt.Errorf(`submitter.operatorUser: write the controller's user, such as "system:serviceaccount:spark-operator:spark-operator-controller"`)
		}
		return nil
	}
	return fmt.Errorf("submitter.from: %q: must be %q or %q; leave it out if neither is installed",
		s.From, lifecycle.SubmitterFromPolicy, lifecycle.SubmitterFromWebhook)
}

// ScheduledSparkApplication configures schedules.
type ScheduledSparkApplication struct {
	// TimestampPrecision is the unit of the timestamps in the names of runs: nanos (the default), micros, millis, seconds or minutes.
	TimestampPrecision schedule.Precision `json:"timestampPrecision,omitempty"`
}

func (s ScheduledSparkApplication) validate() error {
	if all := schedule.Precisions(); !slices.Contains(all, s.TimestampPrecision) {
		return fmt.Errorf("scheduledSparkApplication.timestampPrecision: %q: must be one of %v", s.TimestampPrecision, all)
	}
	return nil
}
