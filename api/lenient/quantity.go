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

// MaxExponent bounds the exponents of quantities, on both sides. Kubernetes takes all that fit into 32 bits, and makes an integer of that
// many digits in each sum and comparison, of some texts when it reads them: minutes of a worker and hundreds of megabytes for nine bytes
// of text. The largest suffix is E, which is 18.
const MaxExponent = 24

// endless says what is wrong with a quantity of a larger exponent.
const endless = "a quantity with an exponent that is too large; write a number between 1n and 1E"

// ErrEndless is the error for such a quantity.
var ErrEndless = errors.New(endless)

// exponent matches what Kubernetes reads as a number with an exponent. It takes one without digits before the exponent for 0.
var exponent = regexp.MustCompile(`^[+-]?[0-9.]*[eE]([+-]?[0-9]+)$`)

// Endless reports whether a text is a quantity whose exponent is too large to be computed with. Kubernetes allows blanks around it.
func Endless(text string) bool {
	match := exponent.FindStringSubmatch(strings.TrimSpace(text))
	if match == nil {
		return false
	}
	n, err := strconv.ParseInt(match[1], 10, 32)
	return err != nil || n < -MaxExponent || n > MaxExponent
}

var quantity = reflect.TypeFor[resource.Quantity]()

// CheckQuantities refuses what cannot be computed with, in an object, as JSON is decoded without a type, that is to be decoded into t. What
// merely looks like such a quantity is none: a short commit among the labels.
func CheckQuantities(object any, t reflect.Type, path string) error {
	c := computable{t: t, path: path}
	return c.check(object)
}

// computable looks for quantities that are none of it. The type of a place is looked up for what looks like one only.
type computable struct {
	t    reflect.Type
	path string
	at   []any // names, and indexes of lists
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
			return nil // a field that is unknown or free
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

// checkSpec refuses a text of an object whose spec has a quantity that cannot be computed with, before anything reads it as one.
func checkSpec(data []byte, object any) error {
	spec, has := reflect.TypeOf(object).Elem().FieldByName("Spec")
	if !has || !suspicious(data) {
		return nil
	}
	var content struct {
		Spec any `json:"spec"`
	}
	// Of a key that is there twice only the last value would be checked.
	strict, err := kjson.UnmarshalStrict(data, &content, kjson.DisallowDuplicateFields)
	if err = errors.Join(append(strict, err)...); err != nil {
		return undecodable{err}
	}
	return CheckQuantities(content.Spec, spec.Type, "spec")
}

// suspicious reports whether there is anything in a text that may be a quantity with a large exponent. In nearly all objects there is none,
// which are not decoded twice.
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

// begins reports whether an exponent may follow a byte: one of a number, of a text's beginning, or of a blank.
func begins(c byte) bool { return !isLetter(c) }

// continues reports whether a text goes on after a number, as an id does: 9e-4123-8f00.
func continues(rest []byte) bool {
	return len(rest) > 0 && (isLetter(rest[0]) || rest[0] == '-' || rest[0] == '.')
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
