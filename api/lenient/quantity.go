// SPDX-License-Identifier: Apache-2.0

package lenient

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	kjson "sigs.k8s.io/json"
)

// MaxExponent bounds the absolute exponents of quantities. Kubernetes accepts 32-bit exponents, and computes with integers of that many digits. Nine bytes of
// text would cost minutes of CPU and hundreds of megabytes. The largest suffix, E, is 10^18.
const MaxExponent = 24

// endless describes a quantity whose exponent exceeds MaxExponent.
const endless = "a quantity with a too large exponent; write a number between 1n and 1E"

// ErrEndless is the error for a quantity whose exponent exceeds MaxExponent.
var ErrEndless = errors.New(endless)

// exponent matches a number with an exponent, as Kubernetes parses it. Without digits before the exponent the number is 0.
var exponent = regexp.MustCompile(`^[+-]?[0-9.]*[eE]([+-]?[0-9]+)$`)

// Endless reports whether a text is a quantity whose exponent exceeds MaxExponent. Kubernetes allows spaces around it.
func Endless(text string) bool {
	match := exponent.FindStringSubmatch(strings.TrimSpace(text))
	if match == nil {
		return false
	}
	n, err := strconv.ParseInt(match[1], 10, 32)
	return err != nil || n < -MaxExponent || n > MaxExponent
}

var quantity = reflect.TypeFor[resource.Quantity]()

// CheckQuantities refuses an object with a quantity whose exponent exceeds MaxExponent. object was decoded from JSON without a type, and t is its type. Text
// that only looks like such a quantity, such as a short commit hash in a label, is accepted.
func CheckQuantities(object any, t reflect.Type, path string) error {
	c := computable{t: t, path: path}
	return c.check(object)
}

// computable searches for quantities whose exponent exceeds MaxExponent. It determines the type only of values that look like one.
type computable struct {
	t    reflect.Type
	path string
	at   []any // field names and list indexes
}

func (c *computable) check(value any) error {
	switch v := value.(type) {
	case string:
		return c.text(v)
	case float64:
		return c.text(fmt.Sprint(v))
	case []any:
		for i, one := range v {
			if err := c.below(i, one); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := c.below(key, v[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *computable) below(step, value any) error {
	c.at = append(c.at, step)
	err := c.check(value)
	c.at = c.at[:len(c.at)-1]
	return err
}

func (c *computable) text(text string) error {
	if !Endless(text) {
		return nil
	}
	t, path := pointed(c.t), c.path
	for _, step := range c.at {
		name, named := step.(string)
		switch below := under(t, name); {
		case below == nil:
			return nil // an unknown or untyped field
		case !named:
			path += fmt.Sprintf("[%d]", step)
		case t.Kind() == reflect.Map:
			path += "[" + strconv.Quote(name) + "]"
		default:
			path = strings.TrimPrefix(path+"."+name, ".")
		}
		t = pointed(under(t, name))
	}
	if t != quantity {
		return nil
	}
	return fmt.Errorf("%s: %q: %w", path, cut(text, maxShown), ErrEndless)
}

// checkSpec refuses an object if its spec has a quantity whose exponent exceeds MaxExponent. It must run before any code parses the quantity.
func checkSpec(data []byte, object any) error {
	spec, has := reflect.TypeOf(object).Elem().FieldByName("Spec")
	if !has || !suspicious(data) {
		return nil
	}
	var content struct {
		Spec any `json:"spec"`
	}
	// Only the last value of a duplicate key would be checked.
	strict, err := kjson.UnmarshalStrict(data, &content, kjson.DisallowDuplicateFields)
	if err = errors.Join(append(strict, err)...); err != nil {
		return undecodable{err}
	}
	return CheckQuantities(content.Spec, spec.Type, "spec")
}

// suspicious reports whether a text may have a quantity with a large exponent. Only such objects are decoded twice, and almost no object is one.
func suspicious(data []byte) bool {
	for i, c := range data {
		if c != 'e' && c != 'E' || i == 0 || !begins(data[i-1]) {
			continue
		}
		rest := data[i+1:]
		if len(rest) > 0 && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		digits, value := 0, 0
		for digits < len(rest) && '0' <= rest[digits] && rest[digits] <= '9' {
			value = min(value*10+int(rest[digits]-'0'), math.MaxInt16)
			digits++
		}
		if value > MaxExponent && !continues(rest[digits:]) {
			return true
		}
	}
	return false
}

// begins reports whether an exponent may follow a byte: a digit, the start of a string, or a space.
func begins(c byte) bool { return !isLetter(c) }

// continues reports whether a text continues after a number, as an ID does: 9e-4123-8f00.
func continues(rest []byte) bool {
	return len(rest) > 0 && (isLetter(rest[0]) || rest[0] == '-' || rest[0] == '.')
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
