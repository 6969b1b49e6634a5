// SPDX-License-Identifier: Apache-2.0

package validation

import (
	_ "embed"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/text"
)

// knownProperties are the properties of drivers and executors in any release of Spark. hack/spark-properties.py found them.
//
//go:embed properties.txt
var knownProperties string

// property is a known property with the words of its name. An open one ends in a dot: users choose the rest.
type property struct {
	name  string
	open  bool
	words []string
}

var properties = sync.OnceValue(func() []property {
	var all []property
	for name := range strings.FieldsSeq(knownProperties) {
		all = append(all, property{name, strings.HasSuffix(name, "."), partsOf(name)})
	}
	return all
})

// described matches properties whose names are all known. Any library may read others.
var described = regexp.MustCompile(`^spark\.(kubernetes\.|driver|executor)`)

// ofTheirOperator begins the properties of Apache's operator.
const ofTheirOperator = "spark.kubernetes.operator."

// UnknownProperties warns of properties of pods that no release of Spark has, if there is one with a similar name.
func UnknownProperties(app spark.Application) []*spark.ConfError {
	var found []*spark.ConfError
	unknown := 0
	for _, key := range slices.Sorted(maps.Keys(app.Conf)) {
		if _, typed := app.Origins[key]; typed || !described.MatchString(key) || strings.HasPrefix(key, ofTheirOperator) || isProperty(key) {
			continue
		}
		if unknown++; unknown > maxUnknown {
			break
		}
		meant := nearestProperty(key)
		if meant == "" {
			continue
		}
		remedy := `did you mean "` + meant + `"?`
		if instead, denied := deniedKeys[meant]; denied && app.Direct == nil {
			remedy = app.Fields.Text(instead)
		}
		found = append(found, &spark.ConfError{Key: key, Problem: "has no effect: Spark has no property of this name; " + remedy})
	}
	return found
}

// maxUnknown bounds the unknown properties that are compared with all known ones, each time that an application is read.
const maxUnknown = 20

// isProperty reports whether Spark knows a property.
func isProperty(key string) bool {
	return slices.ContainsFunc(properties(), func(p property) bool {
		return p.name == key || p.open && strings.HasPrefix(key, p.name) && len(key) > len(p.name)
	})
}

// nearestProperty is the property that is meant by an unknown name; "" if none is near.
func nearestProperty(key string) string {
	best, least := "", farApart
	consider := func(name string, steps int) {
		if steps < least || steps == least && steps < farApart && len(name) < len(best) {
			best, least = name, steps
		}
	}
	words := partsOf(key)
	for _, p := range properties() {
		if !p.open {
			consider(p.name, apart(key, p.name, words, p.words))
			continue
		}
		for i, c := range key {
			if head, rest := key[:i], key[min(i+1, len(key)):]; c == '.' && strings.Count(head, ".") > 0 && rest != "" {
				consider(p.name+rest, apartOpen(head, p))
			}
		}
	}
	return best
}

// farApart is the distance of names that are not similar.
const farApart = 5

// apart is the distance of two names: a slip of the pen counts one, other dots and capitals one, a word too many or missing three, and two
// missing words four.
func apart(a, b string, words, others []string) int {
	if n := text.Slips(strings.ToLower(a), strings.ToLower(b)); n <= 2 {
		return n
	}
	extra, missing := without(words, others), without(others, words)
	switch {
	case extra+missing == 0:
		return 1
	case extra+missing == 1:
		return 3
	case extra == 0 && missing == 2:
		return 4
	}
	return farApart
}

// apartOpen is the distance of the head of a name from an open property. Unless it is misspelled, its last word must be the same.
func apartOpen(head string, p property) int {
	words := partsOf(head)
	n := apart(head, strings.TrimSuffix(p.name, "."), words, p.words)
	if n > 2 && words[len(words)-1] != p.words[len(p.words)-1] {
		return farApart
	}
	return n
}

// without counts the words that are not among others.
func without(words, others []string) (n int) {
	for _, w := range words {
		if !slices.Contains(others, w) {
			n++
		}
	}
	return n
}

var word = regexp.MustCompile(`[A-Z]?[a-z0-9]+|[A-Z]+`)

// partsOf are the words of a name, in lower case and in the singular.
func partsOf(name string) []string {
	words := word.FindAllString(name, -1)
	for i, w := range words {
		if words[i] = strings.ToLower(w); len(w) > 3 {
			words[i] = strings.TrimSuffix(words[i], "s")
		}
	}
	return words
}
