// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"cmp"
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

// spark is whether a container is Spark's own.
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

func (p *podCheck) container(c *corev1.Container) {
	if len(utilvalidation.IsDNS1123Label(c.Name)) > 0 {
		p.refuse(p.field, c.Name, "not the name of a container; write at most 63 lower-case letters, digits and '-'")
	}
	if c.Image == "" && !p.spark(c) {
		p.refuseAs(field.ErrorTypeRequired, p.field, c.Name, "the container has no image; write one")
	}
	if c.Image != strings.TrimSpace(c.Image) {
		p.refuse(p.field, c.Image, "an image with leading or trailing spaces; remove them")
	}
	p.mounts(c)
	p.variables(c)
	p.resources(c)
}

func (p *podCheck) mounts(c *corev1.Container) {
	paths := map[string]bool{}
	for _, mount := range c.VolumeMounts {
		switch path := mount.MountPath; {
		case path == "" || strings.Contains(path, ":"):
			p.refuse(p.field, path, fmt.Sprintf("container %s cannot mount %s there; write an absolute path without ':'", c.Name, mount.Name))
		case paths[path] || p.paths[path] && p.spark(c):
			p.refuse(p.field, path, fmt.Sprintf("two volumes are mounted at this path in container %s; give each a path of its own", c.Name))
		}
		paths[mount.MountPath] = true
		if later := p.role == spark.RoleExecutor && strings.HasPrefix(mount.Name, "spark-local-dir-"); !p.volumes[mount.Name] && !later {
			advice := "the volumes of " + p.fieldOf("volumes") + " are those of the roles that name them in volumeMounts"
			if p.app.Server != nil {
				advice = "add it to the volumes of the template"
			}
			p.refuseAs(field.ErrorTypeNotFound, p.field, mount.Name, fmt.Sprintf("container %s mounts a volume that the pod does not have; %s", c.Name, advice))
		}
		if mount.SubPath != "" && mount.SubPathExpr != "" {
			p.refuse(p.field, mount.Name, "subPath and subPathExpr exclude each other; write one of them")
		}
		if strings.HasPrefix(mount.SubPath, "/") || slices.Contains(strings.Split(mount.SubPath, "/"), "..") {
			p.refuse(p.field, mount.SubPath, `not a path inside of the volume; write it without a leading "/" and ".."`)
		}
	}
}

func (p *podCheck) variables(c *corev1.Container) {
	for i := range c.Env {
		v := &c.Env[i]
		if len(utilvalidation.IsRelaxedEnvVarName(v.Name)) > 0 {
			p.refuse(p.field, v.Name, "not the name of an environment variable; write letters, digits and '_'")
		}
		if v.Value != "" && v.ValueFrom != nil {
			p.refuse(p.field, v.Name, "a variable has a value or a valueFrom, not both; remove one")
		}
		if v.ValueFrom == nil || v.ValueFrom.SecretKeyRef == nil {
			continue
		}
		if ref := v.ValueFrom.SecretKeyRef; !secretKey(ref.Name, ref.Key) {
			p.refuse(p.field, ref.Name+":"+ref.Key, "the variable "+v.Name+" needs the name of a Secret and one of its keys")
		}
	}
}

func secretKey(name, key string) bool {
	return len(utilvalidation.IsDNS1123Subdomain(name)) == 0 && len(utilvalidation.IsConfigMapKey(key)) == 0
}

// ports checks the ports of one container; host holds those of the node that the pod takes.
func (p *podCheck) ports(c *corev1.Container, host map[string]bool) {
	names := map[string]bool{}
	for _, port := range c.Ports {
		at := p.fieldOf("ports")
		if len(utilvalidation.IsValidPortNum(int(port.ContainerPort))) > 0 {
			p.refuse(at, fmt.Sprint(port.ContainerPort), fmt.Sprintf("the port %s of container %s must lie between 1 and 65535", port.Name, c.Name))
		}
		if port.Name != "" && len(utilvalidation.IsValidPortName(port.Name)) > 0 {
			p.refuse(at, port.Name, "not the name of a port; write at most 15 lower-case letters, digits and '-', with a letter among them")
		}
		if port.Name != "" && names[port.Name] {
			p.refuse(at, port.Name, fmt.Sprintf("two ports of container %s have this name; rename one of them", c.Name))
		}
		names[port.Name] = true
		switch port.Protocol {
		case corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP, "":
		default:
			p.refuse(at, string(port.Protocol), `not a protocol; write "TCP", "UDP" or "SCTP"`)
		}
		number := port.HostPort
		if p.pod.Spec.HostNetwork {
			number = port.ContainerPort
		}
		taken := fmt.Sprint(number, "/", port.HostIP, "/", cmp.Or(port.Protocol, corev1.ProtocolTCP))
		if number != 0 && host[taken] {
			p.refuse(at, fmt.Sprint(number), "two ports of the pod take this port of the node; give them different ones")
		}
		host[taken] = true
	}
}

// limitFields are the fields that limit Spark's own container.
var limitFields = map[corev1.ResourceName]spark.Field{corev1.ResourceMemory: "memoryLimit", corev1.ResourceCPU: "coreLimit"}

func (p *podCheck) resources(c *corev1.Container) {
	for name, limit := range c.Resources.Limits {
		if !standard(name) && (!strings.Contains(string(name), "/") || len(utilvalidation.IsQualifiedName(string(name))) > 0) {
			p.refuse(p.field, string(name), `not the name of a resource; GPUs and the like have a domain, such as "nvidia.com/gpu"`)
		}
		request, requested := c.Resources.Requests[name]
		if !requested || request.Cmp(limit) <= 0 {
			continue
		}
		at := p.field
		if limited := limitFields[name]; limited != "" && p.spark(c) {
			at = p.fieldOf(limited)
		}
		p.refuse(at, limit.String(), fmt.Sprintf("the limit of %s is lower than the %s that container %s requests; raise it or request less", name, request.String(), c.Name))
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

// deniedKeys are Spark properties that would take an application out of its namespace, its rights or the admin's view.
// The value says what to use instead.
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

// submissionToken begins those of them that are for spark-submit.
const submissionToken = "spark.kubernetes.authenticate.submission."

// checkDeniedKeys checks the keys of sparkConf itself: the same property from a typed field is fine.
func checkDeniedKeys(app spark.Application) []*spark.ConfError {
	var found []*spark.ConfError
	for _, key := range slices.Sorted(maps.Keys(app.Conf)) {
		if _, typed := app.Origins[key]; typed {
			continue
		}
		instead, denied := deniedKeys[key]
		denied = denied && app.Direct == nil // nothing but the configuration says it there, and what is built is judged
		class := field.ErrorType("")
		if !denied && deniedToken.MatchString(key) {
			instead, denied = "a pod uses its service account", true
		}
		if key == spark.ConfNamespace && app.Conf[key] != app.Namespace && app.Direct == nil {
			instead, denied = "an application runs in its own namespace", true
		}
		if denied {
			if strings.HasPrefix(key, submissionToken) { // which Kubeflow's operator takes
				class = field.ErrorTypeNotSupported
			}
			found = append(found, &spark.ConfError{Key: key, Type: class, Problem: fmt.Sprintf("sparkConf key %q is not allowed: %s", key, app.Fields.Text(instead))})
		}
	}
	return found
}
