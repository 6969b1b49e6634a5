// SPDX-License-Identifier: Apache-2.0

package config

import "testing"

func TestStrictness(t *testing.T) {
	cases := map[string]string{
		"a second document is ignored":             head + "---\nworkers: 3\n",
		"case is ignored":                          head + "Workers: 3\n",
		"an empty default names no scheduler":      head + "batchScheduler: {default: \"\"}\n",
		"a namespace that cannot exist is taken":   head + "namespaces: [\"Team A\"]\n",
		"an address that cannot be bound is taken": head + "metrics: {bindAddress: \"eighty\"}\n",
	}
	for name, text := range cases {
		if c, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
