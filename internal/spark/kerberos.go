// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// checkKerberos refuses halves of pairs, and two sources of the same file.
func (b *builder) checkKerberos() {
	if value, ok := b.conf.text(confKrb5Path); ok && b.conf.has(confKrb5Map) {
		b.conf.fail(confKrb5Path, value, "cannot be combined with "+confKrb5Map+"; write one of them")
	}
	for _, pair := range [][2]string{
		{confKeytab, confPrincipal}, {confTokenSecretName, confTokenSecretItemKey},
	} {
		first, second := b.conf.has(pair[0]), b.conf.has(pair[1])
		if first && !second {
			b.conf.fail(pair[1], "", "missing; it goes together with "+pair[0])
		}
		if second && !first {
			b.conf.fail(pair[0], "", "missing; it goes together with "+pair[1])
		}
	}
}

// kerberos gives the driver its krb5.conf, and a keytab or delegation tokens: KerberosConfDriverFeatureStep. Without a
// JVM nobody logs in here, so tokens come from a Secret of the user's only.
func (b *builder) kerberos() {
	b.krb5()
	keytab, hasKeytab := b.conf.text(confKeytab)
	if hasKeytab && !strings.HasPrefix(keytab, "local:") {
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
	if path, own := b.conf.text(confKrb5Path); own {
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
