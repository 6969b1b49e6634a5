// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const volumes = "spark.kubernetes.driver.volumes."

// refusals are properties, and the key that is refused because of them: "" if they are not.
var refusals = []struct {
	version string
	conf    map[string]string
	key     string
	reason  string
}{
	{"4.1", map[string]string{ConfDriverMemory: "2gx"}, ConfDriverMemory, "not a size"},
	{"4.1", map[string]string{ConfDriverMemory: "0m"}, ConfDriverMemory, "nothing"},
	{"4.1", map[string]string{ConfDriverMemory: "${spark.mem}"}, ConfDriverMemory, "spark-submit does not expand it"},
	{"4.1", map[string]string{ConfExecutorMemory: "1.5g"}, ConfExecutorMemory, "fraction"},
	{"4.1", map[string]string{ConfDriverCores: "0.5"}, ConfDriverCores, "fraction of a core"},
	{"4.1", map[string]string{ConfExecutorCores: "0"}, ConfExecutorCores, "no core"},
	{"4.1", map[string]string{ConfExecutorInstances: "0"}, ConfExecutorInstances, "no executor"},
	{"4.1", map[string]string{ConfDriverPort: "abc"}, ConfDriverPort, "not a port"},
	{"4.1", map[string]string{ConfBlockManagerPort: "abc", ConfDriverBlockPort: "1"}, ConfBlockManagerPort, "not used, but wrong"},
	{"4.1", map[string]string{ConfUIPort: "4040x"}, ConfUIPort, "not a port"},
	{"4.1", map[string]string{ConfImage: ""}, ConfImage, "no image"},
	{"4.1", map[string]string{ConfImagePullPolicy: "always"}, ConfImagePullPolicy, "in the wrong case"},
	{"4.1", map[string]string{ConfMemoryOverheadFactor: "-1"}, ConfMemoryOverheadFactor, "negative factor"},
	{"4.1", map[string]string{ConfMemoryOverheadFactor: "1e999"}, ConfMemoryOverheadFactor, "an infinite factor"},
	{"4.1", map[string]string{ConfDriverMemoryOverheadFactor: "0"}, ConfDriverMemoryOverheadFactor, "a role's factor must be positive"},
	{"4.1", map[string]string{"spark.driver.bindAddress": "0.0.0.0"}, "spark.driver.bindAddress", "the pod's address is used"},
	{"4.1", map[string]string{"spark.kubernetes.driver.label.spark-role": "x"}, "spark.kubernetes.driver.label.spark-role", "reserved"},
	{"4.1", map[string]string{"spark.kubernetes.driver.secretKeyRef.A": "a:"}, "spark.kubernetes.driver.secretKeyRef.A", "no key"},
	{"4.1", map[string]string{"spark.kubernetes.driver.secretKeyRef.A": "a:b:c"}, "spark.kubernetes.driver.secretKeyRef.A", "too many parts"},
	{"4.1", map[string]string{confIPFamilies: "IPv4, IPv6"}, confIPFamilies, "blank"},
	{"4.1", map[string]string{confIPFamilyPolicy: "Dual"}, confIPFamilyPolicy, "unknown policy"},
	{"4.1", map[string]string{confFeatureSteps: "com.example.Step"}, confFeatureSteps, "code of the user's"},
	{"4.1", map[string]string{confFeatureSteps: volcanoStep}, confFeatureSteps, "not in this release"},
	{"4.1", map[string]string{confExcludedSteps: featurePackage + "BasicDriverFeatureStep"}, confExcludedSteps, "nothing would be left"},
	{"4.1", map[string]string{confMapMaxSize: "1048577"}, confMapMaxSize, "more than Kubernetes stores"},
	{"4.1", map[string]string{confJavaOptions: "-Dsecret=x -Xmx3g"}, confJavaOptions, "the heap has its own property"},
	{"4.1", map[string]string{ConfFiles: "/etc/passwd"}, ConfFiles, "a file of the operator's"},
	{"4.1", map[string]string{ConfJars: "local:///a.jar, local:///b.jar"}, ConfJars, "blank before a scheme"},
	{"4.1", map[string]string{ConfArchives: "file:///a.zip"}, ConfArchives, "a file of the operator's"},
	{"4.1", map[string]string{ConfPyFiles: "s3a://b/*.py"}, ConfPyFiles, "pattern"},
	{"4.1", map[string]string{confKeytab: "local:///k"}, confPrincipal, "half a pair"},
	{"4.1", map[string]string{confTokenSecretItemKey: "k"}, confTokenSecretName, "half a pair"},
	{"4.1", map[string]string{confKrb5Map: "m", confKrb5Path: "/p"}, confKrb5Path, "two sources"},
	{"4.1", map[string]string{confKrb5Path: "/none"}, confKrb5Path, "no such file"},
	{"4.1", map[string]string{"spark.kubernetes.authenticate.driver.caCertFile": "/none"},
		"spark.kubernetes.authenticate.driver.caCertFile", "no such file"},
	{"4.1", map[string]string{ConfDriverTemplateFile: "/none"}, ConfDriverTemplateFile, "no such file"},
	{"4.1", map[string]string{ConfExecTemplateFile: "/none"}, ConfExecTemplateFile, "no such file"},
	{"4.1", map[string]string{volumes + "glusterfs.a.mount.path": "/a"}, volumes + "glusterfs.a.mount.path", "unknown type"},
	{"4.1", map[string]string{volumes + "hostPath.a.mount.path": "/a"}, volumes + "hostPath.a.options.path", "no path"},
	{"4.1", map[string]string{volumes + "nfs.a.mount.path": "/a", volumes + "nfs.a.options.path": "/b"},
		volumes + "nfs.a.options.server", "no server"},
	{"4.1", map[string]string{volumes + "hostPath.x": "y"}, volumes + "hostPath.x.mount.path", "nothing but a name"},
	{"4.1", map[string]string{volumes + "emptyDir.a.mount.path": "/a", volumes + "emptyDir.b.mount.path": "/a"},
		volumes + "emptyDir.b.mount.path", "two volumes in one place"},
	{"4.1", map[string]string{volumes + "emptyDir.a.mount.path": "/a", volumes + "emptyDir.a.mount.readOnly": "yes"},
		volumes + "emptyDir.a.mount.readOnly", "not a boolean"},
	{"4.1", map[string]string{volumes + "emptyDir.a.mount.path": "/a", volumes + "emptyDir.a.options.sizeLimit": "10"},
		volumes + "emptyDir.a.options.sizeLimit", "ten bytes"},
	{"4.1", map[string]string{volumes + "emptyDir.a.mount.path": "/a", volumes + "emptyDir.a.options.sizeLimit": "10 GiB"},
		volumes + "emptyDir.a.options.sizeLimit", "not a quantity"},
	{"4.1", map[string]string{volumes + "emptyDir.a.mount.path": "/a", volumes + "emptyDir.a.mount.subPath": "",
		volumes + "emptyDir.a.mount.subPathExpr": ""}, volumes + "emptyDir.a.mount.subPathExpr", "both"},
	{"4.1", map[string]string{"spark.kubernetes.executor.volumes.hostPath.a.mount.path": "/a"},
		"spark.kubernetes.executor.volumes.hostPath.a.options.path", "executors' volumes are checked, too"},
	{"4.0", map[string]string{confPythonVersion: "2"}, "", "only read by Python applications"},
	{"3.5", map[string]string{volumes + "emptyDir.a.mount.path": "/a", volumes + "emptyDir.a.options.sizeLimit": "10"},
		"", "not checked before 4.0"},
	{"4.1", map[string]string{ConfDynamicAllocation: "True", ConfExecutorInstances: "0"}, "", "executors come later"},
	{"4.1", map[string]string{"spark.kubernetes.executor.label.spark-role": "x"}, "", "the driver refuses it, not spark-submit"},
	{"4.1", map[string]string{"sparkling": "x", "SPARK.x": "y"}, "", "not properties of Spark"},
}

