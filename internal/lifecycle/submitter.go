// SPDX-License-Identifier: Apache-2.0

package lifecycle

import "strings"

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

// SubmitterOf reads what admission wrote into the annotations of an object, where source says that it does.
func SubmitterOf(annotations map[string]string, keys SubmitterKeys, source SubmitterSource) Submitter {
	user := annotations[keys.User]
	if source == SubmitterNotRecorded || keys.User == "" || user == "" || storedLength(user) > maxSubmitter {
		return Submitter{}
	}
	s := Submitter{User: user, Source: source}
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
