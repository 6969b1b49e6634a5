// SPDX-License-Identifier: Apache-2.0

// Command spark-operator runs one of the operator's processes: the controller or the admission webhook. It reads its configuration, wires the packages and runs
// until it is stopped.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	_ "time/tzdata" // the image has no time zones

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/firesteel-dev/firesteel/cmd/plugins"
	"github.com/firesteel-dev/firesteel/cmd/spark-operator/verify"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/operator"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/text"
	"github.com/firesteel-dev/firesteel/internal/version"
	"github.com/firesteel-dev/firesteel/internal/webhook"
)

func main() {
	if err := root().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "spark-operator:", err)
		os.Exit(1)
	}
}

// process wires one process of the operator. The returned key-value pairs are logged.
type process func(context.Context, *rest.Config, config.OperatorConfiguration) (mgr ctrl.Manager, facts []any, err error)

// root returns the command. It runs the controller, unless a subcommand is given.
func root() *cobra.Command {
	var path string
	logging := zap.Options{}
	command := func(use, short string, wire process) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), path, logging, wire)
		}}
	}
	root := command("spark-operator", "Run Apache Spark applications on Kubernetes", controllerProcess)
	root.Version = version.String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SilenceUsage, root.SilenceErrors = true, true
	for _, c := range []*cobra.Command{
		command("controller", "Run the controller (as without a command)", controllerProcess),
		command("webhook", "Run the admission webhook", webhookProcess),
	} {
		start := *c // the Kubeflow operator's name
		start.Use, start.Hidden = "start", true
		c.AddCommand(&start)
		root.AddCommand(c)
	}
	root.AddCommand(&cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), version.String())
		return err
	}})
	root.AddCommand(verify.Command())
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	logging.BindFlags(flags)
	if kubeconfig := flag.Lookup(ctrlKubeconfig); kubeconfig != nil {
		flags.Var(kubeconfig.Value, kubeconfig.Name, kubeconfig.Usage)
	}
	root.PersistentFlags().AddGoFlagSet(flags)
	root.PersistentFlags().StringVar(&path, "config", "/etc/spark-operator/config.yaml", "path of the operator's configuration file")
	return root
}

// ctrlKubeconfig is the flag that controller-runtime registers.
const ctrlKubeconfig = "kubeconfig"

func run(ctx context.Context, path string, logging zap.Options, wire process) error {
	logging.DestWriter = text.Writer{Writer: os.Stderr} // some of the logged texts come from tenants
	logger := zap.New(zap.UseFlagOptions(&logging))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)

	c, err := config.Load(path)
	if err != nil {
		return err
	}
	kubeconfig, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	mgr, facts, err := wire(ctx, kubeconfig, c)
	if err != nil {
		return err
	}
	facts = append(facts, limitMemory(memlimit.FromCgroup)...)
	logger.Info("starting", append([]any{"version", version.String()}, facts...)...)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run manager: %w", err)
	}
	return nil
}

// memoryShare is the share of the container's memory that Go's garbage collector tries not to exceed. The rest is for memory that Go does not count, and for
// allocations during a collection.
const memoryShare = 0.7

// limitMemory makes the garbage collector run before the container's limit is reached, and not only after the heap has doubled. GOMEMLIMIT overrides it. The
// returned value is logged.
func limitMemory(of memlimit.Provider) []any {
	limit, err := memlimit.SetGoMemLimitWithOpts(memlimit.WithProvider(of), memlimit.WithRatio(memoryShare))
	switch {
	case err != nil:
		return []any{"memoryLimit", err.Error()}
	case limit == 0:
		return nil // there is no limit, or the environment sets it
	}
	return []any{"memoryLimit", limit}
}

func controllerProcess(ctx context.Context, kubeconfig *rest.Config, c config.OperatorConfiguration) (ctrl.Manager, []any, error) {
	registry, err := plugins.Registry(c.BatchScheduler)
	if err != nil {
		return nil, nil, fmt.Errorf("configuration: %w", err)
	}
	mgr, err := controller.NewManager(kubeconfig, c)
	if err != nil {
		return nil, nil, err
	}
	return mgr, []any{"schedulers", registry.Names()}, controller.Setup(ctx, mgr, c, registry)
}

func webhookProcess(_ context.Context, kubeconfig *rest.Config, c config.OperatorConfiguration) (ctrl.Manager, []any, error) {
	registry, err := plugins.Registry(c.BatchScheduler)
	if err != nil {
		return nil, nil, fmt.Errorf("configuration: %w", err)
	}
	var inForce atomic.Pointer[policy.Set]
	inForce.Store(&c.Policies)
	mgr, err := webhook.New(kubeconfig, c, func() resolve.Operator {
		return resolve.Operator{Registry: registry, Policies: *inForce.Load(), Exposure: c.Exposure(), Submitters: c.Submitter.Recorded()}
	})
	if err != nil {
		return nil, nil, err
	}
	if c.File != "" {
		look := operator.Follow(mgr.GetLogger().WithName("configuration"), c, func(changed config.OperatorConfiguration) { inForce.Store(&changed.Policies) })
		if err := mgr.Add(look); err != nil {
			return nil, nil, fmt.Errorf("add watch over the configuration: %w", err)
		}
	}
	return mgr, []any{"certificates", c.Webhook.Certificates, "schedulers", registry.Names()}, nil
}
