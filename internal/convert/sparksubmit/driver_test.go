// SPDX-License-Identifier: Apache-2.0

package sparksubmit

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// runningDriver is one as spark-submit makes it.
func runningDriver() Driver {
	source := func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
	}
	return Driver{
		Pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "etl-1-driver", Labels: map[string]string{"spark-role": "driver", "spark-version": "4.1.0"}},
			Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "sidecar"}, {
					Name: "spark-kubernetes-driver",
					Args: []string{"driver", "--properties-file", "/opt/spark/conf/spark.properties", "--class", "Etl", "local:///etl.jar", "--class", "x"},
					Env:  []corev1.EnvVar{{Name: "SPARK_USER", Value: "spark"}},
				}},
				Volumes: []corev1.Volume{{Name: "spark-conf-volume-driver", VolumeSource: source("etl-conf")}, {Name: "pod-template-volume", VolumeSource: source("etl-template")}},
			},
		},
		Properties: map[string]string{
			"spark.kubernetes.namespace": "jobs",
			"spark.properties": "#Java properties\nspark.master=k8s\\://https\\://10.0.0.1\\:443\nspark.submit.deployMode=cluster\nspark.app.name=Etl\n" +
				"spark.kubernetes.container.image=registry.example/spark\\:4.1.0\nspark.app.id=spark-1\nspark.app.submitTime=7\nspark.jars=local\\:///a.jar,local\\:///etl.jar\n" +
				"spark.driver.port=7078\nspark.driver.blockManager.port=7079\nspark.kubernetes.memoryOverheadFactor=0.1\nspark.kubernetes.submitInDriver=true\n" +
				"spark.executor.instances=3\nspark.sql.x=caf\\u00E9\\=1\nspark.submit.pyFiles=\n",
		},
	}
}

