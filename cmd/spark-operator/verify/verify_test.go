// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// playing is a cluster in which the application shows one status after the other, and stays at the last.
func playing(t *testing.T, statuses []v1beta2.SparkApplicationStatus, existing ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1beta2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	looks := 0
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(existing...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if err := c.Get(ctx, key, o, options...); err != nil {
				return err
			}
			if app, ok := o.(*v1beta2.SparkApplication); ok && len(statuses) > 0 {
				app.Status = statuses[min(looks, len(statuses)-1)]
				looks++
			}
			return nil
		},
	}).Build()
}

func status(state v1beta2.ApplicationStateType, message string) v1beta2.SparkApplicationStatus {
	return v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: state, ErrorMessage: message}}
}

func TestRun(t *testing.T) {
	waits := status(v1beta2.ApplicationStateSubmitted, "")
	waits.Conditions = []metav1.Condition{
		{Type: "Admitted", Status: metav1.ConditionTrue, Message: "all is well"},
		{Type: "DriverReady", Status: metav1.ConditionFalse, Message: "no node has room"},
	}
	cases := map[string]struct {
		reason   string
		statuses []v1beta2.SparkApplicationStatus
		existing []client.Object
		log      error
		fails    string
		says     []string
	}{
		"Completes": {reason: "it says each state once, and what the driver computed", statuses: []v1beta2.SparkApplicationStatus{
			status("", ""), status("", ""), status(v1beta2.ApplicationStateRunning, ""), status(v1beta2.ApplicationStateCompleted, ""),
		}, says: []string{"jobs/pi is new\njobs/pi is RUNNING\njobs/pi is COMPLETED\n", "Pi is roughly 3.14"}},
		"Fails":   {reason: "the operator's words, and the driver's", statuses: []v1beta2.SparkApplicationStatus{status(v1beta2.ApplicationStateFailed, "no such class")}, fails: "jobs/pi failed: no such class", says: []string{"Pi is roughly"}},
		"NoLog":   {reason: "a log is not what is tested", statuses: []v1beta2.SparkApplicationStatus{status(v1beta2.ApplicationStateCompleted, "")}, log: errors.New("gone")},
		"Nobody":  {reason: "an operator that does not work, or not here", statuses: []v1beta2.SparkApplicationStatus{status("", "")}, fails: "no operator has reconciled jobs/pi"},
		"Waits":   {reason: "what it waits for", statuses: []v1beta2.SparkApplicationStatus{waits}, fails: "still SUBMITTED; DriverReady: no node has room"},
		"Earlier": {reason: "the application of a test that was stopped", statuses: []v1beta2.SparkApplicationStatus{status(v1beta2.ApplicationStateCompleted, "")}, existing: []client.Object{testutil.Pi()}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			c := playing(t, tc.statuses, tc.existing...)
			var err error
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err = test{client: c, row: kinds.SparkApplication, app: testutil.Pi(), out: &out, poll: pollPeriod, log: func(context.Context, string) (string, error) {
					return "Pi is roughly 3.14\n", tc.log
				}}.run(ctx)
			})
			if tc.fails == "" && err != nil || tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)) {
				t.Errorf("%s: %v, want %q", tc.reason, err, tc.fails)
			}
			for _, text := range tc.says {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%s: it does not say %q: %s", tc.reason, text, out.String())
				}
			}
			if tc.log != nil && strings.Contains(out.String(), "Pi") {
				t.Errorf("%s: %s", tc.reason, out.String())
			}
			var left v1beta2.SparkApplicationList
			if err := c.List(t.Context(), &left); err != nil || len(left.Items) > 0 {
				t.Errorf("%s: it leaves %d applications, %v", tc.reason, len(left.Items), err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1beta2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	denied := func(string) error { return errors.New("denied") }
	cases := map[string]struct {
		reason string
		funcs  interceptor.Funcs
		says   string
	}{
		"Create": {reason: "no right to create", says: "create SparkApplication jobs/pi: denied", funcs: interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
				return denied("")
			},
		}},
		"Delete": {reason: "no right to delete", says: "delete SparkApplication jobs/pi: denied", funcs: interceptor.Funcs{
			Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
				return denied("")
			},
		}},
		"Get": {reason: "no right to look", says: "get jobs/pi: denied", funcs: interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return denied("")
			},
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(tc.funcs).Build()
			var out strings.Builder
			err := test{client: c, row: kinds.SparkApplication, app: testutil.Pi(), out: &out, poll: time.Millisecond, log: func(context.Context, string) (string, error) { return "", nil }}.run(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v, want %q", tc.reason, err, tc.says)
			}
		})
	}
}

// What an application says is in the lines that are shown also if Spark stops with a stack trace after it, which has up to 60 lines.
func TestDriverLog(t *testing.T) {
	pods := kubefake.NewClientset()
	if _, err := driverLog(t.Context(), pods, "jobs", "pi-driver"); err != nil {
		t.Fatal(err)
	}
	read, isRead := pods.Actions()[0].(clienttesting.GenericAction)
	if !isRead {
		t.Fatalf("%+v", pods.Actions())
	}
	options, _ := read.GetValue().(*corev1.PodLogOptions)
	if options == nil || options.TailLines == nil || *options.TailLines < 80 || *options.TailLines > 500 {
		t.Errorf("options %+v", options)
	}
}

func TestRead(t *testing.T) {
	cases := map[string]struct{ reason, text, says string }{
		"Good":      {reason: "a manifest", text: "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: pi, namespace: jobs}\n"},
		"Apache":    {reason: "of any family", text: "apiVersion: spark.apache.org/v1\nkind: SparkApplication\nmetadata: {name: pi, namespace: jobs}\n"},
		"Server":    {reason: "what has no end", text: "apiVersion: sparkoperator.k8s.io/v1alpha1\nkind: SparkConnect\nmetadata: {name: nb, namespace: jobs}\n", says: `kind "SparkConnect"`},
		"Schedule":  {reason: "what is no application", text: "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: ScheduledSparkApplication\nmetadata: {name: pi, namespace: jobs}\n", says: `kind "ScheduledSparkApplication"`},
		"Nameless":  {reason: "what is not named cannot be deleted", text: "metadata: {namespace: jobs}\n", says: `metadata.name ""`},
		"Somewhere": {reason: "nor what is nowhere", text: "metadata: {name: pi}\n", says: `metadata.namespace ""`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "app.yaml")
			if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := read(file)
			if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("%s: %v, want %q", tc.reason, err, tc.says)
			}
		})
	}
	if _, _, err := read("none.yaml"); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("a file that does not exist: %v", err)
	}
}
