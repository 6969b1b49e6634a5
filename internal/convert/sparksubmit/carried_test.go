// SPDX-License-Identifier: Apache-2.0

package sparksubmit_test

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/test/golden"
)

// The rules for what travels another way, or not at all. All that is lost must be named by a finding.

// named is whether a finding names what is lost.
func (r *run) named(subject string) bool {
	for _, finding := range r.findings {
		if finding.Subject == subject && finding.Lost {
			return true
		}
	}
	return false
}

// pod returns the driver.
func pod(objects []golden.Object) golden.Object {
	i := slices.IndexFunc(objects, func(o golden.Object) bool { return golden.KindOf(o) == "Pod" })
	if i < 0 {
		return nil
	}
	return objects[i]
}

// drop removes a recorded object that the manifest does not lead to.
func (r *run) drop(kind, suffix string) golden.Object {
	i := slices.IndexFunc(r.want, func(o golden.Object) bool {
		return golden.KindOf(o) == kind && strings.HasSuffix(golden.NameOf(o), "-"+suffix)
	})
	if i < 0 {
		return nil
	}
	object := r.want[i]
	r.want = slices.Delete(r.want, i, i+1)
	return object
}

// volume removes a volume and its one mount in the driver, and returns the volume.
func volume(objects []golden.Object, name, mountPath string) golden.Object {
	spec := golden.Child(pod(objects), "spec")
	containers, _ := spec["containers"].([]any)
	for _, c := range containers {
		container := c.(golden.Object)
		mounts, _ := container["volumeMounts"].([]any)
		container["volumeMounts"] = slices.DeleteFunc(mounts, func(m any) bool {
			return m.(golden.Object)["name"] == name && m.(golden.Object)["mountPath"] == mountPath
		})
	}
	volumes, _ := spec["volumes"].([]any)
	i := slices.IndexFunc(volumes, func(v any) bool { return v.(golden.Object)["name"] == name })
	if i < 0 {
		return nil
	}
	found := volumes[i].(golden.Object)
	spec["volumes"] = slices.Delete(volumes, i, i+1)
	return found
}

func appName(r *run) bool {
	name := r.conf[spark.ConfAppName]
	if name == "" {
		name = r.command.MainClass
	}
	if name == "" {
		name = path.Base(r.command.Resource)
	}
	return r.swap(spark.ConfAppName, name, r.app.Name)
}

// digitName is for names that begin with a digit. Spark replaces it in the names of its objects, but not in this label.
func digitName(r *run) bool {
	label := spark.AppNameLabel(r.conf[spark.ConfAppName])
	found := false
	for i, objects := range [][]golden.Object{r.want, r.got} {
		expected := []string{label, r.app.Name}[i]
		for _, object := range objects {
			for _, holder := range []golden.Object{golden.Child(object, "metadata", "labels"), golden.Child(object, "spec", "selector")} {
				if label != "" && label != r.app.Name && label[1:] == r.app.Name[1:] && holder[spark.LabelAppName] == expected {
					delete(holder, spark.LabelAppName)
					found = true
				}
			}
		}
	}
	return found
}

func longName(r *run) bool {
	const id = "-bbbbbbbbbbbbbbbb"
	ours := r.app.Name + id
	host, _ := r.wanted("spark.driver.host").(string)
	recorded := ""
	for _, object := range r.want {
		if name, _, found := strings.Cut(golden.Text(golden.Child(object, "metadata")["name"]), id); found && len(name) > 63 {
			recorded = name + id
		}
	}
	if recorded == "" || !strings.HasPrefix(recorded, r.app.Name) || strings.HasPrefix(host, recorded) {
		return false
	}
	for i, object := range r.want {
		text, _ := json.Marshal(object)
		var renamed golden.Object
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), recorded, ours)), &renamed); err != nil {
			return false
		}
		r.want[i] = renamed
	}
	// The driver's own name is a rule of its own, but its recorded name is too long to be told apart from others before.
	if p := pod(r.want); golden.Child(p, "metadata")["name"] == ours+"-driver" {
		golden.Child(pod(r.got), "metadata")["name"] = ours + "-driver"
	}
	return true
}

