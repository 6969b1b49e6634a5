// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// BatchScheduler configures the scheduler plugins. The registry of plugins checks their names.
type BatchScheduler struct {
	// Default is the plugin of applications that name no scheduler; "kube" by default.
	Default string `json:"default,omitempty"`
	// Enabled are the plugins that applications may choose. By default these are Default and the plugin for plain Kubernetes.
	Enabled []string `json:"enabled,omitempty"`
	// PlainNames uses a name that no plugin has as the schedulerName of the application's pods. Without PlainNames such an application waits.
	PlainNames bool `json:"plainNames,omitempty"`
	// NamespaceDefaults lets annotations of a namespace set the scheduler and queue of its applications.
	NamespaceDefaults bool `json:"namespaceDefaults,omitempty"`
	// AllowedQueues restrict the queues that namespaces may use; without a rule, every namespace may use every queue.
	AllowedQueues []AllowedQueues `json:"allowedQueues,omitempty"`
	// ApplicationIDs is Own if pods may name only the attempt's own application to their scheduler, or Any. The default is Own if allowedQueues or a recorded
	// submitter are configured, because the id of another application would bypass them. Otherwise the default is Any.
	ApplicationIDs string `json:"applicationIDs,omitempty"`
	// Quota configures the treatment of applications for which the quotas of their namespace have no room.
	Quota Quota `json:"quota,omitempty"`
	// Plugins has the settings of each plugin.
	Plugins map[string]SchedulerPlugin `json:"plugins,omitempty"`
}

// AllowedQueues allows namespaces that match a pattern to use queues that match a pattern; * matches any text.
type AllowedQueues struct {
	Namespaces []string `json:"namespaces,omitempty"`
	Queues     []string `json:"queues,omitempty"`
}

// Quota configures the check of ResourceQuotas and ElasticQuotas before the start of an application.
type Quota struct {
	// Mode is Off, Warn (the application starts with a warning) or Enforce (the application waits); default Off.
	Mode QuotaMode `json:"mode,omitempty"`
	// ElasticQuotaSchedulers are the plugins whose pods ElasticQuotas count.
	ElasticQuotaSchedulers []string `json:"elasticQuotaSchedulers,omitempty"`
	// Order is BestEffortFIFO, StrictFIFO or FairShare; default BestEffortFIFO. With BestEffortFIFO an application may pass others that do not fit; with
	// StrictFIFO it may pass none. FairShare is BestEffortFIFO, but in shared lines the namespace with the lowest use of its guarantee comes first.
	Order QuotaOrder `json:"order,omitempty"`
	// AgingBound is how long an application waits until it comes before all that have waited less, and holds what becomes free, for this time at first;
	// default 10m.
	AgingBound metav1.Duration `json:"agingBound,omitzero"`
}

// SchedulerPlugin configures one plugin.
type SchedulerPlugin struct {
	// SchedulerName is the name of the scheduler, if it differs from the plugin's default.
	SchedulerName string `json:"schedulerName,omitempty"`
	// SchedulerNames are additional schedulers of the plugin. Applications choose one by its name.
	SchedulerNames []string `json:"schedulerNames,omitempty"`
	// DefaultQueue is the queue of applications that name no queue.
	DefaultQueue   string `json:"defaultQueue,omitempty"`
	ParameterRules `json:",inline"`
	// Queues has rules for some queues. For each parameter, the first entry that matches the queue overrides the general rules.
	Queues []QueueParameters `json:"queues,omitempty"`
}

// QueueParameters are rules for queues that match a pattern.
type QueueParameters struct {
	Queues         []string `json:"queues"`
	ParameterRules `json:",inline"`
}

// ParameterRules are defaults and bounds of a plugin's own options.
type ParameterRules struct {
	// Parameters are defaults of the plugin's options, as written in batchSchedulerOptions.parameters.
	Parameters map[string]json.RawMessage `json:"parameters,omitempty"`
	// Bounds restrict the values that applications may set, by parameter.
	Bounds map[string]ParameterBound `json:"bounds,omitempty"`
}

// ParameterBound restricts one parameter: a range of numbers, or the allowed values.
type ParameterBound struct {
	Min   *int64            `json:"min,omitempty"`
	Max   *int64            `json:"max,omitempty"`
	OneOf []json.RawMessage `json:"oneOf,omitempty"`
}

