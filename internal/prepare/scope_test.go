/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package prepare

import (
	"testing"

	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// The scope of an attempt has the marks and names that its objects have.
func TestScope(t *testing.T) {
	o := pi()
	cases := map[string]struct {
		reason         string
		record         lifecycle.Record
		submission     string
		driver         string
		attempt        int32
		wantSparkAppID string
	}{
		"new": {
			reason: "attempt 1 is implied", submission: spark.NewIdentity(o.UID, 1, start).SubmissionID, driver: "pi-driver",
			wantSparkAppID: spark.NewIdentity(o.UID, 1, start).AppID,
		},
		"third": {
			reason: "each attempt has a mark of its own", record: lifecycle.Record{Attempt: 3, DriverName: "pi-driver"},
			submission: spark.NewIdentity(o.UID, 3, start).SubmissionID, driver: "pi-driver", attempt: 3,
			wantSparkAppID: spark.NewIdentity(o.UID, 3, start).AppID,
		},
		"taken over": {
			reason: "the mark on record goes before ours, and so does the driver's name", submission: "foreign", driver: "other", attempt: 1,
			record:         lifecycle.Record{Attempt: 1, Executions: 1, SubmissionID: "foreign", DriverName: "other"},
			wantSparkAppID: spark.NewIdentity(o.UID, 1, start).AppID,
		},
		"renamed before it ran": {
			reason: "no driver has the name on record", record: lifecycle.Record{Attempt: 1, DriverName: "former"}, attempt: 1,
			submission: spark.NewIdentity(o.UID, 1, start).SubmissionID, driver: "pi-driver", wantSparkAppID: spark.NewIdentity(o.UID, 1, start).AppID,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app, problems := kubeflow.Attempt(o, tc.record)
			s := NewScope(app, problems, tc.record, kubeflow.Wish(o, tc.record), start)
			if s.Identity.SubmissionID != tc.submission || s.Wish.SubmissionID != tc.submission || s.Wish.SparkAppID != tc.wantSparkAppID {
				t.Errorf("%s: %+v", tc.reason, s.Identity)
			}
			if s.DriverName() != tc.driver || s.Wish.Executors != 1 {
				t.Errorf("%s: driver %s, %d executors", tc.reason, s.DriverName(), s.Wish.Executors)
			}
			if r := s.Request(); r.Attempt != tc.attempt || r.SpecHash != s.Wish.SpecHash || r.Identity != s.Identity {
				t.Errorf("%s: %+v", tc.reason, r)
			}
		})
	}
}
