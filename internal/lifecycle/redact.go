// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"regexp"
	"slices"
	"strings"
)

// LogTails restricts the stored output of a driver.
type LogTails struct {
	// Hidden forbids all output: log, termination message, and causes from either.
	Hidden bool
	// Keys and Texts are the application's spark.redaction.regex and spark.redaction.string.regex; "" means Spark's defaults.
	Keys, Texts string
}

// redacted is Spark's replacement for a secret value.
const redacted = "*********(redacted)"

// maxPattern bounds the expressions of users, in bytes.
const maxPattern = 1 << 10

var (
	// secretKeys is Spark's default of spark.redaction.regex.
	secretKeys = regexp.MustCompile(`(?i)secret|password|token|access[.]?key`)
	// secretNames match the name before a value in the common notations: a=b, a: b, "a": "b", a -> b, a => b, (a,b). secretValue matches the value. They are
	// separate, because a value may be long or one of many.
	secretNames = regexp.MustCompile(`([\w.$-]+)(["']?[ \t]*(?:=>|->|=|:)[ \t]*|,)`)
	secretValue = regexp.MustCompile(`^(?:"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|[^\s,;&"')\]}]+)`)
	// secretUsers match a user with a password in a URL.
	secretUsers = regexp.MustCompile(`://[^/\s@:"']*:[^/\s@"']+@`)
	// javaThrowable matches a Java class before a message, which is not a value.
	javaThrowable = regexp.MustCompile(`(Exception|Error|Throwable)$`)
)

// Redact removes secrets from a driver's output: values of names that match Keys, and texts that match Texts. Java's regular expressions are richer than Go's.
// If Go cannot parse one, Redact uses Spark's default.
func (l LogTails) Redact(text string) string {
	if text == "" || l.Hidden {
		return ""
	}
	keys := pattern(l.Keys)
	if keys == nil {
		keys = secretKeys
	}
	if texts := pattern(l.Texts); texts != nil {
		text = texts.ReplaceAllLiteralString(text, redacted)
	}
	text = secretUsers.ReplaceAllString(text, "://"+redacted+"@")
	return redactPairs(text, keys)
}

// of returns the attempts without their logs, if a policy has forbidden logs after they were stored.
func (l LogTails) of(attempts []Attempt) []Attempt {
	if !l.Hidden {
		return attempts
	}
	attempts = slices.Clone(attempts)
	for i := range attempts {
		attempts[i].LogTail = ""
	}
	return attempts
}

// pattern compiles an expression. It returns nil if the expression is empty or too long, if Go cannot parse it, or if it matches everywhere.
func pattern(text string) *regexp.Regexp {
	if text == "" || len(text) > maxPattern {
		return nil
	}
	compiled, err := regexp.Compile(text)
	if err != nil || compiled.MatchString("") {
		return nil
	}
	return compiled
}

func redactPairs(text string, keys *regexp.Regexp) string {
	var out strings.Builder
	from := 0
	for _, at := range secretNames.FindAllStringSubmatchIndex(text, -1) {
		key, separator, end := text[at[2]:at[3]], text[at[4]:at[5]], at[1]
		pair := separator != "," || at[2] > 0 && text[at[2]-1] == '('
		if at[0] < from || !pair || !keys.MatchString(key) || javaThrowable.MatchString(key) {
			continue
		}
		if value := secretValue.FindStringIndex(text[end:]); value != nil {
			out.WriteString(text[from:end])
			out.WriteString(redacted)
			from = end + value[1]
		}
	}
	out.WriteString(text[from:])
	return out.String()
}
