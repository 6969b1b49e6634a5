// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fullOverlay uses every field.
func fullOverlay() PodOverlay {
	return PodOverlay{
		Labels:          map[string]string{"team": "data", LabelRole: "stolen", LabelAppSelector: "stolen"},
		Annotations:     map[string]string{"note": "overlay"},
		Env:             []corev1.EnvVar{{Name: "OVERLAY", Value: "1"}},
		EnvFrom:         []corev1.EnvFromSource{{Prefix: "X_"}},
		VolumeMounts:    []corev1.VolumeMount{{Name: "mounted", MountPath: "/mounted"}},
		Ports:           []corev1.ContainerPort{{Name: "jmx", ContainerPort: 8090}},
		MemoryLimit:     new(resource.MustParse("9Gi")),
		Limits:          corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")},
		SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(185))},
		Lifecycle:       &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{}},
		Volumes: []corev1.Volume{
			{Name: "mounted"}, {Name: "of-sidecar"}, {Name: "of-init"}, {Name: "of-nobody"},
		},
		InitContainers: []corev1.Container{{
			Name: "init", VolumeMounts: []corev1.VolumeMount{{Name: "of-init", MountPath: "/i"}},
		}},
		Sidecars: []corev1.Container{{
			Name: "sidecar", VolumeMounts: []corev1.VolumeMount{{Name: "of-sidecar", MountPath: "/s"}},
		}},
		NodeSelector:                  map[string]string{"disk": "ssd"},
		Affinity:                      &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}},
		Tolerations:                   []corev1.Toleration{{Key: "overlay"}},
		HostAliases:                   []corev1.HostAlias{{IP: "10.0.0.1"}},
		HostNetwork:                   true,
		DNSConfig:                     &corev1.PodDNSConfig{Nameservers: []string{"10.0.0.2"}},
		PodSecurityContext:            &corev1.PodSecurityContext{FSGroup: new(int64(185))},
		PriorityClassName:             "high",
		SchedulerName:                 "volcano",
		TerminationGracePeriodSeconds: new(int64(60)),
		ShareProcessNamespace:         true,
	}
}

// templatedPod is a pod with something in each place that an overlay reaches.
func templatedPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{LabelRole: RoleDriver, "team": "template"},
			Annotations: map[string]string{"note": "template", "kept": "yes"},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{
				{Name: "template-sidecar"},
				{Name: "spark", Env: []corev1.EnvVar{{Name: "SPARK_USER"}}, Resources: corev1.ResourceRequirements{
					Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
				}},
			},
			InitContainers:   []corev1.Container{{Name: "template-init"}},
			NodeSelector:     map[string]string{"disk": "hdd", "zone": "a"},
			Tolerations:      []corev1.Toleration{{Key: "template"}},
			Affinity:         &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}},
			Priority:         new(int32(7)),
			PreemptionPolicy: new(corev1.PreemptNever),
			Volumes:          []corev1.Volume{{Name: "template-volume"}},
		},
	}
}

