// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// connecting holds the flags of connect.
type connecting struct {
	port    int
	timeout time.Duration
	exec    bool
	streams genericiooptions.IOStreams
	// forward opens a tunnel to a port of a pod, as tunnel does.
	forward forwarder
}

// defaultReadyTimeout is long enough for a server that must first pull its image.
const defaultReadyTimeout = 10 * time.Minute

func newConnect(streams genericiooptions.IOStreams) *cobra.Command {
	k := connecting{streams: streams, forward: tunnel}
	var clusters cluster
	command := &cobra.Command{
		Use:   "connect NAME [--exec COMMAND...]",
		Short: "Connect to a Spark Connect server, waking it if it was stopped",
		Long: "Wait until a Spark Connect server accepts clients, forward a port of this machine to it, and print the URL for SparkSession.builder.remote.\n" +
			"A server that was stopped because it was idle is woken. It ends with Ctrl-C.\n\n" +
			"The port stays the same when the server is replaced: new connections go to the new server pod. A server that is stopped because it is\n" +
			"idle while this runs is woken by the next connection to the port.\n\n" +
			"The words after --exec are a command, which runs with SPARK_REMOTE set to the URL; connect ends with the command, and with\n" +
			"its exit code. Other exit codes: 1 the server is suspended, failed or missing (and any other error); 2 timeout;\n" +
			"126 and 127 the command cannot be run, or is not found.",
		Example: "  kubectl spark connect notebooks\n\n" +
			"  # at the URL sc://127.0.0.1:15002, or not at all\n" +
			"  kubectl spark connect notebooks --port 15002\n\n" +
			"  kubectl spark connect notebooks --exec python query.py --date 2026-11-22",
		Args: k.args,
		RunE: func(command *cobra.Command, args []string) error {
			connected, err := clusters.connect()
			if err != nil {
				return err
			}
			return k.run(command.Context(), connected, args[0], args[1:])
		},
	}
	clusters = addCluster(command)
	command.ValidArgsFunction = func(command *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return clusters.offer(command.Context(), args, inspect.Servers), cobra.ShellCompDirectiveNoFileComp
	}
	command.Flags().IntVar(&k.port, "port", 0, "the port on this machine; by default 15002 if it is free, or any")
	command.Flags().DurationVar(&k.timeout, "timeout", defaultReadyTimeout, "how long to wait until the server accepts clients")
	command.Flags().BoolVar(&k.exec, execFlag, false, "run the words after this flag as a command, with SPARK_REMOTE set")
	return command
}

const execFlag = "exec"

// behindExec separates the arguments after --exec from the flags of this program, so that the command can have flags.
func behindExec(args []string) []string {
	at := slices.Index(args, "--"+execFlag)
	if dash := slices.Index(args, "--"); at < 0 || dash >= 0 && dash <= at+1 {
		return args
	}
	return slices.Insert(slices.Clone(args), at+1, "--")
}

func (k *connecting) args(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return errors.New("write the name of a SparkConnect; kubectl spark list servers shows them")
	case k.exec && len(args) == 1:
		return errors.New("--exec: write NAME before it and a command after it")
	case !k.exec && len(args) > 1:
		return fmt.Errorf("%q is a command: write it after --exec", args[1])
	case k.port < 0 || k.port > 65535:
		return errors.New("--port: must be a port, from 1 to 65535")
	case k.timeout <= 0:
		return errors.New("--timeout: must be more than 0")
	}
	return nil
}

// run connects to a server. It returns when the command ends, after Ctrl-C, or when a connection is no longer possible.
func (k *connecting) run(ctx context.Context, c *connection, name string, command []string) error {
	if len(command) > 0 {
		if _, err := exec.LookPath(command[0]); err != nil {
			return notRun(err)
		}
	}
	if err := c.hasServer(ctx, name); err != nil {
		return err
	}
	listeners, port, err := k.listen(ctx)
	if err != nil {
		return err
	}
	// After Ctrl-C a command may need time to end, and it needs its connection until then.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	withdraw := context.AfterFunc(ctx, end)
	defer withdraw()
	s := newSession(c, name, k.streams, k.forward)
	s.relay.serve(life, listeners)
	opened, over := make(chan inspect.Application, 1), make(chan error, 1)
	go func() { over <- s.follow(life, opened) }()
	server, err := k.await(s, opened, over, end)
	if err != nil {
		return err
	}
	remote, err := s.remote(ctx, server, port)
	if err != nil && len(command) > 0 {
		return err
	}
	if len(command) == 0 {
		if err != nil {
			say(k.streams.ErrOut, "%v", err)
		}
		say(k.streams.Out, "%s", remote)
		say(k.streams.ErrOut, "clients connect to this URL; Ctrl-C ends it")
		err = <-over
		if ctx.Err() != nil {
			return nil // ended by Ctrl-C, which is normal
		}
		return err
	}
	if !withdraw() {
		return ctx.Err()
	}
	go func() {
		if err := <-over; err != nil && life.Err() == nil {
			say(k.streams.ErrOut, "error: %v", inspect.ForPeople(err))
			end() // from now on new connections of the command are refused
		}
	}()
	return k.execute(ctx, remote, command)
}

