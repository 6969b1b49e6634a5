// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// oddTexts are values that a properties file, a shell or a YAML parser could damage.
var oddTexts = map[string]string{
	"lines":     "first\nsecond\n\nfourth",
	"tab":       "a\tb",
	"equals":    "a=b==c:d",
	"hash":      "# no comment ! nor this",
	"quotes":    `"double" 'single' \back\\slash\n`,
	"unicode":   "grün 日本語 🔥",
	"dollar":    "$HOME $(HOME) `id` ; | & * ~",
	"yes":       "yes",
	"number":    "0123",
	"sixty":     "12:30:00",
	"null":      "null",
	"braces":    `{"a": [1, {{b}}]}`,
	"separator": "a,b;c|d",
}

const password = "p=ä\"'# \n2"

// mounts gives both roles volumes, an environment and settings of all kinds, and adds to what the job looks at.
func mounts(ctx context.Context, app *v1beta2.SparkApplication, looks *request) (conf, environment map[string]string) {
	GinkgoHelper()
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: app.Namespace, Name: name} }
	Expect(admin.Create(ctx, &corev1.ConfigMap{ObjectMeta: named("settings"), Data: map[string]string{"table.csv": "a,b\n1,2\n", "MODE": "fast"}})).To(Succeed())
	Expect(admin.Create(ctx, &corev1.Secret{ObjectMeta: named("keys"), StringData: map[string]string{"password": password, "TOKEN": "t-123"}})).To(Succeed())
	Expect(admin.Create(ctx, &corev1.Secret{ObjectMeta: named("cloud"), StringData: map[string]string{"key.json": "{}"}})).To(Succeed())

	// Spark's launcher takes carriage returns out of arguments, so that they have no place among the odd texts.
	conf = map[string]string{"spark.e2e.key with space:and=signs": "odd key", "spark.e2e.windows": "first\r\nsecond"}
	environment = map[string]string{
		"MODE": "fast", "S_TOKEN": "t-123", "S_password": password, "PASSWORD": password, "OLD_PASSWORD": password,
		"ROLE_LABEL": "data", "OLD": "a,b=c #d", "GOOGLE_APPLICATION_CREDENTIALS": "/etc/cloud/key.json",
	}
	env := []corev1.EnvVar{
		{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "keys"}, Key: "password"}}},
		{Name: "ROLE_LABEL", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['team']"}}},
	}
	for _, name := range slices.Sorted(maps.Keys(oddTexts)) {
		text := oddTexts[name]
		conf["spark.e2e."+name] = text
		environment["ODD_"+name] = text
		env = append(env, corev1.EnvVar{Name: "ODD_" + name, Value: text})
		app.Spec.Arguments = append(app.Spec.Arguments, text)
	}
	looks.Files = append(looks.Files, "/etc/settings/table.csv", "/etc/keys/password", "/etc/all/secret/password", "/etc/all/labels", "/etc/one.csv")
	looks.Env = slices.AppendSeq(looks.Env, maps.Keys(environment))
	looks.Conf = slices.Collect(maps.Keys(conf))
	looks.Trees, looks.Mounts, looks.Modules = []string{"/scratch"}, []string{"/scratch", "/etc/keys"}, []string{"greet", "words"}

	app.Spec.SparkConf = conf
	app.Spec.Deps.PyFiles = []string{"local:///opt/jobs/greet.py", "local:///opt/jobs/words.zip"}
	app.Spec.Volumes = append(app.Spec.Volumes, mountedVolumes()...)
	for _, pod := range podsIn(app) {
		mount(pod, env)
	}
	if *app.Spec.Image == otherSparkImage {
		// Spark 3.5 takes files of the scheme local for present on every node, and leaves them off the executors' path.
		app.Spec.Executor.EnvVars["PYTHONPATH"] = "/opt/jobs:/opt/jobs/words.zip"
	}
	app.Spec.Driver.JavaOptions = ptr.To(quickStart + ` -De2e.role="the driver" -De2e.more=1`)
	app.Spec.Executor.JavaOptions = ptr.To(quickStart + ` -De2e.role="the executor" -De2e.more=1`)
	return conf, environment
}

func mountedVolumes() []corev1.Volume {
	return []corev1.Volume{
		{Name: "spark-local-dir-1", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory, SizeLimit: ptr.To(resource.MustParse("64Mi")),
		}}},
		{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
		{Name: "all", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "keys"}, Items: []corev1.KeyToPath{{Key: "password", Path: "secret/password"}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}}}}},
		}}}},
	}
}

// mount gives one role what mounts has made.
func mount(pod *v1beta2.SparkPodSpec, env []corev1.EnvVar) {
	pod.ConfigMaps = append(pod.ConfigMaps, v1beta2.NamePath{Name: "settings", Path: "/etc/settings"})
	pod.Secrets = []v1beta2.SecretInfo{
		{Name: "keys", Path: "/etc/keys", SecretType: v1beta2.SecretTypeGeneric},
		{Name: "cloud", Path: "/etc/cloud", SecretType: v1beta2.SecretTypeGCPServiceAccount},
	}
	pod.VolumeMounts = append(pod.VolumeMounts,
		corev1.VolumeMount{Name: "spark-local-dir-1", MountPath: "/scratch"},
		corev1.VolumeMount{Name: "settings", MountPath: "/etc/one.csv", SubPath: "table.csv"},
		corev1.VolumeMount{Name: "all", MountPath: "/etc/all"},
	)
	pod.Env = append(pod.Env, env...)
	pod.EnvVars = map[string]string{"OLD": "a,b=c #d"}
	pod.EnvFrom = []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}},
		{Prefix: "S_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "keys"}}},
	}
	pod.EnvSecretKeyRefs = map[string]v1beta2.NameKey{"OLD_PASSWORD": {Name: "keys", Key: "password"}}
	pod.Labels = map[string]string{"team": "data"}
}

// sawMounts compares what a role saw with what mounts has made.
func sawMounts(role string, saw sight) {
	GinkgoHelper()
	Expect(saw.Files).To(And(
		HaveKeyWithValue("/etc/settings/table.csv", "a,b\n1,2\n"),
		HaveKeyWithValue("/etc/one.csv", "a,b\n1,2\n"),
		HaveKeyWithValue("/etc/keys/password", password),
		HaveKeyWithValue("/etc/all/secret/password", password),
		HaveKeyWithValue("/etc/all/labels", And(ContainSubstring(`spark-role="`+role+`"`), ContainSubstring(`team="data"`))),
	))
	Expect(saw.Mounts).To(HaveKeyWithValue("/scratch", And(HavePrefix("tmpfs "), ContainSubstring("size=65536k"))))
	Expect(saw.Mounts).To(HaveKeyWithValue("/etc/keys", ContainSubstring("ro")))
	Expect(saw.Trees["/scratch"]).To(ContainElement(HavePrefix("blockmgr-")))
	Expect(saw.Modules).To(Equal(map[string]string{"greet": "hello from a file", "words": "hello from a zip"}))
	Expect(saw.Java).To(ContainElements("-De2e.role=the "+role, "-De2e.more=1"))
}
