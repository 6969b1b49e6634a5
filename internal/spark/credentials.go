// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// oauthTokenSuffix is the suffix of keys whose values the driver never gets.
const (
	oauthTokenSuffix = "oauthToken"
	redacted         = "<present_but_redacted>"
)

// credential is a file or a text with which the driver can authenticate to the API server.
type credential struct {
	// conf is the suffix of the key with the text or file, and mounted that of the key with the path in the pod.
	conf, mounted string
	// item is the key in the Secret.
	item string
	file bool
}

var driverCredentials = []credential{
	{"clientKeyFile", "clientKeyFile", "client-key", true},
	{"clientCertFile", "clientCertFile", "client-cert", true},
	{"caCertFile", "caCertFile", "ca-cert", true},
	{oauthTokenSuffix, "oauthTokenFile", "oauth-token", false},
}

// credentials sets the driver's service account, or a Secret with the user's credentials: DriverKubernetesCredentialsFeatureStep.
func (b *builder) credentials() {
	data := map[string][]byte{}
	for _, c := range driverCredentials {
		key := confDriverCredentials + c.conf
		value, ok := b.conf.text(key)
		if !ok || b.mode.inPod {
			continue
		}
		data[c.item] = []byte(value)
		if c.file {
			data[c.item] = b.file(key, value)
		}
		b.properties[confMountedCredentials+c.mounted] = credentialsDirInPod + "/" + c.item
	}
	if !b.mode.inPod {
		b.redact()
	}
	if len(data) > 0 {
		name := b.prefix + "-kubernetes-credentials"
		b.mount("kubernetes-credentials", credentialsDirInPod, secretSource(name))
		b.addResource(b.secret(name, data))
	} else if account, ok := b.conf.text(ConfDriverServiceAccount); ok && (!b.mode.inPod || !b.templateAccount()) {
		b.pod.Spec.ServiceAccountName = account
		b.pod.Spec.DeprecatedServiceAccount = account
	}
}

// templateAccount reports whether the template names a service account, in the new or the old field.
func (b *builder) templateAccount() bool {
	return b.pod.Spec.ServiceAccountName != "" || b.pod.Spec.DeprecatedServiceAccount != ""
}

// redact removes tokens from the driver's configuration. The user's paths override those of the Secret.
func (b *builder) redact() {
	for key := range b.conf.values {
		if strings.HasSuffix(key, oauthTokenSuffix) {
			b.properties[key] = redacted
		}
	}
	for _, c := range driverCredentials {
		key := confMountedCredentials + c.mounted
		if path, ok := b.conf.text(key); ok {
			b.properties[key] = path
		}
	}
}

// file returns the content of one of the submitter's files. Spark reads paths with or without a scheme.
func (b *builder) file(key, path string) []byte {
	content, ok := b.lookupFile(path)
	if !ok {
		b.conf.fail(key, path, b.app.noFile(key))
	}
	return []byte(content)
}

func (b *builder) lookupFile(path string) (string, bool) {
	if content, ok := b.app.Submitter.Files[path]; ok {
		return string(content), true
	}
	for _, prefix := range []string{"file:", "local:"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			content, ok := b.app.Submitter.Files["/"+strings.TrimLeft(rest, "/")]
			return string(content), ok
		}
	}
	return "", false
}

// baseName returns the last segment of a path.
func baseName(path string) string {
	return path[strings.LastIndexByte(path, '/')+1:]
}

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

// checkKerberos refuses incomplete pairs, and two sources of the same file.
func (b *builder) checkKerberos() {
	if value, ok := b.conf.text(confKrb5Path); ok && b.conf.has(confKrb5Map) {
		b.conf.fail(confKrb5Path, value, "cannot be combined with "+confKrb5Map+"; write one of them")
	}
	for _, pair := range [][2]string{
		{confKeytab, confPrincipal}, {confTokenSecretName, confTokenSecretItemKey},
	} {
		first, second := b.conf.has(pair[0]), b.conf.has(pair[1])
		if first && !second {
			b.conf.failAs(field.ErrorTypeRequired, pair[1], "", "missing; it goes together with "+pair[0])
		}
		if second && !first {
			b.conf.failAs(field.ErrorTypeRequired, pair[0], "", "missing; it goes together with "+pair[1])
		}
	}
}

// kerberos adds the driver's krb5.conf, and a keytab or delegation tokens: KerberosConfDriverFeatureStep. It does not log in, because that needs a JVM, so
// tokens come only from a Secret of the user.
func (b *builder) kerberos() {
	b.krb5()
	keytab, hasKeytab := b.conf.text(confKeytab)
	if hasKeytab && !strings.HasPrefix(keytab, "local:") && !b.mode.inPod {
		b.keytab(keytab)
		return
	}
	if secret, ok := b.conf.text(confTokenSecretName); ok {
		item, _ := b.conf.text(confTokenSecretItemKey)
		b.mount("hadoop-secret", tokenDirInPod, secretSource(secret))
		b.addEnv("HADOOP_TOKEN_FILE_LOCATION", tokenDirInPod+"/"+item)
	}
}

func (b *builder) krb5() {
	name, ok := b.conf.text(confKrb5Map)
	var items []corev1.KeyToPath
	if path, own := b.conf.text(confKrb5Path); own && !b.mode.inPod {
		name, ok = b.prefix+"-krb5-file", true
		file := baseName(path)
		items = append(items, corev1.KeyToPath{Key: file, Path: file})
		b.addResource(b.configMap(name, map[string]string{file: string(b.file(confKrb5Path, path))}))
	}
	if !ok {
		return
	}
	b.mount("krb5-file", "/etc/krb5.conf", mapSource(name, items...))
	b.container.VolumeMounts[len(b.container.VolumeMounts)-1].SubPath = "krb5.conf"
}

func (b *builder) keytab(path string) {
	name := b.prefix + "-kerberos-keytab"
	file := baseName(path)
	b.mount("kerberos-keytab", keytabDirInPod, secretSource(name))
	b.addResource(b.secret(name, map[string][]byte{file: b.file(confKeytab, path)}))
	b.properties[confKeytab] = keytabDirInPod + "/" + file
}
