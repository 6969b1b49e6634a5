// SPDX-License-Identifier: Apache-2.0

// Package lenient decodes objects whose schema leaves parts of the spec open (pod templates), so that the API server
// stores text where a list belongs. A typed list that holds one such object would fail as a whole.
package lenient

import (
	stdjson "encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"
)

// Unmarshal decodes an object, and returns the paths of unknown fields in its spec. If only the spec cannot be decoded, or is
// too large to be, it decodes the object into rest, a type without the spec, and malformed says why.
func Unmarshal(data []byte, object, rest any) (malformed string, unknown []string, err error) {
	unknown, err = decode(data, object)
	if err == nil {
		return "", unknown, nil
	}
	if json.Unmarshal(data, rest) != nil {
		return "", nil, err // not the spec's fault
	}
	return err.Error(), nil, nil
}

// decode decodes an object whose spec is not too large and whose numbers can be read, and names the unknown fields of its spec.
func decode(data []byte, into any) ([]string, error) {
	err := checkNumbers(data)
	if err != nil {
		var o struct {
			Spec stdjson.RawMessage `json:"spec"`
		}
		if stdjson.Unmarshal(data, &o) == nil {
			err = checkNumbers(o.Spec) // an annotation may have as many digits as it likes
		}
	}
	if err == nil {
		err = checkSize(data)
	}
	if err != nil {
		return nil, err
	}
	strict, err := kjson.UnmarshalStrict(data, into, kjson.DisallowUnknownFields)
	if err != nil {
		return nil, err
	}
	return unknownFields(strict), nil
}

// What an object keeps of its unknown fields: so many of them, and so many bytes of each.
const (
	MaxUnknownFields = 10
	MaxUnknownField  = 200
)

// unknownFields picks what the decoder says of the spec. What it says of the rest is not the user's: a status may be that
// of another release.
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
		if len(field) > MaxUnknownField {
			field = strings.ToValidUTF8(field[:MaxUnknownField], "") + "..."
		}
		fields = append(fields, strings.Clone(field))
	}
	return fields
}

// MaxDigits bounds the numbers of an object. Reading a quantity takes memory that grows with the square of its length:
// 2 GB for the megabyte that the API server stores.
const MaxDigits = 4 << 10

// checkNumbers refuses a text with a number that is too long to be read.
func checkNumbers(data []byte) error {
	digits := 0
	for _, c := range data {
		if digits++; (c < '0' || c > '9') && c != '.' {
			digits = 0
		}
		if digits > MaxDigits {
			return fmt.Errorf("a number has more than %d digits; write a shorter one", MaxDigits)
		}
	}
	return nil
}
