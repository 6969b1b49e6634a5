// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewInMemory starts an API server that only clients in this process reach, without TLS and at any address. It is for bubbles of testing/synctest, whose clock
// does not advance while a goroutine waits for the network.
func NewInMemory(t *testing.T, kinds []schema.GroupVersionKind, objects ...client.Object) *Server {
	t.Helper()
	l := &memoryListener{dialed: make(chan net.Conn), closed: make(chan struct{})}
	before := http.DefaultTransport // client-go's clients use this transport if they need nothing special
	http.DefaultTransport = &http.Transport{DialContext: l.dial}
	t.Cleanup(func() { http.DefaultTransport = before })
	s := newServer(t, kinds, objects...)
	s.Server = &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(s.serve)}} //nolint:gosec // no client sends slowly
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// memoryListener accepts connections from this process.
type memoryListener struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.dialed <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialed:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *memoryListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
