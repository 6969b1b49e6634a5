// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// atMost is an error if there are more objects of a kind in the attack's namespace.
func (a *arena) atMost(n int, list client.ObjectList, count func() int) error {
	err := a.admin.List(a.ctx, list, client.InNamespace(a.namespace))
	if err == nil && count() > n {
		err = fmt.Errorf("%d of %T, and not at most %d", count(), list, n)
	}
	return err
}

// mostObjects is how many objects an application may have.
const mostObjects = 100

func init() {
	claims := func(role string) string {
		return "sparkConf: {" + repeated(500, "spark.kubernetes."+role+".volumes.persistentVolumeClaim.v%d.options.claimName: OnDemand, "+
			"spark.kubernetes."+role+".volumes.persistentVolumeClaim.v%[1]d.options.storageClass: gold, "+
			"spark.kubernetes."+role+".volumes.persistentVolumeClaim.v%[1]d.options.sizeLimit: 1Gi, "+
			"spark.kubernetes."+role+".volumes.persistentVolumeClaim.v%[1]d.mount.path: /v%[1]d") + "}"
	}
	ingress := func(n int) string {
		return "driverIngressOptions: [" + repeated(n, "{servicePort: 2%03d, servicePortName: p%[1]d, ingressURLFormat: \"x%[1]d.example.org\"}") + "]"
	}
	add(
		attack{
			name: "ThousandsOfIngresses", reason: "each port of a driver makes a Service and an Ingress", by: tenant,
			do:   func(a *arena) error { return a.app("wide", ingress(5_000)) },
			told: "must have at most",
		},
		attack{
			name: "AsManyIngressesAsThereMayBe", reason: "ports of a running driver make Services and Ingresses", by: tenant,
			do: func(a *arena) error {
				_, err := a.runs("wide", ingress(16))
				return err
			},
			cannot: func(a *arena) error {
				var services corev1.ServiceList
				var ingresses networkingv1.IngressList
				if err := a.atMost(mostObjects, &services, func() int { return len(services.Items) }); err != nil {
					return err
				}
				return a.atMost(mostObjects, &ingresses, func() int { return len(ingresses.Items) })
			},
		},
		attack{
			name: "ClaimsOfDrivers", reason: "500 properties make 500 PersistentVolumeClaims", by: tenant,
			do: func(a *arena) error { return a.app("wide", claims("driver")) },
			cannot: func(a *arena) error {
				if err := a.looked(application, "wide"); err != nil {
					return err
				}
				var all corev1.PersistentVolumeClaimList
				return a.atMost(mostObjects, &all, func() int { return len(all.Items) })
			},
		},
		attack{
			name: "ClaimsOfExecutors", reason: "the driver makes them for each of a million executors", by: tenant,
			do: func(a *arena) error { return a.app("wide", claims("executor"), "executor: {instances: 1000000}") },
			cannot: func(a *arena) error {
				if err := a.looked(application, "wide"); err != nil {
					return err
				}
				return a.most(0, "create", "persistentvolumeclaims")
			},
		},
		attack{
			name: "MillionsOfExecutors", reason: "a number is cheap to write", by: tenant,
			do: func(a *arena) error {
				if err := a.app("wide", "executor: {instances: 2000000000}"); err != nil {
					return err
				}
				return a.app("dynamic", "dynamicAllocation: {enabled: true, initialExecutors: 2000000000, minExecutors: 2000000000, maxExecutors: 2147483647}")
			},
			cannot: submitted("wide", "dynamic"),
		},
		attack{
			name: "MoreExecutorsThanAllowed", reason: "the limit of the namespace", by: tenant, policy: limited, shares: refused,
			do:     func(a *arena) error { return a.app("moreexecutorsthanallowed", "executor: {instances: 2000000000}") },
			cannot: func(a *arena) error { return a.most(0, "create", "pods") },
			told:   `operator policy "limited"`,
		},
		attack{
			name: "SchedulesOfEachSecond", reason: "60 schedules that are due each second", by: tenant,
			do: func(a *arena) error {
				return a.storm(60, func(i int) error { return a.apply(schedule, fmt.Sprintf("each-%d", i), `schedule: "@every 1s"`) })
			},
		},
		attack{
			name: "BackfillOfYears", reason: "every minute since 1970 is a run", by: tenant,
			do: func(a *arena) error {
				return a.apply(schedule, "years", `{schedule: "* * * * *", concurrencyPolicy: Allow, missedRunPolicy: RunAll, backfill: {from: "1970-01-01T00:00:00Z", to: "2026-01-01T00:00:00Z"}}`)
			},
		},
		attack{
			name: "TriggersOfASchedule", reason: "each edit of an annotation is a run", by: tenant,
			do: func(a *arena) error {
				if err := a.apply(schedule, "triggered"); err != nil {
					return err
				}
				for i := range 100 {
					if err := a.edit(schedule, "triggered", fmt.Sprintf("metadata: {annotations: {sparkoperator.k8s.io/trigger-at: \"2026-01-01T00:%02d:%02dZ\"}}", i/60, i%60)); err != nil {
						return err
					}
				}
				return nil
			},
		},
		attack{
			name: "ServersThatDrainAndWake", reason: "each edit replaces a server, each annotation wakes it", by: tenant,
			do: func(a *arena) error {
				if err := a.apply(connect, "server", "{idleTimeout: 1s, drainTimeout: 1s}"); err != nil {
					return err
				}
				for i := range 100 {
					text := fmt.Sprintf("{metadata: {annotations: {sparkoperator.k8s.io/wake-at: \"2026-01-01T00:%02d:%02dZ\"}}, spec: {sparkConf: {spark.a: \"%d\"}, suspend: %t}}", i/60, i%60, i, i%2 == 0)
					if err := a.edit(connect, "server", text); err != nil {
						return err
					}
				}
				return nil
			},
			cannot: func(a *arena) error { return a.most(100, "create", "pods") },
		},
	)
}
