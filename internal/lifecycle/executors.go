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

// bounded keeps the executors that have not ended, and of the ended ones the newest.
func bounded(all map[string]ExecutorState) map[string]ExecutorState {
	if len(all) <= maxExecutors {
		return all
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		if ea, eb := all[a].Ended(), all[b].Ended(); ea != eb {
			if ea {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(executorNumber(b), executorNumber(a)), strings.Compare(a, b))
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
