// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// forged is a pod that says that it is one of an application's.
func forged(a *arena, name, app, role string, more map[string]string) *corev1.Pod {
	labels := map[string]string{
		v1beta2.LabelAppName: app, v1beta2.LabelLaunchedBy: "true", v1beta2.LabelSubmissionID: "forged",
		spark.LabelRole: role, spark.LabelAppSelector: "spark-forged",
	}
	maps.Copy(labels, more)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: name, Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "spark-kubernetes-" + role, Image: "forged"}}},
	}
}

// inside starts an application and attacks from inside its driver. It must run on as if nothing had happened.
func inside(name, reason string, do func(a *arena, driver *corev1.Pod) error, told string) attack {
	return insideOf("own", name, reason, do, told)
}

// powerless is inside for what the API server does not let a driver do: it leaves nothing behind.
func powerless(name, reason string, do func(a *arena, driver *corev1.Pod) error, told string) attack {
	x := insideOf(objectOf(name), name, reason, do, told)
	x.shares = started
	return x
}

func insideOf(own, name, reason string, do func(a *arena, driver *corev1.Pod) error, told string) attack {
	return attack{
		name: name, reason: reason, by: driverCode, told: told,
		do: func(a *arena) error {
			pod, err := a.runs(own)
			if err != nil {
				return err
			}
			return do(a, pod)
		},
		cannot: func(a *arena) error { return errors.Join(a.state(own, "RUNNING"), a.most(1, "create", "pods")) },
	}
}

