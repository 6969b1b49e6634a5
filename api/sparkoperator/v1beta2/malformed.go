// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	stdjson "encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"
)

// UnmarshalJSON keeps one application that cannot be decoded from hiding all others: the schema leaves parts of the
// spec open (pod templates), so the API server stores text where a list belongs, and a typed list that holds one such
// object would fail as a whole. Such an object is decoded without its spec, and MalformedSpec says why. What is open also
// keeps fields that mean nothing, which UnknownFields names.
func (in *SparkApplication) UnmarshalJSON(data []byte) error {
	type plain SparkApplication
	unknown, err := decode(data, (*plain)(in))
	in.UnknownFields = unknown
	if err == nil {
		return nil
	}
	var rest struct {
		plain
		Spec struct{} `json:"spec"`
	}
	if json.Unmarshal(data, &rest) != nil {
		return err // not the spec's fault
	}
	*in = SparkApplication(rest.plain)
	in.Spec = SparkApplicationSpec{}
	in.MalformedSpec = err.Error()
	return nil
}

// UnmarshalJSON does for a schedule, whose template is as open, what SparkApplication's does.
func (in *ScheduledSparkApplication) UnmarshalJSON(data []byte) error {
	type plain ScheduledSparkApplication
	unknown, err := decode(data, (*plain)(in))
	in.UnknownFields = unknown
	if err == nil {
		return nil
	}
	var rest struct {
		plain
		Spec struct{} `json:"spec"`
	}
	if json.Unmarshal(data, &rest) != nil {
		return err // not the spec's fault
	}
	*in = ScheduledSparkApplication(rest.plain)
	in.Spec = ScheduledSparkApplicationSpec{}
	in.MalformedSpec = err.Error()
	return nil
}

// decode decodes an object whose numbers can be read, and names the unknown fields of its spec.
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
	maxUnknownFields = 10
	maxUnknownField  = 200
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
		if len(fields) == maxUnknownFields {
			return append(fields, "...")
		}
		if len(field) > maxUnknownField {
			field = strings.ToValidUTF8(field[:maxUnknownField], "") + "..."
		}
		fields = append(fields, strings.Clone(field))
	}
	return fields
}

// maxDigits bounds the numbers of an object. Reading a quantity takes memory that grows with the square of its length:
// 2 GB for the megabyte that the API server stores.
const maxDigits = 4 << 10

// checkNumbers refuses a text with a number that is too long to be read.
func checkNumbers(data []byte) error {
	digits := 0
	for _, c := range data {
		if digits++; (c < '0' || c > '9') && c != '.' {
			digits = 0
		}
		if digits > maxDigits {
			return fmt.Errorf("a number has more than %d digits; write a shorter one", maxDigits)
		}
	}
	return nil
}
