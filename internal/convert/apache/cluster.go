// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Roles of a cluster's pods, which are also the names of their containers.
const (
	RoleMaster = "master"
	RoleWorker = "worker"
)

// Names of a cluster's objects. Clients of the cluster rely on them.
func masterName(cluster string) string    { return cluster + "-master" }
func workerName(cluster string) string    { return cluster + "-worker" }
func masterService(cluster string) string { return masterName(cluster) + "-svc" }
func workerService(cluster string) string { return workerName(cluster) + "-svc" }

// ClusterObjects returns the objects of a cluster with the policies' defaults, in the order of their creation and without an owner. The master's pods have
// the scheduler plugin's decoration of a driver, the workers' pods the decoration of executors.
func ClusterObjects(o *v1.SparkCluster, defaults map[string]string, d scheduler.Decoration) []spark.Object {
	c := clusterOf(withDefaults(o, defaults))
	c.master.overlay, c.worker.overlay = d.Driver, d.Executor
	objects := []spark.Object{c.service(c.master), c.service(c.worker), c.statefulSet(c.master), c.statefulSet(c.worker), c.networkPolicy()}
	if size := o.Spec.ClusterTolerations.InstanceConfig; size.MinWorkers < size.MaxWorkers {
		objects = append(objects, c.autoscaler())
	}
	if o.Spec.ClusterTolerations.InstanceConfig.MinWorkers >= 1 {
		objects = append(objects, c.disruptionBudget())
	}
	return objects
}

// cluster is a SparkCluster with the settings from which its objects are built.
type cluster struct {
	*v1.SparkCluster
	conf           map[string]string
	master, worker role
}

// role is one of the two kinds of pods of a cluster.
type role struct {
	name, objects, service string
	wanted                 v1.RoleObjects
	replicas               int32
	ports                  []corev1.ContainerPort
	script                 string
	env                    []corev1.EnvVar
	// governing is the Service that gives the pods of a StatefulSet their names; "" for none.
	governing string
	searches  []string
	overlay   spark.PodOverlay
}

func clusterOf(o *v1.SparkCluster) cluster {
	c := cluster{SparkCluster: o, conf: clusterConf(o)}
	c.master = role{
		name: RoleMaster, objects: masterName(o.Name), service: masterService(o.Name), replicas: 1,
		wanted: ptr.Deref(o.Spec.MasterSpec, v1.MasterSpec{}).RoleObjects,
		ports:  []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}, {Name: "spark", ContainerPort: 7077}, {Name: "rest", ContainerPort: 6066}},
		script: daemonScript("start-master.sh", "org.apache.spark.deploy.master.Master", ""),
		env:    []corev1.EnvVar{{Name: "SPARK_MASTER_OPTS", Value: daemonOptions(masterConf(c.conf))}},
	}
	c.worker = role{
		name: RoleWorker, objects: workerName(o.Name), service: workerService(o.Name), replicas: o.Spec.ClusterTolerations.InstanceConfig.InitWorkers,
		wanted:    ptr.Deref(o.Spec.WorkerSpec, v1.WorkerSpec{}).RoleObjects,
		ports:     []corev1.ContainerPort{{Name: "web", ContainerPort: 8081}},
		script:    daemonScript("start-worker.sh", "org.apache.spark.deploy.worker.Worker", " spark://"+c.master.service+":7077"),
		env:       []corev1.EnvVar{{Name: "SPARK_LOG_DIR", Value: "/opt/spark/work/logs"}, {Name: "SPARK_WORKER_OPTS", Value: daemonOptions(c.conf)}},
		governing: workerService(o.Name), searches: []string{workerService(o.Name) + "." + o.Namespace + ".svc.cluster.local"},
	}
	return c
}

// clusterImage is the image of pods that name none.
const clusterImage = "apache/spark:4.3.0"

// clusterConf returns the effective configuration of master and workers.
func clusterConf(o *v1.SparkCluster) map[string]string {
	conf := map[string]string{"spark.shuffle.service.enabled": "true"}
	maps.Copy(conf, o.Spec.SparkConf)
	if image, ok := conf[spark.ConfImage]; ok {
		conf[spark.ConfImage] = strings.ReplaceAll(image, "{{SPARK_VERSION}}", o.Spec.RuntimeVersions.SparkVersion)
	}
	conf["spark.kubernetes.namespace"] = o.Namespace
	return conf
}

// masterConf omits properties that only workers read. Otherwise an edit of them would restart the master and end its applications.
func masterConf(conf map[string]string) map[string]string {
	all := maps.Clone(conf)
	maps.DeleteFunc(all, func(key, _ string) bool { return strings.HasPrefix(key, "spark.worker.") })
	return all
}

