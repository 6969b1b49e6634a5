// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// classHold is how long a PriorityClass is cached, and absentHold how long the answer for a missing or forbidden class is. The value of a PriorityClass is
	// immutable.
	classHold  = time.Minute
	absentHold = 10 * time.Second
	// classesKept bounds the cached answers, because users may name any number of missing classes.
	classesKept = 1000
)

// classCache caches PriorityClasses for a short time, because all waiting applications are checked regularly and most name the same class. PriorityClasses
// are not watched, because an operator with few permissions may only get them.
type classCache struct {
	flight singleflight.Group
	known  *cache.LRUExpireCache
}

func newClassCache(now clock.PassiveClock) *classCache {
	return &classCache{known: cache.NewLRUExpireCacheWithClock(classesKept, now)}
}

// get returns the PriorityClass with a name. It may be slightly outdated.
func (s *classCache) get(ctx context.Context, live client.Reader, key client.ObjectKey, o *unstructured.Unstructured) error {
	if known, ok := s.known.Get(key.Name); ok {
		return fill(o, known)
	}
	answer, err, _ := s.flight.Do(key.Name, func() (any, error) {
		read := &unstructured.Unstructured{}
		read.SetGroupVersionKind(o.GroupVersionKind())
		err := live.Get(ctx, key, read)
		switch {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			s.known.Add(key.Name, err, absentHold)
			return err, nil
		case err != nil:
			return nil, err
		}
		s.known.Add(key.Name, read, classHold)
		return read, nil
	})
	if err != nil {
		return err
	}
	return fill(o, answer)
}

// fill copies a cached object into o, or returns the cached error.
func fill(o *unstructured.Unstructured, answer any) error {
	switch answer := answer.(type) {
	case *unstructured.Unstructured:
		o.Object = runtime.DeepCopyJSON(answer.Object)
		return nil
	case error:
		return answer
	}
	return nil
}
