// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/firesteel-dev/firesteel/internal/lifecycle"

const (
	preface = `<!-- Written by hack/lifecycle (make generate). Do not edit. -->
# Transitions of an application

Every change of state that can happen, and no other: the page is drawn from a complete enumeration of the state machine over its
domain (package test/domain). What the states mean is in [Lifecycle](lifecycle.md), the reasons are in
[Conditions and reasons](conditions.md).

The words are those of ` + "`status.applicationState.state`" + `. SUBMITTED stands for two states: before there is a driver pod
and after it was created; the condition ` + "`Submitted`" + ` distinguishes them. The diagram leaves out what only follows a crash,
or a second change that comes at the same moment; the table has it.

`
	columns = `
| From | To | When | Reasons |
|---|---|---|---|
`
)

// explanation is the explanation of a transition. A transition without a label is not drawn.
type explanation struct{ label, when string }

const (
	created       = "the driver pod was created"
	found         = "the driver pod was created before a crash, and is found "
	foundFixed    = "the spec of an application that never ran was changed, and a driver pod is found "
	respecced     = "the spec was changed"
	suspended     = "`spec.suspend` became true"
	editedToo     = "the spec was changed while `spec.suspend` is true"
	refusedPod    = "the API server refuses an object"
	neverAdmitted = "the spec cannot be run, or `spec.deadlines.queued` is over"
	ended         = "the driver failed, is gone, was given up with its node, or a deadline is over"
	waits         = "the scheduler, a quota or the API server makes it wait"
)

