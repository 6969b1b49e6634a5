// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestNewIdentity(t *testing.T) {
	id := NewIdentity("uid", 3, time.Unix(1700000000, 0))
	const uuidPattern = `^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`
	for _, test := range []struct{ name, value, pattern string }{
		{"AppID", id.AppID, `^spark-[0-9a-f]{32}$`},
		{"SubmissionID", id.SubmissionID, uuidPattern},
		{"NameID", id.NameID, `^[0-9a-f]{16}$`},
		{"ConfigMapID", id.ConfigMapID, `^[0-9a-f]{16}$`},
		{"ServiceID", id.ServiceID, `^[0-9a-f]{16}$`},
		{"LocalDirID", id.LocalDirID, uuidPattern},
	} {
		if !regexp.MustCompile(test.pattern).MatchString(test.value) {
			t.Errorf("%s is %q, want %s", test.name, test.value, test.pattern)
		}
	}
	again := NewIdentity("uid", 3, time.Unix(1700000000, 0))
	if diff := cmp.Diff(id, again); diff != "" {
		t.Errorf("the same attempt has other ids (-first +second):\n%s", diff)
	}
}

// The ids must never change between versions of the operator: a new version meets the objects of the old one.
func TestNewIdentityIsStable(t *testing.T) {
	got := NewIdentity("7b0f0a52-0000-4000-8000-000000000001", 1, time.Unix(1700000000, 0))
	want := Identity{
		AppID:        "spark-72a8b395fbf635dbe84b7e48fe468fce",
		SubmissionID: "91384cdc-6850-5a0e-a2b4-df3e3dd0014d",
		NameID:       "e1fa41bfa1d96070",
		ConfigMapID:  "716ba967aba26294",
		ServiceID:    "fe0e0c7cee2effa5",
		LocalDirID:   "33f00f57-6120-515f-a39f-76bf9a0624d2",
		SubmitTime:   time.Unix(1700000000, 0),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

func TestNewIdentityIsDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, uid := range []types.UID{"a", "a/1", "b", ""} {
		for attempt := range int32(12) {
			id := NewIdentity(uid, attempt, time.Time{})
			for _, value := range []string{id.AppID, id.SubmissionID, id.NameID, id.ConfigMapID, id.ServiceID, id.LocalDirID} {
				owner := string(uid) + "#" + time.Duration(attempt).String()
				if other, ok := seen[value]; ok {
					t.Errorf("%s of %s is taken by %s", value, owner, other)
				}
				seen[value] = owner
			}
		}
	}
}

func TestNewIdentityIgnoresTime(t *testing.T) {
	early, late := NewIdentity("uid", 1, time.Unix(1, 0)), NewIdentity("uid", 1, time.Unix(2, 0))
	early.SubmitTime = late.SubmitTime
	if diff := cmp.Diff(late, early); diff != "" {
		t.Errorf("the time of submission changes ids:\n%s", diff)
	}
}