// noName is for names without a letter or digit: Spark's objects are then called by the id alone.
func noName(r *run) bool {
	const id = "bbbbbbbbbbbbbbbb"
	if spark.AppNameLabel(r.conf[spark.ConfAppName]) != "" || r.app.Name != "spark" {
		return false
	}
	for i, object := range r.want {
		text, _ := json.Marshal(object)
		named := strings.NewReplacer(`"`+id, `"spark-`+id, `"spark-app-name":""`, `"spark-app-name":"spark"`).Replace(string(text))
		var renamed golden.Object
		if err := json.Unmarshal([]byte(named), &renamed); err != nil {
			return false
		}
		r.want[i] = renamed
	}
	if p := pod(r.want); golden.Child(p, "metadata")["name"] == "spark-"+id+"-driver" {
		golden.Child(pod(r.got), "metadata")["name"] = "spark-" + id + "-driver"
	}
	return true
}

func references(r *run) bool {
	found := false
	for key, value := range r.conf {
		resolved := value
		for name, text := range r.machine.Env {
			resolved = strings.ReplaceAll(resolved, "${env:"+name+"}", text)
		}
		found = r.swap(key, value, resolved) || found
	}
	return found
}

func heap(r *run) bool {
	value := r.conf[spark.ConfDriverMemory]
	return strings.Trim(value, "0123456789") == "" && r.swap(spark.ConfDriverMemory, value, value+"m")
}

func variables(r *run) bool {
	found := false
	for variable, key := range map[string]string{
		"PYSPARK_PYTHON": "spark.pyspark.python", "PYSPARK_DRIVER_PYTHON": "spark.pyspark.driver.python",
		"SPARK_LOCAL_DIRS": "spark.local.dir",
	} {
		if value, ok := r.machine.Env[variable]; ok {
			found = r.swap(key, r.wanted(key), value) || found
		}
	}
	return found
}

const redacted = "<present_but_redacted>"

func ownConnection(r *run) bool {
	found := false
	for key, value := range r.conf {
		rest, ok := strings.CutPrefix(key, "spark.kubernetes.authenticate.")
		if !ok || strings.HasPrefix(rest, "driver.") || strings.HasPrefix(rest, "executor.") {
			continue
		}
		if strings.HasSuffix(key, "oauthToken") {
			value = redacted
		}
		found = r.swap(key, value, nil) || found
	}
	return found
}

func credentials(r *run) bool {
	const prefix, dir = "spark.kubernetes.authenticate.driver.", "/mnt/secrets/spark-kubernetes-credentials"
	secret := r.drop("Secret", "kubernetes-credentials")
	if secret == nil {
		return false
	}
	for end, item := range map[string]string{
		"oauthToken": "oauth-token", "caCertFile": "ca-cert", "clientKeyFile": "client-key", "clientCertFile": "client-cert",
	} {
		value, given := r.conf[prefix+end]
		if !given {
			continue
		}
		mounted := prefix + "mounted." + end
		if end == "oauthToken" {
			value, mounted = redacted, mounted+"File"
		}
		if !r.named(prefix+end) || !r.swap(prefix+end, value, nil) {
			return false
		}
		r.swap(mounted, dir+"/"+item, nil)
	}
	volume(r.want, "kubernetes-credentials", dir)
	// With a Secret of its own, the driver has no service account.
	spec := golden.Child(pod(r.got), "spec")
	if account := r.conf[spark.ConfDriverServiceAccount]; account != "" && spec["serviceAccountName"] == account {
		delete(spec, "serviceAccountName")
		delete(spec, "serviceAccount")
	}
	return true
}

func confDir(r *run) bool {
	if r.machine.ConfDir() == "" || !r.named("SPARK_CONF_DIR") {
		return false
	}
	found := false
	for name := range r.machine.FilesIn(r.machine.ConfDir()) {
		for _, object := range r.want {
			data := golden.Child(object, "data")
			if _, ok := data[golden.PropertiesFile]; ok && data[name] != nil {
				delete(data, name)
				found = true
			}
		}
		volumes, _ := golden.Child(pod(r.want), "spec")["volumes"].([]any)
		for _, v := range volumes {
			source := golden.Child(v.(golden.Object), "configMap")
			if items, ok := source["items"].([]any); ok && v.(golden.Object)["name"] == "spark-conf-volume-driver" {
				source["items"] = slices.DeleteFunc(items, func(item any) bool { return item.(golden.Object)["key"] == name })
			}
		}
	}
	return found
}

