// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

const connectHead = `
## Fields of SparkConnect (sparkoperator.k8s.io/v1alpha1)

What a server is, and how it is kept alive, is in [Spark Connect](spark-connect.md). An edit of most fields *replaces* the server:
the new one starts when the sessions of the old one have ended, or when ` + "`drainTimeout`" + ` is over. *Live* acts on the server as it is.

` + columns

// inServer describes the fields that are neither properties nor parts of pods.
var inServer = map[string]string{
	"suspend":                            "the server is stopped while it is true",
	"idleTimeout":                        "policy: when an idle server is stopped",
	"drainTimeout":                       "policy: how long an edit waits for sessions",
	"logTails":                           inPolicies["logTails"],
	"server.service":                     "auxiliary object: Service `<server>-server`, or of the name that it has",
	"batchSchedulerOptions.onEviction":   inPolicies["batchSchedulerOptions.onEviction"],
	"batchSchedulerOptions.maxEvictions": "policy: how often; of a server without end by default",
}

// connectSample returns a server with every struct of the API, so that each of its fields can be changed.
func connectSample() *v1alpha1.SparkConnect {
	o := &v1alpha1.SparkConnect{Spec: v1alpha1.SparkConnectSpec{
		SparkVersion: "4.1.4", Image: ptr.To("spark"), DynamicAllocation: &v1beta2.DynamicAllocation{Enabled: true, ShuffleTrackingEnabled: ptr.To(true)},
		Authentication: &v1alpha1.AuthenticationSpec{}, BatchSchedulerOptions: &v1beta2.BatchSchedulerConfiguration{},
	}}
	o.Namespace, o.Name, o.UID = "notebooks", "server", "7b0f0a52-0000-4000-8000-000000000001"
	o.Spec.Server.Service = &corev1.Service{}
	for _, p := range []*v1alpha1.SparkPodSpec{&o.Spec.Server.SparkPodSpec, &o.Spec.Executor.SparkPodSpec} {
		p.GPU = &v1beta2.GPUSpec{Name: "example.org/gpu", Quantity: 1}
	}
	return o
}

// connectFields returns the fields of the spec of a server.
func connectFields() []apiField {
	var all []apiField
	visit(reflect.ValueOf(connectSample()).Elem().FieldByName("Spec"), "", func(f apiField, _ reflect.Value) { all = append(all, f) })
	for i := range all {
		o := connectEffects(all[i].Path)
		all[i].Effects, all[i].Restarts = o.Effects, o.Restarts
	}
	return all
}

// connectEffects changes the field, and returns the effects of the change.
func connectEffects(path string) outcome {
	changed := connectSample()
	visit(reflect.ValueOf(changed).Elem().FieldByName("Spec"), "", func(f apiField, v reflect.Value) {
		switch service, is := v.Interface().(*corev1.Service); {
		case f.Path != path:
		case is:
			service.Spec.Type = corev1.ServiceTypeNodePort
		default:
			change(v, path)
		}
	})
	kind, found := kubeflow.SparkConnects{}, map[string]bool{}
	before, after := kind.Load(connectSample(), lifecycle.Record{}), kind.Load(changed, lifecycle.Record{})
	for _, p := range after.Problems {
		found["refused: "+p.Problem] = true
	}
	words, said := inServer[path]
	was, is := before.Desired, after.Desired
	restarts := was.SpecHash != is.SpecHash
	was.SpecHash, is.SpecHash = "", ""
	switch differs := !reflect.DeepEqual(was, is) || !equality.Semantic.DeepEqual(before.App.Exposure, after.App.Exposure); {
	case differs && said:
		found[words] = true
	case said:
		found["inServer names "+path+", which changes nothing"] = true
	case !reflect.DeepEqual(was, is):
		found["policy without words"] = true
	}
	if !said {
		compare(reflect.ValueOf(before.App), reflect.ValueOf(after.App), found)
	}
	return outcome{Effects: slices.Sorted(maps.Keys(found)), Restarts: restarts}
}

// connectTable lists the fields of a server.
func connectTable(comments map[string]string) (string, error) {
	return table(connectHead, "connect.", "replaces", connectFields(), comments)
}

// table lists fields below a head. kind is the prefix of their IDs. restarts is the effect of an edit of a field that is not live.
func table(head, kind, restarts string, fields []apiField, comments map[string]string) (string, error) {
	var b strings.Builder
	b.WriteString(head)
	for _, f := range fields {
		comment := comments[f.Owner+"."+f.Name]
		if comment == "" {
			return "", fmt.Errorf("%s.%s has no comment", f.Owner, f.Name)
		}
		edit := "live"
		if f.Restarts {
			edit = restarts
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", named(kind, f.Path), f.Type, cell(comment), cell(strings.Join(f.Effects, "; ")), cmp.Or(f.Edit, edit))
	}
	return b.String(), nil
}
