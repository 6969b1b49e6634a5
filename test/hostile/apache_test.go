// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apachev1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// This file attacks by the kind of spark.apache.org, where it lets a tenant write what the other kinds do not.

// noIngress is why an attack with an Ingress is not made on the hardened chart.
const noIngress = "the operator makes no Ingress there"

const reserved = "is reserved for Spark"

// The kinds of spark.apache.org in the older version that is served.
var (
	apacheOlder     = schema.GroupVersionKind{Group: apache.Group, Version: "v1beta1", Kind: apache.Kind}
	standaloneOlder = schema.GroupVersionKind{Group: standalone.Group, Version: "v1beta1", Kind: standalone.Kind}
)

// newest is a kind in the version that the operator works with.
func newest(kind schema.GroupVersionKind) schema.GroupVersionKind {
	if kind.Group == apache.Group {
		kind.Version = apache.Version
	}
	return kind
}

// anyApacheContainer and anyApachePod are the ways of this kind to write a security context, and a part of a pod's spec.
var (
	anyApacheContainer = map[string]string{
		"driver":       `driverSpec: {podTemplateSpec: {spec: {containers: [{name: main, securityContext: CONTEXT}]}}}`,
		"executor":     `executorSpec: {podTemplateSpec: {spec: {containers: [{name: main, securityContext: CONTEXT}]}}}`,
		"driver-other": `driverSpec: {podTemplateSpec: {spec: {containers: [{name: main}, {name: x, image: registry.example/x, securityContext: CONTEXT}]}}}`,
		"init":         `driverSpec: {podTemplateSpec: {spec: {initContainers: [{name: x, image: registry.example/x, securityContext: CONTEXT}], containers: [{name: main}]}}}`,
	}
	anyApachePod = map[string]string{
		"driver-template":   `driverSpec: {podTemplateSpec: {spec: {PART, containers: [{name: main}]}}}`,
		"executor-template": `executorSpec: {podTemplateSpec: {spec: {PART, containers: [{name: main}]}}}`,
	}
)

// opens is one entry of driverServiceIngressList, whose objects are called like that.
func opens(name, serviceMeta, serviceSpec, ingressMeta, ingressSpec string) string {
	return `driverServiceIngressList: [{serviceMetadata: {name: ` + name + serviceMeta + `}, serviceSpec: {ports: [{port: 4040}]` + serviceSpec +
		`}, ingressMetadata: {name: ` + name + ingressMeta + `}` + ingressSpec + `}]`
}

// withHost is a rule of an Ingress for a host.
func withHost(host string) string {
	return `, ingressSpec: {rules: [{host: "` + host + `", http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: x, port: {number: 4040}}}}]}}]}`
}

// attachedPath is an Ingress that is attached, with a path.
func attachedPath(path, kind string) string {
	return opens("x", "", "", "", `, ingressSpec: {rules: [{host: "x.example.org", http: {paths: [{path: "`+path+`", pathType: `+kind+`, backend: {service: {name: x, port: {number: 4040}}}}]}}]}`)
}

func injectedPaths() tries {
	return tries{
		"lines":     {attachedPath(`/x\n}\nlocation / {`, "Prefix"), "character other than"},
		"braces":    {attachedPath(`/x{}`, "Exact"), "character other than"},
		"semicolon": {attachedPath(`/x;return 200`, "ImplementationSpecific"), "character other than"},
		"quote":     {attachedPath(`/x\"`, "ImplementationSpecific"), "character other than"},
		"or":        {attachedPath(`/x|/`, "ImplementationSpecific"), "character other than"},
		"route": {`driverHttpRouteList: [{serviceMetadata: {name: x}, serviceSpec: {ports: [{port: 4040}]}, httpRouteMetadata: {name: x}, httpRouteSpec: {parentRefs: [{name: x}], rules: [{matches: [{path: {value: "/x\n}"}}]}]}}]`,
			"character other than"},
	}
}

// finalized are templates of applications of this kind with what keeps their pods, or hands them on.
var finalized = tries{
	"driver":   {`driverSpec: {podTemplateSpec: {metadata: {finalizers: [a.example/keep]}, spec: {containers: [{name: main}]}}}`, finalizers},
	"executor": {`executorSpec: {podTemplateSpec: {metadata: {finalizers: [a.example/keep]}, spec: {containers: [{name: main}]}}}`, finalizers},
	"owner":    {`executorSpec: {podTemplateSpec: {metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: bank, uid: bank}]}, spec: {containers: [{name: main}]}}}`, owners},
}

