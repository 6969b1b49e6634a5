// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is the operator.
type process struct {
	cmd   *exec.Cmd
	group *group
	log   journal
	// metrics and health are addresses.
	metrics, health string
	// before is what the watermark of its memory was before it was set back by since.
	before int64
	// ended is closed when the process has ended, with err.
	ended chan struct{}
	err   error
}

// start starts the operator in the group and waits until it is ready.
func (l *lab) start(t *testing.T) {
	t.Helper()
	l.starts++
	p := &process{group: l.group, log: journal(filepath.Join(l.dir, fmt.Sprintf("operator-%d.log", l.starts))), metrics: l.metrics, health: l.health, ended: make(chan struct{})}
	out, err := os.Create(string(p.log))
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-c", `echo $$ >"$0" && exec "$@"`, p.group.procs(), l.binary}, l.chart.args...)
	args = append(args, "--config="+l.configFile)
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), "/bin/sh", args...)
	p.cmd.Env = append(os.Environ(), l.chart.env...)
	p.cmd.Env = append(p.cmd.Env, "KUBECONFIG="+l.kubeconfig, "GOGC=100") // the collector's own default, as in its container
	// Through a pipe, as from a container: the pages of a file that it writes itself would count as its memory.
	lines := struct{ io.Writer }{out}
	p.cmd.Stdout, p.cmd.Stderr = lines, lines
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start operator: %v", err)
	}
	go func() {
		p.err = p.cmd.Wait()
		_ = out.Close() // what could not be written is missed by those who read it
		close(p.ended)
	}()
	l.operator = p
	err = await(t.Context(), func() error {
		if err := p.alive(); err != nil {
			return final{err}
		}
		return p.get(context.Background(), "http://"+p.health+"/readyz", nil)
	})
	if err != nil {
		t.Fatalf("the operator is not ready: %v\n%s", err, p.log.tail())
	}
}

// get reads an address of the operator into a buffer, if there is one.
func (p *process) get(ctx context.Context, url string, into *bytes.Buffer) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	if into != nil {
		if _, err := into.ReadFrom(answer.Body); err != nil {
			return err
		}
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	return nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// alive is nil as long as the process runs.
func (p *process) alive() error {
	select {
	case <-p.ended:
		if p.err == nil {
			return errors.New("exit status 0")
		}
		return p.err
	default:
		return nil
	}
}

// stop ends the process.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	late := time.AfterFunc(wait, func() { _ = p.cmd.Process.Kill() })
	<-p.ended
	late.Stop()
}

// journal is the path of a log.
type journal string

func (j journal) text() string {
	text, err := os.ReadFile(string(j))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// tail is its end.
func (j journal) tail() string {
	const most = 4 << 10
	text := j.text()
	return text[max(0, len(text)-most):]
}

// resetPeak begins a new watermark.
func (p *process) resetPeak() {
	p.since()
	p.before = 0
}

// peak is the most anonymous memory that the process had since the last reset, in bytes: what its pages of files and the kernel's own
// memory are beside it, the kernel takes back before it ends anybody. It is 0 when the process has ended.
func (p *process) peak() int64 { return max(p.before, p.watermark()) }

// since is the most memory that it had since it was last called.
func (p *process) since() int64 {
	most := p.watermark()
	p.before = max(p.before, most)
	const resetWatermark = "5"
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.pid()), []byte(resetWatermark), 0) // it may have ended
	return most
}

// watermark is the most memory of the process but for its pages of files. The kernel has one for all of it; the pages of files are those of
// its program, and stay.
func (p *process) watermark() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid()))
	if err != nil {
		return 0
	}
	kib := counters(string(text))
	return max(0, kib["VmHWM:"]-kib["RssFile:"]-kib["RssShmem:"]) << 10
}

// counters are the numbers behind the first word of each line.
func counters(text string) map[string]int64 {
	found := map[string]int64{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		if n, err := strconv.ParseInt(words[1], 10, 64); err == nil {
			found[words[0]] = n
		}
	}
	return found
}

// group is a memory cgroup: what a container with a limit is.
type group struct {
	dir   string
	limit int64
	// limitFile and eventsFile are names of version 1 or 2.
	limitFile, eventsFile string
}

// newGroup makes a memory cgroup that ends with the test.
func newGroup(t *testing.T, limit int64) *group {
	t.Helper()
	const root = "/sys/fs/cgroup"
	name := fmt.Sprintf("firesteel-hostile-%d", os.Getpid())
	g := &group{limit: limit, dir: filepath.Join(root, "memory", name), limitFile: "memory.limit_in_bytes", eventsFile: "memory.oom_control"}
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		g.dir, g.limitFile, g.eventsFile = filepath.Join(root, name), "memory.max", "memory.events"
		_ = os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+memory"), 0o600) // the limit cannot be written without it
	}
	err := os.Mkdir(g.dir, 0o755)
	if err == nil {
		t.Cleanup(func() { _ = os.Remove(g.dir) })
		err = os.WriteFile(filepath.Join(g.dir, g.limitFile), []byte(strconv.FormatInt(limit, 10)), 0o600)
	}
	if err == nil {
		_ = os.WriteFile(filepath.Join(g.dir, "memory.swap.max"), []byte("0"), 0o600) // a machine without swap has no such file
		_, err = g.overruns()
	}
	if err != nil {
		t.Fatalf("the operator runs under the memory limit of the chart, which needs a memory cgroup: run this test as root on Linux (%v)", err)
	}
	return g
}

func (g *group) procs() string { return filepath.Join(g.dir, "cgroup.procs") }

// overruns is how often more was asked for than the limit allows, or something was ended for it. That memory is taken back before,
// from the pages of files among others, is no fault: a container's memory is often full.
func (g *group) overruns() (int64, error) {
	text, err := os.ReadFile(filepath.Join(g.dir, g.eventsFile))
	if err != nil {
		return 0, err
	}
	events := counters(string(text))
	kills, known := events["oom_kill"]
	if !known {
		return 0, fmt.Errorf("%s does not count what was ended: %s", g.eventsFile, text)
	}
	return kills + events["oom"], nil
}
