// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// volumeConf returns the properties of one volume.
func volumeConf(kind, name string, options map[string]string) map[string]string {
	conf := map[string]string{}
	for option, value := range options {
		conf[volumes+kind+"."+name+"."+option] = value
	}
	return conf
}

func TestVolumeSources(t *testing.T) {
	size := resource.MustParse("5Gi")
	tests := []struct {
		name, version, kind string
		options             map[string]string
		volume              corev1.VolumeSource
		mount               corev1.VolumeMount
		reason              string
	}{
		{"hostPath", "4.0", volumeHostPath,
			map[string]string{"mount.path": "/m", "options.path": "/p", "options.type": "Directory"},
			corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/p", Type: new(corev1.HostPathDirectory)}},
			corev1.VolumeMount{MountPath: "/m"}, "with a type"},
		{"hostPath 3.5", "3.5", volumeHostPath,
			map[string]string{"mount.path": "/m", "options.path": "/p", "options.type": "Directory"},
			corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/p", Type: new(corev1.HostPathUnset)}},
			corev1.VolumeMount{MountPath: "/m"}, "older releases ignore the type, and write an empty one"},
		{"emptyDir", "4.0", volumeEmptyDir,
			map[string]string{"mount.path": "/m", "options.medium": "Memory", "options.sizeLimit": "5Gi", "mount.readOnly": "TRUE"},
			corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &size}},
			corev1.VolumeMount{MountPath: "/m", ReadOnly: true}, "in memory, read-only"},
		{"nfs", "4.0", volumeNFS,
			map[string]string{"mount.path": "/m", "options.path": "/p", "options.server": "s", "mount.readOnly": "true"},
			corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/p"}},
			corev1.VolumeMount{MountPath: "/m", ReadOnly: true}, "only the mount is read-only"},
		{"claim", "4.0", volumeClaim,
			map[string]string{"mount.path": "/m", "options.claimName": "c", "mount.readOnly": "true", "mount.subPath": "s"},
			corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c", ReadOnly: true}},
			corev1.VolumeMount{MountPath: "/m", ReadOnly: true, SubPath: "s"}, "both are read-only"},
		{"subPathExpr", "4.0", volumeEmptyDir, map[string]string{"mount.path": "/m", "mount.subPathExpr": "$(X)"},
			corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
			corev1.VolumeMount{MountPath: "/m", SubPathExpr: "$(X)"}, "an expression"},
		{"subPathExpr 3.5", "3.5", volumeEmptyDir, map[string]string{"mount.path": "/m", "mount.subPathExpr": "$(X)"},
			corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
			corev1.VolumeMount{MountPath: "/m"}, "older releases ignore it"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			submission := mustBuild(t, with(volumeConf(test.kind, "v", test.options)), test.version)
			test.mount.Name = "v"
			if diff := cmp.Diff(corev1.Volume{Name: "v", VolumeSource: test.volume}, submission.Driver.Spec.Volumes[0]); diff != "" {
				t.Errorf("volume, %s (-want +got):\n%s", test.reason, diff)
			}
			got := sparkContainerOf(t, submission.Driver, DriverContainerName).VolumeMounts[0]
			if diff := cmp.Diff(test.mount, got); diff != "" {
				t.Errorf("mount, %s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestClaims(t *testing.T) {
	full := map[string]string{
		"mount.path": "/m", "options.claimName": "a-OnDemand-b", "options.storageClass": "gp3", "options.sizeLimit": "10Gi",
		"label.team": "data", "label.spark-app-selector": "stolen", "annotation.note": "n",
	}
	without := func(option string) map[string]string {
		options := map[string]string{}
		for key, value := range full {
			if key != option {
				options[key] = value
			}
		}
		return options
	}
	fixed := without("")
	fixed["options.claimName"] = "fixed"
	generated := "a-spark-pi-" + testIdentity().NameID + "-driver-pvc-0-b"
	tests := []struct {
		name, version string
		options, conf map[string]string
		claim         string
		made          bool
		mode          corev1.PersistentVolumeAccessMode
		labels        map[string]string
		reason        string
	}{
		{"4.0", "4.0", full, nil, generated, true, corev1.ReadWriteOncePod, map[string]string{"team": "data"}, "labels of the claim"},
		{"3.5", "3.5", full, nil, generated, true, corev1.ReadWriteOnce, nil, "no labels yet, and another mode"},
		{"3.5 new mode", "3.5", full, map[string]string{confReadWriteOnce: "false"}, generated, true, corev1.ReadWriteOncePod, nil, "the property"},
		{"4.1 old mode", "4.1", full, map[string]string{confReadWriteOnce: "true"}, generated, true, corev1.ReadWriteOnce,
			map[string]string{"team": "data"}, "the property"},
		{"3.3", "3.3", full, map[string]string{confReadWriteOnce: "false"}, generated, true, corev1.ReadWriteOnce, nil, "no property yet"},
		{"fixed name", "4.0", fixed, nil, "fixed", true, corev1.ReadWriteOncePod, map[string]string{"team": "data"},
			"class and size decide, not the name"},
		{"no class", "4.0", without("options.storageClass"), nil, generated, false, "", nil, "nothing to make it from"},
		{"no size", "4.0", without("options.sizeLimit"), nil, generated, false, "", nil, "nothing to make it from"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			app := with(volumeConf(volumeClaim, "data", test.options))
			for key, value := range test.conf {
				app.Conf[key] = value
			}
			submission := mustBuild(t, app, test.version)
			if got := submission.Driver.Spec.Volumes[0].PersistentVolumeClaim.ClaimName; got != test.claim {
				t.Errorf("the pod claims %q, want %q", got, test.claim)
			}
			var claims []*corev1.PersistentVolumeClaim
			for _, object := range submission.Resources {
				if claim, ok := object.(*corev1.PersistentVolumeClaim); ok {
					claims = append(claims, claim)
				}
			}
			if made := len(claims) == 1; made != test.made {
				t.Fatalf("made: %t, want %t: %s", made, test.made, test.reason)
			}
			if !test.made {
				return
			}
			want := &corev1.PersistentVolumeClaim{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
				ObjectMeta: metav1.ObjectMeta{Name: test.claim, Namespace: "jobs", Labels: map[string]string{LabelAppSelector: testIdentity().AppID}},
				Spec: corev1.PersistentVolumeClaimSpec{
					StorageClassName: new("gp3"),
					AccessModes:      []corev1.PersistentVolumeAccessMode{test.mode},
					Resources: corev1.VolumeResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
					},
				},
			}
			if test.labels != nil {
				want.Labels["team"], want.Annotations = "data", map[string]string{"note": "n"}
			}
			if diff := cmp.Diff(want, claims[0]); diff != "" {
				t.Errorf("claim, %s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// A key with nothing but a name does not make a second volume of that name.
func TestVolumeKeysAreGrouped(t *testing.T) {
	app := with(map[string]string{
		volumes + "emptyDir.x":              "ignored",
		volumes + "emptyDir.x-y.mount.path": "/xy",
		volumes + "emptyDir.x.mount.path":   "/x",
		volumes + "emptyDir":                "ignored, too",
	})
	var got []string
	for _, volume := range mustBuild(t, app, "4.1").Driver.Spec.Volumes {
		got = append(got, volume.Name)
	}
	if diff := cmp.Diff([]string{"x", "x-y", "spark-local-dir-1", driverConfVolume}, got); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
}

func TestLocalDirs(t *testing.T) {
	own := volumeConf(volumeEmptyDir, "spark-local-dir-fast", map[string]string{"mount.path": "/fast"})
	tests := []struct {
		name         string
		conf, env    map[string]string
		want, reason string
		volumes      int
		medium       corev1.StorageMedium
	}{
		{"default", nil, nil, "/var/data/spark-" + testIdentity().LocalDirID, "a directory of the attempt's", 1, ""},
		{"conf", map[string]string{confLocalDir: "/a,/b,"}, nil, "/a,/b", "each with a volume; the order stays", 2, ""},
		{"env", map[string]string{confLocalDir: "/a"}, map[string]string{"SPARK_LOCAL_DIRS": "/x"}, "/x", "the variable wins", 1, ""},
		{"tmpfs", map[string]string{confTmpfs: "true"}, nil, "/var/data/spark-" + testIdentity().LocalDirID, "in memory", 1, corev1.StorageMediumMemory},
		{"own", own, map[string]string{"SPARK_LOCAL_DIRS": "/x"}, "/fast", "volumes of the user's win over all", 0, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			app := with(test.conf)
			app.Submitter.Env = test.env
			pod := mustBuild(t, app, "4.1").Driver
			for _, e := range sparkContainerOf(t, pod, DriverContainerName).Env {
				if e.Name == "SPARK_LOCAL_DIRS" && e.Value != test.want {
					t.Errorf("%q, want %q: %s", e.Value, test.want, test.reason)
				}
			}
			made := 0
			for _, volume := range pod.Spec.Volumes {
				if _, isOwn := test.conf[volumes+"emptyDir."+volume.Name+".mount.path"]; volume.EmptyDir != nil && !isOwn {
					made++
					if volume.EmptyDir.Medium != test.medium || volume.EmptyDir.SizeLimit != nil {
						t.Errorf("%s is %v, want the medium %q and no limit", volume.Name, volume.EmptyDir, test.medium)
					}
				}
			}
			if made != test.volumes {
				t.Errorf("%d volumes, want %d: %s", made, test.volumes, test.reason)
			}
		})
	}
}