// Every refusal names the property or the field, and says what to write.
func TestBuildRefuses(t *testing.T) {
	for _, test := range refusals {
		app := with(test.conf)
		if test.key == "" {
			if _, err := Build(app, testIdentity(), profileOf(t, test.version)); err != nil {
				t.Errorf("%v: %v: %s", test.conf, err, test.reason)
			}
			continue
		}
		if err := refused(t, app, test.version); err.Key != test.key || err.Problem == "" {
			t.Errorf("%v: %v, want a refusal of %s: %s", test.conf, err, test.key, test.reason)
		}
	}
}

func TestBuildRefusesFields(t *testing.T) {
	tests := []struct {
		change func(*Application)
		key    string
		field  Field
		reason string
	}{
		{func(a *Application) { a.MainFile = "" }, "", FieldMainFile, "nothing to run"},
		{func(a *Application) { a.MainFile = "pyspark-shell" }, "", FieldMainFile, "a shell"},
		{func(a *Application) { a.MainFile = "/app/main.jar" }, "", FieldMainFile, "a file of the operator's"},
		{func(a *Application) { a.MainFile = "file:/app/main.py" }, "", FieldMainFile, "a file of the operator's"},
		{func(a *Application) { a.MainFile = "main.R" }, "", FieldMainFile, "a path relative to nothing"},
		{func(a *Application) { a.MainClass = "" }, "", FieldMainClass, "Java needs one"},
		{func(a *Application) { a.MainClass = "org.apache.spark.sql.connect.service.SparkConnectServer" }, "", FieldMainClass, "a server"},
		{func(a *Application) { a.OperatorConf[ConfMaster] = "yarn" }, ConfMaster, "", "not Kubernetes"},
		{func(a *Application) { delete(a.OperatorConf, ConfMaster) }, ConfMaster, "", "no cluster"},
		{func(a *Application) { a.OperatorConf[ConfMaster] = "k8s://ftp://x" }, ConfMaster, "", "not HTTP"},
		{func(a *Application) { a.OperatorConf[ConfDeployMode] = "client" }, ConfDeployMode, "", "not cluster mode"},
		{func(a *Application) { a.OperatorConf[ConfNamespace] = "other" }, ConfNamespace, "", "another namespace"},
		{func(a *Application) { delete(a.OperatorConf, ConfNamespace) }, ConfNamespace, "", "the default is another namespace"},
		{func(a *Application) {
			a.ProxyUser = "bob"
			a.Conf[confPrincipal] = "a"
			a.Conf[confKeytab] = "local:/k"
		},
			confPrincipal, "", "two users"},
		{func(a *Application) { a.Submitter.HadoopConfDir = map[string][]byte{}; a.Conf[confHadoopMap] = "m" },
			confHadoopMap, "", "two sources"},
		{func(a *Application) { a.Submitter.HadoopConfDir = map[string][]byte{"b": {0xff}} }, "", "hadoopConfigMap", "not text"},
		{func(a *Application) { a.Deps.Jars = []string{"b.jar"} }, "", "deps.jars[0]", "a file of the operator's"},
		{func(a *Application) { a.Driver.TemplateText = "a: [" }, ConfDriverTemplateFile, "", "not YAML"},
		{func(a *Application) { a.Driver.TemplateText = "kind: Service" }, ConfDriverTemplateFile, "", "not a pod"},
		{func(a *Application) {
			a.Executor.TemplateText = "spec: 1"
			a.Executor.Overlay.HostNetwork = true
		}, ConfExecTemplateFile, "", "not a pod, and there is something to lay over it"},
	}
	for _, test := range tests {
		app := sparkPi()
		test.change(&app)
		if err := refused(t, app, "4.1"); err.Key != test.key || err.Field != test.field || err.Problem == "" {
			t.Errorf("%#v, want a refusal of %q %q: %s", err, test.key, test.field, test.reason)
		}
	}
}

