// SPDX-License-Identifier: Apache-2.0

// Package ports finds ports for servers that tests start and that cannot be given a listener, nor be asked where they listen.
package ports

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
)

// The assigned ports are below the kernel's range for connections and unspecified listeners: another process could get a port
// of that range before the server opens it. Each process of tests has its own block.
const (
	first, last = 20000, 30000
	block       = 200
)

var taken struct {
	sync.Mutex
	// guard listens on the first port of this process's block, as long as the process lives.
	guard net.Listener
	given int
}

// Free returns a port on which no process listens, and that no other test of this machine gets. It comes again when all others have come.
func Free(ctx context.Context) (int, error) {
	taken.Lock()
	defer taken.Unlock()
	if taken.guard == nil {
		if err := claim(ctx); err != nil {
			return 0, err
		}
	}
	guard := taken.guard.Addr().(*net.TCPAddr).Port
	var errs []error
	for range block - 1 {
		port := guard + 1 + taken.given%(block-1)
		taken.given++
		l, err := listen(ctx, "", port)
		if err == nil {
			return port, l.Close()
		}
		errs = append(errs, err)
	}
	return 0, fmt.Errorf("none of the ports of this process is free: %w", errors.Join(errs...))
}

// ForTest returns what Free does, or fails the test.
func ForTest(tb testing.TB) int {
	tb.Helper()
	port, err := Free(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return port
}

// claim takes the first block that no other process has.
func claim(ctx context.Context) error {
	var errs []error
	for port := first; port < last; port += block {
		l, err := listen(context.WithoutCancel(ctx), "127.0.0.1", port)
		if err == nil {
			taken.guard = l
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("no block of ports is free: %w", errors.Join(errs...))
}

func listen(ctx context.Context, host string, port int) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
}
