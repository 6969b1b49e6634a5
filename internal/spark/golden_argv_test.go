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
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"
	"time"
)

// machine is what a recorded spark-submit found around it.
type machine struct {
	env map[string]string
	// files are the files of /case, by absolute path.
	files map[string][]byte
}

// errClientSide marks command lines that do not submit anything.
var errClientSide = errors.New("not a submission")

// invocation is a command line of spark-submit, parsed.
type invocation struct {
	flags          map[string]string
	confs          map[string]string
	propertiesFile string
	loadDefaults   bool
	rest           []string
	app            Application
}

// flagConfs are the flags of spark-submit that set a property.
var flagConfs = map[string]string{
	"--master": ConfMaster, "--deploy-mode": ConfDeployMode, "--name": ConfAppName,
	"--driver-memory": ConfDriverMemory, "--driver-cores": ConfDriverCores,
	"--driver-class-path": "spark.driver.extraClassPath", "--driver-java-options": confJavaOptions,
	"--driver-library-path": "spark.driver.extraLibraryPath", "--executor-memory": ConfExecutorMemory,
	"--executor-cores": ConfExecutorCores, "--num-executors": ConfExecutorInstances,
	"--principal": confPrincipal, "--keytab": confKeytab,
}

// ignoredFlags have a value and no effect on Kubernetes.
var ignoredFlags = map[string]bool{"--total-executor-cores": true, "--queue": true}

