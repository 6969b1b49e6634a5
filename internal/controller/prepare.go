/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package controller

import (
	"context"
	"maps"
	"strconv"
	"strings"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// prepared is the answer to "may it start?" and, if so, what is to be created.
type prepared struct {
	gate       lifecycle.Gate
	submission spark.Submission
}

// prepare validates the application, asks its scheduler and builds the submission. The error is the cluster's, not the
// application's.
func (e *Engine[T]) prepare(ctx context.Context, s scope[T]) (prepared, error) {
	if message := explain(s.app, validation.Report(s.app, s.problems)); message != "" {
		return rejected(message), nil
	}
	profile, err := spark.ProfileFor(s.app.SparkVersion)
	if err != nil {
		return rejected(err.Error()), nil
	}
	attempt, err := attemptOf(s.app, s.record, s.identity, profile)
	if err != nil {
		return rejected(validation.Explain(s.app, err)), nil
	}
	plugin, admission := e.Registry.Resolve(s.app.Scheduling)
	if plugin == nil {
		return prepared{gate: gateOf(admission)}, nil
	}
	snapshot, err := e.Reader.Snapshot(ctx, plugin.Reads(attempt))
	if err != nil {
		return prepared{}, err
	}
	gate := gateOf(scheduler.Admit(plugin, attempt, snapshot))
	if gate.Verdict != lifecycle.Admitted {
		return prepared{gate: gate}, nil
	}
	submission, err := spark.Build(labelled(scheduler.Decorate(plugin, attempt, s.app), s.identity), s.identity, profile)
	if err != nil {
		return rejected(validation.Explain(s.app, err)), nil
	}
	return prepared{gate: gate, submission: submission}, nil
}

func explain(app spark.Application, problems []*spark.ConfError) string {
	sentences := make([]string, 0, len(problems))
	for _, p := range problems {
		sentences = append(sentences, validation.Explain(app, p))
	}
	return strings.Join(sentences, "; ")
}

func rejected(message string) prepared {
	return prepared{gate: lifecycle.Gate{
		Verdict: lifecycle.Rejected,
		Cause:   lifecycle.Cause{Reason: lifecycle.ReasonInvalidSpec, Message: message},
	}}
}

// attemptOf is the scheduler's view of a run.
func attemptOf(app spark.Application, rec lifecycle.Record, id spark.Identity, profile spark.Profile) (scheduler.Attempt, error) {
	shapes, err := spark.PodShapes(app, profile)
	if err != nil {
		return scheduler.Attempt{}, err
	}
	number := max(1, rec.Attempt)
	return scheduler.Attempt{
		App:           scheduler.App{Namespace: app.Namespace, Name: app.Name, UID: app.UID, Labels: app.Labels},
		Number:        number,
		ID:            "spark-" + id.NameID + "-" + strconv.Itoa(int(number)),
		Queue:         app.Scheduling.Queue,
		PriorityClass: app.Scheduling.PriorityClassName,
		Shapes:        shapes,
	}, nil
}

func gateOf(a scheduler.Admission) lifecycle.Gate {
	verdicts := map[scheduler.Verdict]lifecycle.Verdict{
		scheduler.Go: lifecycle.Admitted, scheduler.Wait: lifecycle.Waiting,
		scheduler.NotReady: lifecycle.Waiting, scheduler.Never: lifecycle.Rejected,
	}
	return lifecycle.Gate{
		Verdict:    verdicts[a.Verdict],
		Cause:      lifecycle.Cause{Reason: lifecycle.Reason(a.Reason), Message: a.Message},
		RetryAfter: a.RetryAfter,
	}
}

// labelled marks the pods of both roles as this attempt's. The driver hands its executors' labels on to them.
func labelled(app spark.Application, id spark.Identity) spark.Application {
	app.OperatorConf = maps.Clone(app.OperatorConf)
	app.OperatorConf[spark.ConfDriverLabelPrefix+lifecycle.LabelSubmission] = id.SubmissionID
	app.OperatorConf[spark.ConfExecutorLabelPrefix+lifecycle.LabelSubmission] = id.SubmissionID
	return app
}
