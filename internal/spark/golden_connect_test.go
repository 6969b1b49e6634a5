// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/test/golden"
)

// connectCase is case.json of a recorded Spark Connect server: what a user writes into sparkConf, and what the fields of
// its own become.
type connectCase struct {
	SparkConf [][2]string `json:"sparkConf"`
	Typed     [][2]string `json:"typed"`
	// Executors is how many of them the server has created.
	Executors int `json:"executors"`
}

// TestGoldenConnect compares the executors that Build expects of a server with those that real servers in client mode have
// created, started as Kubeflow's operator starts them. What is different is a rule with a name.
func TestGoldenConnect(t *testing.T) {
	corpus := golden.Open(t, "GOLDEN", "testdata/connect.zip")
	compared := 0
	used := map[string]bool{}
	for _, recorded := range corpus.Cases(t) {
		var c connectCase
		if corpus.Read(t, &c, recorded.Dir, "case.json"); c.Executors == 0 {
			continue // no server: GOLDEN names other recordings
		}
		for _, version := range recorded.Versions {
			t.Run(recorded.Dir+"/"+version, func(t *testing.T) {
				app := recordedServer(t, corpus, recorded, c, version)
				submission, err := Build(app, recordedIdentity(), profileOf(t, version))
				if err != nil {
					t.Fatal(err)
				}
				initial, _ := InitialExecutors(app)
				if got := int(submission.PodSets.Initial); got != c.Executors || int(initial) != got {
					t.Errorf("Build expects %d executors, the server has created %d", got, c.Executors)
				}
				for n := 1; n <= c.Executors; n++ {
					compareExecutor(t, corpus, app, submission, used, recorded.Dir, version, n)
					compared++
				}
			})
		}
	}
	for _, rule := range executorRules {
		if !used[rule.name] && compared > 0 {
			t.Errorf("the rule %q (%s) changes nothing: delete it", rule.name, rule.reason)
		}
	}
	t.Logf("%d recorded executors compared", compared)
}

func recordedIdentity() Identity {
	id := testIdentity()
	id.AppID = "spark-" + strings.Repeat("a", 32)
	return id
}

// recordedServer is the server of a case.
func recordedServer(t *testing.T, corpus golden.Corpus, recorded golden.Case, c connectCase, version string) Application {
	t.Helper()
	var result golden.Result
	corpus.Read(t, &result, recorded.Dir, version, "result.json")
	app := connectServerApp()
	app.Namespace, app.SparkVersion = "default", result.SparkVersion
	app.Conf[ConfImage] = "registry.example/spark:test"
	app.OperatorConf[ConfNamespace] = "default"
	delete(app.OperatorConf, ConfExecutorLabelPrefix+"of-object")
	for _, entry := range slices.Concat(c.SparkConf, c.Typed) {
		app.Conf[entry[0]] = entry[1]
	}
	if template, err := corpus.ReadFile(recorded.Dir, "files", "executor-pod-template.yaml"); err == nil {
		if app.Executor.Template, err = ParseTemplate(string(template)); err != nil {
			t.Fatal(err)
		}
		app.Conf[ConfExecTemplateContainer] = ExecutorContainerName
	}
	return app
}

// executorComparison is a recorded executor and what Build expects of it. Rules change one of them, or both.
type executorComparison struct {
	t          *testing.T
	app        Application
	submission Submission
	profile    Profile
	n          int

	recorded, expected *corev1.Pod
}

// container returns Spark's container, which executors have last.
func (c *executorComparison) container(pod *corev1.Pod) *corev1.Container {
	return &pod.Spec.Containers[len(pod.Spec.Containers)-1]
}

