// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

func TestUIRefuses(t *testing.T) {
	run := inState("pi", v1beta2.ApplicationStateRunning)
	over := inState("pi", v1beta2.ApplicationStateCompleted, func(o *v1beta2.SparkApplication) {
		o.Status.DriverInfo.HistoryServerURL = "https://history/spark-1"
	})
	blind := inState("pi", v1beta2.ApplicationStateRunning, func(o *v1beta2.SparkApplication) {
		o.Spec.SparkConf = map[string]string{"spark.ui.enabled": "false"}
	})
	cases := map[string]struct {
		reason  string
		objects []client.Object
		args    []string
		want    string
	}{
		"queued":    {"with the reason, and what to do", []client.Object{inState("pi", v1beta2.ApplicationStateSubmitted, queued)}, nil, "does not run yet: SUBMITTED (QuotaExceeded: exceeded quota: team); --wait 10m waits for it"},
		"pulling":   {"the pod alone is no UI", []client.Object{run, podOf(run, 0, waiting())}, nil, "does not run yet"},
		"over":      {"where to look instead", []client.Object{over}, nil, "the history server shows it at https://history/spark-1"},
		"just over": {"before the operator has seen it", []client.Object{run, podOf(run, 0, exited(0))}, nil, "has ended, and its UI with it; no history server is known"},
		"no UI":     {"no one waits for nothing", []client.Object{blind, podOf(blind, 0, running())}, nil, "has no UI: spark.ui.enabled is false"},
		"timeout":   {"a bounded wait", []client.Object{inState("pi", v1beta2.ApplicationStateSubmitted, queued)}, []string{"--wait", "50ms"}, "did not run within 50ms"},
		"no such":   {"as the other commands", nil, nil, `no SparkApplication "pi"`},
		"bad port":  {"a port", []client.Object{run}, []string{"--port", "70000"}, "--port: must be a port"},
		"bad wait":  {"a time", []client.Object{run}, []string{"--wait", "-1s"}, "--wait: must not be negative"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				newMemoryAPI(t, tc.objects...)
				out, errOut, code := execute(t, "", append([]string{"ui", "pi"}, tc.args...)...)
				if code != 1 || out != "" || !strings.Contains(errOut, tc.want) {
					t.Errorf("%s: exit code %d, %q\n%s\nwant %q", tc.reason, code, out, errOut, tc.want)
				}
			})
		})
	}
}

// sparkUI answers as Spark does that believes to be read below base: redirects and links begin with it, requests do not.
func sparkUI(t *testing.T, base string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Location", base+"/jobs/")
			w.WriteHeader(http.StatusFound)
		case "/jobs/":
			_, _ = io.WriteString(w, base+"/static/webui.css?"+r.URL.RawQuery)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// viewed runs ui with a tunnel to address, reads a page by the URL that it prints, and ends it.
func viewed(t *testing.T, o *v1beta2.SparkApplication, address string, port int, page string) (url, text string) {
	t.Helper()
	newAPI(t, o, podOf(o, 0, running()))
	c, err := addCluster(&cobra.Command{}).connect()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	var out bytes.Buffer
	v := viewing{port: port, streams: genericiooptions.IOStreams{Out: &out, ErrOut: io.Discard}}
	v.forward = func(ctx context.Context, _ *connection, pod string, remote int32, opened func(string)) error {
		if pod != "pi-driver" || remote != 4040 {
			t.Errorf("a tunnel to %s:%d", pod, remote)
		}
		opened(address)
		url = strings.TrimSpace(out.String())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+page, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		text = response.Status + " " + string(body)
		return err
	}
	if err := v.view(ctx, c, asRead(o)); err != nil {
		t.Fatal(err)
	}
	return url, text
}

func TestUIIsProxied(t *testing.T) {
	path := func(o *v1beta2.SparkApplication) {
		o.Status.DriverInfo.WebUIIngressAddress = "https://ui.example.org/jobs/pi"
	}
	route := func(o *v1beta2.SparkApplication) { o.Status.DriverInfo.WebUIRouteAddress = "http://ui.example.org/r/" }
	user := func(o *v1beta2.SparkApplication) {
		path(o)
		o.Spec.SparkConf = map[string]string{"spark.ui.proxyBase": "/mine"}
	}
	cases := map[string]struct {
		reason string
		change func(*v1beta2.SparkApplication)
		base   string
		page   string
		want   string
	}{
		"root":     {"nothing to take away", func(*v1beta2.SparkApplication) {}, "", "", "200 OK /static/webui.css?"},
		"ingress":  {"its path is in the UI's links", path, "/jobs/pi", "", "200 OK /jobs/pi/static/webui.css?"},
		"route":    {"so is a route's", route, "/r", "", "200 OK /r/static/webui.css?"},
		"user":     {"the application's own counts", user, "/mine", "jobs/?id=1", "200 OK /mine/static/webui.css?id=1"},
		"no page":  {"the UI's own answers", path, "/jobs/pi", "nothing", "404 Not Found 404 page not found\n"},
		"redirect": {"one that knows of no path stays below it", path, "", "", "200 OK /static/webui.css?"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := inState("pi", v1beta2.ApplicationStateRunning, tc.change)
			url, text := viewed(t, o, sparkUI(t, tc.base), 0, tc.page)
			if text != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, text, tc.want)
			}
			if !strings.HasPrefix(url, "http://localhost:") || !strings.HasSuffix(url, tc.base+"/") {
				t.Errorf("%s: the URL is %s", tc.reason, url)
			}
		})
	}
}

