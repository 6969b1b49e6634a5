// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
)

// checkHadoop refuses two sources of the Hadoop configuration.
func (b *builder) checkHadoop() {
	if name, ok := b.conf.text(confHadoopMap); ok && b.app.Submitter.HadoopConfDir != nil {
		b.conf.fail(confHadoopMap, name, "cannot be combined with HADOOP_CONF_DIR of the submitter")
	}
}

// hadoop ships the files of HADOOP_CONF_DIR, or mounts a ConfigMap of the user's: HadoopConfDriverFeatureStep.
func (b *builder) hadoop() {
	name, ok := b.conf.text(confHadoopMap)
	var items []corev1.KeyToPath
	if files := b.app.Submitter.HadoopConfDir; files != nil {
		name, ok = b.prefix+"-hadoop-config", true
		data := make(map[string]string, len(files))
		for _, file := range sortedKeys(files) {
			data[file] = b.hadoopText(file, files[file])
			items = append(items, corev1.KeyToPath{Key: file, Path: file})
		}
		b.addResource(b.configMap(name, data))
	}
	if !ok {
		return
	}
	b.mount("hadoop-properties", hadoopConfDirInPod, mapSource(name, items...))
	b.addEnv("HADOOP_CONF_DIR", hadoopConfDirInPod)
	if b.profile.HadoopConfigMapProperty {
		b.properties[confExecutorHadoopMap] = name
	}
}

// hadoopText returns a file as text. Older releases replace what is not UTF-8, newer ones refuse it.
func (b *builder) hadoopText(name string, content []byte) string {
	text := string(content)
	if utf8.ValidString(text) {
		return text
	}
	if b.profile.StrictHadoopText && b.conf.err == nil {
		b.conf.err = &ConfError{Field: "Submitter.HadoopConfDir", Value: name, Problem: "the file is not UTF-8 text"}
	}
	var replaced strings.Builder
	for _, r := range text {
		// Ranging over a string yields the replacement character for each byte that is not UTF-8.
		replaced.WriteRune(r)
	}
	return replaced.String()
}
