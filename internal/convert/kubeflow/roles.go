// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"cmp"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// roleKeys are the Spark properties of one role.
type roleKeys struct {
	field                                                                   spark.Field
	cores, memory, overhead, request, limit, image, serviceAccount, options string
	label, annotation, env, secret, secretKeyRef, volume                    string
	container, templateContainer                                            string
}

var driverKeys = roleKeys{
	field: "driver", cores: spark.ConfDriverCores, memory: spark.ConfDriverMemory, overhead: spark.ConfDriverMemoryOverhead,
	request: spark.ConfDriverRequestCores, limit: spark.ConfDriverLimitCores, image: spark.ConfDriverImage,
	serviceAccount: spark.ConfDriverServiceAccount, options: "spark.driver.extraJavaOptions",
	label: spark.ConfDriverLabelPrefix, annotation: "spark.kubernetes.driver.annotation.", env: "spark.kubernetes.driverEnv.",
	secret: "spark.kubernetes.driver.secrets.", secretKeyRef: "spark.kubernetes.driver.secretKeyRef.", volume: "spark.kubernetes.driver.volumes.",
	container: spark.DriverContainerName, templateContainer: spark.ConfDriverTemplateContainer,
}

var executorKeys = roleKeys{
	field: "executor", cores: spark.ConfExecutorCores, memory: spark.ConfExecutorMemory, overhead: spark.ConfExecutorMemoryOverhead,
	request: spark.ConfExecutorRequestCores, limit: spark.ConfExecutorLimitCores, image: spark.ConfExecutorImage,
	serviceAccount: spark.ConfExecutorServiceAccount, options: "spark.executor.extraJavaOptions",
	label: spark.ConfExecutorLabelPrefix, annotation: "spark.kubernetes.executor.annotation.", env: "spark.executorEnv.",
	secret: "spark.kubernetes.executor.secrets.", secretKeyRef: "spark.kubernetes.executor.secretKeyRef.", volume: "spark.kubernetes.executor.volumes.",
	container: spark.ExecutorContainerName, templateContainer: spark.ConfExecTemplateContainer,
}

func driverConf(c conf, o *v1beta2.SparkApplication) {
	d := &o.Spec.Driver
	roleConf(c, driverKeys, o, &d.SparkPodSpec)
	c.setString(driverKeys.request, d.CoreRequest, "driver.coreRequest")
	c.setString(driverKeys.options, d.JavaOptions, "driver.javaOptions")
	c.setString("spark.kubernetes.driver.master", d.KubernetesMaster, "driver.kubernetesMaster")
	c.setAll("spark.kubernetes.driver.service.annotation.", d.ServiceAnnotations, "driver.serviceAnnotations")
	c.setAll("spark.kubernetes.driver.service.label.", d.ServiceLabels, "driver.serviceLabels")
}

func executorConf(c conf, o *v1beta2.SparkApplication) {
	e := &o.Spec.Executor
	roleConf(c, executorKeys, o, &e.SparkPodSpec)
	c.setString(executorKeys.request, e.CoreRequest, "executor.coreRequest")
	c.setString(executorKeys.options, e.JavaOptions, "executor.javaOptions")
	c.setInt(spark.ConfExecutorInstances, e.Instances, "executor.instances")
	if _, set := c.user[spark.ConfExecutorInstances]; !set && !allocatesDynamically(&o.Spec) {
		// Spark's default is 2; users of this API rely on 1.
		c.set(spark.ConfExecutorInstances, "1", "executor.instances")
	}
	for i := range e.Env {
		if v := &e.Env[i]; replaces(v) { // Spark's variables follow the template's, and variables of properties follow Spark's
			c.set(executorKeys.env+v.Name, v.Value, "executor.env")
		}
	}
	executorOverrides(c, o)
	if e.DeleteOnTermination != nil {
		c.set("spark.kubernetes.executor.deleteOnTermination", strconv.FormatBool(*e.DeleteOnTermination), "executor.deleteOnTermination")
	}
}

// executorOverrides sets properties for fields that the driver overwrites in the template of its executors.
func executorOverrides(c conf, o *v1beta2.SparkApplication) {
	e := &o.Spec.Executor
	if seconds := e.TerminationGracePeriodSeconds; seconds != nil { // since Spark 4.1
		c.set(spark.ConfExecutorGrace, strconv.FormatInt(*seconds, 10)+"s", "executor.terminationGracePeriodSeconds")
	}
	if context := e.SecurityContext; context != nil { // since Spark 4.3
		if allow := cmp.Or(context.AllowPrivilegeEscalation, context.Privileged); allow != nil {
			c.set("spark.kubernetes.executor.securityContext.allowPrivilegeEscalation", strconv.FormatBool(*allow), "executor.securityContext")
		}
	}
	if ptr.Deref(o.Spec.SparkConfigMap, "") != "" {
		c.setDefault(executorKeys.env+"SPARK_CONF_DIR", sparkConfDir, "sparkConfigMap")
	}
}

