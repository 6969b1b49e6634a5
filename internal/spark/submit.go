// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Language determines how Spark runs the primary resource. It is a value of spark.kubernetes.resource.type.
type Language string

// The languages.
const (
	LanguageJava   Language = "java"
	LanguagePython Language = "python"
	LanguageR      Language = "r"
)

// languageOf determines the language by the suffix of the primary resource, as spark-submit does.
func languageOf(app *Application) Language {
	switch {
	case app.Direct != nil:
		return app.Direct.Language
	case strings.HasSuffix(app.MainFile, ".py"):
		return LanguagePython
	case strings.HasSuffix(app.MainFile, ".R"), strings.HasSuffix(app.MainFile, ".r"):
		return LanguageR
	}
	return LanguageJava
}

// mergeConf merges the sources of the configuration: the user's properties, the lists that have separate flags, and the operator's properties, which override
// all others.
func mergeConf(app *Application) map[string]string {
	values := make(map[string]string, len(app.Conf)+len(app.OperatorConf)+16)
	for key, value := range app.Conf {
		// spark-submit ignores everything else, too.
		if strings.HasPrefix(key, "spark.") || app.Direct != nil {
			values[key] = value
		}
	}
	for name, list := range app.Deps.lists() {
		if len(list) > 0 {
			values[DependencyProperties[name]] = strings.Join(list, ",")
		}
	}
	maps.Copy(values, app.OperatorConf)
	for key, variable := range map[string]string{
		ConfDriverMemory: "SPARK_DRIVER_MEMORY", ConfExecutorMemory: "SPARK_EXECUTOR_MEMORY",
		ConfExecutorCores: "SPARK_EXECUTOR_CORES",
	} {
		if value, set := app.Submitter.Env[variable]; set {
			setDefault(values, key, value)
		}
	}
	if app.Counted != nil {
		fixExecutors(values)
	}
	return values
}

func setDefault(values map[string]string, key, value string) {
	if _, ok := values[key]; !ok {
		values[key] = value
	}
}

// submitConf returns the configuration that spark-submit passes to its Kubernetes client, after spark-submit's own checks.
func submitConf(app *Application, id Identity, profile Profile, mode mode) (*conf, error) {
	values := mergeConf(app)
	for _, key := range mode.dropped {
		delete(values, key)
	}
	if mode.direct {
		values[ConfAppID] = id.AppID
	} else {
		submitDefaults(app, values, id, profile, mode)
	}
	for _, check := range mode.checks {
		if err := check(app, values, profile); err != nil {
			return nil, err
		}
	}
	return newConf(values, app.Submitter.Env), nil
}

// Values of spark.submit.deployMode.
const (
	DeployModeCluster = "cluster"
	DeployModeClient  = "client"
)

// OwnedConf returns the properties that the operator owns, in families whose users cannot choose them: the place and the names of the pods. The driver pod
// reaches the API server through spark.kubernetes.driver.master, whatever the master is.
func OwnedConf(deployMode, namespace, name, driverPod string) map[string]string {
	owned := map[string]string{
		ConfMaster: "k8s://https://kubernetes.default.svc:443", ConfDeployMode: deployMode, ConfNamespace: namespace, ConfAppName: name, ConfDriverPodName: driverPod,
	}
	if deployMode == DeployModeCluster {
		owned["spark.kubernetes.submission.waitAppCompletion"] = "false"
	}
	return owned
}

// submitDefaults adds the properties that spark-submit itself sets.
func submitDefaults(app *Application, values map[string]string, id Identity, profile Profile, mode mode) {
	setDefault(values, ConfDeployMode, mode.deploy)
	setDefault(values, ConfAppName, defaultAppName(app))
	if _, ok := values[ConfSubmitTime]; !ok || !profile.KeepSubmitTime {
		values[ConfSubmitTime] = strconv.FormatInt(id.SubmitTime.UnixMilli(), 10)
	}
}

// defaultAppName returns spark-submit's name for an application without a name.
func defaultAppName(app *Application) string {
	if app.MainClass != "" {
		return app.MainClass
	}
	return app.MainFile[strings.LastIndexByte(app.MainFile, '/')+1:]
}

// submitCheck is one of spark-submit's checks of the configuration. It may also change the configuration.
type submitCheck func(*Application, map[string]string, Profile) error

// checkMaster refuses any master except Kubernetes, and completes the address of the API server.
func checkMaster(_ *Application, values map[string]string, _ Profile) error {
	master := values[ConfMaster]
	address, ok := strings.CutPrefix(master, "k8s://")
	if !ok {
		return &ConfError{Key: ConfMaster, Value: master, Problem: `must start with "k8s://"`}
	}
	if name, _, found := strings.Cut(address, "://"); !found {
		values[ConfMaster] = "k8s://https://" + address
	} else if !strings.EqualFold(name, "https") && !strings.EqualFold(name, "http") {
		return &ConfError{Key: ConfMaster, Value: master, Problem: "the API server is reached by http or https only"}
	}
	return nil
}

