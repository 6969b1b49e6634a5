// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file finds the cause of a failure at the end of a driver's log. It splits a log into passages: a log record, an exception with its causes, a Python
// traceback. The cause is in the last passage with the strongest evidence.

// maxLine bounds the line, in bytes. A condition has room for the line and its sentence.
const maxLine = 384

// evidence ranks how likely a passage names the cause of the driver's end.
type evidence int

const (
	// noise is any other passage: retried tasks, cleanup.
	noise evidence = iota
	// logged is an exception in an ERROR record, or an exception that ended a thread other than main.
	logged
	// cut is the first passage, whose beginning may be missing in the log tail.
	cut
	// unstarted is an error of a program that could not be started.
	unstarted
	// fatal is an exception that ended the main thread or the Python program.
	fatal
)

// recordStart matches the beginning of a log record: "26/11/22 19:16:13 ERROR SparkContext: " in the common layouts, or Python's "ERROR:root:".
var recordStart = regexp.MustCompile(`^(?:\W?\d[\d/.:,TZ+-]{4,}[^A-Za-z]?.{0,60}?\b)?(TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b[\]: ]`)

// unstartedLines match lines in which a container runtime, a shell or the JVM reports that a program did not start. The first group is the cause.
var unstartedLines = []*regexp.Regexp{
	// the container runtime: an image for another architecture
	regexp.MustCompile(`^(exec .*: exec format error)$`),
	regexp.MustCompile(`^(?:Error: )?(Failed to load class .+)$`),                                          // spark-submit
	regexp.MustCompile(`^Error: ((?:Could not find or load main class|Main method not found) .+)$`),        // java
	regexp.MustCompile(`^(Unrecognized option: .+|Error opening zip file or JAR manifest missing ?: .+)$`), // java: its options
	regexp.MustCompile(`^(Could not reserve enough space for .+|Invalid (?:maximum|initial) heap size: .+)$`),
	regexp.MustCompile(`^(?:# )?((?:Terminating|Aborting) due to java\.lang\.OutOfMemoryError: .+|` +
		`There is insufficient memory for the Java Runtime Environment to continue\.)$`),
	regexp.MustCompile(`^# +(SIG[A-Z]+ \(0x[0-9a-f]+\)) at `), // java: a native library crashed the JVM
	regexp.MustCompile(`^\S*python[\d.]*: (can't open file .+)$`),
	regexp.MustCompile(`^(Fatal Python error: .+)$`),
}

const (
	traceback = "Traceback (most recent call last):"
	causedBy  = "Caused by: "
	inMain    = `Exception in thread "main" `
	inThread  = "Exception in thread "
)

var (
	// javaException matches a qualified class and a message, the format in which Java prints an exception.
	javaException = regexp.MustCompile(`^(?:[A-Za-z_$][\w$]*\.)+[A-Z][\w$]*(?:: |$)`)
	// chained matches Python's line between two chained exceptions.
	chained = regexp.MustCompile(`^(?:The above exception was the direct cause of|During handling of the above exception)`)
	// jobAborted matches Spark's text before the exception of the task that failed a job.
	jobAborted = regexp.MustCompile(`^.*Job aborted due to stage failure: .*?\(TID \d+\) \([^)]*\): `)
)

const (
	// clientsError begins a log record about an error that a client of a Spark Connect server received.
	clientsError = "Spark Connect RPC error during: "
	// notReadyYet is logged when Spark stops waiting for its own pod. Spark then continues, because a server is not ready that early.
	notReadyYet = "io.fabric8.kubernetes.client.KubernetesClientTimeoutException: Timed out waiting for [1000] milliseconds for [Pod]"
)

// logCause returns the line of a log that names the cause of a failure; "" if there is none.
func logCause(log string) string {
	r := logReader{passage: passage{evidence: cut}}
	for line := range strings.Lines(log) {
		if line = strings.TrimRightFunc(line, unicode.IsSpace); !r.readRecord(line) {
			r.read(line)
		}
		if line != "" {
			r.previous = line
		}
	}
	r.begin(noise)
	return printable(deepest(r.best.chain))
}

// passage is a part of a log.
type passage struct {
	evidence evidence
	// chain holds the exceptions; each one is the cause of the one before.
	chain []string
}

// logReader reads a log line by line.
type logReader struct {
	passage
	best passage
	// previous is the last line with text.
	previous string
	// python is set inside a traceback.
	python bool
	// message holds lines that may continue an exception's message. They do if a stack trace follows.
	message string
}

// begin starts a new passage.
func (r *logReader) begin(w evidence) {
	better := r.evidence >= r.best.evidence
	if r.evidence == unstarted { // its consequences follow it
		better = r.evidence > r.best.evidence
	}
	if better && r.evidence > noise && len(r.chain) > 0 && !strings.HasPrefix(r.chain[0], notReadyYet) {
		r.best = r.passage
	}
	r.passage, r.python, r.message = passage{evidence: w}, false, ""
}

// add appends an exception to the passage.
func (r *logReader) add(exception string) {
	r.message = ""
	if strings.HasSuffix(exception, traceback) { // a Python traceback inside a Java exception
		r.python = true
		return
	}
	r.chain = append(r.chain, exception)
}

