// SPDX-License-Identifier: Apache-2.0

// Command bench measures an operator of SparkApplications on a real kube-apiserver and etcd, with simulated kubelets.
// docs/performance.md explains the numbers.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/firesteel-dev/firesteel/test/bench/internal/ground"
	"github.com/firesteel-dev/firesteel/test/bench/internal/limit"
	"github.com/firesteel-dev/firesteel/test/bench/internal/plan"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := root().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	run, operator, readyURL string
	limit, short            bool
	out, markdown, root     string
	timeout                 time.Duration
}

func root() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use: "bench", Short: "Measure an operator of SparkApplications", Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		Long: "Measure an operator of SparkApplications on a real kube-apiserver and etcd, with simulated kubelets.\n\n" +
			"Scenarios, with their usual number of applications:\n" + scenarioHelp(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.short && !cmd.Flags().Changed("run") {
				o.run = shortRun
			}
			steps, err := plan.Parse(o.run, usualSizes())
			if err != nil {
				return fmt.Errorf("--run: %w", err)
			}
			return newBench(o, cmd.OutOrStdout()).run(cmd.Context(), steps)
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.run, "run", defaultRun, "scenarios with their numbers of applications, in this order")
	flags.BoolVar(&o.short, "short", false, "fewer applications, without the scenarios that take minutes for any number: in all ten minutes")
	flags.StringVar(&o.operator, "operator", "", "command line of another operator, which finds the cluster by KUBECONFIG; by default that of this tree")
	flags.StringVar(&o.readyURL, "ready-url", "http://127.0.0.1:8081/readyz", "where the operator of --operator says that it is ready")
	flags.BoolVar(&o.limit, "limit", false, "also measure a program that makes the same API calls and does nothing else")
	flags.StringVar(&o.out, "out", filepath.Join("dist", "bench"), "folder for the JSON, the chart and the logs")
	flags.StringVar(&o.markdown, "markdown", "", "also write the table as Markdown to this file")
	flags.StringVar(&o.root, "root", ".", "folder of the project")
	flags.DurationVar(&o.timeout, "timeout", 20*time.Minute, "most that one scenario may take")
	c.AddCommand(
		role(ground.StandIn, func(ctx context.Context, cfg *rest.Config, _ string) error { return ground.RunStandIn(ctx, cfg) }),
		role(limit.Role, limit.Run),
	)
	return c
}

// role is a mode of this program that it starts as a process of its own. It ends with its parent.
func role(name string, run func(ctx context.Context, cfg *rest.Config, ready string) error) *cobra.Command {
	var kubeconfig, ready string
	c := &cobra.Command{Use: name, Hidden: true, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return fmt.Errorf("find the API server: %w", err)
		}
		ctx, stop := context.WithCancel(cmd.Context())
		defer stop()
		go func() {
			_, _ = os.Stdin.Read(make([]byte, 1)) // Read returns when the parent closes the pipe
			stop()
		}()
		return run(ctx, cfg, ready)
	}}
	c.Flags().StringVar(&kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "where the API server is")
	c.Flags().StringVar(&ready, "ready", "", "address at which to say that it is ready")
	return c
}
