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

// knownProperties are those of drivers and executors that a release of Spark knows. hack/spark-properties.py found them.
//
//go:embed properties.txt
var knownProperties string

// property is one that Spark knows, with the words of its name. An open one, which ends in a dot, goes on as the user likes.
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

// described begin properties that are known by their names. Others may be read by any library.
var described = regexp.MustCompile(`^spark\.(kubernetes\.|driver|executor)`)

// ofTheirOperator begins the properties of Apache's operator.
const ofTheirOperator = "spark.kubernetes.operator."

// UnknownProperties returns warnings of properties of pods that no release of Spark has, where one with a name like it exists.
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

// maxUnknown bounds how many unknown properties are compared with all that are known, each time that an application is read.
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

// farApart is further apart than two names that are alike.
const farApart = 5

// apart is how far two names are from each other: slips of the pen count one each, other dots and capitals one, a word too many or missing
// three, and two missing words four.
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

// apartOpen is how far the beginning of a name is from an open one: its last word says what follows.
func apartOpen(head string, p property) int {
	words := partsOf(head)
	n := apart(head, strings.TrimSuffix(p.name, "."), words, p.words)
	if n > 2 && words[len(words)-1] != p.words[len(p.words)-1] {
		return farApart
	}
	return n
}

// without is how many words are not among others.
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
