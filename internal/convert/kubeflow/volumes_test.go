// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/firesteel-dev/firesteel/internal/testutil"
)

func TestLocalDirs(t *testing.T) {
	size := resource.MustParse("10Gi")
	const name = "spark-local-dir-1"
	cases := map[string]struct {
		reason string
		source corev1.VolumeSource
		mount  corev1.VolumeMount
		// want are the properties under spark.kubernetes.driver.volumes.; none means that the pod mounts it itself.
		want map[string]string
	}{
		"EmptyDir": {
			reason: "options that are not set are not written", source: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, mount: corev1.VolumeMount{MountPath: "/tmp/a"},
			want: props{"emptyDir.spark-local-dir-1.mount.path": "/tmp/a"},
		},
		"EmptyDirOptions": {
			reason: "size and medium", source: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &size}}, mount: corev1.VolumeMount{MountPath: "/tmp/a", SubPath: "s", ReadOnly: true},
			want: props{
				"emptyDir.spark-local-dir-1.mount.path": "/tmp/a", "emptyDir.spark-local-dir-1.mount.subPath": "s", "emptyDir.spark-local-dir-1.mount.readOnly": "true",
				"emptyDir.spark-local-dir-1.options.medium": "Memory", "emptyDir.spark-local-dir-1.options.sizeLimit": "10Gi",
			},
		},
		"Expression": {
			reason: "each pod has a folder of its own", source: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, mount: corev1.VolumeMount{MountPath: "/tmp/a", SubPathExpr: "$(SPARK_USER)"},
			want: props{"emptyDir.spark-local-dir-1.mount.path": "/tmp/a", "emptyDir.spark-local-dir-1.mount.subPathExpr": "$(SPARK_USER)"},
		},
		"HostPath": {
			reason: "path and type", source: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/ssd", Type: new(corev1.HostPathDirectory)}}, mount: corev1.VolumeMount{MountPath: "/tmp/a"},
			want: props{"hostPath.spark-local-dir-1.mount.path": "/tmp/a", "hostPath.spark-local-dir-1.options.path": "/ssd", "hostPath.spark-local-dir-1.options.type": "Directory"},
		},
		"NFS": {
			reason: "server and path", source: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs", Path: "/x"}}, mount: corev1.VolumeMount{MountPath: "/tmp/a"},
			want: props{"nfs.spark-local-dir-1.mount.path": "/tmp/a", "nfs.spark-local-dir-1.options.path": "/x", "nfs.spark-local-dir-1.options.server": "nfs"},
		},
		"Claim": {
			reason: "the claim's name", source: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}, mount: corev1.VolumeMount{MountPath: "/tmp/a"},
			want: props{"persistentVolumeClaim.spark-local-dir-1.mount.path": "/tmp/a", "persistentVolumeClaim.spark-local-dir-1.options.claimName": "c"},
		},
		"Ephemeral": {
			reason: "Spark does not know the type: it is mounted as any other volume", source: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}, mount: corev1.VolumeMount{MountPath: "/tmp/a"},
		},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			o := testutil.Pi()
			tc.mount.Name = name
			o.Spec.Volumes = []corev1.Volume{volume(name, tc.source)}
			o.Spec.Driver.VolumeMounts = []corev1.VolumeMount{tc.mount}
			app := normalize(t, o)
			got := map[string]string{}
			for key, value := range app.Conf {
				if rest, ok := strings.CutPrefix(key, "spark.kubernetes.driver.volumes."); ok {
					got[rest] = value
				}
				if strings.HasPrefix(key, "spark.kubernetes.executor.volumes.") {
					t.Errorf("%s: the executors do not mount it, but get %s", tc.reason, key)
				}
			}
			if len(tc.want) == 0 {
				tc.want = props{}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			// Spark mounts it, or the overlay does: never both, never neither.
			if overlaid := len(app.Driver.Overlay.VolumeMounts) == 1 && len(app.Driver.Overlay.Volumes) == 1; overlaid == (len(tc.want) > 0) {
				t.Errorf("%s: mounted by the overlay: %v, by Spark: %v", tc.reason, overlaid, len(tc.want) > 0)
			}
			pod := build(t, o).Driver
			if n := countMounts(pod, tc.mount); n != 1 {
				t.Errorf("%s: the driver mounts %s with its paths %d times", tc.reason, tc.mount.MountPath, n)
			}
		})
	}
}

