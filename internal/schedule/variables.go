// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Names of variables. Each also exists with the suffixes.
const (
	scheduledTime     = "SCHEDULED_TIME"
	dataIntervalStart = "DATA_INTERVAL_START"
	dataIntervalEnd   = "DATA_INTERVAL_END"

	asDate = "_DATE"
	asUnix = "_UNIX"
)

// variable matches a schedule variable in a text, known or not. It does not match other variables, such as those of Kubernetes.
var variable = regexp.MustCompile(`\$?\$\(((?:SCHEDULED_|DATA_INTERVAL_)[A-Za-z0-9_]*)\)`)

// Variables returns the names of the variables for templates.
func Variables() []string {
	var all []string
	for _, name := range []string{scheduledTime, dataIntervalStart, dataIntervalEnd} {
		all = append(all, name, name+asDate, name+asUnix)
	}
	return all
}

// UnknownVariables returns the unknown variables in a text.
func UnknownVariables(text string) []string {
	var unknown []string
	for _, use := range variable.FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(use[0], "$$") && !slices.Contains(Variables(), use[1]) {
			unknown = append(unknown, use[0])
		}
	}
	return unknown
}

// Expand replaces the variables in a string of a run's template. $$(NAME) becomes $(NAME), as in Kubernetes.
func (s Start) Expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(use string) string {
		if strings.HasPrefix(use, "$$") {
			return use[1:]
		}
		return s.value(strings.TrimSuffix(strings.TrimPrefix(use, "$("), ")"), use)
	})
}

func (s Start) value(name, otherwise string) string {
	for _, v := range []struct {
		name string
		at   time.Time
	}{{scheduledTime, s.Tick}, {dataIntervalStart, s.From}, {dataIntervalEnd, s.To}} {
		if v.at.IsZero() && strings.HasPrefix(name, v.name) {
			return ""
		}
		switch name {
		case v.name:
			return v.at.Format(time.RFC3339)
		case v.name + asDate:
			return v.at.Format(time.DateOnly)
		case v.name + asUnix:
			return strconv.FormatInt(v.at.Unix(), 10)
		}
	}
	return otherwise
}

func unknownVariable(use string) string {
	return fmt.Sprintf("unknown variable %s; variables are %s, and $$(NAME) is a literal $(NAME)", use, strings.Join(Variables(), ", "))
}
