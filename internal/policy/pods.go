// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// sparkImages checks the images of Spark's own containers. Separate fields name these images.
func (c *checker) sparkImages() {
	for _, key := range []string{spark.ConfDriverImage, spark.ConfExecutorImage} {
		image := c.read.Image(key)
		if c.value(key) == "" {
			key = spark.ConfImage
		}
		e := c.at(key, "image")
		if e.Value != "" {
			e.Value = image
		}
		c.allow(e, c.limits.Images, image, "images")
	}
}

// images checks the images of all other containers and of image volumes.
func (c *checker) images(s subject) {
	own := c.ownImages()
	for _, container := range containers(&s.pod.Spec) {
		if !slices.Contains(own, container.Image) {
			e := &spark.ConfError{Field: spark.Field(s.role), Value: container.Image, Problem: "the image of container " + container.Name}
			c.allow(e, c.limits.Images, container.Image, "images")
		}
	}
	for i := range s.pod.Spec.Volumes {
		if v := &s.pod.Spec.Volumes[i]; v.Image != nil {
			e := &spark.ConfError{Field: spark.Field(s.role + ".volumes"), Value: v.Image.Reference, Problem: "the image of volume " + v.Name}
			c.allow(e, c.limits.Images, v.Image.Reference, "images")
		}
	}
}

// container is the part of a container of any type that limits concern.
type container struct{ Name, Image string }

// containers returns all containers of a pod, in the order of their start.
func containers(spec *corev1.PodSpec) []container {
	var all []container
	for i := range spec.InitContainers {
		all = append(all, container{spec.InitContainers[i].Name, spec.InitContainers[i].Image})
	}
	for i := range spec.Containers {
		all = append(all, container{spec.Containers[i].Name, spec.Containers[i].Image})
	}
	for i := range spec.EphemeralContainers {
		all = append(all, container{spec.EphemeralContainers[i].Name, spec.EphemeralContainers[i].Image})
	}
	return all
}

// accounts checks the service accounts of both roles.
func (c *checker) accounts() {
	if len(c.limits.ServiceAccounts) == 0 || len(c.subjects) == 0 {
		return
	}
	driver := cmp.Or(c.built.Driver.Spec.ServiceAccountName, c.built.Driver.Spec.DeprecatedServiceAccount, "default")
	c.account(driverRole, spark.ConfDriverServiceAccount, driver)
	for _, name := range c.executorAccounts() {
		if name != driver {
			c.account(executorRole, spark.ConfExecutorServiceAccount, name)
		}
	}
}

// executorAccounts returns the possible service accounts of executors: the Spark version decides whether the template or the property wins. Without either,
// executors have the account of the driver's property; the driver's template has no effect.
func (c *checker) executorAccounts() []string {
	template := c.built.Executor.Spec
	named := []string{c.read.Text(spark.ConfExecutorServiceAccount), template.ServiceAccountName, template.DeprecatedServiceAccount}
	named = slices.DeleteFunc(named, func(name string) bool { return name == "" })
	if len(named) == 0 {
		named = []string{cmp.Or(c.read.Text(spark.ConfDriverServiceAccount), "default")}
	}
	return named
}

func (c *checker) account(role, key, name string) {
	e := c.at(key, spark.Field(role+".serviceAccount"))
	e.Value = name
	c.allow(e, c.limits.ServiceAccounts, name, "service accounts")
}

// schedulerNames checks the scheduler that a pod names. The scheduler of an enabled plugin is allowed, because the administrator chose it.
func (c *checker) schedulerNames(s subject) {
	if name := s.pod.Spec.SchedulerName; name != "" && name != c.app.Scheduling.PodScheduler {
		keys := []string{spark.ConfExecutorSchedulerName, spark.ConfSchedulerName}
		if s.role == driverRole {
			keys[0] = spark.ConfDriverSchedulerName
		}
		c.allow(c.naming(name, spark.Field(s.role+".schedulerName"), keys...), c.limits.SchedulerNames, name, "scheduler names")
	}
}

