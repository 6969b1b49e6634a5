// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// placeholder is {{$name}}, with or without blanks.
var placeholder = regexp.MustCompile(`\{\{\s*\$([A-Za-z]*)\s*\}\}`)

// fill puts names into a URL format and reads the URL. One without a scheme is http.
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
		return nil, fmt.Errorf("%s is no placeholder; there are {{$appName}}, {{$appNamespace}} and {{$appId}}", unknown)
	case strings.ContainsAny(text, "{}"):
		return nil, fmt.Errorf("a brace is left over; placeholders are {{$appName}}, {{$appNamespace}} and {{$appId}}")
	case !strings.Contains(text, "://"):
		text = "http://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("not a URL: %w", err)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the scheme %q is neither http nor https", u.Scheme)
	case u.Hostname() == "":
		return nil, fmt.Errorf("there is no host; write e.g. {{$appName}}.example.org")
	}
	return u, nil
}

// HostOf returns the host of an application's URL format; "" if it is none. The id of an attempt stands for any.
func HostOf(format, namespace, app string) string {
	u, err := fill(format, map[string]string{"appName": app, "appNamespace": namespace, "appId": "spark-0"})
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// CheckURL says what is wrong with a URL format, filled in with names as applications have them.
func CheckURL(format string) error {
	_, err := fill(format, map[string]string{"appName": "pi", "appNamespace": "jobs", "appId": "spark-0"})
	return err
}

// CheckHost says what is wrong with the host of a URL format that becomes a rule of an Ingress or a route.
func CheckHost(format string) error {
	u, err := fill(format, map[string]string{"appName": "pi", "appNamespace": "jobs", "appId": "spark-0"})
	if err != nil {
		return err
	}
	return checkRule(u)
}

// checkRule says what of a URL cannot be a rule.
func checkRule(u *url.URL) error {
	if problems := utilvalidation.IsDNS1123Subdomain(u.Hostname()); len(problems) > 0 {
		return fmt.Errorf("the host %q is not a DNS name: %s", u.Hostname(), strings.Join(problems, ", "))
	}
	if u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("a rule has a host and a path, and no user, query or fragment")
	}
	return nil
}

// pathOf is the path without its last slash; "" for the root.
func pathOf(u *url.URL) string { return strings.TrimRight(u.Path, "/") }

// withDefaults returns the application with properties that the user has not set.
func withDefaults(app spark.Application, conf map[string]string) spark.Application {
	merged := maps.Clone(conf)
	maps.Copy(merged, app.Conf)
	app.Conf = merged
	return app
}
