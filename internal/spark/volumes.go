// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The types of volumes that Spark supports.
const (
	volumeHostPath = "hostPath"
	volumeClaim    = "persistentVolumeClaim"
	volumeEmptyDir = "emptyDir"
	volumeNFS      = "nfs"
)

// onDemand is a placeholder in the name of a claim for a name that Spark generates.
const onDemand = "OnDemand"

// volume is one of spark.kubernetes.<role>.volumes.<type>.<name>.*.
type volume struct {
	kind, name string
	mountPath  string
	subPath    string
	subPathExp string
	readOnly   bool

	// key is the prefix of the volume's options, for messages.
	key     string
	options map[string]string
	labels  map[string]string
	notes   map[string]string
	size    *resource.Quantity
}

// parseVolumes reads the volumes of one role, sorted by type and name.
func parseVolumes(c *conf, prefix string, profile Profile) []volume {
	var volumes []volume
	for _, key := range c.under(prefix) {
		kind, rest, found := strings.Cut(key[len(prefix):], ".")
		if !found {
			continue
		}
		name, option, _ := strings.Cut(rest, ".")
		i := slices.IndexFunc(volumes, func(v volume) bool { return v.kind == kind && v.name == name })
		if i < 0 {
			i = len(volumes)
			volumes = append(volumes, volume{
				kind: kind, name: name, key: prefix + kind + "." + name + ".", options: map[string]string{},
			})
		}
		volumes[i].set(option, c.values[key], profile)
	}
	for i := range volumes {
		volumes[i].validate(c, profile)
	}
	return volumes
}

// set records one option.
func (v *volume) set(option, value string, profile Profile) {
	if label, ok := strings.CutPrefix(option, "label."); ok && profile.VolumeExtras {
		setIn(&v.labels, label, value)
	} else if note, ok := strings.CutPrefix(option, "annotation."); ok && profile.VolumeExtras {
		setIn(&v.notes, note, value)
	} else {
		v.options[option] = value
	}
}

// requiredOptions are the options that a type of volume requires.
var requiredOptions = map[string][]string{
	volumeHostPath: {"options.path"},
	volumeClaim:    {"options.claimName"},
	volumeEmptyDir: {},
	volumeNFS:      {"options.path", "options.server"},
}

func (v *volume) validate(c *conf, profile Profile) {
	required, known := requiredOptions[v.kind]
	if !known {
		c.fail(v.key+"mount.path", v.options["mount.path"],
			`the type `+v.kind+` is not supported; write "hostPath", "persistentVolumeClaim", "emptyDir" or "nfs"`)
		return
	}
	for _, option := range append([]string{"mount.path"}, required...) {
		if _, ok := v.options[option]; !ok {
			c.failAs(field.ErrorTypeRequired, v.key+option, "", "missing; a volume of the type "+v.kind+" needs it")
		}
	}
	v.mountPath = v.options["mount.path"]
	v.subPath = v.options["mount.subPath"]
	if text, ok := v.options["mount.readOnly"]; ok {
		v.readOnly = strings.EqualFold(text, "true")
		if !v.readOnly && !strings.EqualFold(text, "false") {
			c.fail(v.key+"mount.readOnly", text, `not a boolean; write "true" or "false"`)
		}
	}
	if profile.VolumeExtras {
		v.validateExtras(c)
	}
	if text, ok := v.options["options.sizeLimit"]; ok && (v.kind == volumeEmptyDir || v.kind == volumeClaim) {
		size, err := ParseQuantity(text)
		if err != nil {
			c.fail(v.key+"options.sizeLimit", text, `not a quantity of Kubernetes; write e.g. "10Gi"`)
		}
		v.size = &size
	}
}

