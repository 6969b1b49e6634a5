// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// lab is a connect command that runs against a fake cluster, whose pods say their UID to every line that they are told.
type lab struct {
	t   *testing.T
	api *apiserver.Server
	// tunnels are the pods to which one was opened.
	tunnels chan string
	// cut ends the current tunnel.
	cut    chan error
	out    *heard
	errOut *heard
	end    context.CancelFunc
	ended  chan error
}

// heard is a buffer that two goroutines use, and that reports each write.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
	news chan struct{}
}

func newHeard() *heard { return &heard{news: make(chan struct{}, 100)} }

// Write implements io.Writer.
func (o *heard) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.news <- struct{}{}
	return o.text.Write(text)
}

func (o *heard) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until the output has a text.
func (o *heard) await(t *testing.T, text string) {
	t.Helper()
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	for !strings.Contains(o.String(), text) {
		select {
		case <-o.news:
		case <-late.C:
			t.Fatalf("it does not say %q:\n%s", text, o)
		}
	}
}

// newLab begins to connect to server nb.
func newLab(t *testing.T, command []string, objects ...client.Object) *lab {
	t.Helper()
	l := &lab{t: t, api: newAPI(t, objects...), tunnels: make(chan string, 10), cut: make(chan error), out: newHeard(), errOut: newHeard(), ended: make(chan error, 1)}
	l.api.AllowWrites()
	c, err := addCluster(&cobra.Command{}).connect()
	if err != nil {
		t.Fatal(err)
	}
	k := connecting{timeout: 20 * time.Second, streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: l.out, ErrOut: l.errOut}, forward: l.forward}
	logger := funcr.New(func(_, line string) { _, _ = fmt.Fprintln(l.errOut, line) }, funcr.Options{}) // the library's lines go where the user reads
	ctx, end := context.WithCancel(logr.NewContext(t.Context(), logger))
	l.end = end
	go func() { l.ended <- k.run(ctx, c, "nb", command) }()
	t.Cleanup(end)
	return l
}

// forward is a tunnel to a pod that answers each line with the pod's UID.
func (l *lab) forward(ctx context.Context, c *connection, name string, _ int32, opened func(string)) error {
	pod, err := c.pod(ctx, name)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			taken, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				lines := bufio.NewScanner(taken)
				for lines.Scan() {
					_, _ = fmt.Fprintf(taken, "%s: %s\n", pod.UID, lines.Text())
				}
				_ = taken.Close()
			}()
		}
	}()
	opened(listener.Addr().String())
	l.tunnels <- string(pod.UID)
	select {
	case err := <-l.cut:
		logr.FromContextOrDiscard(ctx).Error(err, "lost connection to pod") // as client-go's tunnels do
		return err
	case <-ctx.Done():
		return nil
	}
}

// dial opens a connection to the port of the URL that was printed.
func (l *lab) dial() net.Conn {
	l.t.Helper()
	l.out.await(l.t, "sc://")
	address := strings.TrimPrefix(strings.TrimSpace(l.out.String()), "sc://")
	address, _, _ = strings.Cut(address, "/")
	conn, err := (&net.Dialer{Timeout: 20 * time.Second}).DialContext(l.t.Context(), "tcp", address)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		l.t.Fatal(err)
	}
	return conn
}

// ask says a line, and returns the answer.
func ask(t *testing.T, conn net.Conn, line string) string {
	t.Helper()
	if _, err := fmt.Fprintln(conn, line); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(answer)
}

// stop is Ctrl-C.
func (l *lab) stop() {
	l.t.Helper()
	l.end()
	if err := <-l.ended; err != nil {
		l.t.Errorf("it did not end well: %v", err)
	}
}

// A server that is replaced has the same port for its clients.
func TestSessionFollowsTheServer(t *testing.T) {
	o := served("nb")
	first := serverPod(o, "first")
	l := newLab(t, nil, o, first)
	old := l.dial()
	if got := ask(t, old, "a"); got != "first: a" {
		t.Error(got)
	}
	l.api.Put(served("nb", notReady("DriverReady", metav1.ConditionFalse, "DriverFailed", "driver container failed with ExitCode: 1")))
	l.api.Remove(first)
	l.errOut.await(t, "has ended")
	if _, err := io.ReadAll(old); err != nil {
		t.Errorf("the old connection does not end: %v", err)
	}
	early := l.dial() // it waits
	l.errOut.await(t, "DriverFailed")
	l.api.Put(serverPod(o, "second"))
	l.api.Put(served("nb"))
	if got := ask(t, early, "b"); got != "second: b" {
		t.Error(got)
	}
	l.cut <- errors.New("a router was restarted")
	l.errOut.await(t, "trying again")
	if got := ask(t, l.dial(), "c"); got != "second: c" {
		t.Error(got)
	}
	l.stop()
	testutil.Golden(t, "testdata/connect-follow.golden", l.errOut.String())
}

