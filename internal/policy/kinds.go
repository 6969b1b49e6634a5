// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// judged describes the checks of one kind of objects.
type judged struct {
	// limits are the checks of each object of the kind that a submission contains or that its driver will create.
	limits []func(*checker, subject)
	// exposed is set if objects of the kind can be auxiliary objects of a driver: see CheckExposure.
	exposed bool
	// why explains why the kind has no limits; "" for a kind with limits.
	why string
}

// kinds lists every kind that is applied for an application. No other kind may be applied: a test compares the list with the operator's permissions.
var kinds = map[schema.GroupKind]judged{
	podKind: {limits: []func(*checker, subject){
		(*checker).images, (*checker).podSecurity, (*checker).schedulerNames, (*checker).priorityClasses, (*checker).runtimeClasses,
		(*checker).pullSecrets, (*checker).tolerations, (*checker).nodeLabels, (*checker).podLabels, (*checker).podAnnotations,
		(*checker).metadataNames, (*checker).resources, (*checker).writtenSizes,
	}},
	{Group: "apps", Kind: "StatefulSet"}:                      {limits: []func(*checker, subject){(*checker).metadataNames}},
	serviceKind:                                               {limits: []func(*checker, subject){(*checker).metadataNames}, exposed: true},
	claimKind:                                                 {limits: []func(*checker, subject){(*checker).metadataNames, (*checker).storageClasses}},
	{Group: anyGroup, Kind: "PodGroup"}:                       {limits: []func(*checker, subject){(*checker).metadataNames, (*checker).groupPriority}},
	exposure.IngressKind.GroupKind():                          {exposed: true},
	exposure.HTTPRoute.GroupKind():                            {exposed: true},
	exposure.GRPCRoute.GroupKind():                            {exposed: true},
	exposure.DisruptionBudget.GroupKind():                     {exposed: true},
	{Kind: "ConfigMap"}:                                       {limits: []func(*checker, subject){(*checker).metadataNames}},
	{Kind: "Secret"}:                                          {limits: []func(*checker, subject){(*checker).metadataNames}},
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:       {limits: []func(*checker, subject){(*checker).metadataNames, (*checker).networkPeers}},
	{Group: "sparkoperator.k8s.io", Kind: "SparkApplication"}: {why: "a run is checked as an application"},
	{Group: "spark.apache.org", Kind: "SparkApplication"}: {
		why: "the operator writes only its status, and removes the finalizer of Apache's operator",
	},
	{Group: "spark.apache.org", Kind: "SparkCluster"}: {why: "the operator writes only its status, and removes the finalizer of Apache's operator"},
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: {
		why: "its target is the cluster's StatefulSet, and its maximum counts as the number of workers",
	},
	{Group: "events.k8s.io", Kind: "Event"}: {why: "the operator writes all of its texts"},
}

// anyGroup matches the API groups of all schedulers, because their kinds are alike.
const anyGroup = "*"

// judgedAs returns the checks of a kind, and whether the kind is in the list.
func judgedAs(kind schema.GroupKind) (judged, bool) {
	j, known := kinds[kind]
	if !known {
		j, known = kinds[schema.GroupKind{Group: anyGroup, Kind: kind.Kind}]
	}
	return j, known
}

// judge checks the limits of a subject's kind.
func (c *checker) judge(s subject) {
	j, _ := judgedAs(s.kind)
	for _, limit := range j.limits {
		limit(c, s)
	}
}

// groupPriority checks the priority class of a PodGroup that a feature step of Spark creates.
func (c *checker) groupPriority(s subject) {
	group, ok := s.object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	if name, _, _ := unstructured.NestedString(group.Object, "spec", "priorityClassName"); name != "" {
		e := &spark.ConfError{Key: spark.ConfPodGroupJSON, Value: name}
		c.allow(e, c.limits.PriorityClasses, name, "priority classes")
	}
}

// CheckApplied returns the violations in objects that a scheduler plugin would apply.
func (s Set) CheckApplied(app spark.Application, objects []*unstructured.Unstructured) []*spark.ConfError {
	if len(objects) == 0 || !slices.ContainsFunc(s, func(p Policy) bool { return p.Limits.any() }) {
		return nil
	}
	c := checkerOf(s, app, spark.Submission{})
	for i := range s {
		c.policy, c.limits = s[i].Name, s[i].Limits
		for _, object := range objects {
			c.judge(subject{kind: kindOf(object), role: driverRole, object: object})
		}
	}
	return c.found
}
