/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package spark

import (
	"path"
	"strings"
)

const (
	pythonRunner = "org.apache.spark.deploy.PythonRunner"
	rRunner      = "org.apache.spark.deploy.RRunner"
)

// command tells the image's entrypoint what to run: DriverCommandFeatureStep.
func (b *builder) command() {
	class, resource := b.app.MainClass, b.app.MainFile
	switch b.kind {
	case kindPython:
		class = pythonRunner
		b.pythonEnv()
	case kindR:
		class = rRunner
		resource = b.rResource()
	case kindJava: // the user's class and file, as they are
	}
	args := append(b.container.Args, "driver")
	if b.app.ProxyUser != "" {
		args = append(args, "--proxy-user", b.app.ProxyUser)
	}
	args = append(args, "--properties-file", propertiesPathInPod, "--class", class, resource)
	b.container.Args = append(args, b.app.Arguments...)
	b.properties[confResourceType] = string(b.kind)
}

// rResource returns the R file as Spark spells it. R files are never uploaded, so one without a scheme is a path in the
// image.
func (b *builder) rResource() string {
	name, ok := scheme(b.app.MainFile)
	switch {
	case ok && name != "":
		return b.app.MainFile
	case ok && strings.HasPrefix(b.app.MainFile, "/"):
		return "file:" + path.Clean(b.app.MainFile)
	}
	if b.conf.err == nil {
		b.conf.err = &ConfError{Field: "MainFile", Value: b.app.MainFile,
			Problem: "relative to a directory that does not exist here; write local:// and the path in the image"}
	}
	return ""
}

// pythonEnv chooses the interpreters of the driver. Properties win over the submitter's variables.
func (b *builder) pythonEnv() {
	if version, ok := b.conf.text(confPythonVersion); ok && b.profile.PythonVersionConf && version != "3" {
		b.conf.fail(confPythonVersion, version, `must be "3"`)
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
