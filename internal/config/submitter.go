// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// Submitter says what records in annotations which user created an object. What it says is trusted: statuses, schedulers and the log of
// refusals name that user.
type Submitter struct {
	// From is AdmissionPolicy for the MutatingAdmissionPolicy of config/submitter, or Webhook for the operator's webhook, whose
	// configurations must have the failurePolicy Fail then. Empty, the default, means that the annotations are ignored.
	From lifecycle.SubmitterSource `json:"from,omitempty"`
	// OperatorUser is the controller's user, such as system:serviceaccount:spark-operator:spark-operator-controller. The webhook needs it:
	// what that user creates are runs of schedules, which have the submitter of their schedule.
	OperatorUser string `json:"operatorUser,omitempty"`
}

func (s Submitter) validate() error {
	switch s.From {
	case lifecycle.SubmitterNotRecorded, lifecycle.SubmitterFromPolicy:
		return nil
	case lifecycle.SubmitterFromWebhook:
		if s.OperatorUser == "" {
			return fmt.Errorf(`submitter.operatorUser: write the controller's user, such as "system:serviceaccount:spark-operator:spark-operator-controller"`)
		}
		return nil
	}
	return fmt.Errorf("submitter.from: %q: must be %q or %q; leave it out if neither is installed", s.From, lifecycle.SubmitterFromPolicy, lifecycle.SubmitterFromWebhook)
}
