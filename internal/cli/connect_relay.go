// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// relay accepts connections on local ports during a session, and forwards each to the tunnel that is current at that time. When a tunnel ends, its
// connections are closed, and clients open new ones.
type relay struct {
	mu sync.Mutex
	// target is the address of the current tunnel; "" if no tunnel is open.
	target string
	// turned is closed and replaced when the target changes.
	turned chan struct{}
	// waiting counts connections that wait for a tunnel.
	waiting int
	// demand receives a value when a connection begins to wait.
	demand chan struct{}
}

// held is the longest time for which a connection waits for a tunnel. Clients give up after 20 s and try again.
const held = 15 * time.Second

func newRelay() *relay {
	return &relay{turned: make(chan struct{}), demand: make(chan struct{}, 1)}
}

// point sets the tunnel for new connections; with "" new connections wait.
func (r *relay) point(target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = target
	close(r.turned)
	r.turned = make(chan struct{})
}

// wanted reports whether a connection waits for a tunnel.
func (r *relay) wanted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting > 0
}

// serve starts accepting connections in the background, until the context ends.
func (r *relay) serve(ctx context.Context, listeners []net.Listener) {
	for _, listener := range listeners {
		context.AfterFunc(ctx, func() { _ = listener.Close() })
		go func() {
			for {
				taken, err := listener.Accept()
				if err != nil {
					return // the listener is closed
				}
				go r.handle(ctx, taken)
			}
		}()
	}
}

// handle sends one connection to the current tunnel.
func (r *relay) handle(ctx context.Context, local net.Conn) {
	defer func() { _ = local.Close() }()
	target, turned := r.await(ctx)
	if target == "" {
		return
	}
	var dialer net.Dialer
	remote, err := dialer.DialContext(ctx, "tcp", target)
	if err != nil {
		return // the tunnel just ended
	}
	defer func() { _ = remote.Close() }()
	both := make(chan struct{})
	go func() {
		defer close(both)
		var ways sync.WaitGroup
		ways.Go(func() { pass(remote, local) })
		ways.Go(func() { pass(local, remote) })
		ways.Wait()
	}()
	select {
	case <-both:
	case <-turned:
	case <-ctx.Done():
	}
}

// pass copies one direction of a connection until it ends, and then closes the target.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from) // an error also ends the connection
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// await returns the address of the current tunnel, and a channel that is closed when the tunnel changes. The address is "" if no tunnel opened within the
// time held.
func (r *relay) await(ctx context.Context) (string, <-chan struct{}) {
	patience := time.NewTimer(held)
	defer patience.Stop()
	waits := false
	defer func() {
		if waits {
			r.mu.Lock()
			r.waiting--
			r.mu.Unlock()
		}
	}()
	for {
		r.mu.Lock()
		target, turned := r.target, r.turned
		if target == "" && !waits {
			waits = true
			r.waiting++
			select {
			case r.demand <- struct{}{}:
			default: // one value is enough
			}
		}
		r.mu.Unlock()
		if target != "" {
			return target, turned
		}
		select {
		case <-turned:
		case <-patience.C:
			return "", nil
		case <-ctx.Done():
			return "", nil
		}
	}
}
