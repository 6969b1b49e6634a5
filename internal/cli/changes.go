// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/inspect"
)

// change is one observation of an object; the object is nil if it does not exist. After an error with again set, the watch is retried; after any other error,
// no further value is sent.
type change struct {
	object client.Object
	err    error
	again  bool
}

// pause is the shortest duration of a watch. It prevents a busy loop if watches end immediately.
const pause = time.Second

// changes sends an object now and after each change, until the context is done. When a watch ends, it reads the object again and starts a new watch. list is
// an empty list of the object's kind.
func changes(ctx context.Context, c inspect.Reader, list client.ObjectList, key client.ObjectKey) <-chan change {
	seen := make(chan change)
	send := func(one change) {
		select {
		case seen <- one:
		case <-ctx.Done():
		}
	}
	go func() {
		defer close(seen)
		for first := true; ctx.Err() == nil; first = false {
			rest := time.After(pause)
			err := watchOnce(ctx, c, list, key, func(o client.Object) { send(change{object: o}) })
			if err != nil && ctx.Err() == nil {
				again := !first && !lasting(err)
				send(change{err: err, again: again})
				if !again {
					return
				}
			}
			select {
			case <-rest:
			case <-ctx.Done():
			}
		}
	}()
	return seen
}

// lasting reports whether an error is permanent.
func lasting(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}

// watchOnce reads the object and watches it until the watch ends.
func watchOnce(ctx context.Context, c inspect.Reader, kind client.ObjectList, key client.ObjectKey, send func(client.Object)) error {
	list, ok := kind.DeepCopyObject().(client.ObjectList)
	if !ok {
		return errors.New("not a list of objects")
	}
	one := []client.ListOption{client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name}}
	if err := c.List(ctx, list, one...); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	var found client.Object
	if len(items) > 0 {
		found, _ = items[0].(client.Object)
	}
	send(found)
	since := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
	w, err := c.Watch(ctx, list, append([]client.ListOption{since}, one...)...)
	if err != nil {
		return err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		switch event.Type {
		case watch.Added, watch.Modified:
			if o, ok := event.Object.(client.Object); ok {
				send(o)
			}
		case watch.Deleted:
			send(nil)
		case watch.Error:
			if err := apierrors.FromObject(event.Object); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
				return err
			}
			return nil // the resource version is too old: the next read is fresh
		case watch.Bookmark:
		}
	}
	return nil
}
