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

// knownProperties are the properties of drivers and executors from all releases of Spark. hack/spark-properties.py collects them.
//
//go:embed properties.txt
var knownProperties string

// property is a known property, with the words of its name. The name of an open property ends in a dot: users choose the rest.
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

// described matches the properties that must be among the known ones. Any library may define others.
var described = regexp.MustCompile(`^spark\.(kubernetes\.|driver|executor)`)

// ofTheirOperator is the prefix of the properties of Apache's operator.
const ofTheirOperator = "spark.kubernetes.operator."

// UnknownProperties warns of pod properties that no release of Spark has, if a known one has a similar name.
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

// maxUnknown bounds the unknown properties to compare with all known ones, each time that an application is read.
const maxUnknown = 20

// isProperty reports whether Spark knows a property.
func isProperty(key string) bool {
	return slices.ContainsFunc(properties(), func(p property) bool {
		return p.name == key || p.open && strings.HasPrefix(key, p.name) && len(key) > len(p.name)
	})
}

// nearestProperty returns the known property with the most similar name; "" if none is similar.
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

// farApart is the least distance between names that are not similar.
const farApart = 5

// apart returns the distance between two names: 1 or 2 for as many typing errors, 1 for other dots and capitals, 3 for one extra or missing word, and 4 for two
// missing words.
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

// apartOpen returns the distance between the first part of a name and an open property. Unless the name is misspelled, the last words must be equal.
func apartOpen(head string, p property) int {
	words := partsOf(head)
	n := apart(head, strings.TrimSuffix(p.name, "."), words, p.words)
	if n > 2 && words[len(words)-1] != p.words[len(p.words)-1] {
		return farApart
	}
	return n
}

// without counts the words that are not in others.
func without(words, others []string) (n int) {
	for _, w := range words {
		if !slices.Contains(others, w) {
			n++
		}
	}
	return n
}

var word = regexp.MustCompile(`[A-Z]?[a-z0-9]+|[A-Z]+`)

// partsOf returns the words of a name, in lower case and singular.
func partsOf(name string) []string {
	words := word.FindAllString(name, -1)
	for i, w := range words {
		if words[i] = strings.ToLower(w); len(w) > 3 {
			words[i] = strings.TrimSuffix(words[i], "s")
		}
	}
	return words
}