func checkClusterMode(_ *Application, values map[string]string, _ Profile) error {
	if mode := values[ConfDeployMode]; mode != DeployModeCluster {
		return &ConfError{Key: ConfDeployMode, Value: mode, Problem: `must be "cluster"`}
	}
	return nil
}

// interactive are the main classes that make sense only interactively.
var interactive = map[string]string{
	"org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver": "the Spark SQL shell",
	"org.apache.spark.sql.hive.thriftserver.HiveThriftServer2": "the Spark Thrift server",
	"org.apache.spark.sql.connect.service.SparkConnectServer":  connectServer,
}

const connectServer = "the Spark Connect server"

var shells = []string{"spark-shell", "pyspark-shell", "sparkr-shell", "connect-shell"}

// checkMain refuses primary resources, main classes and users that cannot run in cluster mode.
func checkMain(app *Application, values map[string]string, profile Profile) error {
	switch {
	case app.MainFile == "":
		return &ConfError{Field: FieldMainFile, Type: field.ErrorTypeRequired, Problem: `the application has no main file; write its URI, or "` +
			NoResource + `" if its classes are in the image`}
	case slices.Contains(shells, app.MainFile):
		return &ConfError{Field: FieldMainFile, Value: app.MainFile, Problem: "a shell cannot run in cluster mode"}
	case languageOf(app) == LanguageJava && app.MainClass == "":
		return &ConfError{Field: FieldMainClass, Type: field.ErrorTypeRequired, Problem: "a Java or Scala application needs its main class"}
	}
	if principal, ok := values[confPrincipal]; ok && app.ProxyUser != "" {
		return &ConfError{Key: confPrincipal, Value: principal, Problem: "cannot be combined with a proxy user"}
	}
	if what, ok := interactive[app.MainClass]; ok && (what != connectServer || profile.Connect) {
		return &ConfError{Field: FieldMainClass, Value: app.MainClass, Problem: what + " cannot run in cluster mode"}
	}
	return nil
}

// checkSizes makes spark-submit's checks of the values that have flags. They apply to the text as written, so they refuse a reference such as ${spark.x}.
func checkSizes(_ *Application, values map[string]string, _ Profile) error {
	counts := []string{ConfDriverCores, ConfExecutorCores}
	if !strings.EqualFold(values[ConfDynamicAllocation], "true") {
		counts = append(counts, ConfExecutorInstances)
	}
	if found := append(memoryErrors(values), countErrors(values, counts...)...); len(found) > 0 {
		return found[0]
	}
	return nil
}

// checkJavaOptions refuses heap sizes in the JVM options. Spark sets the heap from spark.driver.memory, and the size of the pod depends on that.
func checkJavaOptions(_ *Application, values map[string]string, _ Profile) error {
	for _, key := range []string{confDefaultJavaOptions, confJavaOptions} {
		// The value is not shown, because options often contain passwords.
		if strings.Contains(values[key], "Xmx") {
			return &ConfError{Key: key, Problem: "the heap is set by " + ConfDriverMemory + ", not by -Xmx"}
		}
	}
	return nil
}

// resolveLists rewrites the lists of files: it drops empty elements, and adds the primary resource of a Java application to the jars.
func resolveLists(app *Application, values map[string]string, _ Profile) error {
	setDefault(values, ConfPyFiles, "")
	if languageOf(app) == LanguageJava {
		setDefault(values, ConfJars, "")
	}
	if found := uriErrors(app, values); len(found) > 0 {
		return found[0]
	}
	for _, key := range uriLists {
		value, ok := values[key]
		if !ok {
			continue
		}
		elements := slices.DeleteFunc(strings.Split(value, ","), func(element string) bool { return trimJava(element) == "" })
		if key == ConfJars && languageOf(app) == LanguageJava && app.MainFile != NoResource {
			elements = append(elements, app.MainFile)
		}
		values[key] = strings.Join(elements, ",")
	}
	return nil
}

// untouched are the schemes in which Spark does not expand patterns.
var untouched = map[string]bool{"local": true, "http": true, "https": true, "ftp": true}

// scheme returns the scheme of a URI; "" if it has none. It returns false for a URI that java.net.URI would refuse.
func scheme(uri string) (string, bool) {
	if notInURI(uri) != "" {
		return "", false
	}
	name, rest, found := strings.Cut(uri, ":")
	if !found || strings.ContainsAny(name, "/?#") {
		return "", true
	}
	if rest == "" || name == "" {
		return "", false
	}
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", r)) {
			return "", false
		}
	}
	return name, true
}

func isHex(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
}

// OnSubmitter reports whether a URI names a file on the submitting machine, which Spark would upload.
func OnSubmitter(uri string) bool {
	name, ok := scheme(uri)
	return !ok || name == "" || name == "file"
}
