// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Field is the name of an application's field in all API families, such as "driver.memory". The name of a field that only one family has is its path below the
// spec, with a dot before it if a shared field may have the same name. Messages show the path in the user's object (see Fields).
type Field string

// Fields that several packages use. All others are named where they are used.
const (
	// FieldSpec is the spec as a whole.
	FieldSpec         Field = ""
	FieldName         Field = "metadata.name"
	FieldSparkVersion Field = "sparkVersion"
	FieldMainFile     Field = "mainApplicationFile"
	FieldMainClass    Field = "mainClass"
	FieldSparkConf    Field = "sparkConf"
	FieldDriverName   Field = "driver.podName"
	// FieldGroupResources is what a gang scheduler may be asked for the whole application.
	FieldGroupResources Field = "batchScheduler.resources"
)

// Key returns the field of a map's entry.
func (f Field) Key(key string) Field { return f + Field("["+strconv.Quote(key)+"]") }

// Index returns the field of a list's entry.
func (f Field) Index(i int) Field { return f + Field("["+strconv.Itoa(i)+"]") }

// Fields maps fields to their paths in an API family, such as "spec.driver.memory". If a field is not listed, its longest listed prefix before a dot or a
// bracket is replaced; "" is a prefix of all fields. A family lists "labels" if its pods inherit the labels of the application.
type Fields map[Field]string

// Path returns the path of a field in the user's object.
func (f Fields) Path(name Field) string {
	head := name
	for head != "" && f[head] == "" {
		head = head[:max(0, strings.LastIndexAny(string(head), ".["))]
	}
	rest := string(name[len(head):])
	if head == "" && f[head] != "" && rest != "" && rest[0] != '.' {
		rest = "." + rest
	}
	return f[head] + rest
}

// Word is a word for an application or for its pods in messages.
type Word string

// The words for an application. WordDriver and WordExecutor are for one pod of a role.
const (
	WordApplication Word = "application"
	WordDriver      Word = RoleDriver
	WordExecutor    Word = RoleExecutor
	WordExecutors   Word = "executors"
)

// Words has the words of a kind with other terms, such as "master" for WordDriver.
type Words map[Word]string

// Of returns the kind's word. A word that is not listed stays.
func (w Words) Of(word Word) string {
	if own, listed := w[word]; listed {
		return own
	}
	return string(word)
}

// DependencyProperties are Spark's properties for the lists of dependencies.
var DependencyProperties = map[Field]string{
	"deps.jars": ConfJars, "deps.files": ConfFiles, "deps.pyFiles": ConfPyFiles, "deps.archives": ConfArchives,
	"deps.packages": ConfPackages, "deps.excludePackages": ConfExcludePackages, "deps.repositories": ConfRepositories,
}

var fieldName = regexp.MustCompile(`\{([a-zA-Z][a-zA-Z.]*)\}`)

// Text replaces the fields in braces in a message by their paths: "raise {driver.memory}".
func (f Fields) Text(message string) string {
	if !strings.Contains(message, "{") {
		return message // as most are
	}
	return fieldName.ReplaceAllStringFunc(message, func(name string) string { return f.Path(Field(name[1 : len(name)-1])) })
}

// Origin is the field that a property comes from.
type Origin struct {
	Field Field
	// Policy is the operator's policy whose defaults have the field; "" for a field of the application.
	Policy string
}

// Path returns the name of the field in messages.
func (o Origin) Path(f Fields) string {
	if o.Policy != "" {
		return fmt.Sprintf("defaults.%s of the operator's policy %q", o.Field, o.Policy)
	}
	return f.Path(o.Field)
}

// Field returns where the user set a Spark property: in a typed field, or in sparkConf.
func (a Application) Field(key string) string {
	if origin, typed := a.Origins[key]; typed {
		return origin.Path(a.Fields)
	}
	return a.Fields.Path(FieldSparkConf.Key(key))
}

// missing maps properties to the fields that messages name if the property is unset.
var missing = map[string]Field{ConfImage: "image"}

// PathOf returns the path in the user's object that an error is about.
func (a Application) PathOf(e *ConfError) string {
	if e.Key == "" {
		return a.Fields.Path(e.Field)
	}
	if typed, ok := missing[e.Key]; ok && a.Conf[e.Key] == "" {
		return a.Fields.Path(typed)
	}
	return a.Field(e.Key)
}

// Undecoded returns an application whose spec could not be decoded, and the error.
func (a Application) Undecoded(why string) (Application, []*ConfError) {
	a.Malformed = why
	return a, []*ConfError{{Field: FieldSpec, Problem: "cannot be decoded: " + why}}
}
