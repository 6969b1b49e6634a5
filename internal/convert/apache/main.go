// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// pythonRunner is the main class with which pyFiles are taken apart: the first is run, the others are what it needs.
const pythonRunner = "org.apache.spark.deploy.PythonRunner"

// mainResource is what an application runs.
type mainResource struct {
	file     string
	language spark.Language
	// field is the field that names it.
	field string
	// conf are properties that it sets where the user does not.
	conf     map[string]string
	problems []*spark.ConfError
}

// mainOf returns what an application runs: of several fields the first that is set, in this order.
func mainOf(s *v1.SparkApplicationSpec) mainResource {
	python := mainResource{language: spark.LanguagePython, field: "spec.pyFiles"}
	switch {
	case s.Jars != "":
		return mainResource{file: s.Jars, language: spark.LanguageJava, field: "spec.jars", conf: map[string]string{spark.ConfJars: s.Jars}}
	case s.MainClass == pythonRunner:
		first, others, more := strings.Cut(s.PyFiles, ",")
		if python.file = first; first == "" {
			python.problems = []*spark.ConfError{{
				Field: "spec.pyFiles", Type: field.ErrorTypeRequired, Problem: "is missing; write the .py file that " + pythonRunner + " is to run",
			}}
		}
		if more {
			python.conf = map[string]string{spark.ConfPyFiles: others}
		}
		return python
	case s.PyFiles != "":
		python.file, python.conf = s.PyFiles, map[string]string{spark.ConfPyFiles: s.PyFiles}
		return python
	case s.SparkRFiles != "":
		return mainResource{file: s.SparkRFiles, language: spark.LanguageR, field: "spec.sparkRFiles"}
	}
	return mainResource{file: spark.NoResource, language: spark.LanguageJava, field: "spec.jars"}
}
