// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/api/lenient"
)

const mebibyte = 1 << 20

// sizeUnits are the suffixes of Spark's sizes, in bytes.
var sizeUnits = map[string]int64{
	"b": 1,
	"k": 1 << 10, "kb": 1 << 10,
	"m": 1 << 20, "mb": 1 << 20,
	"g": 1 << 30, "gb": 1 << 30,
	"t": 1 << 40, "tb": 1 << 40,
	"p": 1 << 50, "pb": 1 << 50,
}

// ParseSize parses one of Spark's sizes ("512", "2g", "1500k") and returns it in multiples of unit bytes, rounded down. A number without suffix counts in them.
// It returns false for all other texts, including fractions.
func ParseSize(text string, unit int64) (int64, bool) {
	text = strings.ToLower(trimJava(text))
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	number, err := strconv.ParseInt(text[:digits], 10, 64)
	if err != nil {
		return 0, false
	}
	factor := unit
	if suffix := text[digits:]; suffix != "" {
		var ok bool
		if factor, ok = sizeUnits[suffix]; !ok {
			return 0, false
		}
	}
	if factor <= unit {
		return number / (unit / factor), true
	}
	if number > math.MaxInt64/factor {
		return 0, false
	}
	return number * (factor / unit), true
}

// ParseDouble parses a number as Java's Double.parseDouble does. It accepts spaces around the number, a type suffix, and missing digits on one side of the
// point.
func ParseDouble(text string) (float64, bool) {
	text = trimJava(text)
	switch strings.TrimLeft(text, "+-") {
	case "NaN", "Infinity":
	default:
		if strings.Trim(text, "+-.0123456789eEdDfF") != "" {
			return 0, false
		}
		if text != "" && strings.ContainsRune("dDfF", rune(text[len(text)-1])) {
			text = text[:len(text)-1]
		}
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(value, 0) {
		return 0, false
	}
	return value, true
}

// formatDouble formats a number as Java's Double.toString does: always with a digit after the point, and with an exponent outside of [0.001, 10000000).
func formatDouble(value float64) string {
	switch {
	case math.IsNaN(value):
		return "NaN"
	case math.IsInf(value, 1):
		return "Infinity"
	case math.IsInf(value, -1):
		return "-Infinity"
	}
	if abs := math.Abs(value); abs == 0 || abs >= 1e-3 && abs < 1e7 {
		text := strconv.FormatFloat(value, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return text
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(value, 'e', -1, 64), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	sign := ""
	if exponent[0] == '-' {
		sign = "-"
	}
	return mantissa + "E" + sign + strings.TrimLeft(exponent[1:], "0")
}

// truncate converts to a Java int: toward zero, saturating, NaN to 0.
func truncate(value float64) int64 {
	switch {
	case math.IsNaN(value):
		return 0
	case value >= math.MaxInt32:
		return math.MaxInt32
	case value <= math.MinInt32:
		return math.MinInt32
	}
	return int64(value)
}

// splitList splits at commas, trims the elements and drops empty ones, as Spark does.
func splitList(text string) []string {
	var list []string
	for element := range strings.SplitSeq(text, ",") {
		if element = trimJava(element); element != "" {
			list = append(list, element)
		}
	}
	return list
}

// splitJava splits as Java's String.split does, without empty strings at the end.
func splitJava(text, separator string) []string {
	if text == "" {
		return []string{""}
	}
	parts := strings.Split(text, separator)
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}

// maxQuantity bounds the text of a quantity, in bytes. Kubernetes accepts longer ones, and parsing takes memory that grows with the square of the length.
const maxQuantity = 64

// ParseQuantity parses a quantity of Kubernetes. It refuses long texts, and exponents that are too large to compute with.
func ParseQuantity(text string) (resource.Quantity, error) {
	if len(text) > maxQuantity {
		return resource.Quantity{}, resource.ErrFormatWrong
	}
	if lenient.Endless(text) {
		return resource.Quantity{}, lenient.ErrEndless
	}
	return resource.ParseQuantity(text)
}
