// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/test/golden"
)

// leftCluster is a cluster as Apache's operator left it, and what has to become of it.
type leftCluster struct {
	// run is the recording that it is of, states those that it had come to.
	run, states string
	// suspend is what its user wrote.
	suspend bool
	// objects says that its objects are there.
	objects bool
	// follows are the states that it comes to.
	follows string
	// keeps are the kinds of the objects that stay; "*" for all. Its StatefulSets are not edited then, unless applied says so.
	keeps   string
	applied bool
}

var leftClusters = map[string]leftCluster{
	"a small one":              {run: "cluster-minimal", states: "Submitted RunningHealthy", objects: true, keeps: "*"},
	"with an autoscaler":       {run: "cluster-hpa", states: "Submitted RunningHealthy", objects: true, keeps: "*"},
	"of three workers":         {run: "cluster-three", states: "Submitted RunningHealthy", objects: true, keeps: "*"},
	"with a template":          {run: "cluster-master-template", states: "Submitted RunningHealthy", objects: true, keeps: "*"},
	"not made yet":             {run: "cluster-minimal", states: "Submitted", follows: "RunningHealthy"},
	"made, and not recorded":   {run: "cluster-three", states: "Submitted", objects: true, follows: "RunningHealthy", keeps: "*", applied: true},
	"refused":                  {run: "cluster-minimal", states: "Submitted SchedulingFailure", objects: true, follows: "ResourceReleased"},
	"failed in release 1.0":    {run: "cluster-minimal", states: "Submitted SchedulingFailure Failed", objects: true, keeps: "*"},
	"suspended, not released":  {run: "cluster-hpa", states: "Submitted RunningHealthy Suspended", suspend: true, objects: true, keeps: "Service NetworkPolicy"},
	"suspended and resumed":    {run: "cluster-minimal", states: "Submitted RunningHealthy Suspended", follows: "Submitted RunningHealthy"},
	"released":                 {run: "cluster-minimal", states: "Submitted SchedulingFailure ResourceReleased"},
	"being suspended, running": {run: "cluster-minimal", states: "Submitted RunningHealthy", suspend: true, objects: true, follows: "Suspended", keeps: "Service NetworkPolicy"},
}

// clusterKinds are those of a cluster's objects.
var clusterKinds = map[string]schema.GroupVersionKind{
	"Service": corev1.SchemeGroupVersion.WithKind("Service"), "StatefulSet": appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
	"NetworkPolicy":           networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
	"HorizontalPodAutoscaler": autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
	"PodDisruptionBudget":     policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
}

// leftLab is a restored cluster.
type leftLab struct {
	namespace string
	uids      map[string]types.UID
}

// restore makes the cluster and its objects, as they were stored.
func (l leftCluster) restore(ctx context.Context, corpus golden.Corpus) leftLab {
	GinkgoHelper()
	w := leftLab{namespace: newNamespace(ctx), uids: map[string]types.UID{}}
	var input struct{ Manifest json.RawMessage }
	corpus.Read(GinkgoTB(), &input, l.run, "case.json")
	o := &v1.SparkCluster{}
	Expect(json.Unmarshal(input.Manifest, o)).To(Succeed())
	o.Namespace, o.Finalizers = w.namespace, []string{v1.ClusterFinalizer}
	o.Spec.Suspend = l.suspend
	Expect(admin.Create(ctx, o)).To(Succeed())
	states := strings.Fields(l.states)
	for i, state := range states {
		at := time.Now().Add(time.Duration(i-len(states)) * 10 * time.Second).UTC().Format(time.RFC3339Nano)
		s := v1.ClusterState{CurrentStateSummary: v1.ClusterStateSummary(state), LastTransitionTime: at, Message: "as it was"}
		if o.Status.StateTransitionHistory == nil {
			o.Status.StateTransitionHistory = map[string]v1.ClusterState{}
		}
		o.Status.StateTransitionHistory[strconv.Itoa(i)], o.Status.CurrentState = s, &s
	}
	o.Status.CurrentAttemptSummary = &v1.ClusterAttemptSummary{AttemptInfo: &v1.ClusterAttemptInfo{}}
	Expect(admin.Status().Update(ctx, o)).To(Succeed())
	if !l.objects {
		return w
	}
	var stored struct{ Created []map[string]any }
	corpus.Read(GinkgoTB(), &stored, l.run, "stored.json")
	for _, content := range stored.Created {
		object := &unstructured.Unstructured{Object: content}
		object.SetNamespace(w.namespace)
		object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "spark.apache.org/v1", Kind: "SparkCluster", Name: o.Name, UID: o.UID, BlockOwnerDeletion: new(true)}})
		Expect(admin.Create(ctx, object)).To(Succeed(), object.GetName())
		w.uids[golden.NameOf(object.Object)] = object.GetUID()
	}
	Expect(w.uids).NotTo(BeEmpty())
	return w
}

// continues waits for what becomes of the cluster, and checks that what it keeps is what was there.
func (l leftCluster) continues(ctx context.Context, w leftLab) {
	GinkgoHelper()
	o := &v1.SparkCluster{}
	want := strings.Fields(l.states + " " + l.follows)
	Eventually(func(g Gomega) {
		g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "demo"}, o)).To(Succeed())
		g.Expect(testutil.ApacheClusterStates(&o.Status)).To(Equal(want))
		g.Expect(o.Status.Conditions).NotTo(BeEmpty(), "the operator has looked")
	}, wait, poll).Should(Succeed())
	for name, uid := range w.uids {
		kind, named, _ := strings.Cut(name, " ")
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(clusterKinds[kind])
		there := func() (types.UID, error) {
			err := admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: named}, object)
			return object.GetUID(), client.IgnoreNotFound(err)
		}
		if l.keeps != "*" && !strings.Contains(l.keeps, kind) {
			Eventually(func() error {
				return admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: named}, object)
			}, wait, poll).ShouldNot(Succeed(), "%s is released", name)
			continue
		}
		Expect(there()).To(Equal(uid), "%s is the one from before", name)
		if kind == "StatefulSet" && !l.applied {
			Expect(object.GetGeneration()).To(BeEquivalentTo(1), "nothing of %s was edited: its pods would roll", name)
		}
	}
}
