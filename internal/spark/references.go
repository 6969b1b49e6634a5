// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// reference matches ${key} and ${prefix:name}.
var reference = regexp.MustCompile(`\$\{(?:(\w+?):)?(\S+?)\}`)

// Bounds of the cost of references. An application is small, and its references may expand to a large text. Without bounds one object would take all memory of
// the operator, and again after each restart.
const (
	// maxReferences bounds the references of one property, including indirect ones.
	maxReferences = 1000
	// MaxExpanded bounds one property with its references replaced, in bytes.
	MaxExpanded = 64 << 10
	// maxSpent bounds the bytes read for replacing the references of all properties of an application. The result is never longer.
	maxSpent = 1 << 20
)

var (
	errTooManyReferences = errors.New("refers to too many other properties; refer to at most " + strconv.Itoa(maxReferences))
	errTooLong           = errors.New("longer than " + strconv.Itoa(MaxExpanded) +
		" bytes with its references replaced; refer to fewer properties, or to shorter ones")
	errTooMuch = errors.New("with this one, replacing the references of all properties takes more than " + strconv.Itoa(maxSpent) +
		" bytes; refer to fewer properties, or to shorter ones")
)

// expand replaces the references in the value of key. References that cannot be resolved stay.
func (c *conf) expand(key, value string) string {
	if !strings.Contains(value, "${") {
		return value
	}
	if text, ok := c.expanded[key]; ok {
		return text
	}
	e := expansion{conf: c, used: map[string]bool{}}
	if err := e.add(value); err != nil {
		c.fail(key, value, err.Error())
		e.text.Reset()
	}
	c.expanded[key] = e.text.String()
	return c.expanded[key]
}

// expansion is the replacement of references in one property. Nested texts are written directly to the result, so that none of them exceeds the bound.
type expansion struct {
	conf       *conf
	text       strings.Builder
	references int
	// used are the references that are being replaced, the outermost first.
	used map[string]bool
}

// add appends a text with its references replaced.
func (e *expansion) add(text string) error {
	for {
		at := reference.FindStringSubmatchIndex(text)
		if at == nil {
			return e.write(text)
		}
		prefix := ""
		if at[2] >= 0 {
			prefix = text[at[2]:at[3]]
		}
		if err := e.write(text[:at[0]]); err != nil {
			return err
		}
		if err := e.replace(text[at[0]:at[1]], prefix, text[at[4]:at[5]]); err != nil {
			return err
		}
		text = text[at[1]:]
	}
}

// replace appends the value of a reference.
func (e *expansion) replace(match, prefix, name string) error {
	full := prefix + ":" + name
	if e.used[full] {
		return errors.New("refers to itself through ${" + shorten(strings.TrimPrefix(full, ":")) + "}")
	}
	if e.references++; e.references > maxReferences {
		return errTooManyReferences
	}
	value, ok := e.conf.resolve(prefix, name)
	if !ok {
		return e.write(match)
	}
	if err := e.spend(match); err != nil {
		return err
	}
	e.used[full] = true
	defer delete(e.used, full)
	return e.add(value)
}

// write appends a text unchanged.
func (e *expansion) write(text string) error {
	if e.text.Len()+len(text) > MaxExpanded {
		return errTooLong
	}
	e.text.WriteString(text)
	return e.spend(text)
}

// spend accounts for a text that was read.
func (e *expansion) spend(text string) error {
	if e.conf.spent += len(text); e.conf.spent > maxSpent {
		return errTooMuch
	}
	return nil
}

// resolve returns the value of one reference. ${system:...} would be a property of spark-submit's JVM, which does not exist here. It stays unresolved, like any
// unknown prefix.
func (c *conf) resolve(prefix, name string) (string, bool) {
	switch {
	case prefix == "env":
		value, ok := c.env[name]
		return value, ok
	case prefix != "" || !strings.HasPrefix(name, "spark."):
		return "", false
	}
	if value, ok := c.raw(name); ok {
		return value, true
	}
	if fallback, ok := fallbacks[name]; ok {
		return c.resolve("", fallback)
	}
	value, ok := defaults[name]
	return value, ok
}