// read reads a line that does not begin a log record.
func (r *logReader) read(line string) {
	if program := unstartedLine(line); program != "" {
		r.begin(unstarted)
		r.add(program)
		return
	}
	switch {
	case strings.HasPrefix(line, inMain):
		r.begin(fatal)
		r.add(line[len(inMain):])
	case strings.HasPrefix(line, inThread):
		r.begin(logged)
		if _, exception, ok := strings.Cut(line, `" `); ok {
			r.add(exception)
		}
	case strings.HasPrefix(line, "Exception ignored"):
		r.begin(noise)
		r.python = true
	case line == traceback:
		if !r.python && !chained.MatchString(r.previous) {
			r.begin(fatal)
		}
		r.python = true
	case !r.python && strings.HasPrefix(line, `  File "`): // Python prints a syntax error without a traceback
		r.begin(fatal)
		r.python = true
	case r.python:
		r.readPython(line)
	default:
		r.readJava(line)
	}
}

// readPython reads a line of a traceback. The exception is its last line.
func (r *logReader) readPython(line string) {
	switch {
	case strings.HasPrefix(line, "\t"):
		r.python = false
	case line == "", strings.HasPrefix(line, " "), chained.MatchString(line):
	default:
		r.python = false
		r.add(line)
	}
}

// readJava reads a line of an exception and its stack. Suppressed exceptions are indented, so they add no cause.
func (r *logReader) readJava(line string) {
	last := len(r.chain) - 1
	switch {
	case line == "Driver stacktrace:": // the lines before it are from the task
	case strings.HasPrefix(line, causedBy):
		r.add(line[len(causedBy):])
	case strings.HasPrefix(line, ": ") && last >= 0 && strings.HasPrefix(r.chain[last], "py4j."):
		r.add(line[len(": "):])
	case last < 0 && javaException.MatchString(line):
		r.add(line)
	case strings.HasPrefix(line, "\t"):
		if last >= 0 {
			r.chain[last] += r.message
		}
		r.message = ""
	case line != "" && last >= 0 && len(r.message) < maxLine && !strings.HasSuffix(r.chain[last], ";"): // after a semicolon Spark prints a plan
		r.message += " " + strings.TrimSpace(line)
	}
}

// readRecord reads a line if it begins a log record, and reports whether it does.
func (r *logReader) readRecord(line string) bool {
	if strings.HasPrefix(line, "{") {
		return r.readStructured(line)
	}
	m := recordStart.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	r.begin(evidenceOf(m[1], line))
	return true
}

// structuredRecord is a log record in the format of spark.log.structuredLogging.enabled.
type structuredRecord struct {
	Level     string `json:"level"`
	Message   string `json:"msg"`
	Exception struct {
		Class   string `json:"class"`
		Message string `json:"msg"`
	} `json:"exception"`
}

// readStructured reads a line if it is a log record in JSON, and reports whether it is.
func (r *logReader) readStructured(line string) bool {
	var record structuredRecord
	if json.Unmarshal([]byte(line), &record) != nil || record.Level == "" {
		return false
	}
	r.begin(evidenceOf(record.Level, record.Message))
	first, more, _ := strings.Cut(record.Exception.Message, "\n")
	if record.Exception.Class != "" {
		r.add(record.Exception.Class + ": " + first)
	}
	for text := range strings.Lines(more) { // the message may be a traceback
		r.read(strings.TrimRightFunc(text, unicode.IsSpace))
	}
	return true
}

// evidenceOf returns the evidence of a log record, by its level and message.
func evidenceOf(level, message string) evidence {
	if strings.Contains(message, clientsError) {
		return noise
	}
	if level == "ERROR" || level == "CRITICAL" || level == "FATAL" {
		return logged
	}
	return noise
}

// unstartedLine returns the cause in a line about a program that did not start; "" for any other line.
func unstartedLine(line string) string {
	for _, pattern := range unstartedLines {
		if m := pattern.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return ""
}

// unknownSource begins an exception that has more detail than the missing class that caused it.
const unknownSource = "[DATA_SOURCE_NOT_FOUND] "

// deepest returns the root cause, or the outermost exception around it that repeats its text with more detail.
func deepest(chain []string) string {
	if len(chain) == 0 {
		return ""
	}
	cause := chain[len(chain)-1]
	for i := len(chain) - 2; i >= 0; i-- {
		_, message, _ := strings.Cut(cause, ": ")
		_, outer, _ := strings.Cut(chain[i], ": ")
		repeats := message != "" && outer != message && strings.Contains(outer, message) && !strings.Contains(outer, cause)
		if !repeats && !strings.HasPrefix(outer, unknownSource) {
			break
		}
		cause = chain[i]
	}
	return jobAborted.ReplaceAllString(cause, "")
}

var (
	// answered matches the text that Spark's Kubernetes client adds to the API server's message.
	answered   = regexp.MustCompile(`Failure executing: \w+ at: \S+\. Message: (.+?)\.? Received status: .*`)
	userInfo   = regexp.MustCompile(`://[^\s/@]+@`)
	credential = regexp.MustCompile(`(?i)([\w.-]*(?:password|passwd|secret|token|access\.?key|credential)[\w.-]*["']?\s*=\s*)[^\s,;&]+`)
)

// printable returns a line that a status or event can show: bounded, and without control characters and credentials.
func printable(line string) string {
	const longest = 4 << 10 // bounds the work of the regular expressions
	line = strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r), r == utf8.RuneError:
			return -1
		}
		return r
	}, beginning(line, longest))
	line = answered.ReplaceAllString(line, "$1")
	line = userInfo.ReplaceAllString(line, "://(redacted)@")
	line = credential.ReplaceAllString(line, "${1}(redacted)")
	return head(strings.TrimSpace(line), maxLine)
}
