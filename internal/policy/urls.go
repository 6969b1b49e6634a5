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

// fetched lists the properties with files that Spark downloads before or for the program, and their fields.
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

// metastoreJars is the source of the Hive metastore's client.
const metastoreJars = "spark.sql.hive.metastore.jars"

// mavenScheme begins a limit for the coordinates of a package: maven:GROUP:ARTIFACT:VERSION.
const mavenScheme = "maven:"

// urls refuses dependencies from places that the list does not allow. Files inside the image are covered by the limit on
// images.
func (c *checker) urls() {
	if len(c.limits.URLs) == 0 {
		return
	}
	if main := c.app.MainFile; main != spark.NoResource {
		for _, one := range splitList(main) { // Spark adds it to a list
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
			case f.key == metastoreJars+".path" && placeOf(one).scheme == "": // only these are in Hadoop's default file system
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
	if where.user != "" { // it may be a password
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

// place is a URL or a pattern of URLs, by its parts: a * in one part matches nothing of another.
type place struct{ scheme, user, host, path string }

// placeOf parses a URL as Java does: text without a scheme is a file, and a fragment is only its name.
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

// checkURLPattern returns the error in a pattern of URLs; "" if it is valid.
func checkURLPattern(pattern string) string {
	if p := placeOf(pattern); p.scheme == "" || strings.Contains(p.scheme, "*") || p.scheme+":" != mavenScheme && !strings.Contains(pattern, "://") {
		return `write a scheme and a host, such as "s3a://team-a-*/jars/*", or "maven:org.example:*"`
	}
	return ""
}

// encoded matches dots and slashes with needless encoding, repeated or not: servers behind a proxy decode once more.
var encoded = regexp.MustCompile(`(?i)%(25)*(2e|2f|5c)`)

// climbs reports whether a path has "..": file system clients and servers resolve it, and some remove parameters from a segment
// first.
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
