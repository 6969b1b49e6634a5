// SPDX-License-Identifier: Apache-2.0

// Package ports finds ports for servers that tests start. It is for servers that cannot use a given listener and do not report their port.
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

// The ports are below the kernel's ephemeral range. From that range another process could get a port before the server opens it. Each process of tests has its
// own block.
const (
	first, last = 20000, 30000
	block       = 200
)

var taken struct {
	sync.Mutex
	// guard listens on the first port of this process's block as long as the process lives.
	guard net.Listener
	given int
}

// Free returns a port on which no process listens and which no other test on this machine gets. It returns the port again after all others of the block.
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

// ForTest is like Free, and fails the test after an error.
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