func init() {
	executors := func(n, long int) func(*arena, *corev1.Pod) error {
		return func(a *arena, driver *corev1.Pod) error {
			return a.storm(n, func(i int) error {
				name := fmt.Sprintf("e%s-%d", strings.Repeat("x", long), i)
				return answered(a.as.Create(a.ctx, forged(a, name, "own", spark.RoleExecutor, map[string]string{
					v1beta2.LabelSubmissionID: driver.Labels[v1beta2.LabelSubmissionID], spark.LabelAppSelector: driver.Labels[spark.LabelAppSelector],
				})))
			})
		}
	}
	bounded := func(x attack) attack {
		before := x.cannot
		x.cannot = func(a *arena) error {
			if err := before(a); err != nil {
				return err
			}
			o, err := a.stored(application, "own")
			if err != nil {
				return err
			}
			text, err := o.MarshalJSON()
			if err == nil && len(text) > 100<<10 {
				err = fmt.Errorf("the object has %d bytes", len(text))
			}
			return err
		}
		return x
	}
	add(
		inside("ForgedDrivers", "a pod with the labels of a driver is not taken for one", func(a *arena, _ *corev1.Pod) error {
			return a.storm(20, func(i int) error {
				return answered(a.as.Create(a.ctx, forged(a, fmt.Sprintf("forged-%d", i), []string{"calm-1", "own"}[i%2], spark.RoleDriver, nil)))
			})
		}, ""),
		inside("ForgedAttempts", "nor one with the labels of this very attempt", func(a *arena, driver *corev1.Pod) error {
			return answered(a.as.Create(a.ctx, forged(a, "forged", "own", spark.RoleDriver, driver.Labels)))
		}, ""),
		inside("ForgedOwners", "a pod that says that an application of somebody else owns it", func(a *arena, driver *corev1.Pod) error {
			return a.storm(20, func(i int) error {
				pod := forged(a, fmt.Sprintf("owned-%d", i), "own", spark.RoleDriver, driver.Labels)
				pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: application.Kind, Name: "calm-1", UID: types.UID(fmt.Sprint(i))}}
				return answered(a.as.Create(a.ctx, pod))
			})
		}, ""),
		inside("ForgedServers", "a driver says that it is a server", func(a *arena, _ *corev1.Pod) error {
			return a.storm(20, func(i int) error {
				return answered(a.as.Create(a.ctx, forged(a, fmt.Sprintf("own-server-%d", i), "own", spark.RoleServer, map[string]string{"sparkoperator.k8s.io/connect-name": "own"})))
			})
		}, ""),
		inside("OddLabels", "labels of the operator with no values, or long ones", func(a *arena, _ *corev1.Pod) error {
			return a.storm(20, func(i int) error {
				return answered(a.as.Create(a.ctx, forged(a, fmt.Sprintf("odd-%d", i), strings.Repeat("a", 3*i), "driver", map[string]string{v1beta2.LabelSubmissionID: "", spark.LabelAppSelector: "", v1beta2.LabelSpecHash: strings.Repeat("f", 63)})))
			})
		}, ""),
		inside("FloodOfPods", "pods of no application", func(a *arena, _ *corev1.Pod) error {
			return a.storm(600, func(i int) error {
				return answered(a.as.Create(a.ctx, forged(a, fmt.Sprintf("flood-%d", i), fmt.Sprintf("app-%d", i), spark.RoleExecutor, nil)))
			})
		}, ""),
		bounded(inside("ThousandsOfExecutors", "a status has each of its executors", executors(1_500, 0), "")),
		bounded(inside("ExecutorsOfLongNames", "a name has 253 characters", executors(500, 240), "")),
		powerless("ForgedStatus", "the status of an application is the operator's to write", func(a *arena, _ *corev1.Pod) error {
			o := a.reference(application, objectOf("ForgedStatus"))
			return answered(a.as.Status().Patch(a.ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"status":{"applicationState":{"state":"COMPLETED"}}}`))))
		}, "cannot patch resource"),
		powerless("ForgedPodStatus", "the status of a pod is the kubelet's", func(a *arena, driver *corev1.Pod) error {
			return answered(a.as.Status().Patch(a.ctx, driver.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Succeeded","message":"`+strings.Repeat("x", 10_000)+`"}}`))))
		}, "cannot patch resource"),
		powerless("PodInAnotherNamespace", "a driver has no rights elsewhere", func(a *arena, _ *corev1.Pod) error {
			pod := forged(a, "elsewhere", "calm-1", spark.RoleDriver, nil)
			pod.Namespace = bystanders
			return answered(a.as.Create(a.ctx, pod))
		}, "cannot create resource"),
		powerless("ApplicationByADriver", "a driver starts no applications", func(a *arena, _ *corev1.Pod) error {
			o, err := a.object(application, "child")
			if err != nil {
				return err
			}
			return answered(a.as.Create(a.ctx, o))
		}, "cannot create resource"),
		inside("EditedConfiguration", "the ConfigMap of a driver is what it was started with", func(a *arena, _ *corev1.Pod) error {
			return a.each(&corev1.ConfigMapList{}, func(o client.Object) error {
				return answered(a.as.Patch(a.ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"data":{"spark.properties":"`+strings.Repeat("x", 500_000)+`"},"metadata":{"ownerReferences":null,"labels":null}}`))))
			})
		}, ""),
		inside("EditedServices", "the Services of a driver", func(a *arena, _ *corev1.Pod) error {
			return a.each(&corev1.ServiceList{}, func(o client.Object) error {
				return answered(a.as.Patch(a.ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"x":"`+strings.Repeat("x", 200_000)+`"},"labels":{"sparkoperator.k8s.io/app-name":"calm-1"}},"spec":{"selector":{"a":"b"}}}`))))
			})
		}, ""),
		inside("DeletedServices", "the Services of a driver come back once, and not for ever", func(a *arena, _ *corev1.Pod) error {
			for range 20 {
				if err := a.each(&corev1.ServiceList{}, func(o client.Object) error { return client.IgnoreNotFound(a.as.Delete(a.ctx, o)) }); err != nil {
					return err
				}
			}
			return nil
		}, ""),
		inside("ServicesOfOthersNames", "a Service stands where the operator wants its own", func(a *arena, _ *corev1.Pod) error {
			return a.storm(100, func(i int) error {
				return answered(a.as.Create(a.ctx, &corev1.Service{
					ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: fmt.Sprintf("taken-%d", i), Labels: map[string]string{v1beta2.LabelExposes: "ui", v1beta2.LabelAppName: "own", v1beta2.LabelCreatedBy: "true"}},
					Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
				}))
			})
		}, ""),
	)
	add(ownDriver()...)
}

