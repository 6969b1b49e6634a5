// SPDX-License-Identifier: Apache-2.0

package lifecycle

import "fmt"

// Exit is how the driver's Spark container ended.
type Exit struct {
	// Code is the exit code; -1 when the pod failed without the container telling one.
	Code int32
	// Reason and Message are the kubelet's words, e.g. "OOMKilled".
	Reason  string
	Message string
}

// String is the sentence that users read as the application's error.
func (e Exit) String() string {
	if e.Code < 0 {
		return withDetail("driver container status missing", e.Reason, e.Message)
	}
	text := fmt.Sprintf("driver container failed with ExitCode: %d, Reason: %s", e.Code, e.Reason)
	if e.Message != "" {
		text += ", Message: " + e.Message
	}
	return text
}

func withDetail(text, reason, message string) string {
	for _, part := range []string{reason, message} {
		if part != "" {
			text += ": " + part
		}
	}
	return text
}

// oomKilled is the kubelet's word for a container that was killed for its memory.
const oomKilled = "OOMKilled"

// failureOf says what kind of failure the end of a driver is. What the cluster did to the pod goes before what its
// container said: an evicted driver has an exit code, too.
func failureOf(d Driver) (FailureClass, Cause) {
	text := d.Exit.String()
	switch {
	case d.Disruption.Reason != "" && string(d.Disruption.Reason) == d.Exit.Reason:
		return Infrastructure, Cause{ReasonDriverEvicted, text} // it says so itself
	case d.Disruption.Reason != "":
		return Infrastructure, Cause{ReasonDriverEvicted, withDetail(text, string(d.Disruption.Reason), d.Disruption.Message)}
	case d.Exit.Reason == oomKilled:
		return OutOfMemory, Cause{ReasonDriverOutOfMemory, text}
	case d.Exit.Code < 0:
		return Infrastructure, Cause{ReasonDriverEvicted, text}
	case d.Deleting:
		return Infrastructure, Cause{ReasonDriverNotFound, text + "; the driver pod was being deleted"}
	}
	return ApplicationExit, Cause{ReasonDriverFailed, text}
}
