// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// viewing holds the flags of ui.
type viewing struct {
	port    int
	wait    time.Duration
	streams genericiooptions.IOStreams
	// forward opens a tunnel to a port of a pod. It calls opened with the local address, and returns when the tunnel ends.
	forward func(ctx context.Context, c *connection, pod string, port int32, opened func(address string)) error
}

func newUI(streams genericiooptions.IOStreams) *cobra.Command {
	v := viewing{streams: streams, forward: tunnel}
	var clusters cluster
	command := &cobra.Command{
		Use:   "ui NAME",
		Short: "Open the Spark UI of a running application",
		Long: "Open a tunnel to the Spark UI of an application's driver, and print the URL for your browser. It ends with the driver, or with Ctrl-C.\n\n" +
			"Neither a Service nor an Ingress is needed. The UI lives as long as the driver; when the application has finished, the link to the\n" +
			"history server is printed, if the operator knows one.",
		Example: "  kubectl spark ui spark-pi\n\n" +
			"  # as soon as the driver runs, at http://localhost:8080\n" +
			"  kubectl spark ui spark-pi --wait 10m --port 8080",
		Args: arguments(1, 1),
		RunE: func(command *cobra.Command, args []string) error {
			if err := v.check(); err != nil {
				return err
			}
			connected, err := clusters.connect()
			if err != nil {
				return err
			}
			o, err := connected.FindApplication(command.Context(), args[0], "ui")
			if err != nil {
				return err
			}
			return v.view(command.Context(), connected, o)
		},
	}
	clusters = addCluster(command)
	command.Flags().IntVar(&v.port, "port", 0, "the port on this machine; by default that of the UI if it is free, or any")
	command.Flags().DurationVar(&v.wait, "wait", 0, "how long to wait for a driver that does not run yet")
	return command
}

func (v *viewing) check() error {
	switch {
	case v.port < 0 || v.port > 65535:
		return errors.New("--port: must be a port, from 1 to 65535")
	case v.wait < 0:
		return errors.New("--wait: must not be negative")
	}
	return nil
}

// view finds the driver pod and serves its UI until the driver ends.
func (v *viewing) view(ctx context.Context, c *connection, o inspect.Application) error {
	port := spark.UIPort(o.App)
	if port == 0 {
		return fmt.Errorf("%s has no UI: spark.ui.enabled is false, or spark.ui.port is no fixed port", o.Key())
	}
	pod, err := v.driver(ctx, c, o)
	if err != nil {
		return err
	}
	base := basePath(o)
	open, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		c.awaitEnd(open, pod) // a tunnel does not notice the end of its pod
		stop()
	}()
	err = v.forward(open, c, pod.Name, port, func(address string) {
		v.serve(open, address, base, int(port))
	})
	switch {
	case ctx.Err() != nil:
		return nil // ended by Ctrl-C, which is normal
	case err != nil && open.Err() == nil:
		return fmt.Errorf("tunnel to pod %s: %w", pod.Name, err)
	}
	say(v.streams.ErrOut, "the driver has ended")
	return nil
}

// awaitEnd returns when the Spark container of a pod has ended, when the pod is gone, or when the context ends.
func (c *connection) awaitEnd(ctx context.Context, pod *corev1.Pod) {
	for seen := range changes(ctx, c, &corev1.PodList{}, client.ObjectKeyFromObject(pod)) {
		now, exists := seen.object.(*corev1.Pod)
		if seen.err == nil && (!exists || now.UID != pod.UID || ended(now, observe.SparkContainer(now))) {
			return
		}
	}
	<-ctx.Done() // without the permission to watch, only the end of the tunnel is noticed
}

