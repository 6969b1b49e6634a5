// SPDX-License-Identifier: Apache-2.0

package spark

import corev1 "k8s.io/api/core/v1"

// mountSecrets mounts spark.kubernetes.driver.secrets.<name>=<path>: MountSecretsFeatureStep.
func (b *builder) mountSecrets() {
	for _, key := range b.conf.under(ConfDriverSecretsPrefix) {
		name := key[len(ConfDriverSecretsPrefix):]
		b.mount(name+"-volume", b.conf.values[key], secretSource(name))
	}
}

// envSecrets sets variables from spark.kubernetes.driver.secretKeyRef.<ENV>=<name>:<key>: EnvSecretsFeatureStep.
func (b *builder) envSecrets() {
	for _, key := range b.conf.under(ConfDriverSecretKeyRefPrefix) {
		value := b.conf.values[key]
		parts := splitJava(value, ":")
		if len(parts) != 2 {
			b.conf.fail(key, value, `must be the name of a Secret and a key in it; write e.g. "database:password"`)
			return
		}
		b.container.Env = append(b.container.Env, corev1.EnvVar{
			Name: key[len(ConfDriverSecretKeyRefPrefix):],
			ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: parts[0]},
				Key:                  parts[1],
			}},
		})
	}
}
