// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/text"
)

// fetched lists the properties that name files for Spark to download before or for the program, and their fields.
var fetched = []struct {
	key   string
	field spark.Field
}{
	{spark.ConfJars, "deps.jars"},
	{spark.ConfFiles, "deps.files"},
	{spark.ConfPyFiles, "deps.pyFiles"},
	{spark.ConfArchives, "deps.archives"},
	{spark.ConfRepositories, "deps.repositories"},
	{spark.ConfPackages, "deps.packages"},
	{"spark.jars.ivySettings", spark.FieldSparkConf},
	{metastoreJars + ".path", spark.FieldSparkConf},
}

// metastoreJars is the property for the source of the Hive metastore's client.
const metastoreJars = "spark.sql.hive.metastore.jars"

// mavenScheme begins a pattern for the coordinates of a package: maven:GROUP:ARTIFACT:VERSION.
const mavenScheme = "maven:"

// urls refuses dependencies from sources that the limit does not allow. The limit on images covers files inside the image.
func (c *checker) urls() {
	if len(c.limits.URLs) == 0 {
		return
	}
	if main := c.app.MainFile; main != spark.NoResource {
		for _, one := range splitList(main) { // Spark adds the main file to a list, which it splits at commas
			c.dependency(&spark.ConfError{Field: spark.FieldMainFile, Value: main}, one)
		}
	}
	for _, f := range fetched {
		for _, one := range splitList(c.read.Text(f.key)) {
			e := c.naming(one, f.field, f.key)
			switch {
			case one == "":
				continue
			case f.key == spark.ConfPackages:
				one = mavenScheme + one
			case f.key == metastoreJars+".path" && placeOf(one).scheme == "": // Hadoop's default file system applies to this property only
				one = c.read.Text("spark.hadoop.fs.defaultFS") + one
			}
			c.dependency(e, one)
		}
	}
	if c.read.Text(metastoreJars) == "maven" {
		c.dependency(&spark.ConfError{Key: metastoreJars, Value: "maven"}, mavenScheme+"org.apache.hive:hive-metastore:")
	}
}

func (c *checker) dependency(e *spark.ConfError, uri string) {
	where := placeOf(uri)
	if where.user != "" { // the user part may contain a password
		e.Value = strings.Replace(e.Value, where.user, "...@", 1)
	}
	switch {
	case strings.Contains(uri, "${"):
		e.Problem = "has a reference that only the driver resolves"
		c.refuse(e, "only URLs that can be checked")
	case where.inImage():
	case where.climbs():
		e.Problem = "has '..', a backslash, or an encoded dot or slash in its path, or cannot be decoded"
		c.refuse(e, "the URLs %s", strings.Join(c.limits.URLs, ", "))
	case !slices.ContainsFunc(c.limits.URLs, func(p string) bool { return placeOf(p).covers(where) }):
		c.refuse(e, "the URLs %s", strings.Join(c.limits.URLs, ", "))
	}
}

// place is a URL or a pattern of URLs, split into parts: a * in one part matches nothing of another part.
type place struct{ scheme, user, host, path string }

// placeOf parses a URL as Java does: text without a scheme is a file, and a fragment is only the name of the local file.
func placeOf(uri string) place {
	uri, _, _ = strings.Cut(uri, "#")
	scheme, rest, has := strings.Cut(uri, ":")
	if !has || strings.Contains(scheme, "/") {
		return place{path: uri}
	}
	p := place{scheme: strings.ToLower(scheme), path: rest}
	if authority, is := strings.CutPrefix(rest, "//"); is {
		p.host, p.path = authority, ""
		if i := strings.IndexAny(authority, `/?\`); i >= 0 {
			p.host, p.path = authority[:i], authority[i:]
		}
		if i := strings.LastIndexByte(p.host, '@'); i >= 0 {
			p.user, p.host = p.host[:i+1], p.host[i+1:]
		}
		p.host = strings.ToLower(p.host)
	}
	return p
}

// inImage reports whether a place is in the pod's own file system.
func (p place) inImage() bool {
	return p.scheme == "local" || (p.scheme == "file" || p.scheme == "") && p.host == "" && !strings.HasPrefix(p.path, "//")
}

// checkURLPattern returns the error in a URL pattern; "" if it is valid.
func checkURLPattern(pattern string) string {
	if p := placeOf(pattern); p.scheme == "" || strings.Contains(p.scheme, "*") || p.scheme+":" != mavenScheme && !strings.Contains(pattern, "://") {
		return `write a scheme and a host, such as "s3a://team-a-*/jars/*", or "maven:org.example:*"`
	}
	return ""
}

// encoded matches dots and slashes that are needlessly encoded, once or several times: servers behind a proxy decode once more.
var encoded = regexp.MustCompile(`(?i)%(25)*(2e|2f|5c)`)

// climbs reports whether a path has "..", which file system clients and servers resolve. Some of them first remove parameters from a path segment.
func (p place) climbs() bool {
	plain, err := url.PathUnescape(p.path)
	if err != nil || encoded.MatchString(p.path) || strings.Contains(p.path, `\`) {
		return true
	}
	return slices.ContainsFunc(strings.FieldsFunc(plain, func(r rune) bool { return r == '/' || r == '?' }), func(segment string) bool {
		segment, _, _ = strings.Cut(segment, ";")
		return strings.TrimSpace(segment) == ".."
	})
}

// covers reports whether a pattern allows a place. A pattern without a path allows all paths.
func (p place) covers(where place) bool {
	return p.scheme == where.scheme && text.Matches(p.user, where.user) && text.Matches(p.host, where.host) && (p.path == "" || text.Matches(p.path, where.path))
}
