// SPDX-License-Identifier: Apache-2.0

package lenient

import (
	"bytes"
	"fmt"
)

// Bounds of a spec. Two bytes of an object or a list may decode to a kilobyte: a list of empty containers of the maximum stored size would take 400 MB. The
// test of internal/admission measures the largest specs within these bounds.
const (
	MaxSpec   = 512 << 10
	MaxValues = 7_000
	// MaxNodes bounds the objects and lists among the values.
	MaxNodes = 1_500
)

// checkSize refuses an object whose spec is too large.
func checkSize(data []byte) error {
	nodes := bytes.Count(data, []byte{'{'}) + bytes.Count(data, []byte{'['})
	if len(data) <= MaxSpec && nodes <= MaxNodes && nodes+bytes.Count(data, []byte{','}) < MaxValues {
		return nil // these are upper bounds of all counts, and almost all objects are this small
	}
	var s sizer
	s.read(data)
	if s.bytes <= MaxSpec && s.values <= MaxValues && s.nodes <= MaxNodes {
		return nil
	}
	return fmt.Errorf("it has %d KiB with %d values, of which %d are objects and lists; "+
		"the operator reads at most %d KiB with %d values and %d objects and lists; "+
		"put data into a ConfigMap of your own and mount it", (s.bytes+1023)>>10, s.values, s.nodes, MaxSpec>>10, MaxValues, MaxNodes)
}

// sizer measures the spec of an object in one pass over its text, which may be invalid. It counts everything that a user can write outside of the metadata, so
// that no spelling of "spec" escapes.
type sizer struct {
	bytes, values, nodes int

	depth int
	// inSpec is set if the present member of the object counts. keyed is set if its name was read. began is the offset of its value.
	inSpec, keyed bool
	began         int
}

// notSpec lists the members that are not measured.
var notSpec = map[string]bool{"apiVersion": true, "kind": true, "metadata": true, "status": true}

func (s *sizer) read(data []byte) {
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			end := endOfString(data, i+1)
			if s.depth == 1 && !s.keyed {
				s.keyed, s.inSpec, s.began = true, !notSpec[string(data[i+1:end])], end
				s.count(s.inSpec)
			}
			i = end
		case '{', '[':
			s.depth++
			if s.inSpec {
				s.nodes++
				s.count(!closes(data[i+1:]))
			}
		case ',':
			if s.depth > 1 {
				s.count(s.inSpec)
				continue
			}
			s.end(i)
		case '}', ']':
			if s.depth--; s.depth == 0 {
				s.end(i)
			}
		}
	}
	s.end(len(data))
}

func (s *sizer) count(one bool) {
	if one {
		s.values++
	}
}

// end ends a member of the object.
func (s *sizer) end(at int) {
	if s.inSpec {
		s.bytes += at - s.began
	}
	s.inSpec, s.keyed = false, false
}

// endOfString returns the index of the closing quote of the string at from, or the length of the text if there is none.
func endOfString(data []byte, from int) int {
	for i := from; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(data)
}

// closes reports whether an opened list or object is empty.
func closes(data []byte) bool {
	for _, c := range data {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return c == '}' || c == ']'
		}
	}
	return true
}
