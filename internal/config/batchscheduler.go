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

// BatchScheduler configures the scheduler plugins. Their registry checks the plugin names.
type BatchScheduler struct {
	// Default is the plugin of applications without one; "kube" by default.
	Default string `json:"default,omitempty"`
	// Enabled are the plugins that applications may choose; by default Default and the plugin for plain Kubernetes.
	Enabled []string `json:"enabled,omitempty"`
	// PlainNames uses the name of an unknown plugin as the schedulerName of the application's pods. Without it such an
	// application waits.
	PlainNames bool `json:"plainNames,omitempty"`
	// NamespaceDefaults lets annotations of a namespace set scheduler and queue of its applications.
	NamespaceDefaults bool `json:"namespaceDefaults,omitempty"`
	// AllowedQueues restrict the queues of namespaces; none for no restriction.
	AllowedQueues []AllowedQueues `json:"allowedQueues,omitempty"`
	// ApplicationIDs is Own if pods may name only the attempt's own application to their scheduler, or Any. The default is Own
	// with allowedQueues or a recorded submitter, which another application's id would bypass, else Any.
	ApplicationIDs string `json:"applicationIDs,omitempty"`
	// Quota configures applications that the quotas of their namespace have no room for.
	Quota Quota `json:"quota,omitempty"`
	// Plugins are settings by plugin.
	Plugins map[string]SchedulerPlugin `json:"plugins,omitempty"`
}

// AllowedQueues allows namespaces that match a pattern to use queues that match a pattern; * stands for any text.
type AllowedQueues struct {
	Namespaces []string `json:"namespaces,omitempty"`
	Queues     []string `json:"queues,omitempty"`
}

// Quota configures the check of ResourceQuotas and ElasticQuotas before the start of an application.
type Quota struct {
	// Mode is Off, Warn (start it with a warning) or Enforce (let it wait); default Off.
	Mode QuotaMode `json:"mode,omitempty"`
	// ElasticQuotaSchedulers are the plugins whose pods count against ElasticQuotas.
	ElasticQuotaSchedulers []string `json:"elasticQuotaSchedulers,omitempty"`
	// Order is BestEffortFIFO (an application may pass others that do not fit), StrictFIFO (none passes) or FairShare (as
	// BestEffortFIFO, but in shared lines the namespace with the lowest use of its guarantee comes first); default
	// BestEffortFIFO.
	Order QuotaOrder `json:"order,omitempty"`
	// AgingBound is the time for which an application may be passed. After it, the application comes before all that have waited
	// less, whatever their priority; default 10m.
	AgingBound metav1.Duration `json:"agingBound,omitzero"`
}

// SchedulerPlugin configures one plugin.
type SchedulerPlugin struct {
	// SchedulerName is the scheduler's name, if it is not the default.
	SchedulerName string `json:"schedulerName,omitempty"`
	// SchedulerNames are additional schedulers of the plugin. Applications choose each by its name.
	SchedulerNames []string `json:"schedulerNames,omitempty"`
	// DefaultQueue is the queue of applications without one.
	DefaultQueue   string `json:"defaultQueue,omitempty"`
	ParameterRules `json:",inline"`
	// Queues has rules for some queues. For each parameter, the first entry that matches a queue overrides the general rules.
	Queues []QueueParameters `json:"queues,omitempty"`
}

// QueueParameters are rules for queues that match a pattern.
type QueueParameters struct {
	Queues         []string `json:"queues"`
	ParameterRules `json:",inline"`
}

// ParameterRules are defaults and bounds of a plugin's own options.
type ParameterRules struct {
	// Parameters are defaults of the plugin's options, as in batchSchedulerOptions.parameters.
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

// UnmarshalJSON accepts false, to which YAML converts an unquoted Off.
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

// The orders of lines for quotas.
const (
	BestEffortFIFO QuotaOrder = "BestEffortFIFO"
	StrictFIFO     QuotaOrder = "StrictFIFO"
	FairShare      QuotaOrder = "FairShare"
)

var quotaOrders = []QuotaOrder{BestEffortFIFO, StrictFIFO, FairShare}

// defaultQuota lets attempts be passed for ten minutes: much longer than most batch jobs run, and much shorter than a large
// one.
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
		if pattern == "" || strings.ContainsAny(pattern, `?[]\`) { // characters of other pattern languages, which no name has
			errs = append(errs, fmt.Errorf("%s[%d]: %q is not a pattern: write a name, in which * matches any text", field, i, pattern))
		}
	}
	return errs
}
