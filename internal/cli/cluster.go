// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/cmd/plugins"
	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	harmless "github.com/firesteel-dev/firesteel/internal/text"
)

// cluster holds kubectl's connection flags, which choose a cluster.
type cluster struct {
	flags *genericclioptions.ConfigFlags
}

// addCluster adds kubectl's connection flags to a command, and completes the names of applications.
func addCluster(command *cobra.Command) cluster {
	values, flags := connectionFlags()
	c := cluster{flags: values}
	command.Flags().AddFlagSet(flags)
	command.ValidArgsFunction = c.complete
	return c
}

// connection reads a cluster; the functions of write.go change objects through it.
type connection struct {
	*inspect.Cluster
	writes writer
	config *rest.Config
}

// check checks flags that depend on each other, and flags that kubectl's library parses late.
func (c cluster) check() error {
	f := c.flags
	if _, err := clientcmd.ParseTimeout(*f.Timeout); err != nil {
		return fmt.Errorf("--request-timeout: %q: not a duration; write it with its unit, such as 10s, 5m or 1h", *f.Timeout)
	}
	for _, one := range []struct {
		name  string
		given bool
	}{{"as-group", len(*f.ImpersonateGroup) > 0}, {"as-uid", *f.ImpersonateUID != ""}, {"as-user-extra", len(*f.ImpersonateUserExtra) > 0}} {
		if one.given && *f.Impersonate == "" {
			return fmt.Errorf("--%s: only with --as, which names the user", one.name)
		}
	}
	return nil
}

// connect creates the clients. The cluster is reached at the first request.
func (c cluster) connect() (*connection, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	loader := c.flags.ToRawKubeConfigLoader()
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, err
	}
	config, err := c.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	if raw, err := loader.RawConfig(); err == nil && len(raw.Clusters) == 0 && *c.flags.APIServer == "" && config.Host == clientcmd.ClusterDefaults.Server {
		return nil, clientcmd.ErrEmptyConfig // otherwise kubectl would try this machine's port 8080
	}
	config.QPS, config.WarningHandler, config.UserAgent = -1, rest.NoWarnings{}, "kubectl-spark"
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(appsv1.AddToScheme(scheme))
	for _, add := range []func(*runtime.Scheme) error{admissionregistrationv1.AddToScheme, authorizationv1.AddToScheme, discoveryv1.AddToScheme} {
		utilruntime.Must(add(scheme)) // for the command check
	}
	for _, row := range kinds.All() {
		utilruntime.Must(row.AddToScheme(scheme))
	}
	all, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	core, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	connected := &connection{&inspect.Cluster{Reader: all, Pods: core, Namespace: namespace}, all, config}
	connected.Schema = func(ctx context.Context, version schema.GroupVersion) ([]byte, error) {
		return core.RESTClient().Get().AbsPath("/openapi/v3/apis", version.Group, version.Version).SetHeader("Accept", "application/json").Do(ctx).Raw()
	}
	connected.CreatesPods = func(ctx context.Context, namespace, account string) (bool, error) {
		return createsPods(ctx, all, namespace, account)
	}
	connected.MayCreate = func(ctx context.Context, namespace string, of schema.GroupResource) (bool, error) {
		return mayCreate(ctx, all, namespace, of)
	}
	connected.Forward = func(ctx context.Context, pod string, port int32, opened func(string)) error {
		return tunnel(ctx, connected, pod, port, opened)
	}
	return connected, nil
}

// complete completes the names of applications. It completes nothing if the cluster responds slowly.
func (c cluster) complete(command *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.offer(command.Context(), args, inspect.Families...), cobra.ShellCompDirectiveNoFileComp
}

// completeObjects completes names of several kinds, without names that were already given. Names of other kinds than applications include their type.
func (c cluster) completeObjects(of ...inspect.Type) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return c.offer(command.Context(), args, of...), cobra.ShellCompDirectiveNoFileComp
	}
}

func (c cluster) offer(ctx context.Context, args []string, of ...inspect.Type) []string {
	const patience = 3 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	connected, err := c.connect()
	if err != nil {
		return nil
	}
	var all []string
	for _, k := range of {
		names, _ := connected.Names(ctx, k) // shell completion cannot show errors
		for _, name := range names {
			if k != inspect.Applications && len(of) > 1 {
				name = k.Typed(name)
			}
			if !slices.Contains(args, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// say writes notes and progress to a stream that is not the command's output.
func say(w io.Writer, format string, args ...any) {
	_, _ = io.WriteString(w, harmless.Lines(fmt.Sprintf(format, args...))+"\n")
}

// tableRow returns a line of a table. It removes line breaks from the cells.
func tableRow(cells []string) string {
	line := make([]string, 0, len(cells))
	for _, cell := range cells {
		line = append(line, strings.ReplaceAll(harmless.Line(cell), "\t", " "))
	}
	return strings.Join(line, "\t")
}

// configurationFlag adds the flag that names the operator's configuration file.
func configurationFlag(c *inspect.Configuration, command *cobra.Command) {
	c.Plugins = inspect.Plugins{Every: plugins.Every, Configured: plugins.Registry}
	command.Flags().StringVar(&c.File, "config", "", "the operator's configuration file: its policies, schedulers and URL formats")
	_ = command.MarkFlagFilename("config", "yaml", "yml")
}

// operatorFlags adds the flags that identify the operator of a cluster.
func operatorFlags(i *inspect.Installation, command *cobra.Command) {
	configurationFlag(&i.Configuration, command)
	command.Flags().StringVar(&i.Deployment, "operator", "",
		"namespace/name of the operator's Deployment, whose configuration is read without --config; by default the Deployment is found by its labels")
}
