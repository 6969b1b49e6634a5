// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Submitter is the user who created an application, as admission recorded it. Its zero value says that nothing certain is known.
type Submitter struct {
	User   string
	Groups []string
	Source SubmitterSource
}

// SubmitterSource is what recorded a submitter when the object was created.
type SubmitterSource string

// What records submitters. Only what is in the way of every request of a user can be trusted.
const (
	// SubmitterNotRecorded : nothing does, and users could write what they like.
	SubmitterNotRecorded SubmitterSource = ""
	// SubmitterFromPolicy : the MutatingAdmissionPolicy of config/submitter.
	SubmitterFromPolicy SubmitterSource = "AdmissionPolicy"
	// SubmitterFromWebhook : the operator's webhook, with the failurePolicy Fail.
	SubmitterFromWebhook SubmitterSource = "Webhook"
)

// SubmitterKeys are the annotations that hold a submitter.
type SubmitterKeys struct {
	// User holds the name, Groups the groups, one on each line. Both are "" if the family has none.
	User, Groups string
}

// Bounds of what is stored of a submitter, in stored bytes. A name that is longer is no name: cut off, it would be another user's.
const (
	maxSubmitter = 256
	maxGroups    = 1 << 10
)

// Submitters says what records who created an object. Its zero value believes nothing.
type Submitters struct {
	Source SubmitterSource
	// Since is when Source came into force: the annotations of older objects are their authors' own. Zero is for always.
	Since time.Time
	// Joined returns when a namespace came under Source, if it was there before; zero for one that always was. Nil is for all of them.
	Joined func(namespace string) time.Time
}

// Of reads what admission wrote into the annotations of an object, if it was in force. One that is not stored yet is new.
func (r Submitters) Of(o metav1.Object, keys SubmitterKeys) Submitter {
	annotations, created := o.GetAnnotations(), o.GetCreationTimestamp()
	user := annotations[keys.User]
	if r.Source == SubmitterNotRecorded || !created.IsZero() && created.Time.Before(r.since(o.GetNamespace())) ||
		keys.User == "" || user == "" || storedLength(user) > maxSubmitter {
		return Submitter{}
	}
	s := Submitter{User: user, Source: r.Source}
	room := maxGroups
	for group := range strings.SplitSeq(annotations[keys.Groups], "\n") {
		if room -= storedLength(group) + len(`"",`); room < 0 {
			break
		}
		if group != "" {
			s.Groups = append(s.Groups, group)
		}
	}
	return s
}

// since is when Source came into force in a namespace.
func (r Submitters) since(namespace string) time.Time {
	if r.Joined != nil {
		if joined := r.Joined(namespace); joined.After(r.Since) {
			return joined
		}
	}
	return r.Since
}

// storedLength is the StoredSize of a text.
func storedLength(text string) (n int) {
	for _, r := range text {
		n += StoredSize(r)
	}
	return n
}

// String is for messages and logs.
func (s Submitter) String() string {
	if s.User == "" {
		return "unknown"
	}
	return s.User
}
