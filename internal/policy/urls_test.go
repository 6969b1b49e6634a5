// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"
)

// A * of one part of a pattern matches nothing of another part, however the URL is written.
func TestPlaces(t *testing.T) {
	const s3, repo, azure, packages = "s3a://team-a-*/jars/*", "https://*.repo.example/*", "abfss://*@team.example/*", "maven:org.example:*"
	for name, tc := range map[string]struct {
		reason, pattern, url string
		allowed              bool
	}{
		"Inside":           {"the usual case", s3, "s3a://team-a-prod/jars/x/job.jar", true},
		"SchemeCase":       {"schemes have no case", s3, "S3A://team-a-prod/jars/job.jar", true},
		"HostCase":         {"hosts have no case", repo, "https://a.REPO.example/x", true},
		"Port":             {"a port is a part of the host", "https://repo.example:8443/*", "https://repo.example:8443/x", true},
		"AnyPath":          {"a pattern without a path", "https://repo.example", "https://repo.example/a/b?c", true},
		"NoHost":           {"the cluster's own file system", "hdfs:///jars/*", "hdfs:///jars/a", true},
		"Container":        {"a container of an account", azure, "abfss://data@team.example/x", true},
		"Package":          {"coordinates", packages, "maven:org.example:lib:1.0", true},
		"Fragment":         {"the name of an archive", s3, "s3a://team-a-x/jars/env.zip#env", true},
		"OtherBucket":      {"not theirs", s3, "s3a://team-b/jars/job.jar", false},
		"OtherScheme":      {"not that way", s3, "http://team-a-x/jars/job.jar", false},
		"Above":            {"beside the folder", s3, "s3a://team-a-x/other/job.jar", false},
		"Climb":            {"clients resolve it", s3, "s3a://team-a-x/jars/../secret/job.jar", false},
		"ClimbHidden":      {"servers resolve it", repo, "https://a.repo.example/x/%2e%2E/y", false},
		"ClimbSlash":       {"an escaped slash", repo, "https://a.repo.example/x/..%2fy", false},
		"Parameter":        {"some servers take parameters off a segment first", repo, "https://a.repo.example/x/..;a=b/y", false},
		"HiddenParameter":  {"and decode before", repo, "https://a.repo.example/x/..%3Ba/y", false},
		"EmptyParameter":   {"with nothing in it", repo, "https://a.repo.example/x/..;/..;/y", false},
		"Blank":            {"some take blanks off", repo, "https://a.repo.example/x/..%20/y", false},
		"Twice":            {"a proxy decodes, and the server behind it decodes again", repo, "https://a.repo.example/x/%252e%252e/y", false},
		"Thrice":           {"or a third one", repo, "https://a.repo.example/x/..%25252Fy", false},
		"EscapedDot":       {"a dot needs no escape", repo, "https://a.repo.example/x/a%2ejar", false},
		"EscapedSlash":     {"neither does a slash", repo, "https://a.repo.example/x%2Fy", false},
		"EscapedBackslash": {"a slash to some", repo, "https://a.repo.example/x%5cy", false},
		"Escape":           {"what is escaped need not climb", repo, "https://a.repo.example/x/a%20b%25;v=1/..a/y..;z", true},
		"Backslash":        {"some clients take it for a slash", repo, "https://evil.example\\.repo.example/x", false},
		"BadEscape":        {"nobody knows what it means", repo, "https://a.repo.example/%zz", false},
		"HostInPath":       {"the host is another", repo, "https://evil.example/.repo.example/x", false},
		"HostInQuery":      {"the host is another", repo, "https://evil.example?x.repo.example/x", false},
		"HostInName":       {"the host is another", repo, "https://evil.example#.repo.example/x", false},
		"UserInHost":       {"the host is behind the @", "https://repo.example*", "https://repo.example@evil.example/x", false},
		"User":             {"credentials are not of the pattern", repo, "https://me:pw@a.repo.example/x", false},
		"TwoUsers":         {"the last @ counts", azure, "abfss://a@evil.example@x/y", false},
		"BeginsLike":       {"a longer name", "https://repo.example/*", "https://repo.example.evil.example/x", false},
		"OtherGroup":       {"not these packages", packages, "maven:org.example.evil:lib:1", false},
		"Empty":            {"nothing at all", s3, "s3a://", false},
	} {
		if problem := checkURLPattern(tc.pattern); problem != "" {
			t.Errorf("%s: %s", tc.pattern, problem)
		}
		where := placeOf(tc.url)
		if got := !where.inImage() && !where.climbs() && placeOf(tc.pattern).covers(where); got != tc.allowed {
			t.Errorf("%s: %s: %q under %q: allowed %t, want %t", name, tc.reason, tc.url, tc.pattern, got, tc.allowed)
		}
	}
	for url, image := range map[string]bool{
		"local:///opt/a.jar": true, "/opt/a.jar": true, "a.py": true, "file:///opt/a.jar": true, "file:/opt/a": true, "": true,
		"file://evil/share": false, "//evil/share": false, "https://a": false, "jar:https://evil!/x": false, "local.evil://x": false,
	} {
		if got := placeOf(url).inImage(); got != image {
			t.Errorf("%q: in the image %t, want %t", url, got, image)
		}
	}
	for _, pattern := range []string{"*", "repo.example/*", "*://repo.example", "s3a:bucket"} {
		if checkURLPattern(pattern) == "" {
			t.Errorf("%q is taken for a pattern of URLs", pattern)
		}
	}
}
