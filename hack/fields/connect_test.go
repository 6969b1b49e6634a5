// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
)

// Anyone who adds a field of a server has to give it a meaning.
func TestEveryFieldOfAServerActs(t *testing.T) {
	paths, live := map[string]bool{}, []string(nil)
	for _, f := range connectFields() {
		if paths[f.Path] {
			t.Errorf("%s is there twice", f.Path)
		}
		paths[f.Path] = true
		if len(f.Effects) == 0 {
			t.Errorf("spec.%s: changing it changes nothing", f.Path)
		}
		for _, e := range f.Effects {
			if strings.HasPrefix(e, "model: ") || strings.HasPrefix(e, "inServer ") || e == "policy without words" || strings.HasPrefix(e, "refused: ") {
				t.Errorf("spec.%s: %s: say in inModel or inServer what it means", f.Path, e)
			}
		}
		if !f.Restarts {
			live = append(live, f.Path)
		}
	}
	want := []string{"server.service", "suspend", "idleTimeout", "drainTimeout", "logTails", "batchSchedulerOptions.onEviction", "batchSchedulerOptions.maxEvictions"}
	if !slices.Equal(live, want) {
		t.Errorf("edits of %q replace nothing, want %q", live, want)
	}
	for _, path := range append([]string{"sparkVersion", "server.cores", "executor.instances", "dynamicAllocation.enabled", "authentication.token"}, want...) {
		if !paths[path] {
			t.Errorf("spec.%s is not reached", path)
		}
	}
}

func TestEffectsOfAServerAreTold(t *testing.T) {
	for path, want := range map[string]string{
		"server.memory":               "`spark.driver.memory`",
		"hadoopConf":                  "`spark.hadoop.<key>`",
		"executor.template":           inModel["Template"],
		"authentication.token":        inModel["Server"],
		"server.service":              inServer["server.service"],
		"idleTimeout":                 inServer["idleTimeout"],
		"batchSchedulerOptions.queue": inModel["Queue"],
	} {
		if got := connectEffects(path).Effects; !slices.Contains(got, want) {
			t.Errorf("%s has the effects %q, want %q", path, got, want)
		}
	}
}

func TestTableOfServersNamesAFieldWithoutComment(t *testing.T) {
	if _, err := connectTable(nil); err == nil || !strings.Contains(err.Error(), "SparkConnectSpec.SparkVersion") {
		t.Errorf("%v: want the field that has no comment", err)
	}
}
