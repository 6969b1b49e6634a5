// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	podsecurity "k8s.io/pod-security-admission/policy"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// securityLevels are the Pod Security Standards that restrict pods.
var securityLevels = []string{string(api.LevelBaseline), string(api.LevelRestricted)}

// evaluator has the checks of the Kubernetes release that this operator is built with. They are valid, so there is no error.
var evaluator, _ = podsecurity.NewEvaluator(podsecurity.DefaultChecks(), nil)

// Kubernetes' reasons that forbidHostAccess replaces with its own sentences.
const (
	reasonNamespaces = "host namespaces"
	reasonHostPath   = "hostPath volumes"
	reasonHostPort   = "hostPort"
)

// securityFields maps Kubernetes' reasons to the fields to change. Other reasons concern security contexts.
var securityFields = map[string]string{
	reasonNamespaces: ".hostNetwork", reasonHostPath: ".volumes", reasonHostPort: ".ports", "restricted volume types": ".volumes",
	"forbidden sysctls": ".podSecurityContext", "probe or lifecycle host": ".template",
}

const securityField = ".securityContext"

// podSecurity checks a pod as Kubernetes does in a namespace with the policy's level.
func (c *checker) podSecurity(s subject) {
	level := api.Level(c.limits.PodSecurity)
	if c.limits.ForbidHostAccess {
		c.host(s)
		if level == "" {
			level = api.LevelBaseline
		}
	}
	if level == "" {
		return
	}
	reasons := map[string][]string{}
	for _, r := range evaluator.EvaluatePod(api.LevelVersion{Level: level, Version: api.LatestVersion()}, &s.pod.ObjectMeta, &s.pod.Spec) {
		if r.Allowed || c.limits.ForbidHostAccess && slices.Contains([]string{reasonNamespaces, reasonHostPath, reasonHostPort}, r.ForbiddenReason) {
			continue
		}
		field, known := securityFields[r.ForbiddenReason]
		if !known {
			field = securityField
		}
		reasons[field] = append(reasons[field], reasonOf(r))
	}
	for _, field := range slices.Sorted(maps.Keys(reasons)) {
		e := &spark.ConfError{Field: spark.Field(s.role + field)}
		e.Problem = fmt.Sprintf("violates Pod Security %q: %s", level, strings.Join(reasons[field], ", "))
		c.refuse(e, "only pods of the Pod Security level %s", level)
	}
}

func reasonOf(r podsecurity.CheckResult) string {
	if r.ForbiddenDetail == "" {
		return r.ForbiddenReason
	}
	return r.ForbiddenReason + " (" + r.ForbiddenDetail + ")"
}

// host explains the most common kinds of access to a node.
func (c *checker) host(s subject) {
	spec := &s.pod.Spec
	if spec.HostNetwork || spec.HostPID || spec.HostIPC {
		c.refuse(&spark.ConfError{Field: spark.Field(s.role + ".hostNetwork"), Problem: "the pod shares its node's network or processes"}, noNodes)
	}
	for i := range spec.Volumes {
		if v := &spec.Volumes[i]; v.HostPath != nil && !c.executorVolume(s.role, v.Name) {
			c.refuse(&spark.ConfError{Field: spark.Field(s.role + ".volumes"), Value: v.Name, Problem: "is a directory of the node (hostPath)"}, noNodes)
		}
	}
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		if slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 }) {
			c.refuse(&spark.ConfError{Field: spark.Field(s.role + ".template"), Value: container.Name, Problem: "the container uses a port of the node"}, noNodes)
		}
	}
}

// noNodes names the allowed access in messages of forbidHostAccess.
const noNodes = "no access to nodes"

const executorHostPaths = spark.ConfExecutorVolumesPrefix + "hostPath."

// executorVolume reports whether properties define an executors' volume of that name, which executorPaths checks.
func (c *checker) executorVolume(role, name string) bool {
	return role == executorRole && slices.ContainsFunc(slices.Collect(maps.Keys(c.app.Conf)), func(key string) bool {
		return strings.HasPrefix(key, executorHostPaths+name+".")
	})
}

// executorPaths finds host directories in the properties of executors' volumes.
func (c *checker) executorPaths() {
	if !c.limits.ForbidHostAccess {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(c.app.Conf)) {
		if strings.HasPrefix(key, executorHostPaths) {
			c.refuse(&spark.ConfError{Key: key, Problem: "is a directory of the node"}, noNodes)
		}
	}
}