func init() {
	add(
		beyondAs(apache, "ApachePrivileged", "a template of this kind gets the node", baseline, each(anyApacheContainer, "CONTEXT", `{privileged: true}`, breaksBaseline+"privileged", nil)),
		beyondAs(apache, "ApacheHostNetwork", "a template of this kind gets the node's network", baseline, each(anyApachePod, "PART", "hostNetwork: true", breaksBaseline+"host namespaces", nil)),
		beyondAs(apache, "ApacheHostPaths", "a template of this kind gets the node's directories", baseline, each(anyApachePod, "PART", "volumes: [{name: h, hostPath: {path: /}}]", breaksBaseline+"hostPath volumes", tries{
			"property": {`sparkConf: {spark.kubernetes.driver.volumes.hostPath.h.mount.path: /h, spark.kubernetes.driver.volumes.hostPath.h.options.path: /}`, breaksBaseline + "hostPath volumes"},
		})),
		beyondAs(apache, "ApacheApplications", "another application of the scheduler's, by its id", queued, tries{
			"property": {`sparkConf: {spark.kubernetes.scheduler.name: yunikorn, spark.kubernetes.driver.label.queue: mine, spark.kubernetes.executor.label.queue: mine, spark.kubernetes.driver.annotation.yunikorn.apache.org/app-id: theirs}`, otherApplication},
			"template": {`{sparkConf: {spark.kubernetes.scheduler.name: yunikorn, spark.kubernetes.driver.label.queue: mine, spark.kubernetes.executor.label.queue: mine}, executorSpec: {podTemplateSpec: {metadata: {labels: {applicationId: theirs}}, spec: {containers: [{name: main}]}}}}`, otherApplication},
		}),
		beyondAs(apache, "ApacheServiceTypes", "a driver on the Internet, by a Service that is attached", limited, tries{
			"balancer": {opens("x", "", ", type: LoadBalancer", "", ""), clusterOnly},
			"node":     {opens("x", "", ", type: NodePort", "", ""), clusterOnly},
			"name":     {opens("x", "", ", type: ExternalName, externalName: bank.example", "", ""), clusterOnly},
		}),
		beyondAs(apache, "ApacheHosts", "a host of another namespace, by an Ingress that is attached", limited, tries{
			"other": {opens("x", "", "", "", withHost("bank.example.org")), hosts},
			"any":   {opens("x", "", "", "", ""), hosts},
		}).unless(noIngress),
		beyondAs(apache, "ApachePaths", "a path of another namespace, or one that a proxy reads otherwise, by an Ingress that is attached", strict, tries{
			"other":      {attachedPath("/other", "Prefix"), paths},
			"expression": {attachedPath("/team", "ImplementationSpecific"), "may be any"},
			"or":         {attachedPath("/team/x|/", "ImplementationSpecific"), "character other than"},
			"climbing":   {attachedPath("/team/../other", "Prefix"), "segment"},
		}).unless(noIngress),
		beyondAs(apache, "ApachePathsWithoutLimits", "text that a proxy takes for its configuration, with any limits or none", open, injectedPaths()).unless(noIngress),
		beyondAs(apacheOlder, "ApacheOlderPaths", "the same in the older version", open, injectedPaths()).unless(noIngress),
		beyondAs(apache, "ApacheFinalizers", "pods of this kind that cannot be deleted, or are deleted with others", open, finalized),
		beyondAs(apacheOlder, "ApacheOlderFinalizers", "the same in the older version", open, finalized),
		beyondAs(apache, "ApacheSnippets", "configuration of the proxy, by metadata of what is attached", limited, tries{
			"service": {opens("x", `, annotations: {x-snippet: x}`, "", "", ""), annotations},
			"ingress": {opens("x", "", "", `, annotations: {x-snippet: x}`, ""), annotations},
		}).unless(noIngress),
		beyondAs(apache, "ApacheReservedLabels", "labels by which Spark and the operator find their own, by a property", open, tries{
			"selector": {`sparkConf: {spark.kubernetes.driver.label.spark-app-selector: bank-0}`, reserved},
			"role":     {`sparkConf: {spark.kubernetes.driver.label.spark-role: executor}`, reserved},
		}),
		attack{
			name: "ApacheThatFits", reason: "an object of the largest size that is stored costs the operator its memory", by: tenant, bomb: true,
			do: func(a *arena) error {
				for _, path := range []string{"driverArgs", "configMapSpecs", "driverServiceIngressList"} {
					for _, h := range holes(apache, apachev1.SparkApplication{}) {
						if strings.Join(h.path, ".") == "spec."+path {
							if err := a.bomb([]hole{h}, largest); err != nil {
								return err
							}
						}
					}
				}
				return nil
			},
			told: "the operator reads at most",
		},
		attack{
			name: "ApacheTextForAList", reason: "an application that cannot be decoded hides no other of its kind", by: tenant,
			do: func(a *arena) error {
				if err := a.apply(apache, "malformed", "driverSpec: {podTemplateSpec: {spec: {containers: none}}}"); err != nil {
					return err
				}
				return a.apply(apache, "after")
			},
			cannot: func(a *arena) error { _, err := a.apacheDriverOf("after"); return err },
			told:   "a string is not valid here; write a list",
		},
		attack{
			name: "ApacheMillis", reason: "a time that is too large is neither over at once, nor asked about without end", by: tenant,
			do: func(a *arena) error {
				for name, n := range map[string]int64{"most": math.MaxInt64, "least": math.MinInt64, "seconds": math.MaxInt64 / int64(time.Millisecond), "beyond": math.MaxInt64/int64(time.Millisecond) + 1} {
					text := strings.ReplaceAll(`applicationTolerations: {resourceRetainPolicy: Always, resourceRetainDurationMillis: N, ttlAfterStopMillis: N, restartConfig: {restartPolicy: Always,
  maxRestartAttempts: N, restartBackoffMillis: N, restartCounterResetMillis: N, maxRestartOnFailure: N, restartBackoffMillisForFailure: N, maxRestartOnSchedulingFailure: N,
  restartBackoffMillisForSchedulingFailure: N}, applicationTimeoutConfig: {driverStartTimeoutMillis: N, driverReadyTimeoutMillis: N, executorStartTimeoutMillis: N,
  forceTerminationGracePeriodMillis: N, terminationRequeuePeriodMillis: N}}`, "N", fmt.Sprint(n))
					if err := a.apply(apache, name, text); err != nil {
						return err
					}
				}
				pod, err := a.apacheDriverOf("most")
				if err != nil {
					return err
				}
				return a.phase(pod, corev1.PodFailed)
			},
			cannot: func(a *arena) error {
				waits := a.apacheIs("most", apachev1.StateScheduledToRestart)
				return errors.Join(waits, a.apacheIs("least", apachev1.StateDriverRequested), a.apacheIs("seconds", apachev1.StateDriverRequested),
					a.apacheIs("beyond", apachev1.StateDriverRequested), a.most(4, "create", "pods"))
			},
		},
		attack{
			name: "ApacheNames", reason: "names at their limits", by: tenant,
			do: func(a *arena) error {
				for _, name := range []string{strings.Repeat("a", 63), strings.Repeat("b", 253), strings.Repeat("c.", 126) + "c", "0", "d-0-driver", strings.Repeat("e", 44), strings.Repeat("e", 45)} {
					if err := a.apply(apache, name); err != nil {
						return err
					}
				}
				return a.apply(apache, "id", `sparkConf: {spark.app.id: "`+strings.Repeat("f", 300)+`"}`)
			},
			cannot: func(a *arena) error {
				return errors.Join(a.looked(apache, strings.Repeat("b", 253)), a.looked(apache, strings.Repeat("c.", 126)+"c"), a.looked(apache, "id"))
			},
		},
		attack{
			name: "ApacheAlwaysAtOnce", reason: "an application that ends at once and runs always, without a wait, makes drivers and events for ever", by: tenant,
			do: func(a *arena) error {
				if err := a.apply(apache, "always", "applicationTolerations: {restartConfig: {restartPolicy: Always, restartBackoffMillis: 0, maxRestartAttempts: 9223372036854775807}}"); err != nil {
					return err
				}
				_, err := a.ends(200, corev1.PodFailed, 5*time.Second)
				return err
			},
			cannot: func(a *arena) error {
				n, err := a.did("create", "pods")
				if err == nil && n < 2 {
					err = errors.New("it was not run again")
				}
				return errors.Join(err, a.most(12, "create", "pods"), events(60)(a))
			},
		},
		attack{
			name: "ApacheForgedDrivers", reason: "a pod with the labels of a driver of this kind is not taken for one", by: driverCode,
			do: func(a *arena) error {
				if err := a.apply(apache, "own"); err != nil {
					return err
				}
				driver, err := a.apacheDriverOf("own")
				if err != nil {
					return err
				}
				return a.storm(20, func(i int) error {
					return answered(a.as.Create(a.ctx, forged(a, fmt.Sprintf("forged-%d", i), "own", spark.RoleDriver, driver.Labels)))
				})
			},
			cannot: func(a *arena) error {
				return errors.Join(a.apacheIs("own", apachev1.StateDriverRequested), a.most(1, "create", "pods"))
			},
		},
		attack{
			name: "ApacheNamesOfAnother", reason: "what is attached stands where an object of somebody else is", by: tenant, do: takesNames, cannot: tookNoName, told: "bank",
		}.unless(noIngress),
		attack{
			name: "ApacheLabels", reason: "labels by which the operator finds its own", by: tenant,
			do: func(a *arena) error {
				labels := `{spark.operator/spark-app-name: bank, spark.operator/name: other, spark-app-selector: bank-0, spark-role: executor}`
				return a.apply(apache, "own", `driverSpec: {podTemplateSpec: {metadata: {labels: `+labels+`}}}
configMapSpecs: [{name: own-settings, labels: `+labels+`, data: {a: b}}]
sparkConf: {spark.kubernetes.driver.label.spark.operator/spark-app-name: bank}`)
			},
			cannot: func(a *arena) error {
				if _, err := a.apacheDriverOf("own"); err != nil {
					said, _ := a.said() // it only explains
					return fmt.Errorf("%w; it is told: %.2000s", err, said)
				}
				return a.each(&corev1.PodList{}, func(o client.Object) error {
					if l := o.GetLabels(); l[apachev1.LabelAppName] != "own" || l[spark.LabelRole] != spark.RoleDriver || l[spark.LabelAppSelector] != "own-0" {
						return fmt.Errorf("pod %s has the labels %v", o.GetName(), l)
					}
					return nil
				})
			},
		},
		attack{
			name: "ApacheHistory", reason: "a status that another operator left has 10,000 states, and keys that are no numbers", by: tenant, do: leavesHistory,
			cannot: func(a *arena) error {
				return errors.Join(a.looked(apache, "history"), goesOn(a), a.most(3, "create", "pods"), a.most(50, "patch", "sparkapplications/status"))
			},
			told: "cannot patch resource",
		},
	)
}

