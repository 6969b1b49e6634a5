// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// Exit codes of shells for a command that cannot run, does not exist, or was ended by a signal.
const (
	codeNotRun   = 126
	codeNotFound = 127
	codeSignaled = 128
)

// childError is the exit code of a command. The command has printed its own error.
type childError int

// Error describes the code.
func (e childError) Error() string { return fmt.Sprintf("the command ended with exit code %d", int(e)) }

// execute runs a command with the server's URL in its environment, and returns its exit code as an error.
func (k *connecting) execute(ctx context.Context, remote string, command []string) error {
	child := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...)
	child.Stdin, child.Stdout, child.Stderr = k.streams.In, k.streams.Out, k.streams.ErrOut
	// Clients before Spark 4 read the second variable if functions are used before a session exists.
	child.Env = append(os.Environ(), "SPARK_REMOTE="+remote, "SPARK_CONNECT_MODE_ENABLED=1")
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, passed(k.streams.In)...)
	defer signal.Stop(signals)
	if err := child.Start(); err != nil {
		return notRun(err)
	}
	over := make(chan error, 1)
	go func() { over <- child.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = child.Process.Signal(s) // the process may have ended just now
		case err := <-over:
			return endOf(err)
		}
	}
}

// passed lists the signals to forward to the command. It omits Ctrl-C in a terminal: the terminal sends it to the command itself.
func passed(in any) []os.Signal {
	signals := []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
	if file, ok := in.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return signals
	}
	return append(signals, os.Interrupt)
}

// endOf returns the exit code of a command as a shell would report it.
func endOf(err error) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return childError(codeSignaled + int(status.Signal()))
	}
	return childError(exit.ExitCode())
}

// notRun explains why a command could not be started.
func notRun(err error) error {
	code := codeNotRun
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		code = codeNotFound
	}
	return &exitError{code, fmt.Errorf("--exec: %w", err)}
}
