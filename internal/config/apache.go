// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Apache configures the kinds of spark.apache.org. They are off by default, for two reasons: with their definitions installed, kubectl resolves the names
// sparkapplications and sparkapp to them, and two operators must not run the same objects.
type Apache struct {
	Enabled bool `json:"enabled,omitempty"`
	// KeepStateHistory keeps the states of all attempts of a SparkApplication or SparkCluster in one history, up to 500 states of earlier attempts. Otherwise
	// the states of the current and the previous attempt are kept.
	KeepStateHistory bool `json:"keepStateHistory,omitempty"`
	// LabelSelector selects the SparkApplications and SparkClusters of spark.apache.org to run, such as "team in (a, b)". Others are left unchanged. The default
	// is all.
	LabelSelector string `json:"labelSelector,omitempty"`
	// SentinelPeriod is the time between two edits of a sentinel, and the time within which an edit must reach the cache; 60s by default.
	SentinelPeriod metav1.Duration `json:"sentinelPeriod,omitzero"`
	// WorkerPodDisruptionBudget configures the PodDisruptionBudget of a SparkCluster with minWorkers of 1 or more. Apache's operator creates it, too.
	WorkerPodDisruptionBudget WorkerPodDisruptionBudget `json:"workerPodDisruptionBudget,omitzero"`
}

// WorkerPodDisruptionBudget keeps one worker of a cluster running during node drains. A drain of the only worker waits.
type WorkerPodDisruptionBudget struct {
	// Enabled is true by default.
	Enabled *bool `json:"enabled,omitempty"`
}

func (b WorkerPodDisruptionBudget) enabled() bool { return b.Enabled == nil || *b.Enabled }

// minSentinelPeriod bounds the load that sentinels cause on the API server.
const minSentinelPeriod = 10 * time.Second

// Selector selects objects by their labels. It selects all objects if the configuration has no selector.
func (a Apache) Selector() labels.Selector {
	selector, err := labels.Parse(a.LabelSelector)
	if err != nil {
		return labels.Nothing() // Parse refuses an invalid selector
	}
	return selector
}

func (a Apache) validate() error {
	var errs []error
	if _, err := labels.Parse(a.LabelSelector); err != nil {
		errs = append(errs, fmt.Errorf(`apache.labelSelector: %q: write a label selector such as "team in (a, b), spark=enabled": %w`, a.LabelSelector, err))
	}
	if period := a.SentinelPeriod.Duration; period < minSentinelPeriod {
		errs = append(errs, fmt.Errorf("apache.sentinelPeriod: %s: must be at least %s", period, minSentinelPeriod))
	}
	return errors.Join(errs...)
}