// A tunnel does not notice that its pod is gone: the command does, and ends it.
func TestUIEndsWithTheDriver(t *testing.T) {
	o := inState("pi", v1beta2.ApplicationStateRunning)
	for name, end := range map[string]func(*apiserver.Server){
		"ended": func(a *apiserver.Server) { a.Put(podOf(o, 0, exited(0))) },
		"gone":  func(a *apiserver.Server) { a.Remove(podOf(o, 0, running())) },
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, o, podOf(o, 0, running()))
			c, err := addCluster(&cobra.Command{}).connect()
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			defer stop()
			var said bytes.Buffer
			v := viewing{streams: genericiooptions.IOStreams{Out: io.Discard, ErrOut: &said}}
			v.forward = func(ctx context.Context, _ *connection, _ string, _ int32, _ func(string)) error {
				a.AwaitWatch("pods")
				end(a)
				<-ctx.Done()
				return errors.New("cut")
			}
			if err := v.view(ctx, c, asRead(o)); err != nil || ctx.Err() != nil || !strings.Contains(said.String(), "the driver has ended") {
				t.Errorf("%v, %v, %q", err, ctx.Err(), said.String())
			}
		})
	}
}

// The port asked for is taken, and none but it.
func TestUIPort(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	port := taken.Addr().(*net.TCPAddr).Port
	v := viewing{port: port}
	if l, err := v.listen(t.Context(), 4040); err == nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("%v, %v", l, err)
	}
	v.port = 0
	l, err := v.listen(t.Context(), port)
	if err != nil {
		t.Fatalf("any other will do if the usual one is taken: %v", err)
	}
	_ = l.Close()
}

// A tunnel that is refused says why, and one that cannot be had ends.
func TestTunnelIsRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "User \"eve\" cannot create pods/portforward"}`)
	}))
	defer server.Close()
	c := &connection{Cluster: &inspect.Cluster{Namespace: "jobs"}, config: &rest.Config{Host: server.URL}}
	err := tunnel(t.Context(), c, "pi-driver", 4040, func(string) { t.Error("it is said to be open") })
	if err == nil || !strings.Contains(err.Error(), "cannot create pods/portforward") {
		t.Errorf("%v", err)
	}
	broken := viewing{streams: genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard}, forward: func(context.Context, *connection, string, int32, func(string)) error {
		return errors.New("no route")
	}}
	o := inState("pi", v1beta2.ApplicationStateRunning)
	newAPI(t, o, podOf(o, 0, running()))
	connected, err := addCluster(&cobra.Command{}).connect()
	if err != nil {
		t.Fatal(err)
	}
	if err := broken.view(t.Context(), connected, asRead(o)); err == nil || !strings.Contains(err.Error(), "tunnel to pod pi-driver: no route") {
		t.Errorf("%v", err)
	}
}

// asRead is an application as a command reads it.
func asRead(o *v1beta2.SparkApplication) inspect.Application {
	return inspect.Application{Type: inspect.Applications, Object: o, Reading: inspect.Applications.Read(o, resolve.Operator{}, time.Time{})}
}
