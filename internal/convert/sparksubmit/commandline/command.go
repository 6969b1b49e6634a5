// SPDX-License-Identifier: Apache-2.0

// Package commandline parses spark-submit's command lines: flags, properties files and their precedence. It is pure and
// independent of Firesteel; the files and variables of the machine are arguments.
package commandline

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrNotSubmission is the error for command lines that submit nothing: status, kill, version and help.
var ErrNotSubmission = errors.New("does not submit an application")

// Command is a command line of spark-submit.
type Command struct {
	// Flags are properties that dedicated flags set. Confs are properties that --conf sets.
	Flags, Confs map[string]string
	// PropertiesFile is the value of --properties-file; "" for none.
	PropertiesFile string
	// LoadDefaults reads spark-defaults.conf in addition to a properties file (Spark 4.0 and later).
	LoadDefaults bool
	MainClass    string
	ProxyUser    string
	// Resource is the main file; "" for none.
	Resource  string
	Arguments []string
	// Ignored are the given flags that have no effect on Kubernetes.
	Ignored []string
}

// flagProperties maps flags to properties.
var flagProperties = map[string]string{
	"--master": "spark.master", "--deploy-mode": "spark.submit.deployMode", "--name": "spark.app.name",
	"--driver-memory": "spark.driver.memory", "--driver-cores": "spark.driver.cores",
	"--driver-class-path": "spark.driver.extraClassPath", "--driver-java-options": "spark.driver.extraJavaOptions",
	"--driver-library-path": "spark.driver.extraLibraryPath",
	"--executor-memory":     "spark.executor.memory", "--executor-cores": "spark.executor.cores",
	"--num-executors": "spark.executor.instances",
	"--principal":     "spark.kerberos.principal", "--keytab": "spark.kerberos.keytab",
	"--jars": "spark.jars", "--files": "spark.files", "--py-files": "spark.submit.pyFiles", "--archives": "spark.archives",
	"--packages": "spark.jars.packages", "--exclude-packages": "spark.jars.excludes", "--repositories": "spark.jars.repositories",
}

// withoutEffect maps flags without effect on Kubernetes to whether they have a value.
var withoutEffect = map[string]bool{"--total-executor-cores": true, "--queue": true, "--supervise": false}

// Parse parses the arguments as spark-submit's launcher and argument parser do together. The first argument that is no flag is the main file. All arguments
// after it belong to the application.
func Parse(argv []string) (Command, error) {
	c := Command{Flags: map[string]string{}, Confs: map[string]string{}}
	args := make([]string, len(argv))
	for i, arg := range argv {
		// The launcher script of spark-submit drops carriage returns.
		args[i] = strings.ReplaceAll(arg, "\r", "")
	}
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") {
			c.Resource, c.Arguments = args[i], args[i+1:]
			return c, nil
		}
		flag, value, joined := strings.Cut(args[i], "=")
		if !strings.HasPrefix(flag, "--") || value == "" {
			flag, joined = args[i], false
		}
		done, err := c.alone(flag)
		if err != nil {
			return Command{}, err
		}
		if done {
			continue
		}
		if !joined {
			if i++; i == len(args) {
				return Command{}, fmt.Errorf("%s: the value is missing", flag)
			}
			value = args[i]
		}
		if err := c.set(flag, value); err != nil {
			return Command{}, err
		}
	}
	return c, nil
}

// alone handles a flag that has no value.
func (c *Command) alone(flag string) (bool, error) {
	switch flag {
	case "--kill", "--status", "--version", "--help", "-h", "--usage-error":
		return false, fmt.Errorf("%s: %w", flag, ErrNotSubmission)
	case "--load-spark-defaults":
		c.LoadDefaults = true
	case "--verbose", "-v":
	default:
		hasValue, known := withoutEffect[flag]
		if !known || hasValue {
			return false, nil
		}
		c.Ignored = append(c.Ignored, flag)
	}
	return true, nil
}

func (c *Command) set(flag, value string) error {
	if property, ok := flagProperties[flag]; ok {
		c.Flags[property] = value
		return nil
	}
	if withoutEffect[flag] {
		c.Ignored = append(c.Ignored, flag)
		return nil
	}
	switch flag {
	case "--conf", "-c":
		key, text, found := strings.Cut(value, "=")
		if !found {
			return fmt.Errorf("%s: %q: the value is missing; write key=value", flag, value)
		}
		c.Confs[key] = text
	case "--class":
		c.MainClass = value
	case "--proxy-user":
		c.ProxyUser = value
	case "--properties-file":
		c.PropertiesFile = value
	default:
		return &UnknownFlagError{Flag: flag}
	}
	return nil
}

// UnknownFlagError is the error for a flag that spark-submit lacks.
type UnknownFlagError struct{ Flag string }

// Error names the flag and says where flags of the application belong.
func (e *UnknownFlagError) Error() string {
	return e.Flag + ": spark-submit has no such flag; flags of the application come after its main file"
}

// Known returns the flags that have a value.
func (*UnknownFlagError) Known() []string {
	return append(slices.Sorted(maps.Keys(flagProperties)), "--conf", "--class", "--proxy-user", "--properties-file")
}
