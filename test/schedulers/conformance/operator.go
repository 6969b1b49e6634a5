// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// operator is our operator, in process, for the namespaces of one case.
type operator struct {
	harness    *Harness
	rest       *rest.Config
	settings   config.BatchScheduler
	writes     *writes
	reconciles *reconciles

	cancel context.CancelFunc
	ended  chan error
}

func newOperator(w *Harness, cfg *rest.Config) *operator {
	return &operator{harness: w, rest: cfg, settings: w.Settings, writes: &writes{}, reconciles: &reconciles{done: map[client.ObjectKey]int{}}}
}

// manager lets several operators run in one process, which controller-runtime refuses otherwise.
type manager struct{ ctrl.Manager }

// countedManager is one whose reconciles are counted.
type countedManager struct {
	manager
	reconciles *reconciles
}

func (m countedManager) GetLogger() logr.Logger {
	return logr.New(listener{LogSink: m.Manager.GetLogger().GetSink(), heard: m.reconciles})
}

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
		Namespaces: o.harness.watched(), Workers: 4, BatchScheduler: o.settings, Apache: config.Apache{Enabled: o.harness.apache},
		Submitter: config.Submitter{From: lifecycle.SubmitterFromPolicy}, // there is none: what is written in an object counts
		Metrics:   config.Metrics{Endpoint: config.Endpoint{BindAddress: "0"}}, Health: config.Endpoint{BindAddress: "0"},
	}
	cfg := rest.CopyConfig(o.rest)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{next, o.writes} })
	mgr, err := controller.NewManager(cfg, c)
	must(t, "make the manager", err)
	ctx, cancel := context.WithCancel(context.Background())
	must(t, "set up the operator", controller.Setup(ctx, countedManager{manager{mgr}, o.reconciles}, c, registry))
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

// restart drops the operator's memory.
func (o *operator) restart() {
	o.stop()
	o.start()
}
