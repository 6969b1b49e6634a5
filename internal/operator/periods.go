// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"time"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// Periods are how long is waited for what no watch reports. One that is 0 is the usual one, which the constant at its place says.
type Periods struct {
	// Core are those of the decisions on applications.
	Core lifecycle.Periods
	// Server is the first pause between two Spark Connect servers (kubeflow.SparkConnects).
	Server time.Duration
	// Run is when a run that was refused is tried again (schedule.Env).
	Run time.Duration
	// Exposure is when an auxiliary object that was refused is tried again (application.Engine).
	Exposure time.Duration
	// Discovery is how often it is looked for the APIs of schedulers and of auxiliary objects (informers.SchedulerKinds).
	Discovery time.Duration
	// Installed is how often it is looked for the definition of a kind that the operator runs (installedPeriod).
	Installed time.Duration
	// Definitions is how long a new leader works before it compares the definitions (definitionsDelay).
	Definitions time.Duration
	// Configuration is how often the configuration file is read (lookPeriod).
	Configuration time.Duration
}