// replaced removes a ConfigMap that spark-submit made, and makes its volume that of the ConfigMap which the user makes.
func (r *run) replaced(suffix, volumeName, mountPath, ours string) bool {
	if r.drop("ConfigMap", suffix) == nil {
		return false
	}
	volume(r.want, volumeName, mountPath)
	return golden.Child(volume(r.got, volumeName, mountPath), "configMap")["name"] == ours
}

func hadoopConfDir(r *run) bool {
	ours := r.app.Name + "-hadoop-conf"
	const key, executors = "spark.kubernetes.hadoop.configMapName", "spark.kubernetes.executor.hadoopConfigMapName"
	if !r.named("HADOOP_CONF_DIR") || !r.replaced("hadoop-config", "hadoop-properties", "/opt/hadoop/conf", ours) {
		return false
	}
	if made, ok := r.wanted(executors).(string); ok && strings.HasSuffix(made, "-hadoop-config") {
		r.swap(executors, made, ours)
	}
	return r.swap(key, nil, ours)
}

func krb5(r *run) bool {
	ours := r.app.Name + "-krb5"
	const file, key = "spark.kubernetes.kerberos.krb5.path", "spark.kubernetes.kerberos.krb5.configMapName"
	return r.named(file) && r.replaced("krb5-file", "krb5-file", "/etc/krb5.conf", ours) &&
		r.swap(file, r.conf[file], nil) && r.swap(key, nil, ours)
}

func keytab(r *run) bool {
	const key, dir = "spark.kerberos.keytab", "/mnt/secrets/kerberos-keytab"
	ours := r.app.Name + "-keytab"
	if !r.named(key) || r.drop("Secret", "kerberos-keytab") == nil {
		return false
	}
	volume(r.want, "kerberos-keytab", dir)
	inPod := dir + "/" + path.Base(r.conf[key])
	return golden.Child(volume(r.got, ours+"-volume", dir), "secret")["secretName"] == ours &&
		r.swap(key, inPod, "local://"+inPod) && r.swap(spark.ConfDriverSecretsPrefix+ours, nil, dir)
}

func driverTemplate(r *run) bool {
	return r.app.Spec.Driver.Template != nil && r.swap(spark.ConfDriverTemplateFile, r.conf[spark.ConfDriverTemplateFile], nil)
}

func executorTemplate(r *run) bool {
	const key = "podspec-configmap-key"
	var texts [2]golden.Object
	for i, objects := range [][]golden.Object{r.want, r.got} {
		for _, object := range objects {
			if data := golden.Child(object, "data"); data[key] != nil {
				texts[i] = data
			}
		}
	}
	if texts[0] == nil || texts[1] == nil {
		return false
	}
	var want, got corev1.Pod
	if yaml.Unmarshal([]byte(golden.Text(texts[0][key])), &want) != nil || yaml.Unmarshal([]byte(golden.Text(texts[1][key])), &got) != nil {
		return false
	}
	// Spark would choose by position; the operator names what it means.
	name := r.conf[spark.ConfExecTemplateContainer]
	if len(want.Spec.Containers) == 0 {
		want.Spec.Containers = []corev1.Container{{Name: name}}
	}
	chosen := max(0, slices.IndexFunc(want.Spec.Containers, func(c corev1.Container) bool { return c.Name == name && name != "" }))
	if want.Spec.Containers[chosen].Name == "" {
		want.Spec.Containers[chosen].Name = spark.ExecutorContainerName
	}
	want.TypeMeta = got.TypeMeta
	if !cmp.Equal(want, got) {
		return false
	}
	delete(texts[0], key)
	delete(texts[1], key)
	r.swap(spark.ConfExecTemplateContainer, r.wanted(spark.ConfExecTemplateContainer), want.Spec.Containers[chosen].Name)
	return true
}

func podGroup(r *run) bool {
	const file, text = "spark.kubernetes.scheduler.volcano.podGroupTemplateFile", "spark.kubernetes.scheduler.volcano.podGroupTemplateJson"
	content, ok := r.machine.File(r.conf[file])
	if !ok || r.conf[file] == "" {
		return false
	}
	asJSON, err := yaml.YAMLToJSON(content)
	return err == nil && r.swap(file, r.conf[file], nil) && r.swap(text, r.wanted(text), string(asJSON))
}
