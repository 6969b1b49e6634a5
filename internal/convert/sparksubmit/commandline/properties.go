// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Properties parses a properties file as java.util.Properties does. It trims values as Spark does, which keeps escaped line ends.
func Properties(text string) (map[string]string, error) {
	properties := map[string]string{}
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	for i := 0; i < len(lines); i++ {
		first := i + 1
		line := strings.TrimLeft(lines[i], blanks)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		var logical strings.Builder
		for continued(line) {
			logical.WriteString(line[:len(line)-1])
			line = ""
			if i++; i < len(lines) {
				line = strings.TrimLeft(lines[i], blanks)
			}
		}
		logical.WriteString(line)
		rawKey, rawValue := divide(logical.String())
		key, err := unescape(rawKey)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", first, err)
		}
		value, err := unescape(rawValue)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", first, err)
		}
		properties[key] = strings.TrimFunc(value, func(r rune) bool { return r <= ' ' && r != '\n' && r != '\r' })
	}
	return properties, nil
}

// blanks are the separators in a properties file.
const blanks = " \t\f"

// continued reports whether the next line continues this line, which then ends with an unescaped backslash.
func continued(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// divide splits a line at the first blank, = or : that is not escaped.
func divide(line string) (key, value string) {
	end := 0
	for end < len(line) && !strings.ContainsRune("=:"+blanks, rune(line[end])) {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(line))
	value = strings.TrimLeft(line[end:], blanks)
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], blanks)
	}
	return line[:end], value
}

var escapes = map[byte]byte{'t': '\t', 'n': '\n', 'r': '\r', 'f': '\f'}

func unescape(text string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		if text[i] != 'u' {
			c, ok := escapes[text[i]]
			if !ok {
				c = text[i]
			}
			b.WriteByte(c)
			continue
		}
		r, err := unicodeEscape(text[i+1:])
		if err != nil {
			return "", err
		}
		i += 4
		if utf16.IsSurrogate(r) && strings.HasPrefix(text[i+1:], `\u`) {
			// Java encodes code points above 16 bits as two escapes.
			if low, err := unicodeEscape(text[i+3:]); err == nil {
				r = utf16.DecodeRune(r, low)
				i += 6
			}
		}
		b.WriteRune(r)
	}
	return b.String(), nil
}

func unicodeEscape(text string) (rune, error) {
	digits := text[:min(4, len(text))]
	number, err := strconv.ParseUint(digits, 16, 16)
	if err != nil || len(digits) < 4 {
		return 0, fmt.Errorf(`\u%s: not a character; write \u and four hexadecimal digits`, digits)
	}
	return rune(number), nil
}
