// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"strings"
)

func init() {
	add(
		attack{
			name: "ReferencesToReferences", reason: "a value of 1 MB, referred to 500 times, expands to 500 MB", by: tenant,
			do: func(a *arena) error {
				return a.app("bomb", `sparkConf: {spark.a: "`+strings.Repeat("x", 500_000)+`", spark.executor.memoryOverhead: "`+strings.Repeat("${spark.a}", 500)+`"}`)
			},
			told: "spark.executor.memoryOverhead",
		},
		attack{
			name: "TextForAList", reason: "an application that cannot be decoded hides no other", by: tenant,
			do: func(a *arena) error {
				return a.app("malformed", "driver: {template: {spec: {containers: none}}}")
			},
			told: "cannot unmarshal string",
		},
	)
	add(attack{
		name: "ForgedLabels", reason: "a pod with the labels of others' drivers is not taken for one", by: driverCode,
		do: func(a *arena) error {
			if _, err := a.runs("own"); err != nil {
				return err
			}
			return forgeries(a, 20, "calm-1", "own")
		},
		cannot: func(a *arena) error { return a.state("own", "RUNNING") },
	})
}

// forgeries creates pods with the labels of drivers of applications.
func forgeries(a *arena, n int, apps ...string) error {
	for i := range n {
		pod, err := forged(a, fmt.Sprintf("forged-%d", i), apps[i%len(apps)])
		if err != nil {
			return err
		}
		if err := answered(a.as.Create(a.ctx, pod)); err != nil {
			return err
		}
	}
	return nil
}