func compareExecutor(
	t *testing.T, corpus golden.Corpus, app Application, s Submission, used map[string]bool, dir, version string, n int,
) {
	t.Helper()
	c := &executorComparison{t: t, app: app, submission: s, profile: profileOf(t, version), n: n, recorded: &corev1.Pod{}}
	content, err := corpus.ReadFile(dir, version, "driver", fmt.Sprintf("pod-exec-%d.json", n))
	if err == nil {
		err = json.Unmarshal(content, c.recorded)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(resourcesOf(&c.recorded.Spec), s.PodSets.Executor, withoutParts); diff != "" {
		t.Errorf("what schedulers count (-recorded +expected):\n%s", diff)
	}
	if n == 1 {
		c.admission()
	}
	attributes := s.PodSets.ExecutorAttributes
	c.expected = s.Executor.DeepCopy()
	c.expected.Labels, c.expected.Annotations = maps.Clone(attributes.Labels), maps.Clone(attributes.Annotations)
	c.expected.Spec.NodeSelector, c.expected.Spec.SchedulerName = attributes.NodeSelector, attributes.SchedulerName
	for _, rule := range executorRules {
		recorded, expected := c.recorded.DeepCopy(), c.expected.DeepCopy()
		rule.apply(c)
		if !cmp.Equal(recorded, c.recorded) || !cmp.Equal(expected, c.expected) {
			used[rule.name] = true
		}
	}
	c.recorded.TypeMeta = metav1.TypeMeta{}
	if diff := cmp.Diff(c.recorded, c.expected, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("executor %d (-recorded +expected):\n%s", n, diff)
	}
}

// executorRules are all differences.
var executorRules = []struct {
	name, reason string
	apply        func(*executorComparison)
}{
	{"name prefix", "each attempt has its own, so that it does not meet the executors of the one before", func(c *executorComparison) {
		want := c.app.Name + "-" + recordedIdentity().NameID[:8]
		if got := c.submission.Properties[ConfExecutorPodNamePrefix]; got != want {
			c.t.Errorf("the prefix is %q, want %q", got, want)
		}
		c.expected.Name = c.app.Name + "-exec-" + strconv.Itoa(c.n)
		c.expected.Spec.Hostname = c.expected.Name
	}},
	{"application's name", "the server's name instead of the script's", func(c *executorComparison) {
		if got := c.submission.Driver.Labels[LabelAppName]; got != c.app.Name {
			c.t.Errorf("the name is %q, want %q", got, c.app.Name)
		}
		c.expected.Labels[LabelAppName] = "spark-connect-server"
	}},
	{"Spark's labels", "the server sets them itself, over those of the template", func(c *executorComparison) {
		for label, value := range map[string]string{
			LabelAppSelector: c.submission.Driver.Labels[LabelAppSelector], LabelVersion: c.app.SparkVersion,
			LabelRole: RoleExecutor, LabelExecID: strconv.Itoa(c.n), "spark-exec-resourceprofile-id": "0",
		} {
			c.expected.Labels[label] = value
		}
	}},
	{"placeholders", "the server knows the ids", func(c *executorComparison) {
		fill := strings.NewReplacer("{{APP_ID}}", recordedIdentity().AppID, "{{EXECUTOR_ID}}", strconv.Itoa(c.n))
		for name, value := range c.expected.Annotations {
			c.expected.Annotations[name] = fill.Replace(value)
		}
		for name, value := range c.expected.Labels {
			if c.profile.LabelPlaceholders {
				c.expected.Labels[name] = fill.Replace(value)
			}
		}
	}},
	{"owner", "the server owns its executors", func(c *executorComparison) {
		c.expected.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Pod", Name: c.submission.Driver.Name, Controller: new(true),
			UID: "00000000-0000-4000-8000-000000000001", // of the only pod that the recording API server had
		}}
	}},
	{"order of containers", "Spark puts its own last", func(c *executorComparison) {
		containers, i := c.expected.Spec.Containers, c.submission.ExecutorContainer
		own := containers[i]
		c.expected.Spec.Containers = append(slices.Delete(containers, i, i+1), own)
	}},
	{"end of the pod", "Spark's own values, over those of the template", func(c *executorComparison) {
		c.expected.Spec.RestartPolicy = corev1.RestartPolicyNever
		if c.profile.ConnectPort { // since 4.1
			c.expected.Spec.TerminationGracePeriodSeconds = new(int64(30))
		}
	}},
	{"account and pull secrets", "the server takes them from its configuration", func(c *executorComparison) {
		if account := c.app.Conf[ConfDriverServiceAccount]; account != "" {
			c.expected.Spec.ServiceAccountName, c.expected.Spec.DeprecatedServiceAccount = account, account
		}
		for _, name := range splitList(c.app.Conf[ConfImagePullSecrets]) {
			c.expected.Spec.ImagePullSecrets = append(c.expected.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
		}
	}},
	{"Spark's container", "the server adds what starts an executor, and replaces the image", func(c *executorComparison) {
		expected, recorded := c.container(c.expected), c.container(c.recorded)
		expected.Image, expected.ImagePullPolicy = c.app.Conf[ConfImage], corev1.PullIfNotPresent
		expected.Args = append(expected.Args, RoleExecutor)
		expected.Ports = append(expected.Ports, corev1.ContainerPort{Name: PortBlockManager, ContainerPort: defaultBlockManagerPort})
		recorded.Env = slices.DeleteFunc(recorded.Env, func(e corev1.EnvVar) bool { return strings.HasPrefix(e.Name, "SPARK_") })
		if c.app.Conf["spark.decommission.enabled"] == "true" {
			expected.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/opt/decom.sh"}}}}
		}
	}},
	{"configuration and scratch space", "the server makes the ConfigMap and the directory", func(c *executorComparison) {
		c.withoutVolumes("spark-conf-volume-exec", "spark-local-dir-1")
	}},
	{"variables, Secrets and volumes of properties", "the server reads these properties, nothing here does", func(c *executorComparison) {
		expected := c.container(c.expected)
		for key, value := range c.app.Conf {
			if name, ok := strings.CutPrefix(key, ConfExecutorEnvPrefix); ok {
				expected.Env = append(expected.Env, corev1.EnvVar{Name: name, Value: value})
			} else if name, ok := strings.CutPrefix(key, "spark.kubernetes.executor.secretKeyRef."); ok {
				secret, item, _ := strings.Cut(value, ":")
				expected.Env = append(expected.Env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
					SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: item},
				}})
			} else if name, ok := strings.CutPrefix(key, "spark.kubernetes.executor.secrets."); ok {
				c.withoutVolumes(name + "-volume")
			} else if rest, ok := strings.CutPrefix(key, ConfExecutorVolumesPrefix); ok && strings.HasSuffix(key, ".mount.path") {
				c.withoutVolumes(strings.Split(rest, ".")[1])
			}
		}
	}},
}