// words explain each transition.
var words = map[edge]explanation{
	{lifecycle.New, lifecycle.Queued}:           {"has to wait", waits + ", or it is suspended, or is to adopt a driver that others started"},
	{lifecycle.New, lifecycle.Submitted}:        {"driver created", created},
	{lifecycle.New, lifecycle.Running}:          {"", found + "running, or after it ran"},
	{lifecycle.New, lifecycle.Failing}:          {"", found + "failed before it ran, or too late"},
	{lifecycle.New, lifecycle.SubmissionFailed}: {"refused", refusedPod},
	{lifecycle.New, lifecycle.Failed}:           {"invalid", "the spec cannot be run"},

	{lifecycle.Queued, lifecycle.Submitted}:        {"driver created", created},
	{lifecycle.Queued, lifecycle.Running}:          {"", found + "running, or after it ran"},
	{lifecycle.Queued, lifecycle.Failing}:          {"", found + "failed before it ran, or too late"},
	{lifecycle.Queued, lifecycle.SubmissionFailed}: {"refused", refusedPod},
	{lifecycle.Queued, lifecycle.Failed}:           {"invalid or too late", neverAdmitted},

	{lifecycle.Submitted, lifecycle.Running}:      {"container runs", "the driver's container is running, or ran"},
	{lifecycle.Submitted, lifecycle.Failing}:      {"failed", ended},
	{lifecycle.Submitted, lifecycle.Invalidating}: {"spec changed", respecced},
	{lifecycle.Submitted, lifecycle.Suspending}:   {"suspended", suspended},

	{lifecycle.Running, lifecycle.Submitted}:    {"", "the driver pod is pending again"},
	{lifecycle.Running, lifecycle.Succeeded}:    {"exit code 0", "the driver's container ended with exit code 0"},
	{lifecycle.Running, lifecycle.Succeeding}:   {"Always", "the driver's container ended with exit code 0, and restart policy Always runs it again"},
	{lifecycle.Running, lifecycle.Failing}:      {"failed", ended},
	{lifecycle.Running, lifecycle.Invalidating}: {"spec changed", respecced + "; of a server, when its sessions have ended, too"},
	{lifecycle.Running, lifecycle.Suspending}:   {"suspended", suspended + ", or a server was idle"},

	{lifecycle.Succeeding, lifecycle.Succeeded}:    {"", "it does not run again: an edit or a previous operator left it so"},
	{lifecycle.Succeeding, lifecycle.Rerunning}:    {"interval over", "the interval is over"},
	{lifecycle.Succeeding, lifecycle.Invalidating}: {"", respecced},
	{lifecycle.Succeeding, lifecycle.Suspending}:   {"", suspended + " before restart policy Always runs it again, or the spec was changed at the same time"},

	{lifecycle.Failing, lifecycle.Rerunning}:    {"retry", "the failure's budget is not used up, the wait is over, and the driver does not run any more"},
	{lifecycle.Failing, lifecycle.Failed}:       {"no retry", "the failure is not repeated, and the driver does not run any more"},
	{lifecycle.Failing, lifecycle.Invalidating}: {"", respecced},
	{lifecycle.Failing, lifecycle.Suspending}:   {"", suspended + " before the next attempt"},

	{lifecycle.Rerunning, lifecycle.Submitted}:        {"driver created", "the pod before is gone, and " + created},
	{lifecycle.Rerunning, lifecycle.Running}:          {"", found + "running, or after it ran"},
	{lifecycle.Rerunning, lifecycle.Failing}:          {"", found + "failed before it ran, or too late"},
	{lifecycle.Rerunning, lifecycle.SubmissionFailed}: {"refused", refusedPod},
	{lifecycle.Rerunning, lifecycle.Failed}:           {"", neverAdmitted},
	{lifecycle.Rerunning, lifecycle.Suspending}:       {"", suspended},

	{lifecycle.Invalidating, lifecycle.Rerunning}:  {"at once", "at once; the old driver pod goes then"},
	{lifecycle.Invalidating, lifecycle.Suspending}: {"", suspended},

	{lifecycle.Suspending, lifecycle.Suspended}:  {"driver gone", "the driver pod is gone"},
	{lifecycle.Suspending, lifecycle.Succeeded}:  {"", "the driver finished with exit code 0 before it was stopped"},
	{lifecycle.Suspending, lifecycle.Succeeding}: {"", "the driver finished with exit code 0 before it was stopped, and restart policy Always runs it again"},
	{lifecycle.Suspended, lifecycle.Resuming}:    {"resumed", "`spec.suspend` became false, or an idle server is wanted"},

	{lifecycle.Resuming, lifecycle.Submitted}:        {"driver created", created},
	{lifecycle.Resuming, lifecycle.Running}:          {"", found + "running, or after it ran"},
	{lifecycle.Resuming, lifecycle.Failing}:          {"", found + "failed before it ran, or too late"},
	{lifecycle.Resuming, lifecycle.SubmissionFailed}: {"", refusedPod},
	{lifecycle.Resuming, lifecycle.Failed}:           {"", neverAdmitted},
	{lifecycle.Resuming, lifecycle.Suspending}:       {"", suspended},

	{lifecycle.SubmissionFailed, lifecycle.Queued}:     {"", "it is submitted again, and " + waits + "; or it is suspended before its first run"},
	{lifecycle.SubmissionFailed, lifecycle.Submitted}:  {"retry", "it is submitted again, and " + created},
	{lifecycle.SubmissionFailed, lifecycle.Running}:    {"", found + "running, or after it ran"},
	{lifecycle.SubmissionFailed, lifecycle.Failing}:    {"", found + "failed before it ran, or too late"},
	{lifecycle.SubmissionFailed, lifecycle.Rerunning}:  {"", "the spec was changed; or it is submitted again, and " + waits},
	{lifecycle.SubmissionFailed, lifecycle.Suspending}: {"", suspended + " after an earlier attempt had a driver"},
	{lifecycle.SubmissionFailed, lifecycle.Failed}:     {"no retry", "the submission is not repeated, or " + neverAdmitted},

	{lifecycle.Succeeded, lifecycle.Invalidating}: {"spec changed", respecced},
	{lifecycle.Succeeded, lifecycle.Suspending}:   {"", editedToo},

	{lifecycle.Failed, lifecycle.Queued}:           {"", "the spec of an application that never ran was changed, and " + waits},
	{lifecycle.Failed, lifecycle.Submitted}:        {"spec fixed", "the spec of an application that never ran was changed, and " + created},
	{lifecycle.Failed, lifecycle.Running}:          {"", foundFixed + "running, or after it ran"},
	{lifecycle.Failed, lifecycle.Failing}:          {"", foundFixed + "failed before it ran, or too late"},
	{lifecycle.Failed, lifecycle.SubmissionFailed}: {"", "the spec of an application that never ran was changed, and the API server refuses it again"},
	{lifecycle.Failed, lifecycle.Invalidating}:     {"spec changed", respecced},
	{lifecycle.Failed, lifecycle.Suspending}:       {"", editedToo},
}
