// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"

	"github.com/firesteel-dev/firesteel/test/bench/internal/ground"
)

// hands is the number of concurrent requests of the load generator.
const hands = 4

// Load creates applications.
type Load struct {
	Apps    rest.Interface
	Watcher *Watcher
	// Pace is how fast they come; nil for as fast as the API server takes them.
	Pace *rate.Limiter
	// Namespaces are where they are created, in turns by the numbers at the ends of their names; none for ground.Namespace.
	Namespaces []string
}

// NamespaceOf is where the application of a name is created.
func (l *Load) NamespaceOf(name string) string {
	if len(l.Namespaces) == 0 {
		return ground.Namespace
	}
	number, _ := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
	return l.Namespaces[number%len(l.Namespaces)]
}

// Create creates applications, several at a time. The template is one as JSON, with NAME in place of its name.
func (l *Load) Create(ctx context.Context, template []byte, names []string) error {
	return Each(ctx, names, func(ctx context.Context, name string) error {
		if l.Pace != nil {
			if err := l.Pace.Wait(ctx); err != nil {
				return fmt.Errorf("wait to create an application: %w", err)
			}
		}
		l.Watcher.expect(name)
		namespace := l.NamespaceOf(name)
		body := bytes.ReplaceAll(template, []byte("NAME"), []byte(name))
		body = bytes.Replace(body, fmt.Appendf(nil, `"namespace": %q`, ground.Namespace), fmt.Appendf(nil, `"namespace": %q`, namespace), 1)
		if err := l.Apps.Post().Namespace(namespace).Resource(Resource).Body(body).Do(ctx).Error(); err != nil {
			return fmt.Errorf("create an application: %w", err)
		}
		return nil
	})
}

// Each does something for all names, several at a time, until one fails.
func Each(ctx context.Context, names []string, do func(ctx context.Context, name string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(hands)
	for _, name := range names {
		group.Go(func() error { return do(ctx, name) })
	}
	return group.Wait()
}
