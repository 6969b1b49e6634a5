// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	// ConfExecutorSecretsPrefix is the prefix of properties that mount Secrets into executors.
	ConfExecutorSecretsPrefix = "spark.kubernetes.executor.secrets."
	// firstExecutor is the number of the first executor of an application.
	firstExecutor = "1"
	// labelProfile is the label of the resource profile. An application has profile 0 unless its program defines others.
	labelProfile = "spark-exec-resourceprofile-id"
)

// ExecutorPod returns the first executor of a submission, in the form that its driver will send to the API server: MadeExecutor with Spark's own additions. It
// omits arguments, ports and variables of Spark's container, because admission and quotas do not read them. It has no owner.
func (r Reader) ExecutorPod(s Submission) *corev1.Pod {
	pod, _ := r.MadeExecutor(s)
	prefix := cmp.Or(r.Text(ConfExecutorPodNamePrefix), strings.TrimSuffix(s.Driver.Name, "-driver"))
	pod.Namespace, pod.Name = s.Driver.Namespace, prefix+"-exec-"+firstExecutor
	own := map[string]string{LabelRole: RoleExecutor, LabelExecID: firstExecutor, labelProfile: "0"}
	for _, name := range []string{LabelAppSelector, LabelAppName, LabelVersion} {
		own[name] = s.Driver.Labels[name]
	}
	filled := strings.NewReplacer("{{APP_ID}}", own[LabelAppSelector], "{{EXECUTOR_ID}}", firstExecutor)
	replaced := []map[string]string{pod.Annotations}
	if r.profile.LabelPlaceholders {
		replaced = append(replaced, pod.Labels)
	}
	for _, texts := range replaced {
		for name, text := range texts {
			texts[name] = filled.Replace(text)
		}
	}
	for name, value := range own {
		setIn(&pod.Labels, name, value)
	}
	spec := &pod.Spec
	spec.RestartPolicy, spec.Hostname = corev1.RestartPolicyNever, ""
	if spec.ServiceAccountName == "" && spec.DeprecatedServiceAccount == "" {
		spec.ServiceAccountName = cmp.Or(r.Text(ConfExecutorServiceAccount), r.Text(ConfDriverServiceAccount))
	}
	for _, key := range r.conf.under(ConfExecutorSecretsPrefix) {
		name := strings.TrimPrefix(key, ConfExecutorSecretsPrefix)
		spec.Volumes = append(spec.Volumes, corev1.Volume{
			Name: name + "-volume", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}},
		})
	}
	addScratch(spec)
	return pod
}

// addScratch adds Spark's own volumes for the scratch space and the configuration of executors, if a container mounts them.
func addScratch(spec *corev1.PodSpec) {
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, m := range c.VolumeMounts {
			own := strings.HasPrefix(m.Name, "spark-local-dir-") || m.Name == "spark-conf-volume-exec" || m.Name == "hadoop-properties"
			there := slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
			if own && !there {
				spec.Volumes = append(spec.Volumes, corev1.Volume{Name: m.Name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
			}
		}
	}
}
