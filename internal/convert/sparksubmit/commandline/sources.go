// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"fmt"
	"maps"
	"path"
	"strings"
)

// Machine is the machine on which spark-submit runs.
type Machine struct {
	Env map[string]string
	// Files are the files that a command line may name, by absolute path.
	Files map[string][]byte
	// Dir is the working directory.
	Dir string
}

// File returns the content of a file, named by its path or a file: URI.
func (m Machine) File(name string) ([]byte, bool) {
	content, ok := m.Files[m.Path(name)]
	return content, ok
}

// Path returns the absolute path of a file, named by its path or a local URI.
func (m Machine) Path(name string) string {
	for _, scheme := range []string{"file:", "local:"} {
		if rest, ok := strings.CutPrefix(name, scheme); ok {
			return path.Clean("/" + rest)
		}
	}
	if !strings.HasPrefix(name, "/") {
		name = m.Dir + "/" + name
	}
	return path.Clean(name)
}

// ConfDir returns Spark's configuration directory; "" if the machine has none.
func (m Machine) ConfDir() string {
	if dir := m.Env["SPARK_CONF_DIR"]; dir != "" {
		return m.Path(dir)
	}
	if home := m.Env["SPARK_HOME"]; home != "" {
		return path.Join(m.Path(home), "conf")
	}
	return ""
}

// variables maps environment variables to the properties that they set if no other source does.
var variables = map[string]string{
	"MASTER": "spark.master", "DEPLOY_MODE": "spark.submit.deployMode", "SPARK_DRIVER_MEMORY": "spark.driver.memory",
	"SPARK_EXECUTOR_MEMORY": "spark.executor.memory", "SPARK_EXECUTOR_CORES": "spark.executor.cores",
}

// Configuration merges the sources of spark-submit. A later source overrides earlier ones: variables, properties of its JVM, the defaults file, the
// properties file, --conf and the flags. Since Spark 4.0 both files can be read; major is Spark's major version.
func (c Command) Configuration(m Machine, major int) (map[string]string, error) {
	merged := map[string]string{}
	for variable, property := range variables {
		if value, ok := m.Env[variable]; ok {
			merged[property] = value
		}
	}
	for _, option := range strings.Fields(m.Env["SPARK_SUBMIT_OPTS"]) {
		definition, isDefinition := strings.CutPrefix(option, "-D")
		if key, value, _ := strings.Cut(definition, "="); isDefinition && strings.HasPrefix(key, "spark.") {
			merged[key] = value
		}
	}
	for _, file := range c.PropertiesFiles(m, major) {
		content, ok := m.File(file)
		if !ok && file == c.PropertiesFile {
			return nil, fmt.Errorf("--properties-file: %s: no such file", file)
		}
		properties, err := Properties(string(content))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		maps.Copy(merged, properties)
	}
	maps.Copy(merged, c.Confs)
	maps.Copy(merged, c.Flags)
	return merged, nil
}

// PropertiesFiles returns the names of the properties files to read, in order.
func (c Command) PropertiesFiles(m Machine, major int) []string {
	var files []string
	if c.PropertiesFile == "" || c.LoadDefaults && major >= 4 {
		if dir := m.ConfDir(); dir != "" {
			files = append(files, path.Join(dir, "spark-defaults.conf"))
		}
	}
	if c.PropertiesFile != "" {
		files = append(files, c.PropertiesFile)
	}
	return files
}

// FilesIn returns the files in a directory by name, without subdirectories.
func (m Machine) FilesIn(dir string) map[string][]byte {
	files := map[string][]byte{}
	for file, content := range m.Files {
		if path.Dir(file) == m.Path(dir) {
			files[path.Base(file)] = content
		}
	}
	return files
}