// daemonOptions formats a configuration as JVM options for spark-class: quoted, with a backslash before quotes and backslashes. A dollar sign before a
// parenthesis is doubled, because Kubernetes would expand it.
func daemonOptions(conf map[string]string) string {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(conf)) {
		text.WriteString("-D" + key + `="` + quoted.Replace(conf[key]) + `" `)
	}
	return text.String()
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$(", "$$(")

// daemonScript runs a daemon until it ends. It uses the daemon's start script, which the official images have, or else the daemon's class.
func daemonScript(script, class, arguments string) string {
	const sbin = "/opt/spark/sbin/"
	return "if [ -e " + sbin + script + " ]; then " +
		sbin + script + arguments + " && while " + sbin + "spark-daemon.sh status " + class + " 1; do sleep 1; done; " +
		"else exec /opt/spark/bin/spark-class " + class + arguments + "; fi"
}

// metadata returns the user's metadata for a role's object, with the operator's name and selector labels.
func (c cluster) metadata(wanted *metav1.ObjectMeta, name, roleName string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{}
	if wanted != nil {
		m = metadata(wanted)
	}
	m.Name, m.Namespace = name, c.Namespace
	m.Labels = with(m.Labels, map[string]string{
		v1.LabelOperator: OperatorName, v1.LabelClusterName: c.Name, spark.LabelVersion: c.Spec.RuntimeVersions.SparkVersion,
	})
	if roleName != "" {
		m.Labels[spark.LabelRole] = roleName
	}
	return m
}

// with returns the labels of both maps; the second wins.
func with(labels, more map[string]string) map[string]string {
	all := maps.Clone(labels)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, more)
	return all
}

// selected returns the selector labels of a role's pods.
func (c cluster) selected(roleName string) map[string]string {
	return map[string]string{v1.LabelClusterName: c.Name, spark.LabelRole: roleName}
}

// service returns the headless Service of a role's pods.
func (c cluster) service(r role) *corev1.Service {
	s := ptr.Deref(r.wanted.ServiceSpec.DeepCopy(), corev1.ServiceSpec{})
	s.ClusterIP = corev1.ClusterIPNone
	s.Selector = with(s.Selector, c.selected(r.name))
	for i := range s.Ports {
		if p := &s.Ports[i]; p.TargetPort == (intstr.IntOrString{}) {
			p.TargetPort = intstr.FromInt32(p.Port) // a 0 differs from the port that the API server stores, and would be applied repeatedly
		}
	}
	for _, p := range r.ports {
		s.Ports = append(s.Ports, corev1.ServicePort{Name: p.Name, Port: p.ContainerPort, TargetPort: intstr.FromString(p.Name)})
	}
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: c.metadata(r.wanted.ServiceMetadata, r.service, r.name), Spec: s,
	}
}

// statefulSet returns the StatefulSet of a role. Its selector includes the cluster's name, because a namespace may have several clusters.
func (c cluster) statefulSet(r role) *appsv1.StatefulSet {
	s := ptr.Deref(r.wanted.StatefulSetSpec.DeepCopy(), appsv1.StatefulSetSpec{})
	s.Replicas, s.PodManagementPolicy = &r.replicas, appsv1.ParallelPodManagement
	if r.governing != "" {
		s.ServiceName = r.governing
	}
	if s.Selector == nil {
		s.Selector = &metav1.LabelSelector{}
	}
	s.Selector.MatchLabels = with(s.Selector.MatchLabels, c.selected(r.name))
	c.pod(&s.Template, r)
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: c.metadata(r.wanted.StatefulSetMetadata, r.objects, r.name), Spec: s,
	}
}

// pod completes the template of a role's pods.
func (c cluster) pod(t *corev1.PodTemplateSpec, r role) {
	t.Labels = with(with(t.Labels, c.selected(r.name)), map[string]string{spark.LabelVersion: c.Spec.RuntimeVersions.SparkVersion})
	s := &t.Spec
	if s.SchedulerName = c.conf[spark.ConfSchedulerName]; s.SchedulerName == "" {
		s.SchedulerName = corev1.DefaultSchedulerName
	}
	if s.TerminationGracePeriodSeconds == nil {
		s.TerminationGracePeriodSeconds = new(int64)
	}
	if len(r.searches) > 0 {
		if s.DNSConfig == nil {
			s.DNSConfig = &corev1.PodDNSConfig{}
		}
		s.DNSConfig.Searches = append(s.DNSConfig.Searches, r.searches...)
	}
	c.container(s, r)
	for _, all := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range all {
			restrict(&all[i])
		}
	}
	t.Labels, t.Annotations = with(t.Labels, r.overlay.Labels), over(t.Annotations, r.overlay.Annotations)
	s.SchedulerName = cmp.Or(r.overlay.SchedulerName, s.SchedulerName)
	s.PriorityClassName = cmp.Or(s.PriorityClassName, r.overlay.PriorityClassName)
}

