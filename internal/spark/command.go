// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	pythonRunner = "org.apache.spark.deploy.PythonRunner"
	rRunner      = "org.apache.spark.deploy.RRunner"
)

// command sets the arguments of the image's entrypoint: DriverCommandFeatureStep.
func (b *builder) command() {
	class, resource := b.app.MainClass, b.app.MainFile
	switch {
	case b.language == LanguagePython:
		b.pythonEnv()
	case b.language == LanguageR && !b.mode.direct:
		resource = b.rResource()
	}
	if !b.mode.direct {
		class = b.runner(class)
	}
	args := append(b.container.Args, "driver")
	if b.app.ProxyUser != "" {
		args = append(args, "--proxy-user", b.app.ProxyUser)
	}
	args = append(args, "--properties-file", propertiesPathInPod, "--class", class, resource)
	b.container.Args = append(args, b.app.Arguments...)
	b.properties[confResourceType] = string(b.language)
}

// runner returns the main class with which spark-submit runs a main file.
func (b *builder) runner(class string) string {
	switch b.language {
	case LanguagePython:
		return pythonRunner
	case LanguageR:
		return rRunner
	case LanguageJava: // the user's
	}
	return class
}

// rResource returns the R file in Spark's spelling. R files are never uploaded, so a path without a scheme is in the image.
func (b *builder) rResource() string {
	name, ok := scheme(b.app.MainFile)
	switch {
	case ok && name != "":
		return b.app.MainFile
	case ok && strings.HasPrefix(b.app.MainFile, "/"):
		return "file:" + path.Clean(b.app.MainFile)
	}
	if b.conf.err == nil {
		b.conf.err = &ConfError{Field: FieldMainFile, Value: b.app.MainFile,
			Problem: "relative to a directory that does not exist here; write local:// and the path in the image", Type: field.ErrorTypeNotSupported}
	}
	return ""
}

// pythonEnv chooses the interpreters of the driver. Properties override the submitter's variables.
func (b *builder) pythonEnv() {
	if version, ok := b.conf.text(confPythonVersion); ok && b.profile.PythonVersionConf && version != "3" {
		b.conf.failAs(field.ErrorTypeNotSupported, confPythonVersion, version, `must be "3"`)
	}
	python, hasPython := b.conf.text(confPython)
	driver, hasDriver := b.conf.text(confDriverPython)
	if !hasDriver {
		driver, hasDriver = python, hasPython
	}
	if !hasDriver {
		driver, hasDriver = b.app.Submitter.Env["PYSPARK_DRIVER_PYTHON"]
	}
	if !hasPython {
		python, hasPython = b.app.Submitter.Env["PYSPARK_PYTHON"]
	}
	if !hasDriver {
		driver, hasDriver = python, hasPython
	}
	if hasPython {
		b.addEnv("PYSPARK_PYTHON", python)
	}
	if hasDriver {
		b.addEnv("PYSPARK_DRIVER_PYTHON", driver)
	}
}
