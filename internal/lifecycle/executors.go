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

package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxExecutors bounds the size of the status: at some 60 bytes each, 256 executors are 15 KiB.
const maxExecutors = 256

// merged lays what is observed over what is recorded. Executors that are not seen any more are lost until the
// application's outcome tells what became of them.
func merged(recorded, observed map[string]ExecutorState) map[string]ExecutorState {
	all := make(map[string]ExecutorState, len(observed))
	maps.Copy(all, observed)
	for name, state := range recorded {
		if _, seen := observed[name]; seen {
			continue
		}
		if !state.Ended() {
			state = ExecutorLost
		}
		all[name] = state
	}
	return bounded(all)
}

// concluded gives every executor whose end was not seen the state that the application's outcome implies: a driver
// deletes its executors when it stops, which is no failure of theirs.
func concluded(recorded, observed map[string]ExecutorState, implied ExecutorState) map[string]ExecutorState {
	all := merged(recorded, observed)
	for name, state := range all {
		if !state.Ended() {
			all[name] = implied
		}
	}
	return all
}

// rank orders executors by how much they matter to somebody who looks: live ones, lost ones, ended ones.
func rank(s ExecutorState) int {
	switch s {
	case ExecutorPending, ExecutorRunning:
		return 0
	case ExecutorLost:
		return 1
	case ExecutorSucceeded, ExecutorFailed:
	}
	return 2
}

// bounded keeps the live executors first, and of the others the newest.
func bounded(all map[string]ExecutorState) map[string]ExecutorState {
	if len(all) <= maxExecutors {
		return all
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(all[a]), rank(all[b])), cmp.Compare(executorNumber(b), executorNumber(a)), strings.Compare(a, b))
	})
	kept := make(map[string]ExecutorState, maxExecutors)
	for _, name := range names[:maxExecutors] {
		kept[name] = all[name]
	}
	return kept
}

// executorNumber is the running number at the end of an executor pod's name, which Spark counts from 1.
func executorNumber(pod string) int {
	n, err := strconv.Atoi(pod[strings.LastIndexByte(pod, '-')+1:])
	if err != nil {
		return 0
	}
	return n
}
