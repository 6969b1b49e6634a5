// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// served is a server of namespace jobs that accepts clients.
func served(name string, changes ...func(*v1alpha1.SparkConnect)) *v1alpha1.SparkConnect {
	o := &v1alpha1.SparkConnect{
		ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: name, UID: types.UID("uid-" + name), Generation: 1, CreationTimestamp: before(time.Hour)},
		Spec:       v1alpha1.SparkConnectSpec{SparkVersion: "4.1.4", Image: ptr.To("spark:4.1.4")},
		Status: v1alpha1.SparkConnectStatus{
			State: v1alpha1.SparkConnectStateReady, ObservedGeneration: 1,
			Server: v1alpha1.ServerStatus{PodName: name + "-server", ServiceName: name + "-server"},
		},
	}
	for _, c := range changes {
		c(o)
	}
	return o
}

// notReady is a server that waits for something.
func notReady(kind string, status metav1.ConditionStatus, reason, message string) func(*v1alpha1.SparkConnect) {
	return func(o *v1alpha1.SparkConnect) {
		o.Status.State = v1alpha1.SparkConnectStateNotReady
		o.Status.Conditions = []metav1.Condition{{Type: kind, Status: status, Reason: reason, Message: message}}
	}
}

// idle is a server that was stopped.
func idle(at time.Time) func(*v1alpha1.SparkConnect) {
	return func(o *v1alpha1.SparkConnect) {
		notReady("DriverReady", metav1.ConditionFalse, "Idle", "it executed nothing for 30m")(o)
		if o.Status.Run == nil {
			o.Status.Run = &v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateSuspended}}
		}
		o.Status.Idle = &v1alpha1.IdleStatus{StoppedAt: &metav1.Time{Time: at}}
		o.Status.Server.PodName = ""
	}
}

// serverPod is a pod of a server that is ready.
func serverPod(o *v1alpha1.SparkConnect, uid string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: o.Name + "-server", UID: types.UID(uid),
			Labels:          map[string]string{v1alpha1.LabelConnectName: o.Name, "spark-role": "connect-server"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: serverKind.GroupVersion().String(), Kind: serverKind.Kind, Name: o.Name, UID: o.UID, Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "spark-kubernetes-driver", Ports: []corev1.ContainerPort{{Name: "spark-connect", ContainerPort: 15002}}}}},
		Status: corev1.PodStatus{
			Phase:             corev1.PodRunning,
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "spark-kubernetes-driver", State: running()}},
		},
	}
	for _, c := range changes {
		c(p)
	}
	return p
}

func TestConnectRefuses(t *testing.T) {
	stopped := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reason  string
		objects []client.Object
		args    string
		deny    []apiserver.Request
		code    int
		want    string
	}{
		"suspended": {
			"a person's wish", []client.Object{served("nb", func(o *v1alpha1.SparkConnect) { o.Spec.Suspend = ptr.To(true) })}, "nb", nil, 1,
			"error: server jobs/nb is suspended; kubectl spark resume sparkconn/nb starts it\n",
		},
		"failed": {
			"waiting is in vain, with the cause in a line",
			[]client.Object{served("nb", notReady("Stalled", metav1.ConditionTrue, "InvalidSpec", "spec.image: missing\nmore"), func(o *v1alpha1.SparkConnect) { o.Status.State = v1alpha1.SparkConnectStateFailed })},
			"nb", nil, 1, "error: server jobs/nb has failed: InvalidSpec: spec.image: missing; kubectl spark explain sparkconn/nb says more\n",
		},
		"no such": {"as the other commands", []client.Object{served("notebook")}, "notebooks", nil, 1, "error: there is no SparkConnect \"notebooks\" in namespace jobs; did you mean notebook?\n"},
		"no name": {"where others are", nil, "nb", nil, 1, "error: there is no SparkConnect \"nb\" in namespace jobs; kubectl spark list sparkconn -A shows all\n"},
		"reader": {
			"the right that is missing", []client.Object{served("nb")}, "nb", []apiserver.Request{request("get", "sparkconnects")}, 1,
			"error: you may not get sparkconnects.sparkoperator.k8s.io in namespace jobs: an administrator can grant you that permission (kubectl auth can-i get sparkconnects.sparkoperator.k8s.io -n jobs)\n",
		},
		"may not wake": {
			"the right that is missing", []client.Object{served("nb", idle(stopped))}, "nb", []apiserver.Request{request("patch", "sparkconnects")}, 1,
			"server jobs/nb was stopped at 2026-11-22T09:00:00Z because it was idle; waking it\n" +
				"error: you may not patch sparkconnects.sparkoperator.k8s.io in namespace jobs: an administrator can grant you that permission; the cluster role edit includes it if the operator's roles for users are installed (kubectl auth can-i patch sparkconnects.sparkoperator.k8s.io -n jobs)\n",
		},
		"no pods": {
			"the right that is missing", []client.Object{served("nb")}, "nb", []apiserver.Request{request("get", "pods")}, 1,
			"error: you may not get pods in namespace jobs: an administrator can grant you that permission (kubectl auth can-i get pods -n jobs)\n",
		},
		"bad port":    {"a port", nil, "nb --port 70000", nil, 1, "error: --port: must be a port, from 1 to 65535\n"},
		"bad timeout": {"a time", nil, "nb --timeout 0s", nil, 1, "error: --timeout: must be more than 0\n"},
		"no command":  {"words behind it are one", nil, "nb --exec", nil, 1, "error: --exec: write NAME before it and a command after it\n"},
		"no exec":     {"a word too many", nil, "nb python", nil, 1, "error: \"python\" is a command: write it after --exec\n"},
		"nothing":     {"a name is missing", nil, "", nil, 1, "error: write the name of a SparkConnect; kubectl spark list servers shows them\n"},
		"not found":   {"before anything is woken, with a shell's code", []client.Object{served("nb", idle(stopped))}, "nb --exec firesteel-no-such-program -x", nil, 127, "error: --exec: exec: \"firesteel-no-such-program\": executable file not found in $PATH\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, tc.objects...)
			a.AllowWrites()
			a.Deny(tc.deny...)
			out, errOut, code := execute(t, "", append([]string{"connect"}, strings.Fields(tc.args)...)...)
			if diff := cmp.Diff(tc.want, errOut); code != tc.code || out != "" || diff != "" {
				t.Errorf("%s: exit code %d, want %d, %q (-want +got):\n%s", tc.reason, code, tc.code, out, diff)
			}
		})
	}
}

