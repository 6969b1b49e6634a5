// SPDX-License-Identifier: Apache-2.0

package sparksubmit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit/commandline"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Driver is a driver that spark-submit created, as read from the cluster.
type Driver struct {
	Pod *corev1.Pod
	// Properties and Template are the data of the ConfigMaps that ConfigMapsOf returns.
	Properties, Template map[string]string
	// Name is the requested name of the application; "" for Spark's name.
	Name string
}

// Names of the volumes that spark-submit creates, and of the keys and files in them.
const (
	propertiesVolume, propertiesKey = "spark-conf-volume-driver", "spark.properties"
	templateVolume, templateKey     = "pod-template-volume", "podspec-configmap-key"
	keytabVolume, hadoopVolume      = "kerberos-keytab", "hadoop-properties"
	// uploadMark is part of the paths of uploaded files.
	uploadMark = "/spark-upload-"
)

// ConfigMapsOf returns the names of the ConfigMaps with a driver's properties and its executor template; "" for a missing one.
func ConfigMapsOf(pod *corev1.Pod) (properties, template string) {
	return mapIn(pod, propertiesVolume), mapIn(pod, templateVolume)
}

func mapIn(pod *corev1.Pod, volume string) string {
	for _, v := range pod.Spec.Volumes {
		if v.Name == volume && v.ConfigMap != nil {
			return v.ConfigMap.Name
		}
	}
	return ""
}

// IsDriver reports whether a pod is a driver that spark-submit created.
func IsDriver(pod *corev1.Pod) bool {
	_, is := commandOf(pod)
	return is && pod.Labels[spark.LabelRole] == spark.RoleDriver
}

// Ended reports whether Spark has ended in a driver pod, even if a sidecar still runs.
func Ended(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return true
	}
	name := sparkContainer(pod).Name
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == name && s.State.Terminated != nil })
}

// FromDriver converts a running driver of spark-submit to an application. The findings concern the application's next driver.
func FromDriver(d Driver) (v1beta2.SparkApplication, []Finding, error) {
	command, is := commandOf(d.Pod)
	if !is {
		return v1beta2.SparkApplication{}, nil, errors.New("no container of the pod has a driver's arguments from spark-submit")
	}
	conf, err := commandline.Properties(d.Properties[propertiesKey])
	if err != nil {
		return v1beta2.SparkApplication{}, nil, fmt.Errorf("%s in the driver's ConfigMap: %w", propertiesKey, err)
	}
	if mode := conf[spark.ConfDeployMode]; mode != "cluster" {
		return v1beta2.SparkApplication{}, nil, fmt.Errorf("%s is %q: only a driver submitted with --deploy-mode cluster can be adopted",
			spark.ConfDeployMode, mode)
	}
	version := d.Pod.Labels[spark.LabelVersion]
	if version == "" {
		return v1beta2.SparkApplication{}, nil, fmt.Errorf("the pod has no label %s, which spark-submit sets since Spark %s",
			spark.LabelVersion, spark.SupportedVersions()[0])
	}
	c := &converter{command: command, conf: conf, name: d.Name, running: true, app: &v1beta2.SparkApplication{}}
	c.machine = commandline.Machine{Env: c.variablesOf(d.Pod), Files: map[string][]byte{}}
	c.conf[spark.ConfNamespace], c.conf[spark.ConfDriverPodName] = d.Pod.Namespace, d.Pod.Name
	c.ofAttempt()
	c.leftBehind(d)
	c.command.Confs = c.conf
	if err := c.convert(version); err != nil {
		return v1beta2.SparkApplication{}, nil, err
	}
	c.app.Annotations = map[string]string{v1beta2.AnnotationAdopts: d.Pod.Name}
	c.app.Spec.RestartPolicy.Type = v1beta2.RestartPolicyNever
	return *c.app, c.findings, nil
}

// sparkContainer returns Spark's container. A pod template may give it another name.
func sparkContainer(pod *corev1.Pod) *corev1.Container {
	for i := range pod.Spec.Containers {
		if slices.Contains(pod.Spec.Containers[i].Args, "--properties-file") {
			return &pod.Spec.Containers[i]
		}
	}
	return &corev1.Container{}
}

