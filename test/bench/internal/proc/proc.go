// SPDX-License-Identifier: Apache-2.0

// Package proc reads what processes cost from /proc: CPU time and memory, with children.
package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ticksPerSecond is USER_HZ, which Linux shows to programs on all of its architectures.
const ticksPerSecond = 100

// Stat is a line of /proc/PID/stat.
type Stat struct {
	PID, Parent int
	// CPU is the seconds of the process itself and of those of its children that it has waited for.
	CPU float64
}

// ParseStat reads a line of /proc/PID/stat. The command's name may hold blanks and parentheses.
func ParseStat(line []byte) (Stat, error) {
	end := bytes.LastIndexByte(line, ')')
	if end < 0 {
		return Stat{}, fmt.Errorf("process statistics %q: no name in parentheses", line)
	}
	pid, _, _ := strings.Cut(string(line), " ")
	fields := strings.Fields(string(line[end+1:]))
	const last = 17 // cstime, counted from 1 as in proc(5); the first of fields is 3
	if len(fields) < last-2 {
		return Stat{}, fmt.Errorf("process statistics %q: %d fields after the name: there must be at least %d", line, len(fields), last-2)
	}
	numbers := map[int]int{1: 0, 4: 0, 14: 0, 15: 0, 16: 0, 17: 0}
	for i := range numbers {
		text := pid
		if i > 1 {
			text = fields[i-3]
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return Stat{}, fmt.Errorf("process statistics %q: field %d: %q is not a number", line, i, text)
		}
		numbers[i] = n
	}
	ticks := numbers[14] + numbers[15] + numbers[16] + numbers[17]
	return Stat{PID: numbers[1], Parent: numbers[4], CPU: float64(ticks) / ticksPerSecond}, nil
}

// Memory holds the values of /proc/PID/status, in bytes.
type Memory struct{ Now, Peak int64 }

// ParseStatus reads /proc/PID/status. A process that has just ended has no memory.
func ParseStatus(text []byte) Memory {
	var m Memory
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		if len(fields) != 2 || fields[1] != "kB" {
			continue
		}
		n, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "VmRSS":
			m.Now = n << 10
		case "VmHWM":
			m.Peak = n << 10
		}
	}
	return m
}

// ParseBusy reads /proc/stat: the seconds that all cores together were not idle.
func ParseBusy(text []byte) (float64, error) {
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	const counted = 8 // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user already
	if len(fields) < counted+1 || fields[0] != "cpu" {
		return 0, fmt.Errorf("statistics of the machine %q: the first line must be that of all cores", line)
	}
	busy := 0
	for i, text := range fields[1 : counted+1] {
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, fmt.Errorf("statistics of the machine %q: %q is not a number", line, text)
		}
		if idle := i == 3 || i == 4; !idle {
			busy += n
		}
	}
	return float64(busy) / ticksPerSecond, nil
}

// Descendants returns root and its descendants, parents before their children; nil if root does not exist.
func Descendants(all []Stat, root int) []Stat {
	children := map[int][]Stat{}
	var out []Stat
	for _, s := range all {
		children[s.Parent] = append(children[s.Parent], s)
		if s.PID == root {
			out = append(out, s)
		}
	}
	for i := 0; i < len(out); i++ {
		out = append(out, children[out[i].PID]...)
	}
	return out
}

// Busy is how long all cores together were not idle, in seconds.
func Busy() float64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	busy, err := ParseBusy(text)
	if err != nil {
		return 0
	}
	return busy
}

// CPU returns the CPU time of a process and of the children that it has waited for, in seconds; 0 if it is gone.
func CPU(pid int) float64 {
	s, _ := stat(strconv.Itoa(pid))
	return s.CPU
}

func stat(pid string) (Stat, bool) {
	line, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return Stat{}, false // it has ended
	}
	s, err := ParseStat(line)
	return s, err == nil
}

func memory(pid int) Memory {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return Memory{} // it has ended
	}
	return ParseStatus(text)
}

// Tree is a process with all that descend from it.
func Tree(root int) []Stat {
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var all []Stat
	for _, entry := range entries {
		if s, ok := stat(filepath.Base(entry)); ok {
			all = append(all, s)
		}
	}
	return Descendants(all, root)
}
