// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"regexp"
	"strings"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// forAccount is the advice about a service account that does not exist or lacks a driver's rights.
const forAccount = "name a service account with the rights of a driver in {driver.serviceAccount}: kubectl spark check -n NAMESPACE says which; " +
	"or give it these rights (docs/troubleshooting.md)"

// remedy is the advice about a failed driver whose log shows the cause. docs/troubleshooting.md has the same list.
type remedy struct {
	cause *regexp.Regexp
	do    string
}

var remedies = []remedy{
	{regexp.MustCompile(`User "system:serviceaccount:.*" cannot \w+ resource "`), forAccount},
	{regexp.MustCompile(`Failed to load class |Could not find or load main class `), "correct {mainClass}, or put the class into {mainApplicationFile}: " +
		"Spark skips a local:// file that the image lacks with a warning"},
	{regexp.MustCompile(`ClassNotFoundException: |\[DATA_SOURCE_NOT_FOUND\]`), "the image lacks a jar: build it in, or name it in {deps}"},
	{regexp.MustCompile(`ModuleNotFoundError: `), "install the module in the image, or name it in {deps}"},
	{regexp.MustCompile(`Cannot run program "`), "the image lacks this program: correct {sparkConf} and the environment, or the image"},
	{regexp.MustCompile(`NoSuchFileException: |FileNotFoundException: |\[PATH_NOT_FOUND\]|can't open file '`),
		"correct the path, {mainApplicationFile} among others, or mount the missing file"},
	{regexp.MustCompile(`UnsupportedClassVersionError: `), "compile for the Java of the image, or take an image with a newer one"},
	{regexp.MustCompile(`java\.lang\.OutOfMemoryError: `), "raise {driver.memory}, or {executor.memory} if a task ran out of it"},
	{regexp.MustCompile(`: exec format error`), "take an image for the architecture of the node, or name nodes of the image's"},
}

// missingAccount is part of the API server's error about a pod whose service account does not exist (admission plugin ServiceAccount).
const missingAccount = "error looking up service account"

// remedyFor returns the advice for a reason with a certain message; "" if the message adds nothing to the reason.
func remedyFor(reason lifecycle.Reason, message string) string {
	if reason == lifecycle.ReasonAdmissionRefused && strings.Contains(message, missingAccount) {
		return forAccount
	}
	if reason != lifecycle.ReasonDriverFailed {
		return ""
	}
	for _, r := range remedies {
		if r.cause.MatchString(message) {
			return r.do + "; the log has more: kubectl spark logs NAME -n NAMESPACE"
		}
	}
	return ""
}