func TestApplyOverlay(t *testing.T) {
	pod := templatedPod()
	overlay := fullOverlay()
	applyOverlay(pod, 1, &overlay)

	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{LabelRole: RoleDriver, "team": "data"},
			Annotations: map[string]string{"note": "overlay", "kept": "yes"},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{
				{Name: "template-sidecar"},
				{
					Name:         "spark",
					Env:          []corev1.EnvVar{{Name: "SPARK_USER"}, {Name: "OVERLAY", Value: "1"}},
					EnvFrom:      overlay.EnvFrom,
					VolumeMounts: overlay.VolumeMounts,
					Ports:        overlay.Ports,
					Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
						corev1.ResourceCPU:    resource.MustParse("2"),
						corev1.ResourceMemory: resource.MustParse("9Gi"),
						"nvidia.com/gpu":      resource.MustParse("1"),
					}},
					SecurityContext: overlay.SecurityContext,
					Lifecycle:       overlay.Lifecycle,
				},
				overlay.Sidecars[0],
			},
			InitContainers:                []corev1.Container{{Name: "template-init"}, overlay.InitContainers[0]},
			NodeSelector:                  map[string]string{"disk": "ssd", "zone": "a"},
			Tolerations:                   []corev1.Toleration{{Key: "template"}, {Key: "overlay"}},
			HostAliases:                   overlay.HostAliases,
			Affinity:                      overlay.Affinity,
			HostNetwork:                   true,
			DNSPolicy:                     corev1.DNSClusterFirstWithHostNet,
			DNSConfig:                     overlay.DNSConfig,
			SecurityContext:               overlay.PodSecurityContext,
			PriorityClassName:             "high",
			SchedulerName:                 "volcano",
			TerminationGracePeriodSeconds: new(int64(60)),
			ShareProcessNamespace:         new(true),
			Volumes: []corev1.Volume{
				{Name: "template-volume"}, {Name: "mounted"}, {Name: "of-sidecar"}, {Name: "of-init"},
			},
		},
	}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
}

func TestApplyEmptyOverlayChangesNothing(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "spark"}}}}
	want := pod.DeepCopy()
	applyOverlay(pod, 0, &PodOverlay{})
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	if overlay := (PodOverlay{}); !overlay.isZero() {
		t.Error("the zero overlay is not zero")
	}
	if overlay := (PodOverlay{ShareProcessNamespace: true}); overlay.isZero() {
		t.Error("an overlay that shares the process namespace is zero")
	}
}

// The pod and the overlay must not share memory: whoever gets the pod may change it.
func TestOverlayIsCopied(t *testing.T) {
	overlay, untouched := fullOverlay(), fullOverlay()
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "spark"}}}}
	applyOverlay(pod, 0, &overlay)
	scribble(pod)
	if diff := cmp.Diff(untouched, overlay); diff != "" {
		t.Errorf("overlay (-before +after):\n%s", diff)
	}
}

// scribble changes whatever a pod refers to.
func scribble(pod *corev1.Pod) {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		for j := range c.Env {
			c.Env[j].Name = "scribbled"
		}
		for j := range c.VolumeMounts {
			c.VolumeMounts[j].Name = "scribbled"
		}
		for j := range c.Ports {
			c.Ports[j].Name = "scribbled"
		}
		for name := range c.Resources.Limits {
			c.Resources.Limits[name] = resource.MustParse("77")
		}
		if c.SecurityContext != nil {
			c.SecurityContext.RunAsUser = new(int64(77))
		}
	}
	for i := range pod.Spec.Volumes {
		pod.Spec.Volumes[i].Name = "scribbled"
	}
	for i := range pod.Spec.Tolerations {
		pod.Spec.Tolerations[i].Key = "scribbled"
	}
	if pod.Spec.DNSConfig != nil {
		pod.Spec.DNSConfig.Nameservers[0] = "scribbled"
	}
	for name := range pod.Labels {
		pod.Labels[name] = "scribbled"
	}
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		*pod.Spec.TerminationGracePeriodSeconds = 77
	}
}

func TestKeepPrivilege(t *testing.T) {
	forbidden := &corev1.SecurityContext{AllowPrivilegeEscalation: new(false)}
	tests := []struct {
		name    string
		spark   *corev1.SecurityContext
		overlay *corev1.SecurityContext
		want    *bool
		reason  string
	}{
		{"silent", forbidden, &corev1.SecurityContext{}, new(false), "Spark 4.3 forbids escalation unless told otherwise"},
		{"explicit", forbidden, &corev1.SecurityContext{AllowPrivilegeEscalation: new(true)}, new(true), "the overlay wins"},
		{"privileged", forbidden, &corev1.SecurityContext{Privileged: new(true)}, nil, "Kubernetes refuses the combination"},
		{"older Spark", nil, &corev1.SecurityContext{}, nil, "there is nothing to keep"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := keepPrivilege(test.spark, test.overlay).AllowPrivilegeEscalation
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
