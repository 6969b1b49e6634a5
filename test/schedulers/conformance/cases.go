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

package conformance

// cases are in the order in which they begin within their stage: those that take long first.
var cases = []Case{
	{Number: 3, Name: "API missing at start", stage: beforeAPI, run: apiMissing},
	{Number: 4, Name: "API installed later", stage: beforeAPI, run: apiLater},
	{Number: 12, Name: "scheduler not running", stage: beforeScheduler, run: schedulerNotRunning},
	{Number: 28, Name: "foreign object of our name", stage: normal, run: foreign},
	{Number: 14, Name: "suspend and resume", stage: normal, run: suspend},
	{Number: 32, Name: "messages are stable", stage: normal, run: stable},
	{Number: 17, Name: "eviction", stage: normal, run: eviction},
	{Number: 16, Name: "1,000 attempts", stage: normal, run: thousand},
	{Number: 1, Name: "asked twice, written once", stage: normal, run: askedTwice},
	{Number: 2, Name: "restart between every two steps", stage: normal, run: restarts},
	{Number: 8, Name: "queue absent, then created", stage: normal, run: queueAbsent},
	{Number: 9, Name: "queue closed, then opened", stage: normal, run: queueClosed},
	{Number: 10, Name: "more than there will ever be", stage: normal, run: tooBig},
	{Number: 11, Name: "more than there is now", stage: normal, run: full},
	{Number: 13, Name: "retry", stage: normal, run: retry},
	{Number: 15, Name: "delete while queued and running", stage: normal, run: deletion},
	{Number: 6, Name: "a right is missing", stage: normal, run: forbidden},
	{Number: 7, Name: "declared rights suffice", stage: normal, run: rights},
	{Number: 19, Name: "dynamic allocation", stage: normal, run: allocation},
	{Number: 22, Name: "default changed while running", stage: normal, run: newDefault},
	{Number: 23, Name: "plugin disabled", stage: normal, run: disabled},
	{Number: 25, Name: "order in the line", stage: normal, run: order},
	{Number: 30, Name: "random attempts", stage: normal, run: fuzz},
	{Number: 20, Name: "without executors, client mode", stage: normal, run: shapes},
	{Number: 21, Name: "the user's own marks", stage: normal, run: marks},
	{Number: 24, Name: "two race for one place", stage: normal, run: race},
	{Number: 27, Name: "long names, equal names", stage: normal, run: names},
	{Number: 29, Name: "objects deleted or edited", stage: normal, run: meddling},
	{Number: 31, Name: "sizes equal the pods'", stage: normal, run: sizes},
	{Number: 18, Name: "admission withdrawn", absent: "no plugin takes a permission back once pods exist: what schedulers take back are pods (17)"},
	{Number: 26, Name: "scheduled applications", absent: "the operator has no kind for applications that run by a schedule yet"},
	{Number: 33, Name: "all executors or none", stage: normal, run: allOrNothing},
	{Number: 34, Name: "gives up in time", stage: normal, run: givesUp},
	{Number: 5, Name: "API removed", stage: last, run: apiRemoved},
}