// driver waits until the driver pod runs, and returns it.
func (v *viewing) driver(ctx context.Context, c *connection, o inspect.Application) (*corev1.Pod, error) {
	name := o.DriverName()
	pod, err := c.pod(ctx, name)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	if err == nil {
		if current := driverPod(pod, o); current != nil && begun(current, observe.SparkContainer(current)) && !ended(current, observe.SparkContainer(current)) {
			return current, nil
		} else if current != nil && ended(current, observe.SparkContainer(current)) {
			return nil, over(o)
		}
	}
	if o.Record.State.Final() {
		return nil, over(o)
	}
	if v.wait == 0 {
		return nil, fmt.Errorf("the driver of %s does not run yet: %s; --wait 10m waits for it, and kubectl spark explain %s says why",
			o.Key(), describe(o), o.GetName())
	}
	l := logging{podTimeout: v.wait, streams: v.streams}
	current, _, err := l.awaitDriver(ctx, c, o)
	if err == nil && current == nil {
		err = over(o)
	}
	return current, err
}

// over returns an error that explains where to find the UI of an ended application.
func over(o inspect.Application) error {
	text := fmt.Sprintf("the driver of %s has ended, and its UI with it", o.Key())
	if link := o.Record.Exposure.HistoryURL; link != "" {
		return fmt.Errorf("%s; the history server shows it at %s", text, link)
	}
	return fmt.Errorf("%s; no history server is known (spark.eventLog.enabled of the application, and historyServer.urlFormat of the operator)", text)
}

// basePath returns the path prefix of the UI behind an Ingress or a route.
func basePath(o inspect.Application) string {
	if base, ok := o.App.Conf[spark.ConfUIProxyBase]; ok {
		return strings.TrimRight(base, "/")
	}
	for _, address := range []string{o.Record.Exposure.IngressAddress, o.Record.Exposure.RouteAddress} {
		if u, err := url.Parse(address); err == nil && address != "" {
			return strings.TrimRight(u.Path, "/")
		}
	}
	return ""
}

// serve starts a proxy from the browser to the tunnel and returns immediately. The proxy removes the path prefix as an Ingress does.
func (v *viewing) serve(ctx context.Context, tunnel, base string, usual int) {
	listener, err := v.listen(ctx, usual)
	if err != nil {
		say(v.streams.ErrOut, "error: %v; the tunnel itself is open at http://%s/", err, tunnel)
		return
	}
	server := &http.Server{Handler: behind(tunnel, base), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // returns when the server is closed
	context.AfterFunc(ctx, func() { _ = server.Close() })
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	say(v.streams.Out, "http://localhost:%s%s/", port, base)
	say(v.streams.ErrOut, "open this URL in your browser; Ctrl-C ends it")
}

// listen listens on the requested port, or else on the UI's usual port if it is free, or else on any port.
func (v *viewing) listen(ctx context.Context, usual int) (net.Listener, error) {
	var config net.ListenConfig
	if v.port != 0 {
		listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("localhost", strconv.Itoa(v.port)))
		if err != nil {
			return nil, fmt.Errorf("--port %d cannot be used: %w", v.port, err)
		}
		return listener, nil
	}
	if listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("localhost", strconv.Itoa(usual))); err == nil {
		return listener, nil
	}
	return config.Listen(ctx, "tcp", "localhost:0")
}

// behind returns a proxy to an address that removes a path prefix from requests. Spark's redirects begin at the root, so the proxy adds the prefix to them.
func behind(address, base string) http.Handler {
	target := &url.URL{Scheme: "http", Host: address}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.URL.Path = path.Join("/", strings.TrimPrefix(r.In.URL.Path, base))
			if strings.HasSuffix(r.In.URL.Path, "/") && r.Out.URL.Path != "/" {
				r.Out.URL.Path += "/"
			}
			r.Out.URL.RawPath, r.Out.Host = "", r.In.Host
		},
		ModifyResponse: func(r *http.Response) error {
			if u, err := url.Parse(r.Header.Get("Location")); err == nil && base != "" && strings.HasPrefix(u.Path, "/") && !strings.HasPrefix(u.Path+"/", base+"/") {
				u.Path = base + u.Path
				r.Header.Set("Location", u.String())
			}
			return nil
		},
	}
}
