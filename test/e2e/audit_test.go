// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// audit is what an audit log reports our service accounts.
type audit struct {
	used    map[right]bool
	denials []denial
	losses  []loss
}

// denial is a request that was refused.
type denial struct {
	right
	// home and account are the namespace and the name of who asked, namespace what was asked for.
	home, account, namespace string
	at                       time.Time
}

// loss is the deletion of what gave an account of a namespace its rights, or of the namespace, with all that is in it.
type loss struct {
	namespace, account string
	at                 time.Time
}

// auditEvent is what interests us in a line of an audit log (audit.k8s.io/v1, Event).
type auditEvent struct {
	User                                     struct{ Username string }
	Verb                                     string
	ObjectRef                                *struct{ Namespace, Name, APIGroup, Resource, Subresource string }
	ResponseStatus                           struct{ Code int }
	RequestReceivedTimestamp, StageTimestamp time.Time
	Annotations                              map[string]string
}

// read adds what a file tells.
func (a *audit) read(log io.Reader) error {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event auditEvent
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return err
		}
		if event.ObjectRef != nil && event.ObjectRef.Resource != "" {
			a.lost(event)
			a.asked(event)
		}
	}
	return lines.Err()
}

// lost records a deletion that takes rights away. A binding of ours has the name of the account.
func (a *audit) lost(event auditEvent) {
	o := event.ObjectRef
	if event.Verb != "delete" || event.ResponseStatus.Code >= 300 {
		return
	}
	switch o.Resource {
	case "rolebindings", "serviceaccounts":
		a.losses = append(a.losses, loss{namespace: o.Namespace, account: o.Name, at: event.RequestReceivedTimestamp})
	case "namespaces":
		a.losses = append(a.losses, loss{namespace: o.Name, at: event.RequestReceivedTimestamp})
	}
}

// asked records a request of one of our service accounts.
func (a *audit) asked(event auditEvent) {
	home, account, _ := strings.Cut(strings.TrimPrefix(event.User.Username, "system:serviceaccount:"), ":")
	who := part(account)
	if who == "" {
		return
	}
	resource := event.ObjectRef.Resource
	if event.ObjectRef.Subresource != "" {
		resource += "/" + event.ObjectRef.Subresource
	}
	r := right{who, event.ObjectRef.APIGroup, resource, event.Verb}
	switch event.Annotations["authorization.k8s.io/decision"] {
	case "allow":
		a.used[r] = true
	case "forbid":
		a.denials = append(a.denials, denial{right: r, home: home, account: account, namespace: event.ObjectRef.Namespace, at: event.StageTimestamp})
	}
}

// part returns which of our roles an account has. The releases of tests have names of their own in front.
func part(account string) string {
	switch {
	case strings.HasSuffix(account, "-controller"):
		return "controller"
	case strings.HasSuffix(account, "-webhook"):
		return "webhook"
	case account == "spark", strings.HasSuffix(account, "-spark"):
		return "driver" // its rights are those that Spark's own documentation names; nothing may be refused
	}
	return ""
}

const (
	// ending is how long a pod may take to end after it has lost its rights; it has at most half of that by its specification.
	ending = time.Minute
	// together is how far the deletions of an uninstallation lie apart: those in the namespaces of jobs may be the first.
	together = 2 * time.Second
)

// denied are the rights that were asked for in vain, but for those of who is on the way out: an uninstallation takes the
// rights first, and a namespace that is deleted loses them and its pods in any order.
func (a *audit) denied() map[right]bool {
	out := map[right]bool{}
	for _, r := range a.denials {
		if !slices.ContainsFunc(a.losses, r.follows) {
			out[r.right] = true
		}
	}
	return out
}

// follows reports whether a request was refused because of a loss.
func (r denial) follows(l loss) bool {
	if r.at.Before(l.at.Add(-together)) || r.at.After(l.at.Add(ending)) {
		return false
	}
	if l.account == "" {
		return l.namespace == r.home || l.namespace == r.namespace
	}
	return l.namespace == r.home && l.account == r.account
}

