// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

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
