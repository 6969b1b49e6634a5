// SPDX-License-Identifier: Apache-2.0

// Package lenient decodes objects with a partly open schema (pod templates). For such parts the API server may store text in place of a list, and one such
// object would make the decoding of a whole typed list fail.
package lenient

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"
)

// Unmarshal decodes an object, and returns the paths of unknown fields in its spec. If only the spec cannot be decoded or is too large, Unmarshal decodes the
// object into rest, a type without the spec. malformed is then the reason.
func Unmarshal(data []byte, object, rest any) (malformed string, unknown []string, err error) {
	unknown, err = decode(data, object)
	if err == nil {
		return "", unknown, nil
	}
	if json.Unmarshal(data, rest) != nil {
		return "", nil, err // the error is outside the spec
	}
	return located(data, object, err), nil, nil
}

// Bounds of the values with a wrong type in a message: their number, and the bytes of each. The message is kept with the object.
const (
	maxLocated  = 3
	MaxSentence = 300
)

// located explains why an object cannot be decoded. It includes the paths of the wrong values if it finds them.
func located(data []byte, object any, err error) string {
	var content map[string]any
	if !errors.As(err, new(undecodable)) || kjson.UnmarshalCaseSensitivePreserveInts(data, &content) != nil {
		return err.Error()
	}
	var said []string
	wrong, _ := Compare(content, reflect.TypeOf(object))
	for _, w := range wrong {
		if strings.HasPrefix(w.Path, "spec") && len(said) < maxLocated {
			said = append(said, cut(w.Message, MaxSentence))
		}
	}
	if len(said) == 0 {
		return err.Error()
	}
	return strings.Join(said, "; ")
}

// cut shortens a text.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// undecodable is the decoder's error for an object of acceptable size.
type undecodable struct{ error }

// decode decodes an object of acceptable size whose numbers are not too long, and returns the unknown fields of its spec.
func decode(data []byte, into any) ([]string, error) {
	err := checkNumbers(data)
	if err != nil {
		var o struct {
			Spec stdjson.RawMessage `json:"spec"`
		}
		if stdjson.Unmarshal(data, &o) == nil {
			err = checkNumbers(o.Spec) // numbers in annotations may have any length
		}
	}
	if err == nil {
		err = checkSize(data)
	}
	if err == nil {
		err = checkSpec(data, into)
	}
	if err != nil {
		return nil, err
	}
	strict, err := kjson.UnmarshalStrict(data, into, kjson.DisallowUnknownFields)
	if err != nil {
		return nil, undecodable{err}
	}
	return unknownFields(strict), nil
}

// Bounds of the unknown fields that are kept with an object: their number, and the bytes of each.
const (
	MaxUnknownFields = 10
	MaxUnknownField  = 200
)

// unknownFields returns the decoder's strict errors about the spec. It omits other errors, because users do not cause them: the status may come from another
// release.
func unknownFields(strict []error) []string {
	var fields []string
	for _, problem := range strict {
		field, ok := strings.CutPrefix(problem.Error(), `unknown field "`)
		if field = strings.TrimSuffix(field, `"`); !ok || !strings.HasPrefix(field, "spec.") {
			continue
		}
		if len(fields) == MaxUnknownFields {
			return append(fields, "...")
		}
		fields = append(fields, strings.Clone(cut(field, MaxUnknownField)))
	}
	return fields
}

// MaxDigits bounds the length of numbers in an object. Parsing a quantity takes memory that grows with the square of its length: 2 GB for a megabyte, which the
// API server can store.
const MaxDigits = 4 << 10

// checkNumbers refuses a text with a number that is too long.
func checkNumbers(data []byte) error {
	digits := 0
	for _, c := range data {
		if digits++; !isNumber(c) {
			digits = 0
		}
		if digits > MaxDigits {
			return fmt.Errorf("a number has more than %d digits; write a shorter one", MaxDigits)
		}
	}
	return nil
}

func isNumber(c byte) bool { return '0' <= c && c <= '9' || c == '.' }