func TestFromDriver(t *testing.T) {
	got, findings, err := FromDriver(runningDriver())
	if err != nil || len(lostOf(findings)) > 0 {
		t.Fatalf("%v, %v", err, findings)
	}
	main, class, image, pod := "local:///etl.jar", "Etl", "registry.example/spark:4.1.0", "etl-1-driver"
	instances := int32(3)
	want := v1beta2.SparkApplication{
		TypeMeta:   metav1.TypeMeta{APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "etl", Annotations: map[string]string{"sparkoperator.k8s.io/adopts": "etl-1-driver"}},
		Spec: v1beta2.SparkApplicationSpec{
			Type: "Scala", Mode: "cluster", SparkVersion: "4.1.0", Image: &image, MainClass: &class, MainApplicationFile: &main, Arguments: []string{"--class", "x"},
			Deps: v1beta2.Dependencies{Jars: []string{"local:///a.jar"}, PyFiles: []string{}}, SparkConf: map[string]string{"spark.sql.x": "café=1"},
			RestartPolicy: v1beta2.RestartPolicy{Type: "Never"},
		},
	}
	want.Spec.Driver.PodName, want.Spec.Executor.Instances = &pod, &instances
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func lostOf(findings []Finding) []string {
	var lost []string
	for _, f := range findings {
		if f.Lost {
			lost = append(lost, f.String())
		}
	}
	return lost
}

// What the next driver would not have is said, and only that.
func TestFromDriverNamesWhatIsLost(t *testing.T) {
	property := func(line string) func(*Driver) {
		return func(d *Driver) { d.Properties["spark.properties"] += line + "\n" }
	}
	volume := func(name string) func(*Driver) {
		return func(d *Driver) { d.Pod.Spec.Volumes = append(d.Pod.Spec.Volumes, corev1.Volume{Name: name}) }
	}
	env := func(name, value string) func(*Driver) {
		return func(d *Driver) {
			d.Pod.Spec.Containers[1].Env = append(d.Pod.Spec.Containers[1].Env, corev1.EnvVar{Name: name, Value: value})
		}
	}
	cases := map[string]struct {
		reason string
		change []func(*Driver)
		want   string
	}{
		"uploaded": {"a directory that only the running driver was meant to need", []func(*Driver){property("spark.files=s3a\\://b/spark-upload-1/f.txt")},
			"spark.kubernetes.file.upload.path: spark-submit has uploaded s3a://b/spark-upload-1/f.txt; keep it"},
		"driver template": {"it was a file of the submitting machine", []func(*Driver){property("spark.kubernetes.driver.podTemplateFile=/home/a/t.yaml")}, "spark.kubernetes.driver.podTemplateFile: its text is not in the cluster"},
		"executor template": {"without its ConfigMap", []func(*Driver){property("spark.kubernetes.executor.podTemplateFile=/opt/spark/pod-template/pod-spec-template.yml")},
			"spark.kubernetes.executor.podTemplateFile: its text is not in the cluster"},
		"executor template with its text": {"it is in a ConfigMap", []func(*Driver){
			property("spark.kubernetes.executor.podTemplateFile=/opt/spark/pod-template/pod-spec-template.yml"),
			func(d *Driver) {
				d.Template = map[string]string{"podspec-configmap-key": "spec: {nodeSelector: {a: b}}"}
			},
		}, ""},
		"keytab": {"the Secret is the driver's", []func(*Driver){property("spark.kerberos.keytab=/mnt/secrets/kerberos-keytab/a\nspark.kerberos.principal=a@B"), volume("kerberos-keytab")},
			"spark.kerberos.keytab: its Secret is deleted with the driver"},
		"keytab of the image": {"nothing is lost", []func(*Driver){property("spark.kerberos.keytab=local\\:///k/a\nspark.kerberos.principal=a@B")}, ""},
		"token":               {"it is redacted", []func(*Driver){property("spark.kubernetes.authenticate.driver.oauthToken=<present_but_redacted>")}, "spark.kubernetes.authenticate.driver.oauthToken: not carried over"},
		"conf dir":            {"files beside the properties", []func(*Driver){func(d *Driver) { d.Properties["log4j2.properties"] = "x" }}, "SPARK_CONF_DIR: the next driver lacks log4j2.properties"},
		"variable":            {"the submitting machine's", []func(*Driver){property("spark.kubernetes.container.image.pullPolicy=${env:POLICY}")}, `spark.kubernetes.container.image.pullPolicy: "${env:POLICY}" refers to a variable`},
		"user":                {"for whom it runs", []func(*Driver){func(d *Driver) { d.Pod.Spec.Containers[1].Env[0].Value = "alice" }}, `SPARK_USER: "alice": the driver gets the operator's SPARK_USER; to run as another user write spec.proxyUser`},
		"python":              {"the interpreter becomes a property", []func(*Driver){env("PYSPARK_PYTHON", "/venv/bin/python")}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := runningDriver()
			for _, change := range tc.change {
				change(&d)
			}
			_, findings, err := FromDriver(d)
			lost := strings.Join(lostOf(findings), "\n")
			if err != nil || tc.want == "" && lost != "" || !strings.HasPrefix(lost, tc.want) || strings.Contains(lost, "\n") {
				t.Errorf("%s: %v, %q, want %q", tc.reason, err, lost, tc.want)
			}
		})
	}
}

func TestFromDriverRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*Driver)
		want   string
	}{
		"no arguments": {"a pod that Spark did not make", func(d *Driver) { d.Pod.Spec.Containers[1].Args = []string{"sleep", "1"} }, "no container of the pod has a driver's arguments"},
		"server":       {"of a driver of our own, which runs in client mode", func(d *Driver) { d.Pod.Spec.Containers[1].Args[0] = "connect" }, "no container of the pod has a driver's arguments"},
		"client":       {"a driver that nobody submitted", func(d *Driver) { d.Properties = nil }, `spark.submit.deployMode is "": only a driver submitted with --deploy-mode cluster`},
		"properties":   {"what is no properties file", func(d *Driver) { d.Properties["spark.properties"] = `spark.x=\u1` }, "spark.properties in the driver's ConfigMap: line 1"},
		"no version":   {"an image without Spark's label", func(d *Driver) { delete(d.Pod.Labels, "spark-version") }, "the pod has no label spark-version"},
		"version":      {"a release that the operator does not know", func(d *Driver) { d.Pod.Labels["spark-version"] = "2.4.8" }, "2.4.8"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := runningDriver()
			tc.change(&d)
			if _, _, err := FromDriver(d); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// A variable of the submitting machine that the pod has becomes a property; what Spark makes up itself does not.
func TestFromDriverCarriesVariables(t *testing.T) {
	env := func(name, value string) func(*Driver) {
		return func(d *Driver) {
			d.Pod.Spec.Containers[1].Env = append(d.Pod.Spec.Containers[1].Env, corev1.EnvVar{Name: name, Value: value})
		}
	}
	mounted := func(name, path string, source corev1.VolumeSource) func(*Driver) {
		return func(d *Driver) {
			d.Pod.Spec.Volumes = append(d.Pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
			d.Pod.Spec.Containers[1].VolumeMounts = append(d.Pod.Spec.Containers[1].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
		}
	}
	made := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	property := func(line string) func(*Driver) {
		return func(d *Driver) { d.Properties["spark.properties"] += line + "\n" }
	}
	python := func(d *Driver) {
		args := d.Pod.Spec.Containers[1].Args
		class := slices.Index(args, "--class") + 1
		args[class], args[class+1] = "org.apache.spark.deploy.PythonRunner", "local:///job.py"
	}
	const dirs, both, driver = "spark.local.dir", "spark.pyspark.python", "spark.pyspark.driver.python"
	for name, tc := range map[string]struct {
		reason string
		change []func(*Driver)
		want   map[string]string
	}{
		"default":  {"Spark's own directory", []func(*Driver){env("SPARK_LOCAL_DIRS", "/var/data/spark-1"), mounted("spark-local-dir-1", "/var/data/spark-1", made)}, map[string]string{}},
		"machine":  {"nothing else names them", []func(*Driver){env("SPARK_LOCAL_DIRS", "/a,/b"), mounted("spark-local-dir-1", "/a", made), mounted("spark-local-dir-2", "/b", made)}, map[string]string{dirs: "/a,/b"}},
		"property": {"in another order", []func(*Driver){property("spark.local.dir=/b,/a"), env("SPARK_LOCAL_DIRS", "/a,/b"), mounted("spark-local-dir-1", "/a", made), mounted("spark-local-dir-2", "/b", made)}, map[string]string{dirs: "/b,/a"}},
		"both":     {"the variable wins in Spark, too", []func(*Driver){property("spark.local.dir=/b"), env("SPARK_LOCAL_DIRS", "/a"), mounted("spark-local-dir-1", "/a", made)}, map[string]string{dirs: "/a"}},
		"volume": {"of a property", []func(*Driver){property("spark.kubernetes.driver.volumes.emptyDir.spark-local-dir-x.mount.path=/a"),
			env("SPARK_LOCAL_DIRS", "/a"), mounted("spark-local-dir-x", "/a", made)}, map[string]string{}},
		"template": {"a volume of another type is no work of Spark's", []func(*Driver){env("SPARK_LOCAL_DIRS", "/a"),
			mounted("spark-local-dir-x", "/a", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/disk"}})}, map[string]string{}},
		"python":             {"spark-submit repeats it", []func(*Driver){python, env("PYSPARK_PYTHON", "/v/python"), env("PYSPARK_DRIVER_PYTHON", "/v/python")}, map[string]string{both: "/v/python"}},
		"pythons":            {"two interpreters", []func(*Driver){python, env("PYSPARK_PYTHON", "/v/python"), env("PYSPARK_DRIVER_PYTHON", "python3")}, map[string]string{both: "/v/python", driver: "python3"}},
		"property of Python": {"it says it already", []func(*Driver){python, property("spark.pyspark.python=/v/python"), env("PYSPARK_PYTHON", "/v/python"), env("PYSPARK_DRIVER_PYTHON", "/v/python")}, map[string]string{both: "/v/python"}},
	} {
		d := runningDriver()
		for _, change := range tc.change {
			change(&d)
		}
		app, _, err := FromDriver(d)
		got := map[string]string{}
		for _, key := range []string{dirs, both, driver} {
			if value, set := app.Spec.SparkConf[key]; set {
				got[key] = value
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %s: %v (-want +got):\n%s", name, tc.reason, err, diff)
		}
	}
}
