// SPDX-License-Identifier: Apache-2.0

package ground

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Process is a started program in a process group of its own. It also ends when its standard input closes, which happens if
// this process dies.
type Process struct {
	Name string

	cmd   *exec.Cmd
	stdin io.Closer
	log   string
	ended chan struct{}
	err   error
}

// Start starts a program whose output is appended to NAME.log in a folder. The environment is added to this process's.
func Start(name, logs string, env []string, command ...string) (*Process, error) {
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{Name: name, log: filepath.Join(logs, name+".log"), ended: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer func() { _ = log.Close() }() // the program has it by then
	p.cmd = exec.CommandContext(context.Background(), command[0], command[1:]...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Failed is the end of the program, with the end of its log, if it has ended.
func (p *Process) Failed() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s has ended: %w; the end of %s is:\n%s", p.Name, p.err, p.log, p.lastWords())
	default:
		return nil
	}
}

func (p *Process) lastWords() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// Stop asks the program to end, kills it after the grace period, and then kills the rest of its group.
func (p *Process) Stop(grace time.Duration) {
	_ = p.stdin.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(grace):
	}
	p.Kill()
}

// Kill kills the program and its children.
func (p *Process) Kill() {
	_ = syscall.Kill(-p.PID(), syscall.SIGKILL) // kill the rest of the group
	<-p.ended
}
