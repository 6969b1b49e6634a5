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

// cases are in the order in which they run within their stage.
var cases = []Case{
	{3, "API missing at start", beforeAPI, apiMissing},
	{4, "API installed later", beforeAPI, apiLater},
	{12, "scheduler not running", beforeScheduler, schedulerNotRunning},
	{1, "asked twice, written once", filling, askedTwice},
	{2, "restart between every two steps", filling, restarts},
	{8, "queue absent, then created", normal, queueAbsent},
	{9, "queue closed, then opened", normal, queueClosed},
	{10, "more than there will ever be", normal, tooBig},
	{11, "more than there is now", filling, full},
	{13, "retry", normal, retry},
	{14, "suspend and resume", filling, suspend},
	{15, "delete while queued and running", filling, deletion},
	{17, "eviction", normal, eviction},
	{6, "a right is missing", normal, forbidden},
	{7, "declared rights suffice", filling, rights},
	{19, "dynamic allocation", normal, allocation},
	{22, "default changed while running", normal, newDefault},
	{23, "plugin disabled", filling, disabled},
	{25, "order in the line", filling, order},
	{30, "random attempts", normal, fuzz},
	{20, "without executors, client mode", normal, shapes},
	{21, "the user's own marks", normal, marks},
	{24, "two race for one place", filling, race},
	{27, "long names, equal names", normal, names},
	{28, "foreign object of our name", normal, foreign},
	{29, "objects deleted or edited", filling, meddling},
	{31, "sizes equal the pods'", normal, sizes},
	{32, "messages are stable", filling, stable},
	{5, "API removed", last, apiRemoved},
}