// each calls a function for the objects of a kind in the attack's namespace.
func (a *arena) each(list client.ObjectList, do func(client.Object) error) error {
	if err := a.admin.List(a.ctx, list, client.InNamespace(a.namespace)); err != nil {
		return err
	}
	switch list := list.(type) {
	case *corev1.PodList:
		for i := range list.Items {
			if err := do(&list.Items[i]); err != nil {
				return err
			}
		}
	case *corev1.ConfigMapList:
		for i := range list.Items {
			if err := do(&list.Items[i]); err != nil {
				return err
			}
		}
	case *corev1.ServiceList:
		for i := range list.Items {
			if err := do(&list.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownDriver are attacks of a driver on its own pod.
func ownDriver() []attack {
	patch := func(text string) func(*arena, *corev1.Pod) error {
		return func(a *arena, driver *corev1.Pod) error {
			return answered(a.as.Patch(a.ctx, driver.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text))))
		}
	}
	after := func(x attack, cannot func(a *arena) error) attack {
		x.cannot = cannot
		return x
	}
	once := func(a *arena) error { return a.most(1, "create", "pods") }
	return []attack{
		after(inside("LabelsTakenAway", "a driver without labels is not followed by another", patch(`{"metadata":{"labels":null}}`), ""), func(a *arena) error {
			return errors.Join(a.looked(application, "own"), once(a))
		}),
		after(inside("LabelsOfAnother", "a driver says that it is another application's", patch(`{"metadata":{"labels":{"sparkoperator.k8s.io/app-name":"other","sparkoperator.k8s.io/submission-id":"x"}}}`), ""), once),
		after(inside("OwnerTakenAway", "a driver says that it is nobody's", patch(`{"metadata":{"ownerReferences":null}}`), ""), once),
		inside("HugeAnnotations", "annotations of a pod are no memory of the operator", patch(`{"metadata":{"annotations":{"a":"`+strings.Repeat("x", 250_000)+`"}}}`), ""),
		after(inside("DriverDeletesItself", "a driver that is gone is a failure, and told", func(a *arena, driver *corev1.Pod) error {
			return a.as.Delete(a.ctx, driver, client.GracePeriodSeconds(0))
		}, "deleted before its end"), func(a *arena) error { return errors.Join(a.state("own", "FAILED"), once(a)) }).
			unless("an account without a pod may not delete one there"),
		after(inside("DriverThatStays", "a finalizer keeps a driver of which the application wants to be rid", func(a *arena, driver *corev1.Pod) error {
			if err := patch(`{"metadata":{"finalizers":["example.org/never"]}}`)(a, driver); err != nil {
				return err
			}
			return a.edit(application, "own", "spec: {suspend: true}")
		}, ""), func(a *arena) error {
			return errors.Join(a.looked(application, "own"), a.most(20, "delete", "pods"), once(a))
		}),
		{
			name: "NextDriversName", reason: "a pod stands where the next driver is to be", by: driverCode,
			do: func(a *arena) error {
				if err := answered(a.as.Create(a.ctx, forged(a, "next-driver", "next", spark.RoleDriver, nil))); err != nil {
					return err
				}
				return a.app("next", "restartPolicy: {type: OnFailure, onSubmissionFailureRetries: 2147483647, onSubmissionFailureRetryInterval: 1}")
			},
			cannot: func(a *arena) error { return a.most(10, "create", "pods") },
			told:   "next-driver",
		},
	}
}