// roleConf sets the properties of a role. The pods also get the application's labels; labels of the role override them.
func roleConf(c conf, k roleKeys, o *v1beta2.SparkApplication, p *v1beta2.SparkPodSpec) {
	c.setInt(k.cores, p.Cores, k.field+".cores")
	c.setString(k.limit, p.CoreLimit, k.field+".coreLimit")
	c.setString(k.memory, p.Memory, k.field+".memory")
	c.setString(k.overhead, p.MemoryOverhead, k.field+".memoryOverhead")
	c.setString(k.image, p.Image, k.field+".image")
	templateContainer(c, k, p.Template)
	c.setString(k.serviceAccount, p.ServiceAccount, k.field+".serviceAccount")
	c.setAll(k.label, propagated(o.Labels), "labels")
	c.setAll(k.label, p.Labels, k.field+".labels")
	c.setAll(k.annotation, p.Annotations, k.field+".annotations")
	c.setAll(k.env, p.EnvVars, k.field+".envVars")
	for name, ref := range p.EnvSecretKeyRefs {
		c.set(k.secretKeyRef+name, ref.Name+":"+ref.Key, (k.field + ".envSecretKeyRefs").Key(name))
	}
	for _, secret := range p.Secrets {
		c.set(k.secret+secret.Name, secret.Path, k.field+".secrets")
		if name, file := secretEnv(secret.SecretType); name != "" {
			c.set(k.env+name, strings.TrimSuffix(secret.Path, "/")+"/"+file, k.field+".secrets")
		}
	}
}

// templateContainer sets the name of Spark's container in the template, because Spark would otherwise use the first container.
func templateContainer(c conf, k roleKeys, template *corev1.PodTemplateSpec) {
	if template == nil {
		return
	}
	for i := range template.Spec.Containers {
		if template.Spec.Containers[i].Name == k.container {
			c.set(k.templateContainer, k.container, k.field+".template")
		}
	}
}

// sparkContainer returns the container in the template with Spark's name, or else the first container; nil if there are no containers.
func sparkContainer(template *corev1.PodTemplateSpec, name string) *corev1.Container {
	if template == nil || len(template.Spec.Containers) == 0 {
		return nil
	}
	for i := range template.Spec.Containers {
		if template.Spec.Containers[i].Name == name {
			return &template.Spec.Containers[i]
		}
	}
	return &template.Spec.Containers[0]
}

// secretEnv returns the variable that has the path of a Secret of this type, and the name of the file in the Secret.
func secretEnv(t v1beta2.SecretType) (name, file string) {
	switch t {
	case v1beta2.SecretTypeGCPServiceAccount:
		return "GOOGLE_APPLICATION_CREDENTIALS", "key.json"
	case v1beta2.SecretTypeHadoopDelegationToken:
		return "HADOOP_TOKEN_FILE_LOCATION", "hadoop.token"
	case v1beta2.SecretTypeGeneric:
	}
	return "", ""
}

// propagated returns the labels of the application that its pods get, too. It omits labels that Spark sets itself.
func propagated(labels map[string]string) map[string]string {
	out := maps.Clone(labels)
	maps.DeleteFunc(out, func(k, _ string) bool { return strings.HasPrefix(k, kueuePrefix) || spark.IsReservedLabel(k) })
	return out
}

// localDirPrefix begins the names of scratch volumes. They become Spark properties, because Spark recognizes scratch volumes only by these.
const localDirPrefix = "spark-local-dir-"

func localDirs(c conf, s *v1beta2.SparkApplicationSpec) {
	for _, role := range []struct {
		keys roleKeys
		pod  *v1beta2.SparkPodSpec
	}{{driverKeys, &s.Driver.SparkPodSpec}, {executorKeys, &s.Executor.SparkPodSpec}} {
		for i := range role.pod.VolumeMounts {
			mount := &role.pod.VolumeMounts[i]
			if v := volumeNamed(s, mount.Name); v != nil && isLocalDir(v) {
				localDir(c, role.keys, v, mount)
			}
		}
	}
}
