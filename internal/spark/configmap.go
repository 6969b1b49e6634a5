// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
)

const (
	maxConfigMapSize = 1 << 20
	configMapSuffix  = "-conf-map"
	driverConfVolume = "spark-conf-volume-driver"
	confDirFileMode  = int32(0o644)
)

// notShipped matches the files of SPARK_CONF_DIR that are not shipped: archives, templates, and Spark's own configuration, which the driver gets as
// spark.properties.
var notShipped = regexp.MustCompile(`^(?:.*\.(?:gz|zip|jar|tar)|.*\.template|spark.*(?:conf|properties))$`)

// ShipsConfFile reports whether a file of SPARK_CONF_DIR is shipped to the driver, if there is room for it.
func ShipsConfFile(name string) bool {
	return !strings.Contains(name, "/") && !notShipped.MatchString(name)
}

// mountDriverConf adds the ConfigMap of the driver's SPARK_CONF_DIR. It runs last, as in Spark's client, when all properties are known.
func (b *builder) mountDriverConf() {
	name := b.driverMapName()
	data := b.confDirFiles()
	data[propertiesFile] = propertiesText(b.properties, name, b.id.SubmitTime)
	if b.mode.direct {
		data[ConfNamespace] = b.namespace
	}
	items := make([]corev1.KeyToPath, 0, len(data))
	for _, file := range sortedKeys(data) {
		items = append(items, corev1.KeyToPath{Key: file, Path: file, Mode: new(confDirFileMode)})
	}
	// This entry is not mounted, as with spark-submit. Only readers of the ConfigMap see it.
	data[ConfNamespace] = b.namespace
	b.mount(driverConfVolume, confDirInPod, mapSource(name, items...))
	b.addEnv("SPARK_CONF_DIR", confDirInPod)
	b.addResource(b.configMap(name, data))
}

// confDirFiles returns the files of the submitter's SPARK_CONF_DIR that fit, the smallest first.
func (b *builder) confDirFiles() map[string]string {
	maxSize := b.conf.number(confMapMaxSize)
	if maxSize > maxConfigMapSize {
		value, _ := b.conf.text(confMapMaxSize)
		b.conf.fail(confMapMaxSize, value, `must be at most 1048576 bytes`)
	}
	files := b.app.Submitter.ConfDir
	sizeOf := func(name string) int { return len(files[name]) + utf16Length(name) }
	names := slices.DeleteFunc(slices.Collect(maps.Keys(files)), func(name string) bool {
		return int64(sizeOf(name)) > maxSize || !ShipsConfFile(name)
	})
	slices.SortFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(sizeOf(x), sizeOf(y)), strings.Compare(x, y))
	})
	data := make(map[string]string, len(names)+2)
	total := int64(0)
	for _, name := range names {
		text := string(files[name])
		length := int64(utf16Length(name) + utf16Length(text))
		if total+length >= maxSize || !utf8.ValidString(text) {
			continue
		}
		total += length
		data[name] = text
	}
	return data
}

// utf16Length returns the length of a text in Java's characters.
func utf16Length(text string) int {
	length := 0
	for _, r := range text {
		length += utf16.RuneLen(r)
	}
	return length
}

// checkHadoop refuses a second source of the Hadoop configuration.
func (b *builder) checkHadoop() {
	if name, ok := b.conf.text(confHadoopMap); ok && b.app.Submitter.HadoopConfDir != nil {
		b.conf.fail(confHadoopMap, name, "cannot be combined with HADOOP_CONF_DIR of the submitter")
	}
}

// hadoop ships the files of HADOOP_CONF_DIR, or mounts the user's ConfigMap: HadoopConfDriverFeatureStep.
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

// hadoopText returns a file as text. Older releases replace bytes that are not UTF-8, and newer ones refuse the file.
func (b *builder) hadoopText(name string, content []byte) string {
	text := string(content)
	if utf8.ValidString(text) {
		return text
	}
	if b.profile.StrictHadoopText && b.conf.err == nil {
		b.conf.err = &ConfError{Field: "hadoopConfigMap", Value: name, Problem: "the file is not UTF-8 text"}
	}
	var replaced strings.Builder
	for _, r := range text {
		// Ranging over a string yields the replacement character for each byte that is not UTF-8.
		replaced.WriteRune(r)
	}
	return replaced.String()
}

const (
	propertiesComment = "#Java properties built from Kubernetes config map with name: "
	// javaDate is the format of java.util.Date's toString.
	javaDate = "Mon Jan 02 15:04:05 MST 2006"
)

// propertiesText writes properties in the format of java.util.Properties, sorted by key. The date comment is in UTC.
func propertiesText(properties map[string]string, mapName string, written time.Time) string {
	keys := sortedKeys(properties)
	size := len(propertiesComment) + len(mapName) + len(javaDate) + 8
	for key, value := range properties {
		size += len(key) + len(value) + 16
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(propertiesComment + mapName + "\n#" + written.UTC().Format(javaDate) + "\n")
	for _, key := range keys {
		escapeProperty(&b, key, true)
		b.WriteByte('=')
		escapeProperty(&b, properties[key], false)
		b.WriteByte('\n')
	}
	return b.String()
}

// escapeProperty escapes the special characters of a properties file. Spaces are special everywhere in a key, but only at the start of a value. Characters
// beyond ASCII stay.
func escapeProperty(b *strings.Builder, text string, isKey bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ':
			if isKey || i == 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(' ')
		case '\t':
			b.WriteString(`\t`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\f':
			b.WriteString(`\f`)
		case '\\', '=', ':', '#', '!':
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
}