// apacheIs waits for the state of an application.
func (a *arena) apacheIs(name string, want apachev1.ApplicationStateSummary) error {
	return await(a.ctx, func() error {
		var o apachev1.SparkApplication
		err := a.admin.Get(a.ctx, client.ObjectKey{Namespace: a.namespace, Name: name}, &o)
		if s := o.Status.CurrentState; err == nil && (s == nil || s.CurrentStateSummary != want) {
			err = fmt.Errorf("application %s is %+v, and not %s", name, s, want)
		}
		return err
	})
}

// bank are objects of somebody else.
func bank(namespace string) []client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "bank", OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "bank", UID: "bank", Controller: new(true)}}}
	return []client.Object{
		&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"accounts": "all"}},
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "bank"}, Ports: []corev1.ServicePort{{Port: 80}}}},
		&networkingv1.Ingress{ObjectMeta: meta, Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: "bank", Port: networkingv1.ServiceBackendPort{Number: 80}},
		}}},
	}
}

// takesNames attaches objects with the names of the bank's.
func takesNames(a *arena) error {
	for _, o := range bank(a.namespace) {
		if err := a.admin.Create(a.ctx, o); err != nil {
			return err
		}
	}
	return errors.Join(
		a.apply(apache, "settings", "configMapSpecs: [{name: bank, data: {accounts: none}}]"),
		a.apply(apache, "service", opens("bank", "", ", selector: {app: evil}", "-of-mine", "")),
		a.apply(apache, "ingress", strings.Replace(opens("bank", "", "", "", ""), "name: bank", "name: mine", 1)),
	)
}

