// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// asking are flags that the API server sees, and more that it does not. A token is sent to a server with TLS only.
var asking = []string{"--token", "t", "--as", "u", "--as-uid", "1", "--as-group", "a", "--as-group", "b", "--as-user-extra", "k=v", "--request-timeout", "5s", "--disable-compression",
	"--insecure-skip-tls-verify",
}

// seen are the requests that came without what asking has, and how many came.
type seen struct {
	lock  sync.Mutex
	wrong []string
	all   int
}

// ServeHTTP answers that there is nothing.
func (s *seen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.all++
	want := http.Header{
		"Authorization": {"Bearer t"}, "Impersonate-User": {"u"}, "Impersonate-Uid": {"1"}, "Impersonate-Group": {"a", "b"}, "Impersonate-Extra-K": {"v"},
	}
	got := http.Header{}
	for name := range want {
		got[name] = r.Header[name]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.wrong = append(s.wrong, r.Method+" "+r.URL.Path+" (-want +got):\n"+diff)
	}
	http.NotFound(w, r)
}

// Every command that reads a cluster, and every request of it, uses kubectl's flags: no configuration is needed then.
func TestConnectionFlags(t *testing.T) {
	t.Setenv("KUBECONFIG", "/dev/null")
	lines := map[string]string{
		"list": "", "queue": "", "check": "", "explain": "pi", "logs": "pi", "ui": "pi", "connect": "pi", "wait": "pi", "adopt": "d",
		"suspend": "pi", "resume": "pi", "rerun": "pi", "trigger": "pi", "delete": "pi",
	}
	for _, c := range newCommand(genericiooptions.NewTestIOStreamsDiscard()).Commands() {
		args, listed := lines[c.Name()]
		if listed != (c.Flags().Lookup("kubeconfig") != nil) {
			t.Errorf("%s: the test does not know that it reads a cluster, or it does not any more", c.Name())
		}
		if !listed {
			continue
		}
		s := &seen{}
		server := httptest.NewTLSServer(s)
		_, errOut, code := execute(t, "", append(append([]string{c.Name(), "--server", server.URL}, asking...), strings.Fields(args)...)...)
		server.Close()
		if s.all == 0 || len(s.wrong) > 0 || code == 0 {
			t.Errorf("%s: exit code %d, %d requests, %s%s", c.Name(), code, s.all, errOut, strings.Join(s.wrong, "\n"))
		}
	}
}

func TestConnectionFlagsOfATunnel(t *testing.T) {
	t.Setenv("KUBECONFIG", "/dev/null")
	s := &seen{}
	server := httptest.NewTLSServer(s)
	defer server.Close()
	command := &cobra.Command{}
	of := addCluster(command)
	if err := command.ParseFlags(append(asking, "-s", server.URL)); err != nil {
		t.Fatal(err)
	}
	connected, err := of.connect()
	if err != nil {
		t.Fatal(err)
	}
	if err := tunnel(t.Context(), connected, "pi-driver", 4040, func(string) {}); err == nil || s.all != 2 || len(s.wrong) > 0 {
		t.Errorf("%v, %d requests (a WebSocket, then SPDY), %s", err, s.all, strings.Join(s.wrong, "\n"))
	}
}

func TestConnectionFlagsAreChecked(t *testing.T) {
	newAPI(t)
	for line, want := range map[string]string{
		"list --as-group g": "--as-group: only with --as", "list --as-uid 1": "--as-uid: only with --as", "list --as-user-extra k=v": "--as-user-extra: only with --as",
		"list --request-timeout abc": "--request-timeout: \"abc\"", "list --context none": "none",
	} {
		if _, errOut, code := execute(t, "", strings.Fields(line)...); code != 1 || !strings.Contains(errOut, want) || gosWords.MatchString(errOut) {
			t.Errorf("%s: exit code %d, %s", line, code, errOut)
		}
	}
}

func TestOptions(t *testing.T) {
	out, errOut, code := execute(t, "", "options")
	for _, flag := range []string{
		"--as string", "--as-group", "--as-uid", "--as-user-extra", "--token", "--server", "--cluster", "--user string", "--request-timeout", "--certificate-authority",
		"--client-certificate", "--client-key", "--insecure-skip-tls-verify", "--tls-server-name", "--disable-compression", "--kubeconfig", "--context", "--namespace", "--proxy-url",
	} {
		if !strings.Contains(out, flag) || code != 0 {
			t.Errorf("exit code %d, %s, no %s in\n%s", code, errOut, flag, out)
		}
	}
	if help, _, _ := execute(t, "", "list", "--help"); strings.Contains(help, "--tls-server-name") || !strings.Contains(help, "kubectl spark options") {
		t.Error(help)
	}
}
