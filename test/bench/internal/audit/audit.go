// SPDX-License-Identifier: Apache-2.0

// Package audit counts the API calls of one user from the API server's audit log.
package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Policy makes the API server log each call of a user once when it is answered, and a watch once more when it begins.
// Others' calls are not logged, so that the log costs little.
func Policy(user string) string {
	return fmt.Sprintf(`apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, Panic]
rules:
- {level: Metadata, users: [%q]}
- {level: None}
`, user)
}

// Call is the key under which calls are counted together.
type Call struct {
	Verb, Resource string
}

func (c Call) String() string { return c.Verb + " " + c.Resource }

// Calls are numbers of calls.
type Calls struct {
	// Sent are all calls, with any response.
	Sent map[Call]int
	// Done are the successful calls.
	Done map[Call]int
}

// entry is the decoded part of a line of the audit log.
type entry struct {
	Stage     string `json:"stage"`
	Verb      string `json:"verb"`
	ObjectRef *struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// Parse counts the calls of a log. It leaves an incomplete last line for later; size is the number of read bytes.
func Parse(log []byte) (calls Calls, size int, err error) {
	calls = Calls{Sent: map[Call]int{}, Done: map[Call]int{}}
	for {
		line, _, complete := bytes.Cut(log[size:], []byte("\n"))
		if !complete {
			return calls, size, nil
		}
		size += len(line) + 1
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return calls, size, fmt.Errorf("read audit log: %q: %w", line, err)
		}
		calls.count(e)
	}
}

// count counts a watch when it begins, and any other call when it is answered.
func (c Calls) count(e entry) {
	if begins := e.Stage == "ResponseStarted"; begins != (e.Verb == "watch") {
		return
	}
	call := Call{Verb: e.Verb, Resource: "(no resource)"}
	if o := e.ObjectRef; o != nil && o.Resource != "" {
		call.Resource = o.Resource
		if o.Subresource != "" {
			call.Resource += "/" + o.Subresource
		}
	}
	c.Sent[call]++
	if code := e.ResponseStatus.Code; code >= 200 && code < 300 {
		c.Done[call]++
	}
}

// Add adds other calls.
func (c Calls) Add(other Calls) {
	for call, n := range other.Sent {
		c.Sent[call] += n
	}
	for call, n := range other.Done {
		c.Done[call] += n
	}
}

// Kind is the type of a call by its cost for the API server: one object, all objects, a stream of changes, a write.
type Kind string

// The kinds of calls.
const (
	Get   Kind = "get"
	List  Kind = "list"
	Watch Kind = "watch"
	Write Kind = "write"
)

// Kind is the call's kind.
func (c Call) Kind() Kind {
	switch c.Verb {
	case "get":
		return Get
	case "list":
		return List
	case "watch":
		return Watch
	}
	return Write
}

// Of counts the calls of a kind, without those for the lease, which are made at a constant rate.
func (c Calls) Of(kind Kind) int {
	n := 0
	for call, times := range c.Sent {
		if call.Kind() == kind && call.Resource != "leases" {
			n += times
		}
	}
	return n
}

// All counts all calls but those for the lease.
func (c Calls) All() int { return c.Of(Get) + c.Of(List) + c.Of(Watch) + c.Of(Write) }

// Events counts sent and stored events.
func (c Calls) Events() (sent, stored int) {
	create := Call{Verb: "create", Resource: "events"}
	return c.Sent[create], c.Done[create]
}

// Sorted are the calls that were made, the most frequent first.
func (c Calls) Sorted() []Call {
	out := make([]Call, 0, len(c.Sent))
	for call := range c.Sent {
		out = append(out, call)
	}
	slices.SortFunc(out, func(a, b Call) int {
		if n := c.Sent[b] - c.Sent[a]; n != 0 {
			return n
		}
		return strings.Compare(a.String(), b.String())
	})
	return out
}