// validateExtras makes the checks that Spark makes since 4.0.
func (v *volume) validateExtras(c *conf) {
	expression, hasExpression := v.options["mount.subPathExpr"]
	if _, hasPath := v.options["mount.subPath"]; hasPath && hasExpression {
		c.fail(v.key+"mount.subPathExpr", expression, "cannot be combined with mount.subPath; write one of them")
	}
	v.subPathExp = expression
	size := v.options["options.sizeLimit"]
	if bytes, err := strconv.ParseUint(size, 10, 64); err == nil && bytes < 1024 && size[0] != '+' {
		c.fail(v.key+"options.sizeLimit", size, `smaller than 1Ki: the unit is missing; write e.g. "10Gi"`)
	}
}

// mountVolumes adds the driver's volumes and their claims: MountVolumesFeatureStep.
func (b *builder) mountVolumes() {
	paths := map[string]bool{}
	for i := range b.volumes {
		v := &b.volumes[i]
		if paths[v.mountPath] {
			b.conf.fail(v.key+"mount.path", v.mountPath, "another volume is mounted there already")
		}
		paths[v.mountPath] = true
		b.pod.Spec.Volumes = append(b.pod.Spec.Volumes, corev1.Volume{Name: v.name, VolumeSource: b.source(v, i)})
		b.container.VolumeMounts = append(b.container.VolumeMounts, corev1.VolumeMount{
			Name: v.name, MountPath: v.mountPath, ReadOnly: v.readOnly, SubPath: v.subPath, SubPathExpr: v.subPathExp,
		})
	}
}

// source returns the source of the volume with index i.
func (b *builder) source(v *volume, i int) corev1.VolumeSource {
	if v.kind != volumeClaim {
		return v.source(b.profile)
	}
	generated := b.prefix + "-driver-pvc-" + strconv.Itoa(i)
	claim := strings.ReplaceAll(v.options["options.claimName"], onDemand, generated)
	if class, made := v.makesClaim(); made {
		b.addClaim(v, claim, class)
	}
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
		ClaimName: claim, ReadOnly: v.readOnly,
	}}
}

// source returns the source of a volume that is not a claim.
func (v *volume) source(profile Profile) corev1.VolumeSource {
	switch v.kind {
	case volumeHostPath:
		// The empty type is written, as in Spark. Only newer releases read the option.
		pathType := corev1.HostPathUnset
		if profile.VolumeExtras {
			pathType = corev1.HostPathType(v.options["options.type"])
		}
		return corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
			Path: v.options["options.path"], Type: &pathType,
		}}
	case volumeNFS:
		return corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{
			Server: v.options["options.server"], Path: v.options["options.path"],
		}}
	}
	return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
		Medium: corev1.StorageMedium(v.options["options.medium"]), SizeLimit: v.size,
	}}
}

// makesClaim reports whether a claim is created for the volume, and its class. Spark creates a claim if class and size are set, even if the user chose its
// name.
func (v *volume) makesClaim() (class string, made bool) {
	class, made = v.options["options.storageClass"]
	return class, made && v.size != nil
}

// addClaim makes a claim.
func (b *builder) addClaim(v *volume, name, class string) {
	mode := corev1.ReadWriteOncePod
	readWriteOnce := b.profile.ReadWriteOnce
	if b.profile.ReadWriteOnceConf {
		readWriteOnce = b.conf.flag(confReadWriteOnce, readWriteOnce)
	}
	if readWriteOnce {
		mode = corev1.ReadWriteOnce
	}
	claim := v.claim(name, class)
	claim.Namespace = b.namespace
	setIn(&claim.Labels, LabelAppSelector, b.id.AppID)
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{mode}
	b.addResource(claim)
}

// localDirs adds scratch space to the driver: LocalDirsFeatureStep. Volumes that the user named spark-local-dir-* are used unchanged.
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

// defaultLocalDirs returns the directories that have no volumes of the user. Spark shuffles them since 3.4; here they keep their order.
func (b *builder) defaultLocalDirs() []string {
	if dirs, ok := b.app.Submitter.Env["SPARK_LOCAL_DIRS"]; ok {
		return splitJava(dirs, ",")
	}
	if dirs, ok := b.conf.raw(confLocalDir); ok {
		return splitJava(dirs, ",")
	}
	return []string{"/var/data/spark-" + b.id.LocalDirID}
}
