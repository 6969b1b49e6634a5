// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// placeholder matches {{$name}}, with or without blanks.
var placeholder = regexp.MustCompile(`\{\{\s*\$([A-Za-z]*)\s*\}\}`)

// fill replaces the placeholders of a URL format and parses the URL. The default scheme is http.
func fill(format string, names map[string]string) (*url.URL, error) {
	var unknown string
	text := placeholder.ReplaceAllStringFunc(format, func(found string) string {
		name := placeholder.FindStringSubmatch(found)[1]
		value, ok := names[name]
		if !ok {
			unknown = found
		}
		return value
	})
	switch {
	case unknown != "":
		return nil, fmt.Errorf("%s is not a placeholder; use {{$appName}}, {{$appNamespace}} and {{$appId}}", unknown)
	case strings.ContainsAny(text, "{}"):
		return nil, fmt.Errorf("unmatched brace; placeholders are {{$appName}}, {{$appNamespace}} and {{$appId}}")
	case !strings.Contains(text, "://"):
		text = "http://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("not a URL: %w", err)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the scheme %q is not http or https", u.Scheme)
	case u.Hostname() == "":
		return nil, fmt.Errorf("there is no host; write e.g. {{$appName}}.example.org")
	}
	return u, nil
}

// exampleID stands for the unknown ID of an attempt.
const exampleID = "spark-0"

// namesOf returns the values of the placeholders.
func namesOf(app spark.Application, sparkAppID string) map[string]string {
	return map[string]string{"appName": app.Name, "appNamespace": app.Namespace, "appId": sparkAppID}
}

// example has typical values of the placeholders.
var example = map[string]string{"appName": "pi", "appNamespace": "jobs", "appId": exampleID}

// CheckURL returns the error in a URL format, after filling in typical values.
func CheckURL(format string) error {
	_, err := fill(format, example)
	return err
}

// CheckRule returns the error in a URL format for a rule of an Ingress or a route.
func CheckRule(format string) error {
	_, err := rule(format, example)
	return err
}

// rule fills in a URL format for a rule of an Ingress or a route. A rule has only a host and a path.
func rule(format string, names map[string]string) (*url.URL, error) {
	u, err := fill(format, names)
	if err != nil {
		return nil, err
	}
	if problems := utilvalidation.IsDNS1123Subdomain(u.Hostname()); len(problems) > 0 {
		return nil, fmt.Errorf("the host %q is not a DNS name: %s", u.Hostname(), strings.Join(problems, ", "))
	}
	for label := range strings.SplitSeq(u.Hostname(), ".") {
		if problems := utilvalidation.IsDNS1123Label(label); len(problems) > 0 {
			return nil, fmt.Errorf("the host %q is not a DNS name: %s", u.Hostname(), strings.Join(problems, ", "))
		}
	}
	if u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, errors.New("a rule has a host and a path, without user, query or fragment")
	}
	if err := CheckPath(u.Path); err != nil {
		return nil, err
	}
	u.RawPath = "" // no character needs encoding
	return u, nil
}

// literal matches paths with characters that every proxy reads literally once they are quoted for a regular expression.
var literal = regexp.MustCompile(`^[A-Za-z0-9._~/-]*$`)

// CheckPath returns the error in the decoded path of a rule. A proxy writes the path into its own configuration, and compares it with normalized paths, which
// have no dot segments and no repeated slashes.
func CheckPath(path string) error {
	if !literal.MatchString(path) {
		return fmt.Errorf("the path %.120q has a character other than A-Z a-z 0-9 . _ ~ / -", path)
	}
	if path == "" || path == "/" {
		return nil
	}
	for segment := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/"), "/") {
		if segment == "" || segment == "." || segment == ".." {
			return fmt.Errorf("the path %.120q has an empty segment, or . or .., which proxies remove", path)
		}
	}
	return nil
}

// pathOf returns the path without trailing slashes; "" for the root.
func pathOf(u *url.URL) string { return strings.TrimRight(u.Path, "/") }

// withDefaults returns the application with properties added that the user has not set.
func withDefaults(app spark.Application, conf map[string]string) spark.Application {
	merged := maps.Clone(conf)
	maps.Copy(merged, app.Conf)
	app.Conf = merged
	return app
}
