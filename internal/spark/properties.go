// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"strings"
	"time"
)

const (
	propertiesComment = "#Java properties built from Kubernetes config map with name: "
	// javaDate is how java.util.Date prints itself.
	javaDate = "Mon Jan 02 15:04:05 MST 2006"
)

// propertiesText writes properties as java.util.Properties stores them, sorted by key. The date comment is in UTC.
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

// escapeProperty escapes what has a meaning in a properties file. Blanks have one everywhere in a key, and only at the
// start of a value. Characters beyond ASCII stay as they are.
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