// over returns the annotations of both maps; the second wins. It returns nil if there are none.
func over(annotations, more map[string]string) map[string]string {
	if len(more) == 0 {
		return annotations
	}
	return with(annotations, more)
}

// restrict forbids privilege escalation, unless the user allows it.
func restrict(c *corev1.Container) {
	if c.SecurityContext == nil {
		c.SecurityContext = &corev1.SecurityContext{}
	}
	if c.SecurityContext.AllowPrivilegeEscalation == nil {
		c.SecurityContext.AllowPrivilegeEscalation = new(bool)
	}
}

// container completes the daemon's container, or adds it. The daemon's command is appended to the user's.
func (c cluster) container(s *corev1.PodSpec, r role) {
	i := slices.IndexFunc(s.Containers, func(c corev1.Container) bool { return c.Name == r.name })
	if i < 0 {
		i = len(s.Containers)
		s.Containers = append(s.Containers, corev1.Container{Name: r.name})
	}
	d := &s.Containers[i]
	if d.Image = c.conf[spark.ConfImage]; d.Image == "" {
		d.Image = clusterImage
	}
	d.Command, d.Args = append(d.Command, "bash"), append(d.Args, "-c", r.script)
	d.Ports = append(d.Ports, r.ports...)
	for _, e := range r.env {
		d.Env = withEnv(d.Env, e)
	}
}

// withEnv adds a variable. If the user also sets the variable, withEnv joins both values, because the API server accepts each name once.
func withEnv(env []corev1.EnvVar, e corev1.EnvVar) []corev1.EnvVar {
	for i := range env {
		if env[i].Name == e.Name && env[i].ValueFrom == nil {
			env[i].Value = strings.TrimSpace(env[i].Value + " " + e.Value)
			return env
		}
	}
	return append(env, e)
}

// networkPolicy admits the cluster's pods, the drivers of its applications and readers of metrics to the workers.
func (c cluster) networkPolicy() *networkingv1.NetworkPolicy {
	from := func(labels map[string]string) networkingv1.NetworkPolicyPeer {
		return networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: labels}}
	}
	rules := []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{
		from(map[string]string{v1.LabelClusterName: c.Name}), from(map[string]string{spark.LabelRole: spark.RoleDriver}),
	}}}
	if w := c.Spec.WorkerSpec; w != nil && w.NetworkPolicy != nil && len(w.NetworkPolicy.MetricsIngress) > 0 { // a rule without peers admits all sources
		rules = append(rules, networkingv1.NetworkPolicyIngressRule{
			From:  w.NetworkPolicy.MetricsIngress,
			Ports: []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(w.NetworkPolicy.MetricsPort))}},
		})
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: c.metadata(nil, c.worker.objects, ""),
		Spec:       networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: c.selected(RoleWorker)}, Ingress: rules},
	}
}

// autoscaler returns the workers' autoscaler. The user configures everything except its target and its bounds.
func (c cluster) autoscaler() *autoscalingv2.HorizontalPodAutoscaler {
	s := autoscalingv2.HorizontalPodAutoscalerSpec{
		Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ContainerResourceMetricSourceType, ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
			Name: corev1.ResourceCPU, Container: RoleWorker,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](30)},
		}}},
		Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: oneWorkerIn(60), ScaleDown: oneWorkerIn(600)},
	}
	if w := c.Spec.WorkerSpec; w != nil && w.HorizontalPodAutoscalerSpec != nil {
		s = *w.HorizontalPodAutoscalerSpec.DeepCopy()
	}
	size := c.Spec.ClusterTolerations.InstanceConfig
	s.MinReplicas, s.MaxReplicas = &size.MinWorkers, size.MaxWorkers
	s.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: c.worker.objects}
	return &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: c.metadata(nil, c.worker.objects+"-hpa", ""), Spec: s,
	}
}

func oneWorkerIn(seconds int32) *autoscalingv2.HPAScalingRules {
	return &autoscalingv2.HPAScalingRules{Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 1, PeriodSeconds: seconds}}}
}

// disruptionBudget keeps one worker running when nodes are drained.
func (c cluster) disruptionBudget() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: c.metadata(nil, c.worker.objects+"-pdb", ""),
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: c.selected(RoleWorker)}},
	}
}
