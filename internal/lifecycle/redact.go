// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"regexp"
	"slices"
	"strings"
)

// LogTails says what of a driver's output may be stored.
type LogTails struct {
	// Hidden says that nothing may: no log, no termination message, no cause that is found in them.
	Hidden bool
	// Keys and Texts are spark.redaction.regex and spark.redaction.string.regex of the application; "" for Spark's defaults.
	Keys, Texts string
}

// redacted is what Spark writes instead of a value.
const redacted = "*********(redacted)"

// maxPattern bounds the expressions of users, in bytes.
const maxPattern = 1 << 10

var (
	// secretKeys is Spark's default of spark.redaction.regex.
	secretKeys = regexp.MustCompile(`(?i)secret|password|token|access[.]?key`)
	// secretNames are what stands before a value, as programs print it: a=b, a: b, "a": "b", a -> b, a => b, (a,b). secretValue is the
	// value. They are two, because a value may be as long as the text and be one of many.
	secretNames = regexp.MustCompile(`([\w.$-]+)(["']?[ \t]*(?:=>|->|=|:)[ \t]*|,)`)
	secretValue = regexp.MustCompile(`^(?:"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|[^\s,;&"')\]}]+)`)
	// secretUsers are a user with a password in a URL.
	secretUsers = regexp.MustCompile(`://[^/\s@:"']*:[^/\s@"']+@`)
	// javaThrowable is a class of Java, which a message follows like a value.
	javaThrowable = regexp.MustCompile(`(Exception|Error|Throwable)$`)
)

// Redact returns a driver's output without what the application's expressions match: of names that look like those of secrets the
// values, and whatever else the application calls a secret. An expression that Go does not know is Spark's default, for Java's are
// richer.
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

// of returns attempts without the logs that were stored before this was forbidden.
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

// pattern is nil for an expression that there is not, that Go does not know, or that matches everywhere.
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