// commandOf reads the arguments of a driver. Their order is fixed: driver [--proxy-user USER] --properties-file FILE --class CLASS FILE ARGUMENTS.
func commandOf(pod *corev1.Pod) (commandline.Command, bool) {
	args := sparkContainer(pod).Args
	args = args[max(0, slices.Index(args, "driver")):]
	c := commandline.Command{Flags: map[string]string{}}
	if len(args) == 0 || args[0] != "driver" {
		return c, false
	}
	args = args[1:]
	file := ""
	for _, flag := range []struct {
		name string
		into *string
	}{{"--proxy-user", &c.ProxyUser}, {"--properties-file", &file}, {"--class", &c.MainClass}} {
		if len(args) > 1 && args[0] == flag.name {
			*flag.into, args = args[1], args[2:]
		}
	}
	if file == "" || len(args) == 0 {
		return c, false
	}
	c.Resource, c.Arguments = args[0], args[1:]
	if typeOf(c.Resource) != v1beta2.ApplicationTypeScala {
		c.MainClass = "" // this is Spark's own runner, which starts the interpreter
	}
	return c, true
}

// variablesOf returns the driver's variables that were set on the submitting machine.
func (c *converter) variablesOf(pod *corev1.Pod) map[string]string {
	env := map[string]string{}
	for _, e := range sparkContainer(pod).Env {
		if _, property := c.conf[spark.ConfDriverEnvPrefix+e.Name]; property {
			continue
		}
		switch e.Name {
		case "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON":
			env[e.Name] = e.Value
		case "SPARK_USER":
			if e.Value != c.command.ProxyUser && e.Value != "spark" {
				env[e.Name] = e.Value
			}
		case variableLocalDirs:
			if c.ofMachine(pod, strings.Split(e.Value, ",")) {
				env[e.Name] = e.Value
			}
		}
	}
	if env["PYSPARK_DRIVER_PYTHON"] == env["PYSPARK_PYTHON"] {
		delete(env, "PYSPARK_DRIVER_PYTHON") // spark-submit copies it from PYSPARK_PYTHON
	}
	return env
}

// Names that Spark uses for a driver's scratch directories. See LocalDirsFeatureStep in Spark.
const (
	variableLocalDirs, confLocalDirs = "SPARK_LOCAL_DIRS", "spark.local.dir"
	scratchVolume, scratchPreset     = "spark-local-dir-", "/var/data/spark-"
)

// ofMachine reports whether a variable of the submitting machine set the scratch directories. It did if Spark created the volumes, and neither Spark nor
// spark.local.dir named the directories. Spark lists the directories in any order.
func (c *converter) ofMachine(pod *corev1.Pod, dirs []string) bool {
	own := strings.Split(c.conf[confLocalDirs], ",")
	slices.Sort(own)
	if slices.Equal(own, slices.Sorted(slices.Values(dirs))) || len(dirs) == 1 && strings.HasPrefix(dirs[0], scratchPreset) {
		return false
	}
	made := map[string]bool{}
	for _, m := range sparkContainer(pod).VolumeMounts {
		i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		made[m.MountPath] = i >= 0 && pod.Spec.Volumes[i].EmptyDir != nil && strings.HasPrefix(m.Name, scratchVolume) && !c.asksFor(m.Name)
	}
	return !slices.ContainsFunc(dirs, func(dir string) bool { return !made[dir] })
}

// asksFor reports whether a property requests a volume of the driver.
func (c *converter) asksFor(volume string) bool {
	for key := range c.conf {
		if rest, is := strings.CutPrefix(key, "spark.kubernetes.driver.volumes."); is && strings.HasSuffix(rest, "."+volume+".mount.path") {
			return true
		}
	}
	return false
}

// ofAttempt drops properties that each submission adds.
func (c *converter) ofAttempt() {
	for _, key := range []string{
		spark.ConfAppID, spark.ConfSubmitTime, spark.ConfDriverHost, "spark.kubernetes.submitInDriver", "spark.kubernetes.resource.type",
	} {
		delete(c.conf, key)
	}
	kind, factor := typeOf(c.command.Resource), "0.1"
	if kind != v1beta2.ApplicationTypeScala {
		factor = "0.4"
	}
	for key, preset := range map[string]string{
		spark.ConfDriverPort: "7078", spark.ConfDriverBlockPort: "7079",
		spark.ConfMemoryOverheadFactor: factor,
	} {
		if c.conf[key] == preset {
			delete(c.conf, key)
		}
	}
	if kind != v1beta2.ApplicationTypeScala {
		return
	}
	if jars, own := strings.CutSuffix(c.conf[spark.ConfJars], c.command.Resource); own {
		c.conf[spark.ConfJars] = strings.TrimSuffix(jars, ",") // the next submission adds the main file again
	}
}

