// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

// readJavaProperties reads a text as java.util.Properties does: logical lines, keys up to an unescaped separator.
func readJavaProperties(text string) map[string]string {
	properties := map[string]string{}
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := 0; i < len(lines); i++ {
		line := strings.TrimLeft(lines[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for endingBackslashes(line)%2 == 1 && i+1 < len(lines) {
			i++
			line = line[:len(line)-1] + strings.TrimLeft(lines[i], " \t\f")
		}
		end := 0
		for end < len(line) && !strings.ContainsRune("=: \t\f", rune(line[end])) {
			if line[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(line))
		value := strings.TrimLeft(line[end:], " \t\f")
		if value != "" && (value[0] == '=' || value[0] == ':') {
			value = strings.TrimLeft(value[1:], " \t\f")
		}
		properties[unescapeJava(line[:end])] = unescapeJava(value)
	}
	return properties
}

func endingBackslashes(line string) int {
	return len(line) - len(strings.TrimRight(line, "\\"))
}

func unescapeJava(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch text[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			if i+5 <= len(text) {
				if code, err := strconv.ParseUint(text[i+1:i+5], 16, 32); err == nil {
					b.WriteRune(rune(code))
					i += 4
				}
			}
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// FuzzProperties writes properties and reads them back as Java would: nothing that a user writes may become another
// property, or another value.
func FuzzProperties(f *testing.F) {
	for _, seed := range [][4]string{
		{"spark.a", "b", "spark.c", "d"}, {"spark.a", "line\nspark.master=local", "spark.b", ""}, {"spark.a", " leading", "spark.b", "trailing "},
		{"spark.a", "\\", "spark.b", "\\\\"}, {"spark. a=b:c", "=:#!", "#a", "!b"}, {"spark.ä", "日本 \u00a0", "spark.\t", "\t\r\f"}, {"", "", "a", "a\\\nb"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, key, value, otherKey, otherValue string) {
		defer heaptest.Bound(t, len(key)+len(value)+len(otherKey)+len(otherValue))()
		for _, text := range []string{key, value, otherKey, otherValue} {
			if !utf8.ValidString(text) {
				return // JSON has no such text
			}
		}
		want := map[string]string{key: value}
		maps.Copy(want, map[string]string{otherKey: otherValue})
		got := readJavaProperties(propertiesText(want, "map", time.Unix(0, 0)))
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("written (-) and read (+):\n%s", diff)
		}
	})
}

// FuzzParseSize looks for a size that is read in two ways, is negative, or changes with the unit that it is asked in.
func FuzzParseSize(f *testing.F) {
	for _, seed := range []string{"1g", "512m", " 2GB ", "9223372036854775807p", "", "-1", "1.5g", "0", "1b", "1gg", "１g", "99999999999999999999", "010\b", strings.Repeat("9", 1_000_000)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		defer heaptest.Bound(t, len(text))()
		bytes, ok := ParseSize(text, 1)
		if !ok {
			return
		}
		if bytes < 0 {
			t.Errorf("%q is %d bytes", text, bytes)
		}
		mib, ok := ParseSize(text, mebibyte)
		if unit := strings.TrimLeft(strings.ToLower(trimJava(text)), "0123456789"); ok && unit != "" && mib != bytes/mebibyte {
			t.Errorf("%q is %d bytes and %d MiB", text, bytes, mib)
		}
		if again, ok := ParseSize(strconv.FormatInt(bytes, 10)+"b", 1); !ok || again != bytes {
			t.Errorf("%q is %d bytes, which is read as %d", text, bytes, again)
		}
	})
}

// FuzzQuantity looks for a number of cores that is accepted and is no quantity, or panics on its way into a pod.
func FuzzQuantity(f *testing.F) {
	for _, seed := range []string{"1", "500m", "1.5", "1e3", "0", "-1", "", "1Gi", "x", "1e999999", "0x1", "+1", "1 ", "1e2147483647", "1e2147483648", "1e-100000000", strings.Repeat("9", 300_000)} {
		f.Add(seed)
	}
	profile := profileOf(f, "4.1.0")
	f.Fuzz(func(t *testing.T, text string) {
		defer heaptest.Bound(t, len(text))()
		app := sparkPi()
		app.Conf[ConfDriverRequestCores], app.Conf[ConfExecutorLimitCores] = text, text
		sets, err := podSets(app, profile)
		if err != nil {
			return
		}
		if _, err := ParseQuantity(text); err != nil && !strings.Contains(text, "${") {
			t.Errorf("%q became %v: %v", text, sets.Driver.Requests, err)
		}
	})
}