// line is a line of an audit log, so many seconds after its beginning: what a service account, or else an administrator, has
// asked about "resource/subresource.group", or "resource:name" of what it deletes.
func line(after time.Duration, who, verb, namespace, resource, group, decision string) string {
	user := "admin"
	if who != "" {
		user = "system:serviceaccount:" + who
	}
	resource, name, _ := strings.Cut(resource, ":")
	resource, subresource, _ := strings.Cut(resource, "/")
	code := map[string]int{"allow": 200, "forbid": 403}[decision]
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(after)
	return fmt.Sprintf(`{"user":{"username":%q},"verb":%q,"objectRef":{"namespace":%q,"name":%q,"apiGroup":%q,"resource":%q,"subresource":%q},"responseStatus":{"code":%d},`+
		`"requestReceivedTimestamp":%q,"stageTimestamp":%q,"annotations":{"authorization.k8s.io/decision":%q}}`+"\n",
		user, verb, namespace, name, group, resource, subresource, code,
		at.Add(-5*time.Millisecond).Format("2006-01-02T15:04:05.000000Z07:00"), at.Format("2006-01-02T15:04:05.000000Z07:00"), decision)
}

func TestDenied(t *testing.T) {
	const rbac = "rbac.authorization.k8s.io"
	refused := func(after time.Duration) string {
		return line(after, "ops:beta-controller", "update", "ops", "leases", "coordination.k8s.io", "forbid")
	}
	unbound := line(10*time.Second, "", "delete", "ops", "rolebindings:beta-controller", rbac, "allow")
	update := []right{{"controller", "coordination.k8s.io", "leases", "update"}}
	cases := map[string]struct {
		reason, log string
		want        []right
	}{
		"Refused":  {reason: "a role grants it, in another namespace or of another release", log: refused(time.Second), want: update},
		"Leaving":  {reason: "its rights are gone, and its pod is not", log: unbound + refused(11*time.Second)},
		"Early":    {reason: "in the same moment: the deletion is told when it is over", log: refused(9999*time.Millisecond) + unbound},
		"Before":   {reason: "nothing was deleted yet", log: refused(5*time.Second) + unbound, want: update},
		"Later":    {reason: "no pod takes that long: it was installed again", log: unbound + refused(90*time.Second), want: update},
		"Another":  {reason: "a release beside the one that was uninstalled", log: line(0, "", "delete", "ops", "rolebindings:alpha-controller", rbac, "allow") + refused(time.Second), want: update},
		"Namesake": {reason: "a release of the same name elsewhere", log: line(0, "", "delete", "other", "rolebindings:beta-controller", rbac, "allow") + refused(time.Second), want: update},
		"Account":  {reason: "an account without a binding of its name", log: line(0, "", "delete", "ops", "serviceaccounts:beta-controller", "", "allow") + refused(time.Second)},
		"Kept":     {reason: "who wanted to delete it had no right to", log: line(0, "", "delete", "ops", "rolebindings:beta-controller", rbac, "forbid") + refused(time.Second), want: update},
		"Other":    {reason: "a thing that gives no rights", log: line(0, "", "delete", "ops", "configmaps:beta-controller", "", "allow") + refused(time.Second), want: update},
		"Home":     {reason: "the namespace of the release goes", log: line(0, "", "delete", "", "namespaces:ops", "", "allow") + refused(time.Second)},
		"Jobs": {reason: "the namespace that it looks at goes", log: line(0, "", "delete", "", "namespaces:jobs", "", "allow") +
			line(time.Second, "ops:beta-controller", "watch", "jobs", "pods", "", "forbid")},
		"OtherNamespace": {reason: "another namespace goes", log: line(0, "", "delete", "", "namespaces:jobs", "", "allow") + refused(time.Second), want: update},
		"ChartsDriver":   {reason: "drivers of the chart have the name of the release in front", log: line(0, "jobs:beta-spark", "create", "jobs", "pods", "", "forbid"), want: []right{{"driver", "", "pods", "create"}}},
		"Driver":         {reason: "and those of kustomize have not", log: line(0, "jobs:spark", "create", "jobs", "pods", "", "forbid"), want: []right{{"driver", "", "pods", "create"}}},
		"Webhook":        {reason: "the webhook's", log: line(0, "ops:beta-webhook", "list", "ops", "secrets", "", "forbid"), want: []right{{"webhook", "", "secrets", "list"}}},
		"NotOurs":        {reason: "whatever else runs there", log: line(0, "jobs:default", "list", "jobs", "secrets", "", "forbid")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			seen := &audit{used: map[right]bool{}}
			if err := seen.read(strings.NewReader(tc.log)); err != nil {
				t.Fatal(err)
			}
			want := map[right]bool{}
			for _, r := range tc.want {
				want[r] = true
			}
			if diff := cmp.Diff(want, seen.denied(), cmp.AllowUnexported(right{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
