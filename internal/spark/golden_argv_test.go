// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit/commandline"
)

// application translates a recorded run to what Build takes, without the way through a manifest.
func application(argv []string, m commandline.Machine, release string) (Application, Identity, error) {
	command, err := commandline.Parse(argv)
	if err != nil {
		return Application{}, Identity{}, err
	}
	major, err := strconv.Atoi(release[:strings.IndexByte(release, '.')])
	if err != nil {
		return Application{}, Identity{}, err
	}
	conf, err := command.Configuration(m, major)
	if err != nil {
		return Application{}, Identity{}, err
	}
	app := Application{
		SparkVersion: release, MainFile: command.Resource, MainClass: command.MainClass, Arguments: command.Arguments,
		ProxyUser: command.ProxyUser, Conf: conf, Submitter: submitter(m),
	}
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

func submitter(m commandline.Machine) Submitter {
	s := Submitter{User: "root", Env: m.Env, Files: maps.Clone(m.Files)}
	for name, content := range m.Files {
		if relative, ok := strings.CutPrefix(name, path.Clean(m.Dir)+"/"); ok {
			s.Files[relative] = content
		}
	}
	if dir, ok := m.Env["SPARK_CONF_DIR"]; ok {
		s.ConfDir = m.FilesIn(dir)
	}
	if dir, ok := m.Env["HADOOP_CONF_DIR"]; ok {
		s.HadoopConfDir = m.FilesIn(dir)
	}
	return s
}
