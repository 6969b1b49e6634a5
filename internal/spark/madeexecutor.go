// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnnotationMemoryLimit on an executor is its wanted memory limit. Spark (BasicExecutorFeatureStep) replaces the template's limit by its own, so only an
// admission policy can set another one: config/executor-memory.
const AnnotationMemoryLimit = "firesteel.dev/memory-limit"

// Reader reads the configuration of a submission in the same way as its driver.
type Reader struct {
	conf    *conf
	profile Profile
	version string
}

// NewReader returns a reader of the driver's configuration. References to the submitter's variables stay unresolved.
func NewReader(app Application, s Submission) Reader {
	profile, err := ProfileFor(app.SparkVersion)
	if err != nil {
		profile = profiles[oldestDirect] // the version only names the image
	}
	return Reader{newConf(s.Properties, nil), profile, app.SparkVersion}
}

// Text returns a property with its references replaced: the set value, that of the fallback, or the default. References that only the driver can replace stay
// (see Unknown).
func (r Reader) Text(key string) string {
	text, _ := r.conf.text(key)
	return text
}

// Image returns the image of a role: ConfDriverImage or ConfExecutorImage.
func (r Reader) Image(key string) string { return imageOf(r.conf, key, r.version, r.profile) }

// driverTexts are the properties for executors whose text a driver passes to Kubernetes. Build refuses sizes and numbers with references that cannot be
// replaced.
var driverTexts = []string{
	ConfExecutorImage, ConfImage, ConfExecutorServiceAccount, ConfImagePullSecrets, ConfExecutorSchedulerName, ConfSchedulerName, ConfDriverServiceAccount,
	ConfExecTemplateFile, ConfExecTemplateContainer,
}

// Unknown returns the properties for executors whose references need the environment or the system properties of the driver's JVM. These are unknown before the
// driver runs.
func (r Reader) Unknown() []string {
	return slices.DeleteFunc(slices.Clone(driverTexts), func(key string) bool {
		text := ""
		if r.conf.has(key) {
			text = r.Text(key)
		}
		return !strings.Contains(text, "${env:") && !strings.Contains(text, "${system:")
	})
}

// UnseenTemplate returns the path of the executors' template if it is a file in the driver's pod, which the operator cannot read; "" otherwise.
func (r Reader) UnseenTemplate() string {
	switch path := r.Text(ConfExecTemplateFile); path {
	case templateDirInPod + "/" + templateFileInPod, serverTemplatePath:
		return ""
	default:
		return path
	}
}

// ExecutorClaim is a PersistentVolumeClaim that a driver creates for each of its executors.
type ExecutorClaim struct {
	// Key is the prefix of the claim's properties.
	Key   string
	Claim *corev1.PersistentVolumeClaim
}

// MadeExecutor returns an executor of a submission with the values that its driver takes from the configuration: image, metadata, node selectors, scheduler,
// pull secrets and volumes. It lacks Spark's own additions.
func (r Reader) MadeExecutor(s Submission) (*corev1.Pod, []ExecutorClaim) {
	pod := s.Executor.DeepCopy()
	attributes := s.PodSets.ExecutorAttributes
	pod.Labels, pod.Annotations = maps.Clone(attributes.Labels), maps.Clone(attributes.Annotations)
	pod.Spec.NodeSelector, pod.Spec.SchedulerName = maps.Clone(attributes.NodeSelector), attributes.SchedulerName
	for _, name := range r.conf.list(ConfImagePullSecrets) {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	if s.ExecutorContainer < len(pod.Spec.Containers) {
		c := &pod.Spec.Containers[s.ExecutorContainer]
		c.Image = r.Image(ConfExecutorImage)
		if r.profile.PrivilegeEscalation {
			if c.SecurityContext == nil {
				c.SecurityContext = &corev1.SecurityContext{}
			}
			c.SecurityContext.AllowPrivilegeEscalation = new(r.conf.flag(confExecutorPrivilege, false))
		}
	}
	var claims []ExecutorClaim
	volumes := parseVolumes(r.conf, ConfExecutorVolumesPrefix, r.profile)
	for i := range volumes {
		v := &volumes[i]
		source := corev1.VolumeSource{}
		if v.kind != volumeClaim {
			source = v.source(r.profile)
		} else {
			name := v.options["options.claimName"]
			source.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name, ReadOnly: v.readOnly}
			if class, made := v.makesClaim(); made {
				claims = append(claims, ExecutorClaim{v.key, v.claim(name, class)})
			}
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: v.name, VolumeSource: source})
	}
	return pod, claims
}

// claim returns the claim for a volume's options.
func (v *volume) claim(name, class string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(v.labels), Annotations: maps.Clone(v.notes)},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: *v.size}},
		},
	}
}
