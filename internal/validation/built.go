// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// checkBuilt checks the objects that the operator would create. It returns the builders' refusals, and contradictions that show only in a finished pod. said
// are the errors so far.
func checkBuilt(app spark.Application, submission spark.Submission, failed error, said []*spark.ConfError) []*spark.ConfError {
	var unsupported *spark.UnsupportedVersionError
	switch {
	case errors.As(failed, &unsupported):
		return nil // checkVersion reports it
	case failed != nil:
		return refusal(failed)
	}
	driver := newPodCheck(app, spark.RoleDriver, submission.Driver)
	driver.all()
	driver.kubernetes(said, func() []*spark.ConfError { return driverErrors(app, submission.Driver, driver.sparkIndex()) })
	pod := newPodCheck(app, spark.RoleExecutor, submission.Executor)
	pod.executor()
	pod.all()
	pod.kubernetes(said, func() []*spark.ConfError { return executorErrors(app, submission) })
	return slices.Concat(driver.found, pod.found, checkObjects(submission), checkCount(app, submission))
}

func refusal(err error) []*spark.ConfError {
	var refused *spark.ConfError
	if errors.As(err, &refused) {
		return []*spark.ConfError{refused}
	}
	return []*spark.ConfError{{Field: spark.FieldSpec, Problem: err.Error()}}
}

// maxConfigMap bounds the data of a ConfigMap, in bytes, with room for its metadata.
const maxConfigMap = 1<<20 - 1<<12

// checkObjects checks the objects other than pods.
func checkObjects(s spark.Submission) []*spark.ConfError {
	var found []*spark.ConfError
	for _, object := range s.Resources {
		switch o := object.(type) {
		case *corev1.ConfigMap:
			size := 0
			for name, text := range o.Data {
				size += len(name) + len(text)
			}
			if size > maxConfigMap {
				found = append(found, &spark.ConfError{
					Field: spark.FieldSpec,
					Problem: fmt.Sprintf("the ConfigMap %s would have %d bytes, more than the 1 MiB of a ConfigMap; shorten what it is made from",
						o.Name, size),
				})
			}
		case *corev1.Service:
			ports := map[int32]string{}
			for _, p := range o.Spec.Ports {
				if other, taken := ports[p.Port]; taken {
					found = append(found, &spark.ConfError{
						Field: spark.FieldSparkConf, Value: strconv.Itoa(int(p.Port)),
						Problem: fmt.Sprintf("both %s and %s of the driver have this port; give them different ones", other, p.Name),
					})
				}
				ports[p.Port] = p.Name
			}
		case *corev1.PersistentVolumeClaim:
			if len(utilvalidation.IsDNS1123Subdomain(o.Name)) > 0 {
				found = append(found, &spark.ConfError{
					Field: spark.FieldSparkConf, Value: o.Name,
					Problem: `not the name of a claim; write lower-case letters, digits, '-' and '.', or "OnDemand"; ` +
						`SPARK_EXECUTOR_ID is replaced in claims of executors only`,
				})
			}
			if size := o.Spec.Resources.Requests[corev1.ResourceStorage]; size.Sign() <= 0 {
				found = append(found, &spark.ConfError{
					Field: spark.FieldSparkConf, Value: size.String(), Problem: `not the size of a claim; write a positive quantity such as "10Gi"`,
				})
			}
		}
	}
	return found
}

// podCheck checks a pod as the API server does, as far as users can change it.
type podCheck struct {
	app  spark.Application
	role string
	// field is the role's field.
	field spark.Field
	pod   *corev1.Pod
	// paths are the mounts that Spark adds to the role's container later, by path.
	paths map[string]mounter
	found []*spark.ConfError
	// sources is set by the first call of written.
	sources *source
}

func newPodCheck(app spark.Application, role string, pod *corev1.Pod) *podCheck {
	return &podCheck{app: app, role: role, field: spark.Field(role), pod: pod, paths: map[string]mounter{}}
}

// fieldOf returns a field below the role's field.
func (p *podCheck) fieldOf(name spark.Field) spark.Field { return p.field + "." + name }

func (p *podCheck) refuse(at spark.Field, value, problem string) {
	p.found = append(p.found, &spark.ConfError{Field: at, Value: value, Problem: problem})
}

// executor adds the mounts that the driver will add to its executors.
func (p *podCheck) executor() {
	for _, key := range keysUnder(p.app, spark.ConfExecutorVolumesPrefix) {
		parts := strings.SplitN(strings.TrimPrefix(key, spark.ConfExecutorVolumesPrefix), ".", 3)
		if len(parts) == 3 && parts[2] == "mount.path" {
			p.paths[p.app.Conf[key]] = mounter{key: key}
		}
	}
	for _, key := range keysUnder(p.app, spark.ConfExecutorSecretsPrefix) {
		p.paths[p.app.Conf[key]] = mounter{key: key}
	}
	p.paths["/opt/spark/conf"] = ownMounts["spark-conf-volume-exec"]
}

func (p *podCheck) all() {
	p.found = append(p.found, checkTemplate(p.fieldOf("template"), p.field, p.pod)...)
	for i := range p.pod.Spec.InitContainers {
		p.container(&p.pod.Spec.InitContainers[i], fmt.Sprintf("spec.initContainers[%d]", i))
	}
	for i := range p.pod.Spec.Containers {
		p.container(&p.pod.Spec.Containers[i], fmt.Sprintf("spec.containers[%d]", i))
	}
}

// kubernetes adds those errors of the API server that no other check reports. It adds none while there are mostPodErrors other errors or more.
func (p *podCheck) kubernetes(said []*spark.ConfError, refused func() []*spark.ConfError) {
	said = slices.Concat(said, p.found)
	if len(said) >= mostPodErrors {
		return
	}
	for _, e := range refused() {
		if !slices.ContainsFunc(said, repeatedBy(e)) {
			p.found = append(p.found, e)
		}
	}
}

// repeatedBy reports whether another error says the same. Either its field contains the error's field, or both have the same value and at least one of them has
// no field below the role.
func repeatedBy(e *spark.ConfError) func(other *spark.ConfError) bool {
	placed := func(e *spark.ConfError) bool { return e.Key == "" && strings.Contains(string(e.Field), ".") }
	return func(other *spark.ConfError) bool {
		if placed(other) && (strings.HasPrefix(string(e.Field), string(other.Field)+".") || strings.HasPrefix(string(e.Field), string(other.Field)+"[")) {
			return true
		}
		return e.Value != "" && e.Value == other.Value && (!placed(e) || !placed(other))
	}
}