func TestProfileOnlyRefusals(t *testing.T) {
	python := with(map[string]string{confPythonVersion: "2"})
	python.MainFile = "local:///a.py"
	if err := refused(t, python, "4.0"); err.Key != confPythonVersion {
		t.Errorf("%v, want a refusal of the Python version", err)
	}
	mustBuild(t, python, "4.1")
	connect := sparkPi()
	connect.MainClass = "org.apache.spark.sql.connect.service.SparkConnectServer"
	mustBuild(t, connect, "3.3")
	binary := sparkPi()
	binary.Submitter.HadoopConfDir = map[string][]byte{"b": {'a', 0xff, 'b'}}
	config := resourceOf[Object](t, mustBuild(t, binary, "4.0"), "-hadoop-config")
	if config == nil {
		t.Error("older releases replace what is not text")
	}
}

// Nothing of the user's can override what the operator sets.
func TestOperatorConfWins(t *testing.T) {
	app := sparkPi()
	for key := range app.OperatorConf {
		app.Conf[key] = "stolen"
	}
	app.OperatorConf[ConfJars] = "local:///operator.jar"
	app.Deps.Jars = []string{"local:///user.jar"}
	app.OperatorConf[ConfDriverServiceAccount] = "spark"
	app.Conf[ConfDriverServiceAccount] = "admin"
	submission := mustBuild(t, app, "4.1")
	for key, want := range app.OperatorConf {
		if key == ConfJars {
			want += "," + app.MainFile
		}
		if got := submission.Properties[key]; got != want {
			t.Errorf("%s = %q, want the operator's %q", key, got, want)
		}
	}
	if got := submission.Driver.Spec.ServiceAccountName; got != "spark" {
		t.Errorf("service account %q, want the operator's", got)
	}
}

