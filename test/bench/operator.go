// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/test/bench/internal/ground"
	"github.com/firesteel-dev/firesteel/test/bench/internal/limit"
)

const (
	readyPoll = 10 * time.Millisecond
	// farewell is how long an operator may take to stop.
	farewell = time.Minute
)

// subject is the measured program: an operator, or the limit program.
type subject struct {
	name string
	// command returns the command line in an environment, and the address of the readiness check.
	command func(ctx context.Context, w *environment) (words []string, readyURL string, err error)
}

// thisOperator is the one of this tree, with the configuration that config/manager gives it, but for its addresses.
func thisOperator(binary, root string) subject {
	return subject{name: "operator", command: func(ctx context.Context, w *environment) ([]string, string, error) {
		text, err := os.ReadFile(filepath.Join(root, "config", "manager", "config.yaml"))
		if err != nil {
			return nil, "", fmt.Errorf("read the operator's configuration: %w", err)
		}
		config := map[string]any{}
		if err := yaml.Unmarshal(text, &config); err != nil {
			return nil, "", fmt.Errorf("read the operator's configuration: %w", err)
		}
		addresses, err := ground.FreeAddresses(ctx, 2)
		if err != nil {
			return nil, "", err
		}
		set := func(section, field string, value any) {
			fields, _ := config[section].(map[string]any)
			if fields == nil {
				fields = map[string]any{}
			}
			fields[field] = value
			config[section] = fields
		}
		set("metrics", "bindAddress", addresses[0])
		set("health", "bindAddress", addresses[1])
		set("leaderElection", "namespace", ground.Namespace)
		set("apache", "enabled", w.scenario.apache)
		if w.scenario.way != nil {
			config["batchScheduler"] = w.scenario.way.batchScheduler()
		}
		if text, err = yaml.Marshal(config); err != nil {
			return nil, "", fmt.Errorf("write the operator's configuration: %w", err)
		}
		path := filepath.Join(w.dir, "operator.yaml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, "", fmt.Errorf("write the operator's configuration: %w", err)
		}
		return []string{binary, "--config=" + path}, "http://" + addresses[1] + "/readyz", nil
	}}
}

// otherOperator is a command line.
func otherOperator(line, readyURL string) subject {
	return subject{name: "operator", command: func(context.Context, *environment) ([]string, string, error) {
		return []string{"sh", "-c", "exec " + line}, readyURL, nil
	}}
}

// limitOf is this program in the role of the limit.
func limitOf(self string) subject {
	return subject{name: limit.Role, command: func(ctx context.Context, _ *environment) ([]string, string, error) {
		addresses, err := ground.FreeAddresses(ctx, 1)
		if err != nil {
			return nil, "", err
		}
		return []string{self, limit.Role, "--ready=" + addresses[0]}, "http://" + addresses[0] + "/readyz", nil
	}}
}

// startOperator starts it and waits until it is ready. It returns how long that took.
func (w *environment) startOperator(ctx context.Context) (time.Duration, error) {
	words, url, err := w.subject.command(ctx, w)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	env := w.ground.Environment()
	if w.scenario.memory != "" {
		env = append(env, "GOMEMLIMIT="+w.scenario.memory)
	}
	if w.operator, err = ground.Start(w.subject.name, w.logs, env, words...); err != nil {
		return 0, err
	}
	w.meter.Switch(w.operator.PID())
	client := http.Client{Timeout: time.Second}
	err = wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false, err
		}
		answer, err := client.Do(request)
		if err != nil {
			return false, w.failed() // not listening yet
		}
		return answer.StatusCode == http.StatusOK, answer.Body.Close()
	})
	if err != nil {
		return 0, fmt.Errorf("wait until the operator is ready at %s: %w", url, err)
	}
	return time.Since(start), nil
}

// stopOperator ends it as Kubernetes does. It returns how long that took.
func (w *environment) stopOperator() time.Duration {
	start := time.Now()
	w.endOperator(func(p *ground.Process) { p.Stop(farewell) })
	return time.Since(start)
}

// killOperator ends it at once, with its children.
func (w *environment) killOperator() { w.endOperator((*ground.Process).Kill) }

func (w *environment) endOperator(end func(*ground.Process)) {
	if w.operator == nil {
		return
	}
	p := w.operator
	w.operator = nil
	w.meter.Leave(func() { end(p) })
}

// failed returns the error of a process that ended early.
func (w *environment) failed() error {
	var errs []error
	if w.operator != nil {
		errs = append(errs, w.operator.Failed())
	}
	return errors.Join(append(errs, w.ground.Failed())...)
}
