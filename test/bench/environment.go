// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/test/bench/internal/audit"
	"github.com/firesteel-dev/firesteel/test/bench/internal/cluster"
	"github.com/firesteel-dev/firesteel/test/bench/internal/ground"
	"github.com/firesteel-dev/firesteel/test/bench/internal/proc"
	"github.com/firesteel-dev/firesteel/test/bench/internal/report"
)

//go:embed application.json
var application []byte

//go:embed apache.json
var apacheApplication []byte

const (
	// quiet is how long the operator must have written nothing to have come to rest; no pause within its work is as long.
	quiet = 2 * time.Second
	// settles is how long that may take.
	settles = 5 * time.Minute
	mib     = 1 << 20
)

// environment is the ground, the operator and the measurements of one scenario.
type environment struct {
	scenario scenario
	subject  subject
	size     int
	dir      string
	logs     string

	// root is the folder of the project.
	root     string
	ground   *ground.Ground
	client   kubernetes.Interface
	dynamic  dynamic.Interface
	operator *ground.Process
	meter    proc.Meter
	load     cluster.Load
	section  report.Section
}

// newEnvironment starts a ground and follows what happens there, but no operator. The second result ends all of it.
func (b *bench) newEnvironment(ctx context.Context, s scenario, size int, sub subject, logs string) (_ *environment, end func(), err error) {
	dir, err := os.MkdirTemp("", "firesteel-bench-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder: %w", err)
	}
	w := &environment{scenario: s, subject: sub, size: size, dir: dir, logs: logs, root: b.root}
	inside, stop := context.WithCancel(ctx)
	end = func() {
		w.killOperator()
		stop()
		if w.ground != nil {
			w.ground.Down()
		}
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	if w.ground, err = ground.Up(ctx, b.made, dir, logs); err != nil {
		return nil, nil, err
	}
	if w.client, err = kubernetes.NewForConfig(w.ground.Admin); err != nil {
		return nil, nil, fmt.Errorf("make a client: %w", err)
	}
	if w.dynamic, err = dynamic.NewForConfig(w.ground.Admin); err != nil {
		return nil, nil, fmt.Errorf("make a client: %w", err)
	}
	group := v1beta2.GroupVersion
	if s.apache {
		group = v1.SchemeGroupVersion
	}
	apps, err := cluster.Applications(w.ground.Admin, group)
	if err != nil {
		return nil, nil, err
	}
	namespace := ground.Namespace
	if s.way != nil {
		namespace = "" // all: they are in those of tenants
	}
	watcher, err := cluster.Watch(inside, w.ground.Admin, apps, namespace)
	if err != nil {
		return nil, nil, err
	}
	w.load = cluster.Load{Apps: apps, Watcher: watcher}
	go w.meter.Follow(inside)
	return w, end, nil
}

// names are new names of applications.
func names(prefix string, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s-%05d", prefix, i+1))
	}
	return out
}

func (w *environment) create(ctx context.Context, names ...string) error {
	what := application
	if w.scenario.apache {
		what = apacheApplication
	}
	return w.load.Create(ctx, what, names)
}

func (w *environment) wait(ctx context.Context, what string, names []string, is func(*cluster.Seen) bool) error {
	return w.load.Watcher.Wait(ctx, what, names, len(names), is, w.failed)
}

const warmUpName = "warm-up"

// warmUp runs one application to its end, so that leader election and first connections are not measured.
func (w *environment) warmUp(ctx context.Context) error {
	if err := w.create(ctx, warmUpName); err != nil {
		return err
	}
	if err := w.wait(ctx, "have ended", []string{warmUpName}, (*cluster.Seen).Over); err != nil {
		return err
	}
	_, err := w.rest(ctx)
	return err
}

// rest waits until the operator has nothing to do, and counts its calls until then.
func (w *environment) rest(ctx context.Context) (audit.Calls, error) {
	return w.ground.Calls.Quiet(ctx, quiet, settles)
}