// tookNoName is an error if an object of the bank is another one, or is written to.
func tookNoName(a *arena) error {
	for _, name := range []string{"settings", "service", "ingress"} {
		if err := a.looked(apache, name); err != nil {
			return err
		}
	}
	for _, want := range bank(a.namespace) {
		got := want.DeepCopyObject().(client.Object)
		if err := a.admin.Get(a.ctx, client.ObjectKeyFromObject(want), got); err != nil {
			return err
		}
		if got.GetGeneration() > 1 || len(got.GetOwnerReferences()) != 1 || got.GetOwnerReferences()[0].UID != "bank" {
			return fmt.Errorf("%T bank is owned by %v", got, got.GetOwnerReferences())
		}
		if c, ok := got.(*corev1.ConfigMap); ok && c.Data["accounts"] != "all" {
			return fmt.Errorf("the ConfigMap of the bank says %v", c.Data)
		}
		if s, ok := got.(*corev1.Service); ok && s.Spec.Selector["app"] != "bank" {
			return fmt.Errorf("the Service of the bank leads to %v", s.Spec.Selector)
		}
	}
	return nil
}

// leavesHistory tries to write a status as the tenant, and then has it written by who may: the operator reads it, whoever wrote it.
func leavesHistory(a *arena) error {
	if err := a.apply(apache, "history", "applicationTolerations: {restartConfig: {restartPolicy: Always, restartBackoffMillis: 0}}"); err != nil {
		return err
	}
	if _, err := a.apacheDriverOf("history"); err != nil {
		return err
	}
	states := map[string]any{"-1": "Failed", "99999999999999999999": "Failed", "1e3": "Failed", "": "Failed", "9223372036854775807": "RunningHealthy"}
	for i := range 10_000 {
		states[fmt.Sprint(i-100)] = "RunningHealthy"
	}
	for key, state := range states {
		states[key] = map[string]any{"currentStateSummary": state, "lastTransitionTime": "never"}
	}
	attempt := map[string]any{"attemptInfo": map[string]any{"id": math.MaxInt64, "restartCounter": math.MinInt64, "failureRestartCounter": math.MaxInt64, "schedulingFailureRestartCounter": -1}}
	status := map[string]any{
		"stateTransitionHistory": states, "currentAttemptSummary": attempt, "previousAttemptSummary": attempt, "details": nil, "observedGeneration": 0,
		"currentState": map[string]any{"currentStateSummary": "RunningHealthy", "lastTransitionTime": "9999999-99-99T99:99:99Z"},
	}
	text, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	patch := client.RawPatch(types.MergePatchType, text)
	if err := answered(a.tenant.Status().Patch(a.ctx, a.reference(apache, "history"), patch)); err != nil {
		return err
	}
	return a.admin.Status().Patch(a.ctx, a.reference(apache, "history"), patch)
}

// goesOn waits for the state that follows what was left, under the next number, and looks whether a counter was counted beyond its end.
func goesOn(a *arena) error {
	return await(a.ctx, func() error {
		var o apachev1.SparkApplication
		if err := a.admin.Get(a.ctx, client.ObjectKey{Namespace: a.namespace, Name: "history"}, &o); err != nil {
			return err
		}
		all := o.Status.StateTransitionHistory
		if p := o.Status.PreviousAttemptSummary; p != nil && all["9900"].LastTransitionTime == "" {
			all = p.StateTransitionHistory
		}
		if all["9900"].LastTransitionTime == "" {
			return fmt.Errorf("state 9900 does not follow 9899; there are %d", len(all))
		}
		if i := o.Status.CurrentAttemptSummary.AttemptInfo; i.RestartCounter < 0 || i.FailureRestartCounter < 0 || i.SchedulingFailureRestartCounter < 0 {
			return final{fmt.Errorf("the counters are %+v", i)}
		}
		return nil
	})
}
