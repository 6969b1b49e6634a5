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

// BatchScheduler configures the scheduler plugins. Whether the plugins that it names exist is checked where they are
// registered.
type BatchScheduler struct {
	// Default is the plugin of applications that name none; default "kube".
	Default string `json:"default,omitempty"`
	// Enabled are the plugins that applications may choose; by default the one above and the one for plain Kubernetes.
	Enabled []string `json:"enabled,omitempty"`
	// PlainNames takes a name that is not one of those plugins for the schedulerName of the application's pods, instead of letting the
	// application wait.
	PlainNames bool `json:"plainNames,omitempty"`
	// NamespaceDefaults lets annotations of a namespace choose scheduler and queue of the applications in it.
	NamespaceDefaults bool `json:"namespaceDefaults,omitempty"`
	// AllowedQueues say which namespaces may use which queues; none for no restriction.
	AllowedQueues []AllowedQueues `json:"allowedQueues,omitempty"`
	// ApplicationIDs is Own if pods may name no other application of their scheduler's than the attempt's own, and Any if they may; default Own
	// with allowedQueues or a recorded submitter, which another application's queue and user would pass by, else Any.
	ApplicationIDs string `json:"applicationIDs,omitempty"`
	// Quota says what happens to applications for which the quotas of their namespace have no room.
	Quota Quota `json:"quota,omitempty"`
	// Plugins are settings by plugin.
	Plugins map[string]SchedulerPlugin `json:"plugins,omitempty"`
}

// AllowedQueues lets the namespaces that match one of its patterns use the queues that match one of its patterns. In a
// pattern * stands for any text.
type AllowedQueues struct {
	Namespaces []string `json:"namespaces,omitempty"`
	Queues     []string `json:"queues,omitempty"`
}

// Quota configures the check of ResourceQuotas and ElasticQuotas before the start of an application.
type Quota struct {
	// Mode is Off, Warn (start it with a warning) or Enforce (let it wait); default Off.
	Mode QuotaMode `json:"mode,omitempty"`
	// ElasticQuotaSchedulers are the plugins whose pods ElasticQuotas bind.
	ElasticQuotaSchedulers []string `json:"elasticQuotaSchedulers,omitempty"`
	// Order is BestEffortFIFO (an application may pass those ahead of it for which there is no room), StrictFIFO (none passes) or FairShare
	// (as BestEffortFIFO, and where namespaces share a line, that comes first which uses least of what it is guaranteed);
	// default BestEffortFIFO.
	Order QuotaOrder `json:"order,omitempty"`
	// AgingBound is how long an application may be passed: from then on it comes before all that have waited less, whatever their
	// priority; default 10m.
	AgingBound metav1.Duration `json:"agingBound,omitzero"`
}

// SchedulerPlugin configures one plugin.
type SchedulerPlugin struct {
	// SchedulerName is what the scheduler calls itself, if not by its usual name.
	SchedulerName string `json:"schedulerName,omitempty"`
	// SchedulerNames are schedulers that the plugin serves as well. Applications choose each by its name.
	SchedulerNames []string `json:"schedulerNames,omitempty"`
	// DefaultQueue is the queue of applications that name none.
	DefaultQueue   string `json:"defaultQueue,omitempty"`
	ParameterRules `json:",inline"`
	// Queues say more of some queues. The first of them that matches a queue wins over the above, each parameter by itself.
	Queues []QueueParameters `json:"queues,omitempty"`
}

// QueueParameters is what holds in the queues of some names or patterns.
type QueueParameters struct {
	Queues         []string `json:"queues"`
	ParameterRules `json:",inline"`
}

// ParameterRules are defaults and bounds of a plugin's own options.
type ParameterRules struct {
	// Parameters are those that applications get which leave them out: the plugin's own, as in batchSchedulerOptions.parameters.
	Parameters map[string]json.RawMessage `json:"parameters,omitempty"`
	// Bounds limit what applications may write, by parameter.
	Bounds map[string]ParameterBound `json:"bounds,omitempty"`
}

// ParameterBound limits one parameter: a number, or the values that are allowed.
type ParameterBound struct {
	Min   *int64            `json:"min,omitempty"`
	Max   *int64            `json:"max,omitempty"`
	OneOf []json.RawMessage `json:"oneOf,omitempty"`
}

// QuotaMode is one of Off, Warn and Enforce.
type QuotaMode string

// UnmarshalJSON takes what YAML makes of an unquoted Off, which is false, for what was meant.
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

// defaultQuota passes those that wait for at most ten minutes: much longer than most batch jobs of a few minutes take to end and
// give way, and much shorter than a large one takes.
func defaultQuota() Quota {
	return Quota{Mode: "Off", Order: BestEffortFIFO, AgingBound: metav1.Duration{Duration: 10 * time.Minute}}
}

// The values of BatchScheduler.ApplicationIDs.
const (
	OwnApplicationIDs = "Own"
	AnyApplicationIDs = "Any"
)

// withApplicationIDs decides what the configuration leaves open.
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
			"for an order in which none is passed write order: StrictFIFO", bound))
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
		if pattern == "" || strings.ContainsAny(pattern, `?[]\`) { // of other languages of patterns: they are in no name
			errs = append(errs, fmt.Errorf("%s[%d]: %q is not a pattern: write a name, in which * matches any text", field, i, pattern))
		}
	}
	return errs
}
