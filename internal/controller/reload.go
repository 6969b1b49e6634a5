/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package controller

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/firesteel-dev/firesteel/internal/config"
)

// lookPeriod is how often the configuration file is looked at. A kubelet brings a changed ConfigMap within a minute or two;
// comparing a small file costs less than being told of everything that moves in its folder.
const lookPeriod = 2 * time.Second

var (
	watchedNamespaces = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "spark_operator_namespace_watched",
		Help: "Whether a namespace of the configuration can be watched at present; * stands for all namespaces.",
	}, []string{"namespace"})
	namespaceTrouble = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spark_operator_namespace_trouble_total",
		Help: "Times that a watch in a namespace of the configuration failed; * stands for all namespaces.",
	}, []string{"namespace"})
	configurationReloads = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spark_operator_configuration_reloads_total",
		Help: "Times that the configuration file had changed, by whether it was applied or refused.",
	}, []string{"result"})
	restartNeeded = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "spark_operator_configuration_restart_needed",
		Help: "Whether the configuration file has changed in a section that is only read when the operator starts.",
	})
)

func init() {
	metrics.Registry.MustRegister(watchedNamespaces, namespaceTrouble, configurationReloads, restartNeeded)
}

// reloader takes over what has changed in the configuration file, as far as that goes without a restart.
type reloader struct {
	log     logr.Logger
	started config.OperatorConfiguration // what the operator was started with
	apply   func(context.Context, config.OperatorConfiguration)

	last string
}

// Start looks at the file until the context ends. It implements manager.Runnable.
func (r *reloader) Start(ctx context.Context) error {
	ticker := time.NewTicker(lookPeriod)
	defer ticker.Stop()
	for {
		r.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// NeedLeaderElection is false: who stands by has to know as much.
func (r *reloader) NeedLeaderElection() bool { return false }

// look reads the file. A bad one is reported once, and the former one stays in force.
func (r *reloader) look(ctx context.Context) {
	text, err := os.ReadFile(r.started.File)
	now := string(text)
	if err != nil {
		now = fmt.Sprintf("%T", err)
	}
	if now == r.last {
		return
	}
	first := r.last == ""
	r.last = now
	var c config.OperatorConfiguration
	if err == nil {
		c, err = config.Parse(text)
	}
	if err != nil {
		configurationReloads.WithLabelValues("refused").Inc()
		r.log.Error(err, "the changed configuration is not applied; the former one stays in force", "file", r.started.File)
		return
	}
	sections := r.started.NeedsRestart(c)
	restartNeeded.Set(number(len(sections) > 0))
	if len(sections) > 0 {
		r.log.Info("the configuration has changed in sections that need a restart of the operator", "sections", sections, "file", r.started.File)
	}
	if first && len(sections) == 0 && r.started.SameTenancy(c) {
		return // as it was when the operator started
	}
	configurationReloads.WithLabelValues("applied").Inc()
	r.log.Info("took over namespaces and policies from the changed configuration", "namespaces", c.Namespaces, "namespaceSelector", c.NamespaceSelector, "policies", len(c.Policies))
	r.apply(ctx, c)
}