// parseArgv reads the command line as spark-submit's launcher and its argument parser do together.
func parseArgv(argv []string) (*invocation, error) {
	in := &invocation{flags: map[string]string{}, confs: map[string]string{}}
	lists := map[string]*[]string{
		"--jars": &in.app.Deps.Jars, "--files": &in.app.Deps.Files, "--py-files": &in.app.Deps.PyFiles,
		"--archives": &in.app.Deps.Archives, "--packages": &in.app.Deps.Packages,
		"--exclude-packages": &in.app.Deps.ExcludePackages, "--repositories": &in.app.Deps.Repositories,
	}
	for i := 0; i < len(argv); i++ {
		// The launcher script drops carriage returns.
		flag := strings.ReplaceAll(argv[i], "\r", "")
		if !strings.HasPrefix(flag, "-") {
			for _, arg := range argv[i:] {
				in.rest = append(in.rest, strings.ReplaceAll(arg, "\r", ""))
			}
			return in, nil
		}
		if name, value, found := strings.Cut(flag, "="); found && strings.HasPrefix(name, "--") {
			if err := in.set(name, value, lists); err != nil {
				return nil, err
			}
			continue
		}
		switch flag {
		case "--load-spark-defaults":
			in.loadDefaults = true
			continue
		case "--kill", "--status", "--version", "--help":
			return nil, errClientSide
		case "--supervise", "--verbose", "-v":
			continue
		}
		if i++; i == len(argv) {
			return nil, fmt.Errorf("%s needs a value", flag)
		}
		value := strings.ReplaceAll(argv[i], "\r", "")
		if err := in.set(flag, value, lists); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func (in *invocation) set(flag, value string, lists map[string]*[]string) error {
	key, known := flagConfs[flag]
	list, isList := lists[flag]
	switch {
	case isList:
		*list = []string{value}
	case known:
		in.flags[key] = value
	case flag == "--conf" || flag == "-c":
		key, text, found := strings.Cut(value, "=")
		if !found {
			return fmt.Errorf("invalid argument to --conf: %s", value)
		}
		in.confs[key] = text
	case flag == "--class":
		in.app.MainClass = value
	case flag == "--proxy-user":
		in.app.ProxyUser = value
	case flag == "--properties-file":
		in.propertiesFile = value
	case !ignoredFlags[flag]:
		return fmt.Errorf("unknown flag %s", flag)
	}
	return nil
}

// application translates a recorded run to what Build takes.
func application(argv []string, m machine, version, release string) (Application, Identity, error) {
	in, err := parseArgv(argv)
	if err != nil {
		return Application{}, Identity{}, err
	}
	app := in.app
	app.SparkVersion = release
	if len(in.rest) > 0 {
		app.MainFile, app.Arguments = in.rest[0], in.rest[1:]
	}
	if app.Conf, err = in.properties(m, version); err != nil {
		return Application{}, Identity{}, err
	}
	app.OperatorConf = map[string]string{}
	for key, variable := range map[string]string{ConfMaster: "MASTER", ConfDeployMode: "DEPLOY_MODE"} {
		if value, ok := m.env[variable]; ok {
			setDefault(app.OperatorConf, key, value)
		}
	}
	for _, key := range []string{ConfMaster, ConfDeployMode, ConfAppName} {
		if value, ok := in.flags[key]; ok {
			app.OperatorConf[key] = value
		}
	}
	app.Submitter = m.submitter()
	id := Identity{
		AppID:        "spark-" + strings.Repeat("a", 32),
		SubmissionID: "33333333-3333-4333-8333-000000000001",
		NameID:       strings.Repeat("b", 16),
		ConfigMapID:  strings.Repeat("c", 16),
		ServiceID:    strings.Repeat("d", 16),
		LocalDirID:   "11111111-1111-4111-8111-111111111111",
		SubmitTime:   time.UnixMilli(1700000000000),
	}
	return app, id, nil
}

// properties merges the sources of spark-submit: its file of defaults, the properties file, --conf and the flags.
func (in *invocation) properties(m machine, version string) (map[string]string, error) {
	merged := map[string]string{}
	defaultsFile := path.Join(m.env["SPARK_CONF_DIR"], "spark-defaults.conf")
	if in.propertiesFile == "" || in.loadDefaults && version >= "4.0" {
		maps.Copy(merged, parseProperties(string(m.files[defaultsFile])))
	}
	if in.propertiesFile != "" {
		content, ok := m.files[in.propertiesFile]
		if !ok {
			return nil, fmt.Errorf("no properties file %s", in.propertiesFile)
		}
		maps.Copy(merged, parseProperties(string(content)))
	}
	maps.Copy(merged, in.confs)
	maps.Copy(merged, in.flags)
	return merged, nil
}

func (m machine) submitter() Submitter {
	s := Submitter{User: "root", Env: m.env, Files: m.files}
	if dir, ok := m.env["SPARK_CONF_DIR"]; ok {
		s.ConfDir = m.dir(dir)
	}
	if dir, ok := m.env["HADOOP_CONF_DIR"]; ok {
		s.HadoopConfDir = m.dir(dir)
	}
	return s
}

// dir returns the files that lie directly in a directory.
func (m machine) dir(name string) map[string][]byte {
	files := map[string][]byte{}
	for file, content := range m.files {
		if path.Dir(file) == name {
			files[path.Base(file)] = content
		}
	}
	return files
}

// parseProperties reads the syntax of java.util.Properties, and trims values as Spark does.
func parseProperties(text string) map[string]string {
	properties := map[string]string{}
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimLeft(lines[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for trailingBackslashes(line)%2 == 1 && i+1 < len(lines) {
			i++
			line = line[:len(line)-1] + strings.TrimLeft(lines[i], " \t\f")
		}
		end := 0
		for end < len(line) && !strings.ContainsRune("=: \t\f", rune(line[end])) {
			if line[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(line))
		value := strings.TrimLeft(line[end:], " \t\f")
		if value != "" && (value[0] == '=' || value[0] == ':') {
			value = strings.TrimLeft(value[1:], " \t\f")
		}
		properties[unescape(line[:end])] = strings.TrimFunc(unescape(value), func(r rune) bool {
			return r <= ' ' && r != '\n' && r != '\r'
		})
	}
	return properties
}

func trailingBackslashes(line string) int {
	return len(line) - len(strings.TrimRight(line, `\`))
}

func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch text[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			var r rune
			if _, err := fmt.Sscanf(text[i+1:min(i+5, len(text))], "%04x", &r); err == nil {
				b.WriteRune(r)
				i += 4
			}
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}
