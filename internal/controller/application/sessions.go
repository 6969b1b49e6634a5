// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// observeSessions asks a driver for its sessions. It does so only if a decision needs them, and at a limited rate, because pods change much more often than
// sessions.
func (e *Engine[T]) observeSessions(ctx context.Context, s *scope[T]) {
	key, d := client.ObjectKeyFromObject(s.obj), s.observed.Driver
	if !lifecycle.NeedsSessions(s.Desired, s.Record, d, s.env) {
		e.asked.forget(key)
		return
	}
	last := e.asked.of(key, d.UID)
	if !last.Fresh(s.Desired, s.Record, d, s.env) {
		last = e.Sessions(ctx, d.PodIP, s.uiPort(), d.StartedAt)
		last.At = s.env.Now
		e.asked.add(key, d.UID, last)
	}
	s.observed.Sessions = last
}

// uiPort returns the UI port of the running driver. After an edit, the spec may have another port, for the next driver.
func (s *scope[T]) uiPort() int32 {
	if port := s.observed.Driver.UIPort; port != 0 && s.Record.SpecHash != s.Desired.SpecHash {
		return port
	}
	return spark.UIPort(s.App)
}

// sessionCache keeps the last answer of each server. It may be lost at any time.
type sessionCache struct {
	mu   sync.Mutex
	last map[types.NamespacedName]answer
}

type answer struct {
	// uid is the UID of the driver pod.
	uid string
	lifecycle.Sessions
}

func (c *sessionCache) of(key types.NamespacedName, uid string) lifecycle.Sessions {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.last[key]; a.uid == uid {
		return a.Sessions
	}
	return lifecycle.Sessions{}
}

func (c *sessionCache) add(key types.NamespacedName, uid string, s lifecycle.Sessions) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = map[types.NamespacedName]answer{}
	}
	c.last[key] = answer{uid, s}
}

func (c *sessionCache) forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.last, key)
}
