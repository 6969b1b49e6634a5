// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// tunnelPatience is the longest time that opening a tunnel may take.
const tunnelPatience = 20 * time.Second

// tunnel forwards a free local port to a port of a pod, as kubectl port-forward does. It uses WebSocket, or SPDY if the cluster or a proxy does not support
// WebSocket. It ends with the pod or with the context.
func tunnel(ctx context.Context, c *connection, pod string, port int32, opened func(address string)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	dialer, err := dialerTo(c, pod)
	if err != nil {
		return err
	}
	ready := make(chan struct{})
	forwarder, err := portforward.NewOnAddressesForStreamingWithContext(ctx, dialer, []string{"127.0.0.1"},
		[]string{fmt.Sprintf("0:%d", port)}, ready, io.Discard, io.Discard)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	timer := time.NewTimer(tunnelPatience)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		return fmt.Errorf("it did not open within %s", tunnelPatience)
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return err
	}
	opened(net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local))))
	err = <-ended
	if errors.Is(err, portforward.ErrLostConnectionToPod) {
		return nil
	}
	return err
}

func dialerTo(c *connection, pod string) (httpstream.Dialer, error) {
	core, err := typedcorev1.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	where := core.RESTClient().Post().Resource("pods").Namespace(c.Namespace).Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(c.config)
	if err != nil {
		return nil, err
	}
	old := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, where)
	current, err := portforward.NewSPDYOverWebsocketDialerForStreaming(where, c.config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(current, old, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}
