// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Submitter is the user who created an application, as recorded by admission. The zero value is an unknown user.
type Submitter struct {
	User   string
	Groups []string
	Source SubmitterSource
}

// SubmitterSource is the source that records submitters.
type SubmitterSource string

// The sources of submitters. A source can be trusted only if every user's request passes it.
const (
	// SubmitterNotRecorded : no source; users can write any name.
	SubmitterNotRecorded SubmitterSource = ""
	// SubmitterFromPolicy : the MutatingAdmissionPolicy of config/submitter.
	SubmitterFromPolicy SubmitterSource = "AdmissionPolicy"
	// SubmitterFromWebhook : the operator's webhook with the failurePolicy Fail.
	SubmitterFromWebhook SubmitterSource = "Webhook"
)

// SubmitterKeys are the annotations that hold a submitter.
type SubmitterKeys struct {
	// User holds the name, Groups the groups, one on each line. Both are "" in families without submitters.
	User, Groups string
}

// Bounds of a stored submitter, in stored bytes. A longer name is dropped, because a truncated one may name another user.
const (
	maxSubmitter = 256
	maxGroups    = 1 << 10
)

// Submitters configures the source of submitters. The zero value trusts no annotation.
type Submitters struct {
	Source SubmitterSource
	// Since is when Source took effect; zero for always. Annotations of older objects may be forged.
	Since time.Time
	// Joined returns when Source took effect in a namespace that existed before; zero for always. A nil function means always for all namespaces.
	Joined func(namespace string) time.Time
}

// Of returns the recorded submitter of an object, if Source was in effect when the object was created. An object without a creation time is new.
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

// since returns when Source took effect in a namespace.
func (r Submitters) since(namespace string) time.Time {
	if r.Joined != nil {
		if joined := r.Joined(namespace); joined.After(r.Since) {
			return joined
		}
	}
	return r.Since
}

// storedLength returns the stored size of a text, in bytes.
func storedLength(text string) (n int) {
	for _, r := range text {
		n += StoredSize(r)
	}
	return n
}

// String returns the user's name, or "unknown".
func (s Submitter) String() string {
	if s.User == "" {
		return "unknown"
	}
	return s.User
}
