// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Apache says whether the kinds of spark.apache.org are run. They are off by default: with their definition in the cluster, kubectl takes the
// names sparkapplications and sparkapp for theirs, and two operators must not run the same objects.
type Apache struct {
	Enabled bool `json:"enabled,omitempty"`
	// KeepStateHistory keeps the states of all attempts of a SparkApplication or SparkCluster in one history, up to 500 of earlier ones, and not
	// only those of the current and of the previous one.
	KeepStateHistory bool `json:"keepStateHistory,omitempty"`
	// LabelSelector chooses by their labels the SparkApplications and SparkClusters of spark.apache.org that are run, such as "team in (a, b)";
	// others are left as they are. All are run without one.
	LabelSelector string `json:"labelSelector,omitempty"`
	// SentinelPeriod is the time between two edits of a sentinel, after which the first must have been seen; 60s by default.
	SentinelPeriod metav1.Duration `json:"sentinelPeriod,omitzero"`
	// WorkerPodDisruptionBudget is that of a SparkCluster with minWorkers of 1 or more, as Apache's operator makes it.
	WorkerPodDisruptionBudget WorkerPodDisruptionBudget `json:"workerPodDisruptionBudget,omitzero"`
}

// WorkerPodDisruptionBudget keeps one worker of a cluster when nodes are drained, which waits for it where there is only one.
type WorkerPodDisruptionBudget struct {
	// Enabled is true by default.
	Enabled *bool `json:"enabled,omitempty"`
}

func (b WorkerPodDisruptionBudget) enabled() bool { return b.Enabled == nil || *b.Enabled }

// minSentinelPeriod bounds what sentinels cost the API server.
const minSentinelPeriod = 10 * time.Second

// Selector chooses objects by their labels; all of them without a selector in the configuration.
func (a Apache) Selector() labels.Selector {
	selector, err := labels.Parse(a.LabelSelector)
	if err != nil {
		return labels.Nothing() // Parse has refused it
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
