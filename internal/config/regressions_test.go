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
