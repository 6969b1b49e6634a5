// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// operator is our operator, in process, for the namespaces of one case.
type operator struct {
	harness  *Harness
	rest     *rest.Config
	settings config.BatchScheduler
	writes   *writes

	cancel context.CancelFunc
	ended  chan error
}

// manager lets several operators live in one process, which controller-runtime refuses otherwise.
type manager struct{ ctrl.Manager }

func (m manager) GetControllerOptions() ctrlconfig.Controller {
	options := m.Manager.GetControllerOptions()
	skip := true
	options.SkipNameValidation = &skip
	return options
}

func (o *operator) start() {
	t := o.harness.T
	t.Helper()
	registry, err := o.harness.Registry(o.settings)
	must(t, "make the registry", err)
	c := config.OperatorConfiguration{
		Namespaces: o.harness.namespaces, Workers: 4, BatchScheduler: o.settings,
		Metrics: config.Metrics{Endpoint: config.Endpoint{BindAddress: "0"}}, Health: config.Endpoint{BindAddress: "0"},
	}
	cfg := rest.CopyConfig(o.rest)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{next, o.writes} })
	mgr, err := controller.NewManager(cfg, c)
	must(t, "make the manager", err)
	ctx, cancel := context.WithCancel(context.Background())
	must(t, "set up the operator", controller.Setup(ctx, manager{mgr}, c, registry))
	o.cancel, o.ended = cancel, make(chan error, 1)
	go func(ended chan error) { ended <- mgr.Start(ctx) }(o.ended)
}

func (o *operator) stop() {
	if o.cancel == nil {
		return
	}
	o.cancel()
	o.cancel = nil
	select {
	case err := <-o.ended:
		if err != nil {
			o.harness.Errorf("the operator ended with an error: %v", err)
		}
	case <-time.After(patience):
		o.harness.Error("the operator does not stop")
	}
}

// restart forgets everything that the operator had in memory.
func (o *operator) restart() {
	o.stop()
	o.start()
}

// writes are the requests of an operator that change something.
type writes struct {
	mu    sync.Mutex
	seen  []string
	asked int // about its rights
}

// counted is a transport that notes them. Events and questions about rights change nothing that anyone waits for.
type counted struct {
	next   http.RoundTripper
	writes *writes
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "accessreviews") {
		answer, err := c.next.RoundTrip(r)
		c.writes.mu.Lock()
		c.writes.asked++
		c.writes.mu.Unlock()
		return answer, err
	}
	if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events") {
		c.writes.mu.Lock()
		c.writes.seen = append(c.writes.seen, r.Method+" "+r.URL.Path)
		c.writes.mu.Unlock()
	}
	return c.next.RoundTrip(r)
}

// reviews is how many questions about its rights the operator has asked.
func (w *writes) reviews() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

// about returns those so far that concern an application or what was made for it; objects are named after it, or after
// its attempts.
func (w *writes) about(a *app) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []string
	for _, text := range w.seen {
		if strings.Contains(text, "/"+a.Name) || strings.Contains(text, "podgroups") && strings.Contains(text, spark.NewIdentity(a.UID, 1, time.Time{}).NameID) {
			found = append(found, text)
		}
	}
	return found
}
