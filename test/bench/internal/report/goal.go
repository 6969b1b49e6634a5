// SPDX-License-Identifier: Apache-2.0

package report

// Goal is what a number is to be.
type Goal struct {
	// What is the number's name.
	What string `json:"-"`
	// Value is the most that it is to be, or the least with AtLeast. It is in the number's unit, or times the limit of the same run with OfLimit.
	Value   float64 `json:"value"`
	AtLeast bool    `json:"atLeast,omitempty"`
	OfLimit bool    `json:"ofLimit,omitempty"`
	// Met is whether the number is as it should be.
	Met bool `json:"met"`
}

// judge says whether the goal is met, if that can be told of the number.
func (g *Goal) judge(r Row) bool {
	value := r.Value
	if g.OfLimit {
		ratio, there := r.Ratio()
		if !there {
			return false
		}
		value = ratio
	}
	g.Met = value <= g.Value
	if g.AtLeast {
		g.Met = value >= g.Value
	}
	return true
}

// String is the goal as a person reads it: "≤ 1.15 × limit: met".
func (g *Goal) String() string {
	if g == nil {
		return ""
	}
	text := "≤ " + Number(g.Value)
	if g.AtLeast {
		text = "≥ " + Number(g.Value)
	}
	if g.OfLimit {
		text += " × limit"
	}
	if g.Met {
		return text + ": met"
	}
	return text + ": not met"
}
