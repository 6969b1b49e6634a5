// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Executors are those that are asked for, or there are none: the step that ships their template is not left out beside one.
func TestTemplateIsShipped(t *testing.T) {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}}
	cases := map[string]struct {
		reason string
		change func(*Application)
		want   string
	}{
		"Excluded": {reason: "there is nothing to ship", change: func(*Application) {}},
		"Template": {reason: "the driver would read another one from its image", change: func(a *Application) { a.Executor.Template = template }, want: "what its executors are to be like"},
		"Text":     {reason: "the same as text", change: func(a *Application) { a.Executor.TemplateText = "spec: {containers: []}" }, want: "what its executors are to be like"},
		"Overlay":  {reason: "fields go into the template, too", change: func(a *Application) { a.Executor.Overlay.PriorityClassName = "low" }, want: "what its executors are to be like"},
		"OldSpark": {reason: "it excludes nothing", change: func(a *Application) { a.SparkVersion, a.Executor.Template = "3.5.7", template }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app := sparkPi()
			app.SparkVersion = "4.1.0"
			app.Conf[confExcludedSteps] = templateStep
			tc.change(&app)
			profile, err := ProfileFor(app.SparkVersion)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Build(app, Identity{}, profile)
			var refused *ConfError
			if tc.want == "" && err != nil || tc.want != "" && (!errors.As(err, &refused) || refused.Key != confExcludedSteps || !strings.Contains(refused.Problem, tc.want)) {
				t.Errorf("%s: %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}
