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

package simulation

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// A thousand executors come, fail in all ways and go within a minute: the status stays small and is written rarely.
func TestExecutorChurn(t *testing.T) {
	const executors, minute = 1000, 60
	s := newScript(t)
	s.app(nil)
	s.work()
	s.runs()
	before := s.store.app().ResourceVersion
	writes, largest := 0, 0
	for n := range executors {
		s.churn(n)
		s.pass(minute * time.Second / executors)
		if app := s.store.app(); app.ResourceVersion != before {
			before = app.ResourceVersion
			writes++
			text, err := json.Marshal(app.Status)
			if err != nil {
				t.Fatal(err)
			}
			largest = max(largest, len(text))
		}
	}
	s.exits(0)
	s.pass(time.Minute)
	if largest == 0 || largest > statusLimit {
		t.Errorf("the status has up to %d bytes, at most %d are allowed", largest, statusLimit)
	}
	if most := minute / 3; writes > most {
		t.Errorf("%d status writes in a minute, at most %d are allowed", writes, most)
	}
	t.Logf("%d executors: %d status writes in %d s, at most %d bytes", executors, writes, minute, largest)
	s.ends()
}

// churn is the n-th executor and the end of one before it.
func (s *script) churn(n int) {
	p := s.driver()
	executor := func(n int) string {
		return fmt.Sprintf("a-rather-long-name-of-an-application-7f3c9a8e5d1b4c60-exec-%d", n)
	}
	e := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: executor(n), Labels: map[string]string{
			lifecycle.LabelApp: appName, lifecycle.LabelLaunchedBy: "true", spark.LabelRole: spark.RoleExecutor,
			lifecycle.LabelSubmission: p.Labels[lifecycle.LabelSubmission],
		}},
		Spec:   corev1.PodSpec{NodeName: "a", Containers: []corev1.Container{{Name: spark.ExecutorContainerName}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	s.store.create(e, s.second())
	const lives = 50
	if n < lives {
		return
	}
	old := s.store.pod(executor(n - lives))
	switch n % 3 {
	case 0:
		s.finish(old, 137, "OOMKilled", "")
	case 1:
		s.evict(old)
	default:
		s.store.remove(idOf(old))
	}
}