// A server that does not come is waited for as long as was said.
func TestConnectTimesOut(t *testing.T) {
	pulls := served("nb", notReady("DriverReady", metav1.ConditionFalse, "ImagePull", "image \"spark:4.1.4\" cannot be pulled\nmore"))
	cases := map[string]struct {
		reason string
		server *v1alpha1.SparkConnect
		want   string
	}{
		"mended": {
			"the spec was changed since", served("nb", func(o *v1alpha1.SparkConnect) { o.Status.State, o.Generation = v1alpha1.SparkConnectStateFailed, 2 }),
			"waiting for server jobs/nb: Failed\ntimed out after 50ms: waiting for server jobs/nb: Failed; kubectl spark explain sparkconn/nb says why",
		},
		"waits": {
			"it says what it waits for", pulls,
			"waiting for server jobs/nb: NotReady (ImagePull: image \"spark:4.1.4\" cannot be pulled)\n" +
				"timed out after 50ms: waiting for server jobs/nb: NotReady (ImagePull: image \"spark:4.1.4\" cannot be pulled); kubectl spark explain sparkconn/nb says why",
		},
		"asleep": {
			"it is woken, and does not come", served("nb", idle(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))),
			"server jobs/nb was stopped at 2026-11-22T09:00:00Z because it was idle; waking it\nwaiting for server jobs/nb to start again\n" +
				"timed out after 50ms: waiting for server jobs/nb to start again; kubectl spark explain sparkconn/nb says why",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newMemoryAPI(t, tc.server)
				a.AllowWrites()
				c, err := addCluster(&cobra.Command{}).connect()
				if err != nil {
					t.Fatal(err)
				}
				var said strings.Builder
				k := connecting{timeout: 50 * time.Millisecond, streams: genericiooptions.IOStreams{ErrOut: &said}}
				life, end := context.WithCancel(t.Context())
				defer end()
				s := newSession(c, "nb", k.streams, func(context.Context, *connection, string, int32, func(string)) error {
					return errors.New("there is a tunnel")
				})
				opened, over := make(chan inspect.Application, 1), make(chan error, 1)
				go func() { over <- s.follow(life, opened) }()
				began := time.Now()
				_, err = k.await(s, opened, over, end)
				exit, own := errors.AsType[*exitError](err)
				if !own || exit.code != codeTimeout || time.Since(began) != k.timeout {
					t.Fatalf("%s: after %s: %v", tc.reason, time.Since(began), err)
				}
				if diff := cmp.Diff(tc.want, said.String()+exit.Error()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// The bound that is named is the one that holds, and has an exit code of its own.
func TestConnectBound(t *testing.T) {
	newAPI(t, served("nb", func(o *v1alpha1.SparkConnect) { o.Status.State = v1alpha1.SparkConnectStateNotReady }))
	_, errOut, code := execute(t, "", "connect", "nb", "--timeout", "50ms")
	if code != codeTimeout || !strings.Contains(errOut, "error: timed out after 50ms: ") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
}

func TestBehindExec(t *testing.T) {
	for line, want := range map[string]string{
		"connect nb":                             "connect nb",
		"connect nb --exec python a.py --port 3": "connect nb --exec -- python a.py --port 3",
		"connect nb --exec -- python a.py":       "connect nb --exec -- python a.py",
		"connect nb --exec":                      "connect nb --exec --",
		"connect nb --exec sh -c x --exec y":     "connect nb --exec -- sh -c x --exec y",
		"convert -- spark-submit --exec x":       "convert -- spark-submit --exec x",
	} {
		if got := strings.Join(behindExec(strings.Fields(line)), " "); got != want {
			t.Errorf("%s became %s, want %s", line, got, want)
		}
	}
}

func TestTakesClients(t *testing.T) {
	o := served("nb")
	for name, tc := range map[string]struct {
		reason string
		change func(*corev1.Pod)
		want   bool
	}{
		"ready":     {"the usual case", func(*corev1.Pod) {}, true},
		"not ready": {"its probe fails", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, false},
		"new":       {"it has no conditions yet", func(p *corev1.Pod) { p.Status.Conditions = nil }, false},
		"ends":      {"it is being deleted", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, false},
		"ended":     {"its kubelet is behind", func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State = exited(1) }, false},
		"notOwned":  {"somebody else's pod of the name", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "other" }, false},
	} {
		if got := takesClients(o, serverPod(o, "a", tc.change)); got != tc.want {
			t.Errorf("%s: %s: %v", name, tc.reason, got)
		}
	}
}

func TestConnectPort(t *testing.T) {
	moved := served("nb", func(o *v1alpha1.SparkConnect) {
		o.Spec.SparkConf = map[string]string{"spark.connect.grpc.binding.port": "15003"}
	})
	older := func(p *corev1.Pod) { p.Spec.Containers[0].Ports = nil }
	for name, tc := range map[string]struct {
		reason string
		o      *v1alpha1.SparkConnect
		pod    *corev1.Pod
		want   int32
	}{
		"pod":      {"the spec may have been changed since", moved, serverPod(moved, "a"), 15002},
		"spec":     {"a previous operator's pod has no name for it", moved, serverPod(moved, "a", older), 15003},
		"no where": {"Spark's own", served("nb"), serverPod(moved, "a", older), 15002},
	} {
		if got := connectPort(inspect.Servers.Read(tc.o, resolve.Operator{}, time.Time{}).App, tc.pod); got != tc.want {
			t.Errorf("%s: %s: %d, want %d", name, tc.reason, got, tc.want)
		}
	}
}

func TestRemoteURL(t *testing.T) {
	for token, want := range map[string]string{
		"":       "sc://127.0.0.1:15002",
		"0a1b":   "sc://localhost:15002/;token=0a1b",
		"a;b/c?": "sc://localhost:15002/;token=a%3Bb%2Fc%3F",
	} {
		if got := remoteURL(15002, token); got != want {
			t.Errorf("%q: %s, want %s", token, got, want)
		}
	}
}

// The command has the URL, its own exit code, and the signals that this program gets.
func TestExecute(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, script string
		code           int
		out            string
	}{
		"URL":    {"both variables", `echo $SPARK_REMOTE $SPARK_CONNECT_MODE_ENABLED`, 0, "sc://x 1\n"},
		"code":   {"its own", "exit 3", 3, ""},
		"killed": {"as shells count", "kill -KILL $$", 137, ""},
	} {
		t.Run(name, func(t *testing.T) {
			streams, _, out, _ := genericiooptions.NewTestIOStreams()
			k := connecting{streams: streams}
			code := 0
			if err := k.execute(t.Context(), "sc://x", []string{"sh", "-c", tc.script}); err != nil {
				child, _ := err.(childError) //nolint:errorlint // nothing wraps it
				code = int(child)
			}
			if code != tc.code || out.String() != tc.out {
				t.Errorf("%s: exit code %d, %q", tc.reason, code, out)
			}
		})
	}
}

func TestSignalsArePassedOn(t *testing.T) {
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = typed.Close(), in.Close() }()
	began := make(lineWriter, 1)
	k := connecting{streams: genericiooptions.IOStreams{In: in, Out: began, ErrOut: began}}
	ended := make(chan error, 1)
	go func() {
		ended <- k.execute(t.Context(), "sc://x", []string{"sh", "-c", "trap 'exit 7' TERM; echo began; while read line; do :; done"})
	}()
	<-began
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != childError(7) { //nolint:errorlint // nothing wraps it
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it did not get the signal")
	}
}

// lineWriter reports the first write.
type lineWriter chan struct{}

// Write implements io.Writer.
func (l lineWriter) Write(text []byte) (int, error) {
	select {
	case l <- struct{}{}:
	default:
	}
	return len(text), nil
}