// usage is the CPU time of all measured processes up to a moment.
type usage struct {
	at  time.Time
	cpu map[string]float64
}

const (
	cpuOperator = "operator"
	cpuLoad     = "load generator"
	cpuMachine  = "everything on the machine"
)

// everybody lists the processes whose CPU time is measured.
var everybody = []string{cpuOperator, "kube-apiserver", "etcd", "kwok", ground.StandIn, cpuLoad}

func (w *environment) used() usage {
	u := usage{at: time.Now(), cpu: map[string]float64{cpuOperator: w.meter.CPU(), cpuLoad: proc.CPU(os.Getpid()), cpuMachine: proc.Busy()}}
	for _, p := range w.ground.Processes {
		u.cpu[p.Name] = proc.CPU(p.PID())
	}
	return u
}

// addCPU adds what was used since for each of n applications.
func (w *environment) addCPU(before usage, n int) {
	w.addCPUPer("CPU for each application: ", before, float64(n))
}

// addCPUPerMinute adds what was used since for each minute.
func (w *environment) addCPUPerMinute(before usage) {
	w.addCPUPer("CPU a minute: ", before, time.Since(before.at).Minutes())
}

// addShares adds the shares of a core used since before.
func (w *environment) addShares(before usage) {
	now := w.used()
	for _, name := range everybody {
		w.section.Add("share of a core: "+name, "%", 100*(now.cpu[name]-before.cpu[name])/now.at.Sub(before.at).Seconds())
	}
}

// addCPUPer adds what was used since, divided, and what the rest of the machine did meanwhile.
func (w *environment) addCPUPer(what string, before usage, n float64) {
	now := w.used()
	others := now.cpu[cpuMachine] - before.cpu[cpuMachine]
	for _, name := range everybody {
		used := now.cpu[name] - before.cpu[name]
		others -= used
		w.section.Rows = append(w.section.Rows, report.Row{What: what + name, Unit: "ms", Value: 1000 * used / n, Chart: name == cpuOperator})
	}
	w.section.Add("CPU of everything else on the machine", "s", max(0, others))
}

// addCalls adds the operator's calls, divided by a number of applications.
func (w *environment) addCalls(what string, calls audit.Calls, n int) {
	w.section.Add(what, "", float64(calls.All())/float64(n))
	for _, kind := range []audit.Kind{audit.Get, audit.List, audit.Watch, audit.Write} {
		w.section.Add("of these, "+string(kind), "", float64(calls.Of(kind))/float64(n))
	}
	w.addCallsByName(calls)
}

func (w *environment) addCallsByName(calls audit.Calls) {
	for _, call := range calls.Sorted() {
		w.section.Calls = append(w.section.Calls, report.Row{What: call.String(), Value: float64(calls.Sent[call])})
	}
}

// addEvents compares the sent events with the events that the states require.
func (w *environment) addEvents(calls audit.Calls, apps []cluster.Seen) {
	sent, stored := calls.Events()
	w.section.Add("events that the states shown call for", "", float64(cluster.Events(apps)))
	w.section.Add("events sent", "", float64(sent))
	w.section.Add("events stored", "", float64(stored))
	w.section.Add("events called for and not stored", "", float64(max(0, cluster.Events(apps)-stored)))
}

func (w *environment) addMemory(what string, bytes int64) {
	w.section.Add(what, "MiB", float64(bytes)/mib)
}

// check adds a number that must be 0.
func (w *environment) check(what string, number int) {
	w.section.Add(what, "", float64(number))
	if number != 0 {
		w.section.Faults = append(w.section.Faults, fmt.Sprintf("%s: %d", what, number))
	}
}

// faults joins the faults of some sections.
func faults(sections []report.Section) error {
	var errs []error
	for _, s := range sections {
		for _, fault := range s.Faults {
			errs = append(errs, fmt.Errorf("%s: %s", s.Name, fault))
		}
	}
	return errors.Join(errs...)
}
