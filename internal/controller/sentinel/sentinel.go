// SPDX-License-Identifier: Apache-2.0

// Package sentinel edits sentinels, objects that run nothing. Its health check fails if the operator's cache does not show an edit within a period, because
// then the watch is dead, and a restart helps. It does not test reconciling, because a sentinel's tenant could delay a reconcile and cause a restart of the
// operator.
package sentinel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/observe"
)

const (
	// confNumber is the property with the counter.
	confNumber = "sentinel.dummy.number"
	// usualPeriod is the time between two edits of a sentinel, and the time in which the cache must show an edit.
	usualPeriod = time.Minute
	// mostEdits bounds the edits in a period, because a tenant may have thousands of sentinels.
	mostEdits = 10
	// editTimeout bounds an edit, so that an edit without a response does not delay the others.
	editTimeout = 5 * time.Second
	// largest is the number at which the counter starts again. Only another client writes a larger number.
	largest = 1 << 53
)

// Probe edits sentinels while this replica is the leader.
type Probe struct {
	// Cache is the operator's own cache. Writer writes to the API server.
	Cache  client.Reader
	Writer actuate.Writer
	Clock  clock.WithTicker
	Log    logr.Logger
	// Period is the time between two edits; 0 for usualPeriod.
	Period time.Duration
	// Label is on all sentinels. Sentinel reports whether an object is one, and Conf returns its Spark properties.
	Label    string
	Sentinel func(metav1.Object) bool
	Conf     func(metav1.Object) map[string]string
	// Watches reports whether a namespace is watched. The cache lacks other namespaces.
	Watches func(namespace string) bool

	mu      sync.Mutex
	lists   []client.ObjectList
	awaited map[types.UID]edit
}

// edit is an edit that the cache has to show.
type edit struct {
	object     client.Object
	generation int64
	at         time.Time
}

func (e edit) String() string {
	return fmt.Sprintf("%T %s", e.object, client.ObjectKeyFromObject(e.object))
}

// Add adds a kind; list is an empty list of its objects. The kind must be installed.
func (p *Probe) Add(list client.ObjectList) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lists = append(p.lists, list)
}

func (p *Probe) period() time.Duration { return cmp.Or(p.Period, usualPeriod) }

// Start edits sentinels until the context ends. It implements manager.Runnable; only the leader runs it.
func (p *Probe) Start(ctx context.Context) error {
	ticker := p.Clock.NewTicker(p.period())
	defer ticker.Stop()
	for {
		p.round(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// round edits the oldest sentinels, except those whose last edit is not in the cache yet.
func (p *Probe) round(ctx context.Context) {
	for _, e := range p.late(ctx) {
		p.Log.Info("the cache does not show the edit of a sentinel: the health check fails", "sentinel", e.String(), "generation", e.generation)
	}
	chosen, err := p.oldest(ctx)
	if err != nil {
		p.Log.Error(err, "cannot read sentinels")
		return
	}
	awaited := map[types.UID]edit{}
	for _, o := range chosen {
		before, waits := p.awaited[o.GetUID()]
		if waits && o.GetGeneration() < before.generation {
			awaited[o.GetUID()] = before
			continue
		}
		switch e, err := p.edit(ctx, o); {
		case err == nil:
			awaited[o.GetUID()] = e
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && ctx.Err() == nil:
			p.Log.Error(err, "cannot edit a sentinel", "sentinel", client.ObjectKeyFromObject(o))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.awaited = awaited
}

// edit increments the counter of a sentinel.
func (p *Probe) edit(ctx context.Context, o client.Object) (edit, error) {
	ctx, cancel := context.WithTimeout(ctx, editTimeout)
	defer cancel()
	stored, _ := o.DeepCopyObject().(client.Object)
	at := p.Clock.Now()
	err := p.Writer.SetConf(ctx, stored, confNumber, next(p.Conf(o)[confNumber]))
	return edit{object: o, generation: stored.GetGeneration(), at: at}, err
}

// next returns the number after the given one, or 1 if that is invalid or too large.
func next(number string) string {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n >= largest {
		n = 0
	}
	return strconv.FormatInt(n+1, 10)
}

// Check is the health check. It fails if the cache lacks an edit that is older than a period.
func (p *Probe) Check(request *http.Request) error {
	var names []string
	for _, e := range p.late(request.Context()) {
		names = append(names, e.String())
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return errors.New("the cache does not show edits of these sentinels: " + strings.Join(names, ", "))
}

// late returns the edits that the cache lacks although they are older than a period.
func (p *Probe) late(ctx context.Context) []edit {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []edit
	for uid, e := range p.awaited {
		if p.Clock.Since(e.at) < p.period() || !p.Watches(e.object.GetNamespace()) {
			continue
		}
		now, _ := e.object.DeepCopyObject().(client.Object)
		if err := p.Cache.Get(ctx, client.ObjectKeyFromObject(e.object), now); err != nil || now.GetUID() != uid || !p.is(now) {
			continue // the object was deleted, or is no longer a sentinel
		}
		if now.GetGeneration() < e.generation {
			all = append(all, e)
		}
	}
	return all
}

// oldest returns the sentinels to edit. Namespaces take turns, because one tenant may own the ten oldest.
func (p *Probe) oldest(ctx context.Context) ([]client.Object, error) {
	p.mu.Lock()
	lists := slices.Clone(p.lists)
	p.mu.Unlock()
	var all []client.Object
	for _, list := range lists {
		found, err := p.sentinels(ctx, list)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	byAge := func(a, b client.Object) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), cmp.Compare(a.GetUID(), b.GetUID()))
	}
	slices.SortFunc(all, byAge)
	older, turn := map[string]int{}, map[types.UID]int{} // in each namespace
	for _, o := range all {
		turn[o.GetUID()] = older[o.GetNamespace()]
		older[o.GetNamespace()]++
	}
	slices.SortFunc(all, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(turn[a.GetUID()], turn[b.GetUID()]), byAge(a, b))
	})
	return all[:min(len(all), mostEdits)], nil
}

// is reports whether an object is a sentinel that can be edited.
func (p *Probe) is(o client.Object) bool {
	return p.Sentinel(o) && o.GetDeletionTimestamp().IsZero()
}

// sentinels lists a kind's sentinels in the cache. It omits those whose spec is too large for the cache, because their number is unknown.
func (p *Probe) sentinels(ctx context.Context, empty client.ObjectList) ([]client.Object, error) {
	all, err := observe.List[client.Object](ctx, p.Cache, empty, client.HasLabels{p.Label}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list %T: %w", empty, err)
	}
	return slices.DeleteFunc(all, func(o client.Object) bool { return !p.is(o) || observe.IsStub(o) || !p.Watches(o.GetNamespace()) }), nil
}
