// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

func restarting(p *corev1.Pod) *corev1.Pod {
	p.Spec.RestartPolicy = corev1.RestartPolicyAlways
	return p
}

// A program that ran twice in one pod is not shown as one healthy run: neither while the container waits to be started again.
func TestDriverOfRestarted(t *testing.T) {
	first := exits(driverContainer, 3, "Error", "boom").State.Terminated
	first.StartedAt = at(5)
	cases := map[string]struct {
		reason string
		pod    *corev1.Pod
		phase  lifecycle.DriverPhase
		want   bool
		exit   lifecycle.Exit
		start  time.Time
	}{
		"Runs":        {reason: "its first end is known", pod: pod(corev1.PodRunning, again(runs(driverContainer), first, 1)), phase: lifecycle.DriverRunning, want: true, exit: lifecycle.Exit{Code: 3, Reason: "Error", Message: "boom"}, start: at(5).Time},
		"BacksOff":    {reason: "it stays so for ever", pod: pod(corev1.PodRunning, again(waits(driverContainer, "CrashLoopBackOff", "back-off 5m"), first, 7)), phase: lifecycle.DriverPending, want: true, exit: lifecycle.Exit{Code: 3, Reason: "Error", Message: "boom"}, start: at(5).Time},
		"IsAboutTo":   {reason: "the count is that of the starts that were", pod: pod(corev1.PodRunning, again(waits(driverContainer, "ErrImagePull", ""), first, 0)), phase: lifecycle.DriverPending, want: true, exit: lifecycle.Exit{Code: 3, Reason: "Error", Message: "boom"}, start: at(5).Time},
		"Forgotten":   {reason: "dead containers are collected", pod: pod(corev1.PodRunning, again(runs(driverContainer), nil, 2)), phase: lifecycle.DriverRunning, want: true, exit: lifecycle.Exit{Code: -1}},
		"PhaseBehind": {reason: "the phase lags behind the container", pod: pod(corev1.PodPending, again(runs(driverContainer), first, 1)), phase: lifecycle.DriverRunning, want: true, exit: lifecycle.Exit{Code: 3, Reason: "Error", Message: "boom"}, start: at(5).Time},
		"Meant":       {reason: "the pod says so: a server that Kubeflow's operator has left", pod: restarting(pod(corev1.PodRunning, again(runs(driverContainer), first, 1))), phase: lifecycle.DriverRunning},
		"Once":        {reason: "the usual driver", pod: pod(corev1.PodRunning, runs(driverContainer)), phase: lifecycle.DriverRunning},
		"Beside":      {reason: "other containers do not count", pod: pod(corev1.PodRunning, runs(driverContainer), again(runs("log"), first, 4)), phase: lifecycle.DriverRunning},
		"Before":      {reason: "nor do those that come first", pod: withInit(pod(corev1.PodRunning, runs(driverContainer)), again(exits("fetch", 0, "Completed", ""), first, 1)), phase: lifecycle.DriverRunning},
		"Ended":       {reason: "a container that has ended for good goes first", pod: pod(corev1.PodRunning, again(exits(driverContainer, 0, "Completed", ""), first, 1)), phase: lifecycle.DriverSucceeded},
		"Finished":    {reason: "and so does a pod", pod: pod(corev1.PodSucceeded, again(runs(driverContainer), first, 1)), phase: lifecycle.DriverSucceeded},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := judged(tc.pod)
			if d.Restarted != tc.want || d.Phase != tc.phase || d.Exit != tc.exit || tc.want && !d.StartedAt.Equal(tc.start) {
				t.Errorf("%s: restarted %t, %s, %+v since %s", tc.reason, d.Restarted, d.Phase, d.Exit, d.StartedAt)
			}
		})
	}
}
