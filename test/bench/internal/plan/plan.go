// SPDX-License-Identifier: Apache-2.0

// Package plan reads which scenarios are to be run, and how large.
package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Step is a scenario with its size, which is a number of applications.
type Step struct {
	Scenario string
	Size     int
}

func (s Step) String() string { return s.Scenario + ":" + strconv.Itoa(s.Size) }

// Parse reads a list such as "latency:40,burst:100,restart". A scenario without a size has its usual one.
func Parse(list string, usual map[string]int) ([]Step, error) {
	var steps []Step
	var errs []error
	for text := range strings.SplitSeq(list, ",") {
		step, err := parse(strings.TrimSpace(text), usual)
		steps, errs = append(steps, step), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return steps, nil
}

func parse(text string, usual map[string]int) (Step, error) {
	name, number, sized := strings.Cut(text, ":")
	size, known := usual[name]
	if !known {
		var names []string
		for name := range usual {
			names = append(names, name)
		}
		slices.Sort(names)
		return Step{}, fmt.Errorf("scenario %q: must be one of %s, with a number of applications behind a colon: latency:40", name, strings.Join(names, ", "))
	}
	if sized {
		var err error
		if size, err = strconv.Atoi(number); err != nil || size < 1 {
			return Step{}, fmt.Errorf("scenario %q: %q: must be a number of applications, at least 1", text, number)
		}
	}
	return Step{Scenario: name, Size: size}, nil
}