// priorityClasses checks the priority classes of the pods and of the scheduler's group.
func (c *checker) priorityClasses(s subject) {
	if name := s.pod.Spec.PriorityClassName; name != "" {
		c.allow(c.naming(name, spark.Field(s.role+".priorityClassName")), c.limits.PriorityClasses, name, "priority classes")
	}
	if name := c.app.Scheduling.PriorityClassName; name != "" {
		c.allow(c.naming(name, "batchScheduler.priorityClass"), c.limits.PriorityClasses, name, "priority classes")
	}
}

func (c *checker) runtimeClasses(s subject) {
	if name := s.pod.Spec.RuntimeClassName; name != nil && *name != "" {
		c.allow(c.naming(*name, spark.Field(s.role+".template")), c.limits.RuntimeClasses, *name, "runtime classes")
	}
}

func (c *checker) pullSecrets(s subject) {
	for _, secret := range s.pod.Spec.ImagePullSecrets {
		c.allow(c.naming(secret.Name, "imagePullSecrets", spark.ConfImagePullSecrets), c.limits.PullSecrets, secret.Name, "pull secrets")
	}
}

// tolerations checks the tolerated taints of a pod. A toleration without a key matches all taints.
func (c *checker) tolerations(s subject) {
	for _, t := range s.pod.Spec.Tolerations {
		e := &spark.ConfError{Field: spark.Field(s.role + ".tolerations"), Value: t.Key}
		if t.Key == "" {
			e.Problem = "a toleration without a key tolerates every taint"
		}
		c.allow(e, c.limits.Tolerations, t.Key, "tolerations of")
	}
}

// nodeLabels checks the labels that select nodes. It refuses to select a node by name, because a list of labels cannot limit names.
func (c *checker) nodeLabels(s subject) {
	if len(c.limits.NodeLabels) == 0 {
		return
	}
	prefixes := []string{spark.ConfExecutorNodeSelectorPrefix, spark.ConfNodeSelectorPrefix}
	if s.role == driverRole {
		prefixes[0] = spark.ConfDriverNodeSelectorPrefix
	}
	for _, label := range slices.Sorted(maps.Keys(s.pod.Spec.NodeSelector)) {
		e := &spark.ConfError{Field: spark.Field(s.role + ".nodeSelector"), Value: label}
		for _, prefix := range prefixes {
			if _, set := c.app.Conf[prefix+label]; set {
				e = &spark.ConfError{Key: prefix + label}
			}
		}
		c.allow(e, c.limits.NodeLabels, label, "node labels")
	}
	labels, names := affinity(s.pod.Spec.Affinity)
	for _, label := range labels {
		e := &spark.ConfError{Field: spark.Field(s.role + ".affinity"), Value: label}
		c.allow(e, c.limits.NodeLabels, label, "node labels")
	}
	if node := s.pod.Spec.NodeName; node != "" {
		names = append(names, node)
	}
	if len(names) > 0 {
		e := &spark.ConfError{Field: spark.Field(s.role + ".template"), Value: names[0], Problem: "chooses a node by its name"}
		c.refuse(e, "the node labels %s", strings.Join(c.limits.NodeLabels, ", "))
	}
}

// affinity returns the labels that an affinity selects nodes by, and the node names that it requires.
func affinity(a *corev1.Affinity) (labels, names []string) {
	if a == nil || a.NodeAffinity == nil {
		return nil, nil
	}
	var terms []corev1.NodeSelectorTerm
	if required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		terms = append(terms, required.NodeSelectorTerms...)
	}
	for _, preferred := range a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		terms = append(terms, preferred.Preference)
	}
	for _, term := range terms {
		for _, e := range term.MatchExpressions {
			labels = append(labels, e.Key)
		}
		for _, f := range term.MatchFields {
			names = append(names, fmt.Sprintf("%s %s %s", f.Key, f.Operator, strings.Join(f.Values, ", ")))
		}
	}
	return labels, names
}