func countMounts(pod *corev1.Pod, want corev1.VolumeMount) int {
	n := 0
	for _, m := range pod.Spec.Containers[0].VolumeMounts {
		if m.MountPath == want.MountPath && m.SubPath == want.SubPath && m.SubPathExpr == want.SubPathExpr {
			n++
		}
	}
	return n
}

// Mounts keep what Spark properties could not say, and volumes are listed once however often they are mounted.
func TestMounts(t *testing.T) {
	o := testutil.Pi()
	o.Spec.Volumes = []corev1.Volume{volume("data", corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "n", Path: "/"}})}
	o.Spec.Driver.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/a", SubPathExpr: "$(POD)"}, {Name: "data", MountPath: "/b"}}
	overlay := normalize(t, o).Driver.Overlay
	if diff := cmp.Diff(o.Spec.Driver.VolumeMounts, overlay.VolumeMounts); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(o.Spec.Volumes, overlay.Volumes); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
}

// A user's variable comes after ours of the same name, where Kubernetes lets it win.
func TestConfigMapVariableComesBeforeTheUsers(t *testing.T) {
	o := testutil.Pi()
	o.Spec.SparkConfigMap = new("sc")
	o.Spec.Driver.Env = []corev1.EnvVar{{Name: "SPARK_CONF_DIR", Value: "/mine"}}
	want := []corev1.EnvVar{{Name: "SPARK_CONF_DIR", Value: "/etc/spark/conf"}, {Name: "SPARK_CONF_DIR", Value: "/mine"}}
	if diff := cmp.Diff(want, normalize(t, o).Driver.Overlay.Env); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConfigMapVolumeNames(t *testing.T) {
	long := strings.Repeat("a", 70)
	names := []string{"cm", "a.b", "a-b", "a.b.c", long, long + "b", strings.Repeat("a", 59), strings.Repeat("a", 60), strings.Repeat("b.", 126) + "b"}
	seen := map[string]string{}
	for _, name := range names {
		got := configMapVolume(name)
		if problems := utilvalidation.IsDNS1123Label(got); len(problems) > 0 {
			t.Errorf("ConfigMap %q gets the volume %q, which is no name: %v", name, got, problems)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("ConfigMaps %q and %q get the same volume %q", name, other, got)
		}
		seen[got] = name
		if got != configMapVolume(name) {
			t.Errorf("the volume of %q is not stable", name)
		}
	}
	if got := configMapVolume("cm"); got != "cm-vol" {
		t.Errorf("the volume of a short name is %q, want the Kubeflow operator's", got)
	}
}

func TestMemoryLimit(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   string
		wrong  bool
	}{
		"None":     {reason: "an empty text is none"},
		"JavaG":    {reason: "Java counts in 1024", text: "2g", want: "2Gi"},
		"JavaGB":   {reason: "the b is optional", text: "2gb", want: "2Gi"},
		"JavaM":    {reason: "Java's m is mega, not milli", text: "512m", want: "512Mi"},
		"JavaUp":   {reason: "Java does not look at case", text: "512M", want: "512Mi"},
		"JavaK":    {reason: "kilo", text: "1024k", want: "1Mi"},
		"JavaT":    {reason: "tera", text: "1t", want: "1Ti"},
		"Quantity": {reason: "Kubernetes' own unit", text: "2Gi", want: "2Gi"},
		"Fraction": {reason: "Kubernetes takes fractions", text: "1.5Gi", want: "1536Mi"},
		"Bytes":    {reason: "no unit is bytes", text: "1073741824", want: "1073741824"},
		"Words":    {reason: "a mistake is named", text: "two gigs", wrong: true},
		"Unit":     {reason: "a mistake is named", text: "2x", wrong: true},
		"Blank":    {reason: "a mistake is named", text: "2 g", wrong: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			o.Spec.Driver.MemoryLimit = &tc.text
			app, problems := Normalize(o)
			if (len(problems) > 0) != tc.wrong {
				t.Fatalf("%s: problems %v, want some: %v", tc.reason, problems, tc.wrong)
			}
			if tc.wrong {
				p := problems[0]
				if p.Field != "driver.memoryLimit" || p.Value != tc.text || !strings.Contains(p.Problem, `"2g"`) {
					t.Errorf("%s: names field, value and what would be right: %v", tc.reason, p)
				}
			}
			if got := limitText(app.Driver.Overlay); got != tc.want {
				t.Errorf("%s: limit %q, want %q", tc.reason, got, tc.want)
			}
			if app.Executor.Overlay.MemoryLimit != nil {
				t.Errorf("%s: the executors have the driver's limit", tc.reason)
			}
		})
	}
}
