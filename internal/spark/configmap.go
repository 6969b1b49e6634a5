// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
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

// notShipped are the files of SPARK_CONF_DIR that stay behind: archives, templates, and Spark's own configuration,
// which reaches the driver as spark.properties.
var notShipped = regexp.MustCompile(`^(?:.*\.(?:gz|zip|jar|tar)|.*\.template|spark.*(?:conf|properties))$`)

// ShipsConfFile is whether a file of SPARK_CONF_DIR travels to the driver, if there is room for it.
func ShipsConfFile(name string) bool {
	return !strings.Contains(name, "/") && !notShipped.MatchString(name)
}

// mountDriverConf makes the ConfigMap that becomes the driver's SPARK_CONF_DIR. It is the last thing that Spark's client
// does, when all properties are known.
func (b *builder) mountDriverConf() {
	name := "spark-drv-" + b.id.ConfigMapID + configMapSuffix
	data := b.confDirFiles()
	data[propertiesFile] = propertiesText(b.properties, name, b.id.SubmitTime)
	items := make([]corev1.KeyToPath, 0, len(data))
	for _, file := range sortedKeys(data) {
		items = append(items, corev1.KeyToPath{Key: file, Path: file, Mode: new(confDirFileMode)})
	}
	// Not a file of the volume: it is for whoever reads the map by itself.
	data[ConfNamespace] = b.namespace
	b.mount(driverConfVolume, confDirInPod, mapSource(name, items...))
	b.addEnv("SPARK_CONF_DIR", confDirInPod)
	b.addResource(b.configMap(name, data))
}

// confDirFiles returns the files of the submitter's SPARK_CONF_DIR, smallest first until the map is full.
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

// utf16Length is the length of a text in Java's characters.
func utf16Length(text string) int {
	length := 0
	for _, r := range text {
		length += utf16.RuneLen(r)
	}
	return length
}
