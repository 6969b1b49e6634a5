// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
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

// crowdLimit is how large a status may become while as many executors live as are told by name, in bytes of JSON.
const crowdLimit = 100 << 10

// A thousand executors start within a minute and run on: each of them is told, in few writes, and in the end only some are.
func TestThousandExecutors(t *testing.T) {
	const executors, minute = 1000, 60
	s := newScript(t)
	s.app(nil)
	s.work()
	s.runs()
	before, writes := s.store.app().ResourceVersion, 0
	for n := range executors {
		s.executor(n)
		s.pass(minute * time.Second / executors)
		if app := s.store.app(); app.ResourceVersion != before {
			before = app.ResourceVersion
			writes++
		}
	}
	s.pass(minute * time.Second)
	told := s.store.app().Status
	if n := len(told.ExecutorState); n != executors || int(told.Executors.Running) != executors {
		t.Errorf("%d executors are told by name and %d are counted, and %d run", n, told.Executors.Running, executors)
	}
	if most := minute / 3; writes > most {
		t.Errorf("%d status writes in a minute, at most %d are allowed", writes, most)
	}
	text, err := json.Marshal(told)
	if err != nil || len(text) > crowdLimit {
		t.Errorf("the status has %d bytes, at most %d are allowed; %v", len(text), crowdLimit, err)
	}
	s.exits(0)
	s.pass(time.Minute)
	over, err := json.Marshal(s.store.app().Status)
	if err != nil || len(over) > statusLimit {
		t.Errorf("after the end the status has %d bytes, at most %d are allowed; %v", len(over), statusLimit, err)
	}
	t.Logf("%d executors run: %d status writes in %d s, %d bytes, and %d after the end", executors, writes, minute, len(text), len(over))
	s.ends()
}

func executorName(n int) string {
	return fmt.Sprintf("a-rather-long-name-of-an-application-7f3c9a8e5d1b4c60-exec-%d", n)
}

// executor lets the n-th executor run.
func (s *script) executor(n int) {
	s.store.create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: executorName(n), Labels: map[string]string{
			v1beta2.LabelAppName: appName, v1beta2.LabelLaunchedBy: "true", spark.LabelRole: spark.RoleExecutor,
			v1beta2.LabelSubmissionID: s.driver().Labels[v1beta2.LabelSubmissionID],
		}},
		Spec:   corev1.PodSpec{NodeName: "a", Containers: []corev1.Container{{Name: spark.ExecutorContainerName}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}, s.second())
}

// churn is the n-th executor and the end of one before it.
func (s *script) churn(n int) {
	s.executor(n)
	const lives = 50
	if n < lives {
		return
	}
	old := s.store.pod(executorName(n - lives))
	switch n % 3 {
	case 0:
		s.finish(old, 137, "OOMKilled", "")
	case 1:
		s.evict(old)
	default:
		s.store.remove(idOf(old))
	}
}
