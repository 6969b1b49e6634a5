// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// spark reports whether a container is Spark's own.
func (p *podCheck) spark(c *corev1.Container) bool {
	if p.role == spark.RoleDriver {
		return len(c.Args) > 0 && c.Args[0] == spark.RoleDriver || c.Name == spark.DriverContainerName
	}
	containers := p.pod.Spec.Containers
	named := slices.IndexFunc(containers, func(c corev1.Container) bool {
		return c.Name == p.app.Conf[spark.ConfExecTemplateContainer]
	})
	return c == &containers[max(named, 0)]
}

// sparkIndex returns the index of Spark's container; -1 if there is none.
func (p *podCheck) sparkIndex() int {
	for i := range p.pod.Spec.Containers {
		if p.spark(&p.pod.Spec.Containers[i]) {
			return i
		}
	}
	return -1
}

// container checks the container at a path of the pod.
func (p *podCheck) container(c *corev1.Container, at string) {
	if spark.Placeholder(c.Image) != "" && !p.spark(c) { // checkNames checks Spark's image
		p.refuse(p.field, c.Image, notAnImage)
	}
	p.mounts(c, at)
	p.resources(c)
}

func (p *podCheck) mounts(c *corev1.Container, at string) {
	paths, said := map[string]int{}, 0
	for i, mount := range c.VolumeMounts {
		first, taken := paths[mount.MountPath]
		later, takenLater := p.paths[mount.MountPath]
		if takenLater = takenLater && p.spark(c); (taken || takenLater) && said < maxSamePath {
			if taken {
				later = p.mounterOf(at, first, c.VolumeMounts[first].Name)
			}
			p.samePath(mount.MountPath, later, p.mounterOf(at, i, mount.Name))
			said++
		}
		paths[mount.MountPath] = i
	}
}

func secretKey(name, key string) bool {
	return len(utilvalidation.IsDNS1123Subdomain(name)) == 0 && len(utilvalidation.IsConfigMapKey(key)) == 0
}

// limitFields are the fields that limit Spark's own container.
var limitFields = map[corev1.ResourceName]spark.Field{corev1.ResourceMemory: "memoryLimit", corev1.ResourceCPU: "coreLimit"}

func (p *podCheck) resources(c *corev1.Container) {
	for _, list := range []corev1.ResourceList{c.Resources.Limits, c.Resources.Requests} {
		for name := range list {
			if !standard(name) && (!strings.Contains(string(name), "/") || len(utilvalidation.IsQualifiedName(string(name))) > 0) {
				p.refuse(p.field, string(name), `not the name of a resource; GPUs and the like have a domain, such as "nvidia.com/gpu"`)
			}
		}
	}
	for name, limit := range c.Resources.Limits {
		request, requested := c.Resources.Requests[name]
		if !requested || request.Cmp(limit) <= 0 {
			continue
		}
		at := p.field
		if limited := limitFields[name]; limited != "" && p.spark(c) {
			at = p.fieldOf(limited)
		}
		p.refuse(at, limit.String(), fmt.Sprintf("the limit of %s is lower than the %s that container %s requests; raise it or request less",
			name, request.String(), c.Name))
	}
}

func standard(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	default:
		return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	}
}

// deniedKeys are Spark properties with which an application would leave its namespace, exceed its rights or hide from the administrator. The values say what to
// use instead.
var deniedKeys = map[string]string{
	spark.ConfMaster:                 "the operator sets it",
	"spark.kubernetes.driver.master": "use {driver.kubernetesMaster}",
	spark.ConfImage:                  "use {image}",
	spark.ConfDriverImage:            "use {driver.image}",
	spark.ConfExecutorImage:          "use {executor.image}",
	spark.ConfDriverServiceAccount:   "use {driver.serviceAccount}",
	spark.ConfExecutorServiceAccount: "use {executor.serviceAccount}",
}

// deniedToken matches properties that carry a credential for the API server.
var deniedToken = regexp.MustCompile(`^spark\.kubernetes\.authenticate\.(submission\.|driver\.|executor\.)?oauthToken(File)?$`)

// submissionToken is the prefix of the credentials that spark-submit itself uses.
const submissionToken = "spark.kubernetes.authenticate.submission."

// checkDeniedKeys checks the keys that users write to sparkConf. A typed field may set the same property.
func checkDeniedKeys(app spark.Application) []*spark.ConfError {
	var found []*spark.ConfError
	for _, key := range slices.Sorted(maps.Keys(app.Conf)) {
		if _, typed := app.Origins[key]; typed {
			continue
		}
		instead, denied := deniedKeys[key]
		denied = denied && app.Direct == nil // there only the configuration says it, and the built pod is checked
		class := field.ErrorType("")
		if !denied && deniedToken.MatchString(key) {
			instead, denied = "a pod uses its service account", true
		}
		if key == spark.ConfNamespace && app.Conf[key] != app.Namespace && app.Direct == nil {
			instead, denied = "an application runs in its own namespace", true
		}
		if denied {
			if strings.HasPrefix(key, submissionToken) { // Kubeflow's operator takes it
				class = field.ErrorTypeNotSupported
			}
			found = append(found, &spark.ConfError{Key: key, Type: class, Problem: fmt.Sprintf("sparkConf key %q is not allowed: %s", key, app.Fields.Text(instead))})
		}
	}
	return found
}