// A server that is stopped while nobody uses it stays so until somebody does.
func TestSessionWakesOnDemand(t *testing.T) {
	stopped := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	o := served("nb", idle(stopped))
	l := newLab(t, nil, o)
	l.errOut.await(t, "waking it")
	awake := served("nb")
	pod := serverPod(o, "first")
	l.api.Put(pod)
	l.api.Put(awake)
	if got := ask(t, l.dial(), "a"); got != "first: a" {
		t.Error(got)
	}
	l.api.Put(served("nb", idle(stopped.Add(time.Hour))))
	l.api.Remove(pod)
	l.errOut.await(t, "the next connection wakes it")
	if wrote := written(l.api); len(wrote) != 1 {
		t.Errorf("it was woken for nobody: %v", wrote)
	}
	conn := l.dial()
	l.errOut.await(t, "10:00:00Z because it was idle; waking it")
	l.api.Put(serverPod(o, "second"))
	l.api.Put(awake)
	if got := ask(t, conn, "b"); got != "second: b" {
		t.Error(got)
	}
	l.stop()
	want := []string{
		`patch sparkconnects/nb {"metadata":{"annotations":{"sparkoperator.k8s.io/wake-at":"2026-11-22T09:00:01Z"},"uid":"uid-nb"}}`,
		`patch sparkconnects/nb {"metadata":{"annotations":{"sparkoperator.k8s.io/wake-at":"2026-11-22T10:00:01Z"},"uid":"uid-nb"}}`,
	}
	if diff := cmp.Diff(want, written(l.api)); diff != "" {
		t.Errorf("what was written (-want +got):\n%s", diff)
	}
}

// What ends a session says why.
func TestSessionEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(l *lab)
		want   string
	}{
		"deleted": {"the server is gone", func(l *lab) { l.api.Remove(served("nb")) }, "jobs/nb was deleted"},
		"suspended": {"a person's wish", func(l *lab) {
			l.api.Put(served("nb", func(o *v1alpha1.SparkConnect) { o.Spec.Suspend = ptr.To(true) }))
		}, "is suspended; kubectl spark resume sparkconn/nb"},
	} {
		t.Run(name, func(t *testing.T) {
			o := served("nb")
			pod := serverPod(o, "first")
			l := newLab(t, nil, o, pod)
			<-l.tunnels
			tc.change(l)
			l.api.Remove(pod)
			if err := <-l.ended; err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

func TestSessionTokens(t *testing.T) {
	o := served("nb", func(o *v1alpha1.SparkConnect) { o.Status.Server.TokenSecretName = "nb-token-1" })
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "nb-token-1"}, Data: map[string][]byte{"token": []byte("0a1b")}}
	l := newLab(t, nil, o, serverPod(o, "first"), secret)
	l.out.await(t, "/;token=0a1b\n")
	if got := ask(t, l.dial(), "a"); got != "first: a" {
		t.Error(got)
	}
	l.stop()

	l = newLab(t, []string{"sh", "-c", "echo $SPARK_REMOTE; exit 4"}, o, serverPod(o, "first"), secret)
	if err := <-l.ended; !errors.Is(err, childError(4)) || !strings.Contains(l.out.String(), "/;token=0a1b\n") {
		t.Errorf("%v: %s", err, l.out)
	}
}

// Who may not read the token gets the URL without it, and a command does not run.
func TestSessionWithoutToken(t *testing.T) {
	o := served("nb", func(o *v1alpha1.SparkConnect) { o.Status.Server.TokenSecretName = "nb-token-1" })
	l := newLab(t, nil, o)
	l.api.Deny(request("get", "secrets"))
	l.api.Put(serverPod(o, "first"))
	l.errOut.await(t, "Ctrl-C")
	l.stop()
	if !strings.HasPrefix(l.out.String(), "sc://localhost:") || strings.Contains(l.out.String(), "token") {
		t.Error(l.out)
	}
	testutil.Golden(t, "testdata/connect-token.golden", strings.TrimPrefix(l.errOut.String(), "waiting for server jobs/nb: Ready\n")) // before the pod was there

	l = newLab(t, []string{"sh", "-c", "echo ran"}, o, serverPod(o, "first"))
	if err := <-l.ended; err == nil || !strings.Contains(err.Error(), "needs a token") || l.out.String() != "" {
		t.Errorf("%v: %s", err, l.out)
	}
}