// leftBehind removes settings that only the running driver has: they belong to the pod or to the submitting machine.
func (c *converter) leftBehind(d Driver) {
	if text, ok := d.Template[templateKey]; ok {
		c.machine.Files[c.machine.Path(c.conf[spark.ConfExecTemplateFile])] = []byte(text)
	} else if _, ok := c.take(spark.ConfExecTemplateFile); ok {
		c.lost(spark.ConfExecTemplateFile, "its text is not in the cluster; write it into spec.executor.template")
	}
	for _, file := range []struct{ key, advice string }{
		{spark.ConfDriverTemplateFile, "its text is not in the cluster; write it into spec.driver.template"},
		{confPodGroupFile, "its text is not in the cluster; write it into the property " + confPodGroupJSON},
		{confKrb5Path, "its ConfigMap is deleted with the driver; create one with the key krb5.conf and name it in the property " + confKrb5Map},
	} {
		if _, ok := c.take(file.key); ok {
			c.lost(file.key, "%s", file.advice)
		}
	}
	c.keytabOf(d.Pod)
	c.hadoopMap(d.Pod)
	c.mountedCredentials()
	for _, file := range slices.Sorted(maps.Keys(d.Properties)) {
		if file != propertiesKey && file != spark.ConfNamespace {
			c.lost("SPARK_CONF_DIR", "the next driver lacks %s; if it needs it, create a ConfigMap from it and name it in spec.sparkConfigMap", file)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.conf)) {
		if strings.Contains(c.conf[key], "${env:") && strings.HasPrefix(key, "spark.kubernetes.") {
			c.lost(key, "%q refers to a variable of the submitting machine; write its value", c.conf[key])
		}
	}
}

// keytabOf drops a keytab that spark-submit stored in a Secret.
func (c *converter) keytabOf(pod *corev1.Pod) {
	made := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == keytabVolume })
	if !made || !strings.HasPrefix(c.conf[confKeytab], keytabDirInPod+"/") {
		return
	}
	delete(c.conf, confKeytab)
	delete(c.conf, confPrincipal)
	c.lost(confKeytab, "its Secret is deleted with the driver; create one, mount it with spec.driver.secrets, and set %s to local:// and the path, and %s",
		confKeytab, confPrincipal)
}

// hadoopMap drops the ConfigMap that spark-submit created from HADOOP_CONF_DIR.
func (c *converter) hadoopMap(pod *corev1.Pod) {
	delete(c.conf, confExecutorHadoopMap)
	if made := mapIn(pod, hadoopVolume); made != c.conf[confHadoopMap] {
		c.lost("HADOOP_CONF_DIR", "ConfigMap %s is deleted with the driver; copy it and name the copy in spec.hadoopConfigMap", made)
	}
}

// mountedCredentials drops API server credentials that spark-submit stored in a Secret.
func (c *converter) mountedCredentials() {
	for _, end := range append([]string{"oauthToken"}, credentialFiles...) {
		if _, ok := c.take(confCredentials + end); ok {
			c.lost(confCredentials+end, adviceCredentials)
		}
	}
	maps.DeleteFunc(c.conf, func(key, value string) bool {
		return strings.HasPrefix(key, confCredentials) && strings.HasPrefix(value, credentialsDirInPod+"/")
	})
}

// uploaded reports files that spark-submit copied to a store for this driver.
func (c *converter) uploaded() {
	deps := &c.app.Spec.Deps
	var names []string
	for _, file := range slices.Concat([]string{*c.app.Spec.MainApplicationFile}, deps.Jars, deps.Files, deps.Archives, deps.PyFiles) {
		if strings.Contains(file, uploadMark) {
			names = append(names, file)
		}
	}
	if len(names) > 0 {
		c.lost(spark.ConfUploadPath, "spark-submit has uploaded %s; keep it as long as the application may run again", strings.Join(names, ", "))
	}
}
