// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// events is an error if the namespace has more events than that.
func events(most int) func(*arena) error {
	return func(a *arena) error {
		var all eventsv1.EventList
		return a.atMost(most, &all, func() int { return len(all.Items) })
	}
}

// ends writes the end of every driver of the namespace that appears, until so many have ended or the time is over.
func (a *arena) ends(n int, phase corev1.PodPhase, within time.Duration) (int, error) {
	over, ended := time.NewTimer(within), 0
	defer over.Stop()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for ended < n {
		var pods corev1.PodList
		if err := a.admin.List(a.ctx, &pods, client.InNamespace(a.namespace)); err != nil {
			return ended, err
		}
		for i := range pods.Items {
			if pod := &pods.Items[i]; pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil {
				if err := client.IgnoreNotFound(a.phase(pod, phase)); err != nil {
					return ended, err
				}
				ended++
			}
		}
		select {
		case <-over.C:
			return ended, nil
		case <-ticker.C:
		}
	}
	return ended, nil
}

func init() {
	// each object has a name of its own: the events of one name are counted whoever has it.
	many := func(name, reason string, n int, each func(a *arena, i int) error, cannot func(*arena) error, told string) attack {
		return attack{
			name: name, reason: reason, by: tenant, cannot: cannot, told: told,
			do: func(a *arena) error {
				if err := a.app(objectOf(name)); err != nil {
					return err
				}
				return a.storm(n, func(i int) error { return each(a, i) })
			},
		}
	}
	at := func(i int) string { return fmt.Sprintf("2026-01-01T%02d:%02d:%02dZ", i/3600, i/60%60, i%60) }
	add(
		attack{
			name: "AlwaysWithoutAnInterval", reason: "an application that ends at once and runs always makes drivers and events for ever", by: tenant,
			do: func(a *arena) error {
				if err := a.app("always", "restartPolicy: {type: Always, onFailureRetryInterval: 1}"); err != nil {
					return err
				}
				_, err := a.ends(20, corev1.PodSucceeded, 6*time.Second)
				return err
			},
			cannot: func(a *arena) error { return a.most(8, "create", "pods") },
		},
		attack{
			name: "FailuresWithoutABackoff", reason: "the same with failures, of 40 applications", by: tenant,
			do: func(a *arena) error {
				err := a.storm(40, func(i int) error {
					return a.app(fmt.Sprintf("fails-%d", i), "restartPolicy: {infrastructure: {retries: 2147483647, backoff: {initial: 0s, max: 0s}}, application: {retries: 2147483647, backoff: {initial: 0s, max: 0s}}}")
				})
				if err == nil {
					_, err = a.ends(200, corev1.PodFailed, 5*time.Second)
				}
				return err
			},
			cannot: func(a *arena) error { return a.most(400, "create", "pods") },
		},
		attack{
			name: "SubmissionsThatFail", reason: "what the API server refuses is tried again for ever", by: tenant,
			do: func(a *arena) error {
				return a.storm(20, func(i int) error {
					return a.app(fmt.Sprintf("refused-%d", i), "driver: {template: {spec: {activeDeadlineSeconds: -1, containers: []}}}",
						"restartPolicy: {type: OnFailure, onSubmissionFailureRetries: 2147483647, onSubmissionFailureRetryInterval: 1, submission: {retries: 2147483647, backoff: {initial: 0s, max: 0s}}}")
				})
			},
			cannot: func(a *arena) error { return a.most(100, "create", "pods") },
			told:   "activeDeadlineSeconds",
		},
		many("EditsOfTheSpec", "400 edits of one object", 400, func(a *arena, i int) error {
			return a.edit(application, a.attack.object(), fmt.Sprintf("spec: {arguments: [\"%d\"]}", i))
		}, func(a *arena) error { return a.most(300, "create", "pods") }, ""),
		many("EditsOfAnnotations", "400 edits that mean nothing", 400, func(a *arena, i int) error {
			return a.edit(application, a.attack.object(), fmt.Sprintf("metadata: {annotations: {a: \"%d\"}}", i))
		}, func(a *arena) error {
			return errors.Join(a.most(1, "create", "pods"), a.most(40, "patch", "sparkapplications/status"))
		}, ""),
		many("RerunsByAnnotation", "each annotation runs it again", 300, func(a *arena, i int) error {
			return a.edit(application, a.attack.object(), "metadata: {annotations: {sparkoperator.k8s.io/rerun-at: \""+at(i)+"\"}}")
		}, events(300), ""),
		many("RerunsByNonsense", "what is no time is told each time", 300, func(a *arena, i int) error {
			return a.edit(application, a.attack.object(), fmt.Sprintf("metadata: {annotations: {sparkoperator.k8s.io/rerun-at: \"nonsense %d\"}}", i))
		}, events(100), ""),
		many("SuspendAndResume", "each edit deletes a driver or creates one", 300, func(a *arena, i int) error {
			return a.edit(application, a.attack.object(), fmt.Sprintf("spec: {suspend: %t}", i%2 == 0))
		}, events(300), ""),
		many("CreateAndDelete", "300 applications come and go", 300, func(a *arena, i int) error {
			name := fmt.Sprintf("object-%d", i)
			return errors.Join(a.app(name), a.remove(application, name))
		}, nil, ""),
		many("SameNameAgain", "one name comes and goes", 200, func(a *arena, _ int) error {
			return errors.Join(a.app("again"), a.remove(application, "again"))
		}, nil, ""),
		many("Flood", "200 applications at once", 200, func(a *arena, i int) error { return a.app(fmt.Sprintf("flood-%d", i)) }, nil, ""),
		many("FloodOfInvalidApplications", "200 sentences", 200, func(a *arena, i int) error {
			return a.app(fmt.Sprintf("flood-%d", i), fmt.Sprintf("driver: {memory: nonsense-%d}", i))
		}, nil, "nonsense-"),
		many("FloodOfServers", "100 servers at once", 100, func(a *arena, i int) error { return a.apply(connect, fmt.Sprintf("flood-%d", i)) }, nil, ""),
		many("MetricLabels", "each application has a type of its own", 150, func(a *arena, i int) error {
			return a.app(fmt.Sprintf("type-%d", i), fmt.Sprintf("metadata: {labels: {app_type: junk-%d}}\nspec: {driver: {labels: {app_type: junk-%d}}, sparkConf: {spark.kubernetes.driver.label.app_type: junk-%d}}", i, i, i))
		}, func(a *arena) error {
			var text bytes.Buffer
			if err := a.operator.get(a.ctx, "http://"+a.operator.metrics+"/metrics", &text); err != nil {
				return err
			}
			if n := bytes.Count(text.Bytes(), []byte("\n")); n > 20_000 {
				return fmt.Errorf("%d lines of metrics", n)
			}
			return nil
		}, "").unless("metrics need a token there; what they are made of is the same"),
		attack{
			name: "FinalizersOfOneself", reason: "what cannot be deleted is looked at for ever", by: tenant,
			do: func(a *arena) error {
				err := a.storm(50, func(i int) error {
					return a.app(fmt.Sprintf("stays-%d", i), "metadata: {finalizers: [example.org/never]}\nspec: {}")
				})
				for i := range 50 {
					err = errors.Join(err, a.remove(application, fmt.Sprintf("stays-%d", i)))
				}
				return err
			},
			cannot: func(a *arena) error { return a.most(500, "patch", "sparkapplications/status") },
		},
	)
}
