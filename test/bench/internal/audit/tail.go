// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Tail reads a log that grows.
type Tail struct {
	Path   string
	offset int64
}

// Next counts the calls since the last time.
func (t *Tail) Next() (Calls, error) {
	file, err := os.Open(t.Path)
	if errors.Is(err, fs.ErrNotExist) { // the API server makes it with the first line
		calls, _, err := Parse(nil)
		return calls, err
	}
	if err != nil {
		return Calls{}, fmt.Errorf("read audit log: %w", err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(t.offset, io.SeekStart); err != nil {
		return Calls{}, fmt.Errorf("read audit log: %w", err)
	}
	log, err := io.ReadAll(file)
	if err != nil {
		return Calls{}, fmt.Errorf("read audit log: %w", err)
	}
	calls, size, err := Parse(log)
	t.offset += int64(size)
	return calls, err
}

// Quiet counts the calls until there have been no writes, but for the lease, for as long as idle.
func (t *Tail) Quiet(ctx context.Context, idle, atMost time.Duration) (Calls, error) {
	all, err := t.Next()
	if err != nil {
		return all, err
	}
	last := time.Now()
	err = wait.PollUntilContextTimeout(ctx, idle/10, atMost, true, func(context.Context) (bool, error) {
		more, err := t.Next()
		if more.Of(Write) > 0 {
			last = time.Now()
		}
		all.Add(more)
		return time.Since(last) >= idle, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		err = fmt.Errorf("the operator still writes %s after the end", atMost)
	}
	return all, err
}