// await returns the server after the first tunnel to it opened.
func (k *connecting) await(s *session, opened <-chan inspect.Application, over <-chan error, end func()) (inspect.Application, error) {
	timer := time.NewTimer(k.timeout)
	defer timer.Stop()
	select {
	case server := <-opened:
		return server, nil
	case err := <-over:
		return inspect.Application{}, err
	case <-timer.C:
		end()
		if err := <-over; err != nil && !errors.Is(err, context.Canceled) {
			return inspect.Application{}, err
		}
		return inspect.Application{}, &exitError{codeTimeout, fmt.Errorf("timed out after %s: %s; kubectl spark explain %s/%s says why",
			k.timeout, s.said, inspect.Servers.Short, s.name)}
	}
}

// usualPort is the default port of Spark Connect.
const usualPort = 15002

// listen listens on the requested port, or else on Spark's default port if it is free, or else on any port. Clients send a token only to "localhost", which
// may be an IPv4 or an IPv6 address. So listen uses both addresses if they exist.
func (k *connecting) listen(ctx context.Context) ([]net.Listener, int, error) {
	if k.port != 0 {
		all, err := listenAt(ctx, k.port)
		if err != nil {
			return nil, 0, fmt.Errorf("--port %d cannot be used: %w", k.port, err)
		}
		return all, k.port, nil
	}
	if all, err := listenAt(ctx, usualPort); err == nil {
		return all, usualPort, nil
	}
	all, err := listenAt(ctx, 0)
	if err != nil {
		return nil, 0, err
	}
	address, _ := all[0].Addr().(*net.TCPAddr)
	return all, address.Port, nil
}

func listenAt(ctx context.Context, port int) ([]net.Listener, error) {
	var config net.ListenConfig
	first, err := config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	all := []net.Listener{first}
	_, text, err := net.SplitHostPort(first.Addr().String())
	if err != nil {
		return nil, errors.Join(err, first.Close())
	}
	second, err := config.Listen(ctx, "tcp6", net.JoinHostPort("::1", text))
	switch {
	case err == nil:
		all = append(all, second)
	case port != 0 && errors.Is(err, syscall.EADDRINUSE):
		return nil, errors.Join(err, first.Close())
	}
	return all, nil // a machine may lack IPv6
}

// remote returns the URL of the server. If the server needs a token that cannot be read, the URL has no token, and the error says how to get it.
func (s *session) remote(ctx context.Context, o inspect.Application, port int) (string, error) {
	name := o.Endpoint.TokenSecret
	if name == "" {
		return remoteURL(port, ""), nil
	}
	// Without TLS, clients send a token only to this host name.
	bare := "sc://" + net.JoinHostPort("localhost", strconv.Itoa(port))
	var secret corev1.Secret
	err := s.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: name}, &secret)
	if err == nil && len(secret.Data[spark.TokenKey]) == 0 {
		err = fmt.Errorf("it has no key %q", spark.TokenKey)
	}
	if err != nil {
		return bare, fmt.Errorf("the server needs a token, and Secret %s cannot be read: %w; a user who may read it gets the token with\n"+
			"  kubectl get secret %s -n %s -o jsonpath='{.data.token}' | base64 -d\nand appends /;token=TOKEN to this URL",
			name, inspect.ForPeople(err), name, o.GetNamespace())
	}
	return remoteURL(port, string(secret.Data[spark.TokenKey])), nil
}

func remoteURL(port int, token string) string {
	if token == "" {
		return "sc://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	return "sc://" + net.JoinHostPort("localhost", strconv.Itoa(port)) + "/;token=" + url.PathEscape(token)
}