// The lists of Application win over the properties of the same meaning, as flags of spark-submit do.
func TestDependencies(t *testing.T) {
	app := with(map[string]string{ConfJars: "local:///conf.jar", ConfFiles: "local:///f,,local:///g"})
	app.Deps = Dependencies{
		Jars: []string{"local:///a.jar", "https://x.example/b.jar"}, PyFiles: []string{"local:///p.zip"},
		Archives: []string{"s3a://b/e.tgz#env"}, Packages: []string{"g:a:1", "g:b:2"},
		ExcludePackages: []string{"g:c"}, Repositories: []string{"https://r.example"},
	}
	got := mustBuild(t, app, "4.1").Properties
	want := map[string]string{
		ConfJars:            "local:///a.jar,https://x.example/b.jar," + app.MainFile,
		ConfFiles:           "local:///f,local:///g",
		ConfPyFiles:         "local:///p.zip",
		ConfArchives:        "s3a://b/e.tgz#env",
		ConfPackages:        "g:a:1,g:b:2",
		ConfExcludePackages: "g:c",
		ConfRepositories:    "https://r.example",
	}
	maps.DeleteFunc(got, func(key, _ string) bool { return want[key] == "" })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}

func TestSubmitterEnvironment(t *testing.T) {
	app := sparkPi()
	app.Submitter.Env = map[string]string{
		"SPARK_DRIVER_MEMORY": "9g", "SPARK_EXECUTOR_MEMORY": "5g", "SPARK_EXECUTOR_CORES": "6",
	}
	got := mustBuild(t, app, "4.1").Properties
	for key, want := range map[string]string{ConfDriverMemory: "2g", ConfExecutorMemory: "5g", ConfExecutorCores: "6"} {
		if got[key] != want {
			t.Errorf("%s = %q, want %q: variables fill gaps only", key, got[key], want)
		}
	}
}

func TestDefaultAppName(t *testing.T) {
	app := sparkPi()
	delete(app.OperatorConf, ConfAppName)
	if got := mustBuild(t, app, "4.1").Properties[ConfAppName]; got != app.MainClass {
		t.Errorf("name %q, want the main class", got)
	}
	app.MainFile, app.MainClass = "https://x.example/dir/job.py", ""
	if got := mustBuild(t, app, "4.1").Properties[ConfAppName]; got != "job.py" {
		t.Errorf("name %q, want the file's name", got)
	}
}

// A refusal of Java options must not repeat what is in them.
func TestJavaOptionsStaySecret(t *testing.T) {
	err := refused(t, with(map[string]string{confJavaOptions: "-Dpassword=hunter2 -Xmx1g"}), "4.1")
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v shows a password", err)
	}
}
