// SPDX-License-Identifier: Apache-2.0

package sparksubmit

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// reference matches ${key} and ${prefix:name}.
var reference = regexp.MustCompile(`\$\{(?:(\w+?):)?(\S+?)\}`)

// Bounds for cyclic references: the number of rounds, and the bytes that one round may add to a text.
const maxDepth, maxLength = 20, 4096

// expand replaces references to variables and other properties in a text. Unknown references and values that are too long stay as they are.
func expand(text string, conf, env map[string]string) string {
	for range maxDepth {
		left := maxLength
		next := reference.ReplaceAllStringFunc(text, func(match string) string {
			groups := reference.FindStringSubmatch(match)
			value, ok := "", false
			switch groups[1] {
			case "env":
				value, ok = env[groups[2]]
			case "":
				value, ok = conf[groups[2]]
			}
			if !ok || len(value) > left {
				return match
			}
			left -= len(value)
			return value
		})
		if next == text || len(next) > maxLength {
			break
		}
		text = next
	}
	return text
}

// families are prefixes of properties whose values Spark does not expand on the submitting machine.
var families = []string{
	"spark.kubernetes.driver.label.", "spark.kubernetes.driver.annotation.", "spark.kubernetes.driver.service.",
	"spark.kubernetes.driverEnv.", "spark.kubernetes.node.selector.", "spark.kubernetes.driver.node.selector.",
	"spark.kubernetes.driver.secrets.", "spark.kubernetes.driver.secretKeyRef.", "spark.kubernetes.driver.volumes.",
	// The driver expands these, with its own variables.
	"spark.kubernetes.executor.",
}

// submitterKeys are properties outside of spark.kubernetes whose references spark-submit itself expands.
var submitterKeys = map[string]bool{
	"spark.driver.memoryOverhead": true, "spark.driver.memoryOverheadFactor": true, "spark.driver.minMemoryOverhead": true,
	"spark.ui.port": true, "spark.kerberos.keytab": true, "spark.kerberos.principal": true,
}

// resolveVariables replaces ${env:...} where spark-submit would read its own environment, because the operator's environment differs. References to other
// properties stay, because the operator expands them, too.
func (c *converter) resolveVariables() error {
	for _, key := range slices.Sorted(maps.Keys(c.conf)) {
		inFamily := slices.ContainsFunc(families, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
		if !submitterKeys[key] && (inFamily || !strings.HasPrefix(key, "spark.kubernetes.")) {
			continue
		}
		value, left := c.conf[key], spark.MaxExpanded
		resolved := reference.ReplaceAllStringFunc(value, func(match string) string {
			groups := reference.FindStringSubmatch(match)
			text, ok := c.machine.Env[groups[2]]
			if !ok || groups[1] != "env" {
				return match
			}
			if left -= len(text); left < 0 {
				return ""
			}
			return text
		})
		if left < 0 {
			return fmt.Errorf("%s: longer than %d bytes with the variables of this machine; write a shorter value", key, spark.MaxExpanded)
		}
		if resolved != value {
			c.conf[key] = resolved
			c.note(key, "%q is resolved with the variables of this machine: %q", value, resolved)
		}
	}
	return nil
}