// admission compares what admission plugins and quotas read of ExecutorPod.
func (c *executorComparison) admission() {
	type read struct {
		Labels, Annotations, NodeSelector, Images map[string]string
		Account, Scheduler                        string
		Restart                                   corev1.RestartPolicy
		Secrets                                   []corev1.LocalObjectReference
		Volumes                                   []string
		Resources                                 PodResources
	}
	readOf := func(p *corev1.Pod) read {
		r := read{
			maps.Clone(p.Labels), p.Annotations, p.Spec.NodeSelector, map[string]string{}, p.Spec.ServiceAccountName, p.Spec.SchedulerName,
			p.Spec.RestartPolicy, p.Spec.ImagePullSecrets, nil, resourcesOf(&p.Spec),
		}
		delete(r.Labels, LabelAppName) // the server's name instead of the script's
		for i := range p.Spec.Containers {
			r.Images[p.Spec.Containers[i].Name] = p.Spec.Containers[i].Image
		}
		for i := range p.Spec.Volumes {
			if name := p.Spec.Volumes[i].Name; name != "spark-conf-volume-exec" && name != "spark-local-dir-1" {
				r.Volumes = append(r.Volumes, name)
			}
		}
		slices.Sort(r.Volumes)
		return r
	}
	made := NewReader(c.app, c.submission).ExecutorPod(c.submission)
	if diff := cmp.Diff(readOf(c.recorded), readOf(made), cmpopts.EquateEmpty(), withoutParts); diff != "" {
		c.t.Errorf("what admission reads of an executor (-recorded +expected):\n%s", diff)
	}
}

// withoutVolumes takes volumes and their mounts out of the recording, which must have them.
func (c *executorComparison) withoutVolumes(names ...string) {
	container := c.container(c.recorded)
	for _, name := range names {
		before := len(c.recorded.Spec.Volumes) + len(container.VolumeMounts)
		c.recorded.Spec.Volumes = slices.DeleteFunc(c.recorded.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
		container.VolumeMounts = slices.DeleteFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == name })
		if got := before - len(c.recorded.Spec.Volumes) - len(container.VolumeMounts); got != 2 {
			c.t.Errorf("the volume %s is not recorded once with one mount", name)
		}
	}
}
