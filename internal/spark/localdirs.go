// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// localDirs gives the driver scratch space: LocalDirsFeatureStep. Volumes that the user called spark-local-dir-* serve
// as they are.
func (b *builder) localDirs() {
	var dirs []string
	for _, mount := range slices.Concat(b.container.VolumeMounts, b.app.Driver.Overlay.VolumeMounts) {
		if strings.HasPrefix(mount.Name, localDirVolumePrefix) {
			dirs = append(dirs, mount.MountPath)
		}
	}
	if len(dirs) == 0 {
		dirs = b.defaultLocalDirs()
		medium := corev1.StorageMediumDefault
		if b.conf.flag(confTmpfs, false) {
			medium = corev1.StorageMediumMemory
		}
		for i, dir := range dirs {
			b.mount(localDirVolumePrefix+strconv.Itoa(i+1), dir,
				corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium}})
		}
	}
	b.addEnv("SPARK_LOCAL_DIRS", strings.Join(dirs, ","))
}

// defaultLocalDirs are the directories without volumes of the user's. Spark shuffles them since 3.4; the order that
// was given is as good.
func (b *builder) defaultLocalDirs() []string {
	if dirs, ok := b.app.Submitter.Env["SPARK_LOCAL_DIRS"]; ok {
		return splitJava(dirs, ",")
	}
	if dirs, ok := b.conf.raw(confLocalDir); ok {
		return splitJava(dirs, ",")
	}
	return []string{"/var/data/spark-" + b.id.LocalDirID}
}