// QuotaMode is one of Off, Warn and Enforce.
type QuotaMode string

// UnmarshalJSON also accepts false, because YAML converts an unquoted Off to false.
func (m *QuotaMode) UnmarshalJSON(text []byte) error {
	if string(text) == "false" {
		*m = "Off"
		return nil
	}
	var mode string
	if err := json.Unmarshal(text, &mode); err != nil {
		return fmt.Errorf("batchScheduler.quota.mode: %s: must be one of %v", text, quotaModes)
	}
	*m = QuotaMode(mode)
	return nil
}

// QuotaOrder is one of BestEffortFIFO, StrictFIFO and FairShare.
type QuotaOrder string

// Orders of the lines of quotas.
const (
	BestEffortFIFO QuotaOrder = "BestEffortFIFO"
	StrictFIFO     QuotaOrder = "StrictFIFO"
	FairShare      QuotaOrder = "FairShare"
)

var quotaOrders = []QuotaOrder{BestEffortFIFO, StrictFIFO, FairShare}

// defaultQuota has an AgingBound of ten minutes: most batch jobs run much shorter, and a large job runs much longer.
func defaultQuota() Quota {
	return Quota{Mode: "Off", Order: BestEffortFIFO, AgingBound: metav1.Duration{Duration: 10 * time.Minute}}
}

// The values of BatchScheduler.ApplicationIDs.
const (
	OwnApplicationIDs = "Own"
	AnyApplicationIDs = "Any"
)

// withApplicationIDs sets the default of ApplicationIDs.
func (b BatchScheduler) withApplicationIDs(s Submitter) BatchScheduler {
	switch {
	case b.ApplicationIDs != "":
	case len(b.AllowedQueues) > 0 || s.From != lifecycle.SubmitterNotRecorded:
		b.ApplicationIDs = OwnApplicationIDs
	default:
		b.ApplicationIDs = AnyApplicationIDs
	}
	return b
}

var quotaModes = []QuotaMode{"Off", "Warn", "Enforce"}

func (b BatchScheduler) validate() []error {
	var errs []error
	if b.Default == "" {
		errs = append(errs, errors.New(`batchScheduler.default: "": name a scheduler plugin, or leave the field out`))
	}
	if ids := []string{OwnApplicationIDs, AnyApplicationIDs}; !slices.Contains(ids, b.ApplicationIDs) {
		errs = append(errs, fmt.Errorf("batchScheduler.applicationIDs: %q: must be one of %v", b.ApplicationIDs, ids))
	}
	if !slices.Contains(quotaModes, b.Quota.Mode) {
		errs = append(errs, fmt.Errorf("batchScheduler.quota.mode: %q: must be one of %v", b.Quota.Mode, quotaModes))
	}
	if !slices.Contains(quotaOrders, b.Quota.Order) {
		errs = append(errs, fmt.Errorf("batchScheduler.quota.order: %q: must be one of %v", b.Quota.Order, quotaOrders))
	}
	if bound := b.Quota.AgingBound.Duration; bound <= 0 {
		errs = append(errs, fmt.Errorf("batchScheduler.quota.agingBound: %s: must be more than 0s; "+
			"to forbid passing, write order: StrictFIFO", bound))
	}
	for i, rule := range b.AllowedQueues {
		field := fmt.Sprintf("batchScheduler.allowedQueues[%d]", i)
		errs = append(errs, patterns(field+".namespaces", rule.Namespaces)...)
		errs = append(errs, patterns(field+".queues", rule.Queues)...)
	}
	for _, name := range slices.Sorted(maps.Keys(b.Plugins)) {
		for i, q := range b.Plugins[name].Queues {
			errs = append(errs, patterns(fmt.Sprintf("batchScheduler.plugins.%s.queues[%d].queues", name, i), q.Queues)...)
		}
	}
	return errs
}

func patterns(field string, list []string) []error {
	if len(list) == 0 {
		return []error{fmt.Errorf("%s: name at least one; \"*\" stands for all", field)}
	}
	var errs []error
	for i, pattern := range list {
		if pattern == "" || strings.ContainsAny(pattern, `?[]\`) { // characters of other pattern languages, which no name contains
			errs = append(errs, fmt.Errorf("%s[%d]: %q is not a pattern: write a name, in which * matches any text", field, i, pattern))
		}
	}
	return errs
}
