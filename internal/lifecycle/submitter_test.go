// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What names the creator of an object that is older than what records it was written by its author.
func TestSubmitterOfOlderObjects(t *testing.T) {
	since := time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
	recorded := Submitters{Source: SubmitterFromPolicy, Since: since}
	joined := recorded
	joined.Joined = func(namespace string) time.Time {
		return map[string]time.Time{"late": since.Add(time.Hour), "early": since.Add(-time.Hour)}[namespace]
	}
	cases := map[string]struct {
		reason    string
		recorded  Submitters
		namespace string
		created   time.Time
		want      string
	}{
		"Older":     {reason: "it is the author's own word", recorded: recorded, created: since.Add(-time.Second)},
		"Newer":     {reason: "admission has written it", recorded: recorded, created: since, want: "ann"},
		"NotStored": {reason: "the webhook and the commands judge what is to be created", recorded: recorded, want: "ann"},
		"Always":    {reason: "there was no time without it", recorded: Submitters{Source: SubmitterFromPolicy}, created: since, want: "ann"},
		"Joined":    {reason: "its namespace was not covered yet", recorded: joined, namespace: "late", created: since.Add(time.Minute)},
		"Covered":   {reason: "its namespace was", recorded: joined, namespace: "late", created: since.Add(2 * time.Hour), want: "ann"},
		"Both":      {reason: "the later time counts", recorded: joined, namespace: "early", created: since.Add(-time.Minute)},
		"Nothing":   {reason: "nothing keeps users from writing it", created: since},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &metav1.ObjectMeta{Namespace: tc.namespace, CreationTimestamp: metav1.NewTime(tc.created), Annotations: map[string]string{"user": "ann"}}
			if got := tc.recorded.Of(o, SubmitterKeys{User: "user", Groups: "groups"}); got.User != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got.User, tc.want)
			}
		})
	}
}

// A name that is too long is no name, and of the groups the first are kept: cut off, either would be another's.
func TestSubmitterIsBounded(t *testing.T) {
	const source = SubmitterFromWebhook
	keys := SubmitterKeys{User: "user", Groups: "groups"}
	longest := strings.Repeat("x", maxSubmitter)
	group := strings.Repeat("g", maxGroups/2-len(`"",`))
	cases := map[string]struct {
		reason       string
		keys         SubmitterKeys
		user, groups string
		want         Submitter
	}{
		"Plain":    {reason: "one group on each line", keys: keys, user: "ann", groups: "a\nb", want: Submitter{User: "ann", Groups: []string{"a", "b"}, Source: source}},
		"Empty":    {reason: "an empty line is no group", keys: keys, user: "ann", groups: "\na\n\n", want: Submitter{User: "ann", Groups: []string{"a"}, Source: source}},
		"Longest":  {reason: "there is just room", keys: keys, user: longest, want: Submitter{User: longest, Source: source}},
		"TooLong":  {reason: "cut off, it would be another user", keys: keys, user: longest + "x"},
		"Escaped":  {reason: "what is stored counts", keys: keys, user: strings.Repeat("<", maxSubmitter/6+1)},
		"Room":     {reason: "there is just room for two", keys: keys, user: "ann", groups: group + "\n" + group + "\na", want: Submitter{User: "ann", Groups: []string{group, group}, Source: source}},
		"NoRoom":   {reason: "none is left out before one that is kept", keys: keys, user: "ann", groups: "a\n" + strings.Repeat("g", maxGroups) + "\nb", want: Submitter{User: "ann", Groups: []string{"a"}, Source: source}},
		"Nobody":   {reason: "groups alone are nobody", keys: keys, groups: "a"},
		"NoFamily": {reason: "the family has no such annotation", user: "ann"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &metav1.ObjectMeta{Annotations: map[string]string{"user": tc.user, "groups": tc.groups, "": "ann"}}
			if diff := cmp.Diff(tc.want, Submitters{Source: source}.Of(o, tc.keys)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if got := (Submitter{}).String() + " " + (Submitter{User: "ann"}).String(); got != "unknown ann" {
		t.Errorf("in messages: %s", got)
	}
}
