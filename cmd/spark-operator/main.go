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

// Command spark-operator runs the operator: it reads its configuration, wires the parts and runs until it is told to
// stop.
package main

import (
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/firesteel-dev/firesteel/cmd/plugins"
	"github.com/firesteel-dev/firesteel/cmd/spark-operator/verify"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/version"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "spark-operator:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) > 1 && os.Args[1] == "verify" {
		c := verify.Command()
		c.SetArgs(os.Args[2:])
		return c.ExecuteContext(ctrl.SetupSignalHandler())
	}
	path := flag.String("config", "/etc/spark-operator/config.yaml", "path of the operator's configuration file")
	showVersion := flag.Bool("version", false, "print the version and exit")
	logging := zap.Options{}
	logging.BindFlags(flag.CommandLine)
	flag.Parse()
	if *showVersion {
		fmt.Println(version.String())
		return nil
	}
	logger := zap.New(zap.UseFlagOptions(&logging))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)

	text, err := os.ReadFile(*path)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	c, err := config.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", *path, err)
	}
	registry, err := plugins.Registry(c.BatchScheduler)
	if err != nil {
		return fmt.Errorf("%s: %w", *path, err)
	}
	kubeconfig, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	ctx := ctrl.SetupSignalHandler()
	mgr, err := controller.NewManager(kubeconfig, c)
	if err != nil {
		return err
	}
	if err := controller.Setup(ctx, mgr, c, registry); err != nil {
		return err
	}
	logger.Info("starting", "version", version.String(), "schedulers", registry.Names())
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run manager: %w", err)
	}
	return nil
}
