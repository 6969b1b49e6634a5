// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/test/definitions"
)

const (
	migrationFixtures = "testdata/migration"
	migrationRelease  = "spark-operator"
	// kubeflowValues is a values file of Kubeflow's chart, with all of its keys.
	kubeflowValues = "../chart/testdata/kubeflow-values.yaml"
)

// migration is a cluster that Kubeflow's operator has left: its definitions, objects in all states, and a values file.
type migration struct {
	namespace    string // of the release
	folder       string
	env          []string // of the administrator's programs
	applications map[string]left
	schedules    left
	connect      left
	births       census
}

// define puts definitions into force, whatever is there.
func define(ctx context.Context, files ...string) {
	GinkgoHelper()
	for _, file := range files {
		text, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		var crd, there unstructured.Unstructured
		Expect(yaml.Unmarshal(text, &crd.Object)).To(Succeed())
		there.SetGroupVersionKind(crd.GroupVersionKind())
		Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the API server writes their status
			if admin.Get(ctx, client.ObjectKeyFromObject(&crd), &there) != nil {
				return admin.Create(ctx, &crd)
			}
			crd.SetResourceVersion(there.GetResourceVersion())
			return admin.Update(ctx, &crd)
		})).To(Succeed())
	}
}

// keepsOurs reports whether the definition in force has a field that only ours has.
func keepsOurs(ctx context.Context) bool {
	GinkgoHelper()
	o := &unstructured.Unstructured{}
	text, err := yaml.Marshal(sparkPi("default", "dry-run"))
	Expect(err).NotTo(HaveOccurred())
	Expect(yaml.Unmarshal(text, &o.Object)).To(Succeed())
	Expect(unstructured.SetNestedField(o.Object, "x", "status", "specHash")).To(Succeed())
	o.SetGroupVersionKind(v1beta2.GroupVersion.WithKind("SparkApplication"))
	err = client.WithFieldValidation(admin, metav1.FieldValidationStrict).Create(ctx, o, client.DryRunAll)
	if err != nil {
		Expect(err).To(MatchError(ContainSubstring(`unknown field "status.specHash"`)))
	}
	return err == nil
}

// run runs a command of the administrator.
func (m *migration) run(command string) string {
	GinkgoHelper()
	cmd := exec.CommandContext(context.Background(), "bash", "-o", "pipefail", "-c", command)
	cmd.Env = append(os.Environ(), m.env...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	Expect(cmd.Run()).To(Succeed(), func() string { return command + "\n" + out.String() + problems.String() })
	return out.String()
}

// begin leaves the cluster as Kubeflow's operator leaves it, with the administrator's programs.
func (m *migration) begin(ctx context.Context) {
	GinkgoHelper()
	theirs, err := definitions.Kubeflow.Paths(ctx, "../..")
	Expect(err).NotTo(HaveOccurred())
	define(ctx, theirs...)
	Eventually(keepsOurs, wait, poll).WithArguments(ctx).Should(BeFalse(), "Kubeflow's definition is in force")
	m.namespace = newNamespace(ctx)
	m.applications = restoreAll(ctx)
	m.schedules = restore(ctx, filepath.Join(migrationFixtures, "schedules.yaml"))
	m.connect = restore(ctx, filepath.Join(migrationFixtures, "connect.yaml"))
	m.births.begin(ctx)

	m.env = programs(ctx, m.folder)
}

// jobs are the namespaces of applications.
func (m *migration) jobs() []string {
	all := []string{m.schedules.namespace, m.connect.namespace}
	for _, w := range m.applications {
		all = append(all, w.namespace)
	}
	return slices.Sorted(slices.Values(all))
}

// install installs the chart with their values, unchanged but for the image and the namespaces of this test, and returns the notes.
func (m *migration) install(ctx context.Context) string {
	GinkgoHelper()
	notes := m.run(fmt.Sprintf("helm install %s ../../charts/spark-operator -n %s -f %s --set image.registry=example.com,image.repository=firesteel,image.tag=v1 --set 'spark.jobNamespaces={%s}'",
		migrationRelease, m.namespace, kubeflowValues, strings.Join(m.jobs(), ",")))
	// their failurePolicy is Fail, and no kubelet starts the webhook that would answer
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("admissionregistration.k8s.io/v1")
		o.SetKind(kind)
		o.SetName(migrationRelease + "-webhook")
		Expect(admin.Delete(ctx, o)).To(Succeed(), "the chart has made it")
	}
	return notes
}

// start runs the operator with the configuration that the chart has made of their values.
func (m *migration) start(ctx context.Context) {
	GinkgoHelper()
	var stored corev1.ConfigMap
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: m.namespace, Name: migrationRelease + "-controller-config"}, &stored)).To(Succeed())
	c, err := config.Parse([]byte(stored.Data["config.yaml"]))
	Expect(err).NotTo(HaveOccurred())
	Expect(c.Namespaces).To(ConsistOf(m.jobs()))
	// ports and the election are those of a pod
	c.Metrics.BindAddress, c.Health.BindAddress, c.LeaderElection.Enabled = "0", "0", false
	for key, value := range map[string]string{"POD_NAMESPACE": m.namespace, "POD_NAME": "operator", "POD_UID": "f3b1c2d4"} {
		GinkgoT().Setenv(key, value)
	}
	startConfigured(server.Config, c)
}

// warned reports whether the operator has warned of the definitions.
func (m *migration) warned(ctx context.Context) (bool, error) {
	var all eventsv1.EventList
	err := admin.List(ctx, &all, client.InNamespace(m.namespace))
	return slices.ContainsFunc(all.Items, func(e eventsv1.Event) bool {
		return e.Reason == "DefinitionsOutdated" && strings.Contains(e.Note, "SparkApplication lacks status.")
	}), err
}

// runs counts the runs of each schedule.
func (m *migration) runs(ctx context.Context) map[string]int {
	GinkgoHelper()
	var children v1beta2.SparkApplicationList
	Expect(admin.List(ctx, &children, client.InNamespace(m.schedules.namespace))).To(Succeed())
	found := map[string]int{}
	for i := range children.Items {
		found[children.Items[i].Labels[v1beta2.LabelScheduledAppName]]++
	}
	return found
}

// later are applications that do nothing before somebody acts.
var later = []string{"suspended", "suspended-new", "pending-rerun-invalidated"}

var _ = Describe("Switching from the Kubeflow operator", Ordered, func() {
	var (
		ctx   context.Context
		m     = &migration{}
		notes string
	)
	BeforeAll(func() {
		ctx = context.Background()
		m.folder = GinkgoT().TempDir()
		serverAlone()
		stopOperator()
		m.begin(ctx)
		notes = m.install(ctx)
	})

	It("installs over their definitions, and says that they are older", func() {
		Expect(keepsOurs(ctx)).To(BeFalse(), "the definition is theirs, still")
		Expect(notes).To(And(ContainSubstring("definition sparkapplications.sparkoperator.k8s.io exists already"), ContainSubstring("older than this chart needs")))
	})

	It("loses nothing and runs nothing twice with their definitions", func() {
		m.start(ctx)
		Eventually(m.warned, wait, poll).WithArguments(ctx).Should(BeTrue(), "the operator warns of the definitions")
		for name, want := range taken {
			w := m.applications[name]
			if !slices.Contains(later, name) {
				Eventually(func() []types.UID { return m.births.of(w.namespace) }, wait, poll).Should(HaveLen(want.drivers), "drivers of %s", name)
			}
			if want.then == nil {
				eventuallyState(ctx, w.namespace, "pi", want.state)
			}
			if kept[name] {
				Expect(driverPod(ctx, w.namespace, "pi-driver").UID).To(Equal(w.driver), "the driver of %s is the one from before", name)
			}
		}
		Eventually(func() []types.UID { return m.births.of(m.schedules.namespace) }, wait, poll).Should(HaveLen(1), "the driver of the run that was due")
	})

	It("goes on from every state once the command of the notes has updated them", func() {
		_, command, found := strings.Cut(notes, "it deletes no object:\n\n")
		Expect(found).To(BeTrue(), notes)
		command, _, _ = strings.Cut(strings.TrimSpace(command), "\n")
		stopOperator()
		m.run(strings.Replace(command, "CHART", "../../charts/spark-operator", 1))
		Eventually(keepsOurs, wait, poll).WithArguments(ctx).Should(BeTrue())
		m.start(ctx)
		for _, name := range slices.Sorted(maps.Keys(taken)) {
			By(name)
			want, w := taken[name], m.applications[name]
			s := want.happens(ctx, w)
			Expect(s.Conditions).NotTo(BeEmpty())
			Eventually(func() []types.UID { return m.births.of(w.namespace) }, wait, poll).Should(HaveLen(want.drivers), "driver pods created")
			if kept[name] {
				Expect(driverPod(ctx, w.namespace, "pi-driver").UID).To(Equal(w.driver), "the driver is the one from before")
			}
		}
	})

	It("keeps schedules and their runs", func() {
		const running = "yearly-1767225600000000000"
		ns := m.schedules.namespace
		pod := driverPod(ctx, ns, running+"-driver")
		Expect(pod.UID).To(Equal(m.schedules.driver))
		kubelet(ctx, pod, corev1.PodSucceeded, driverContainer, exited(0, "Completed"))
		eventuallyState(ctx, ns, running, v1beta2.ApplicationStateCompleted)
		Expect(m.runs(ctx)).To(Equal(map[string]int{"yearly": 3, "suspended": 1, "due": 1}), "the run that was due while no operator ran begins once")
		var schedules v1beta2.ScheduledSparkApplicationList
		Expect(admin.List(ctx, &schedules, client.InNamespace(ns))).To(Succeed())
		states := map[string]v1beta2.ScheduleState{}
		for i := range schedules.Items {
			states[schedules.Items[i].Name] = schedules.Items[i].Status.ScheduleState
		}
		Expect(states).To(Equal(map[string]v1beta2.ScheduleState{
			"yearly": v1beta2.ScheduleStateScheduled, "suspended": v1beta2.ScheduleStateScheduled, "unseen": v1beta2.ScheduleStateScheduled,
			"due": v1beta2.ScheduleStateScheduled, "refused": v1beta2.ScheduleStateFailedValidation,
		}))
		Expect(m.births.of(ns)).To(HaveLen(1), "nothing was run again")
	})

	It("goes on with a server as it is", func() {
		shared := &v1alpha1.SparkConnect{}
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: m.connect.namespace, Name: "shared"}, shared)).To(Succeed())
			g.Expect(shared.Status.Run).NotTo(BeNil(), "nobody has looked at it")
		}, wait, poll).Should(Succeed())
		status := shared.Status
		Expect(status.State).To(Equal(v1alpha1.SparkConnectStateReady))
		Expect(status.Server).To(Equal(v1alpha1.ServerStatus{PodName: "shared-server", PodIP: "10.0.0.78", ServiceName: "shared-server"}))
		Expect(status.StartTime.UTC().Format(time.RFC3339)).To(Equal("2026-01-02T03:04:05Z"))
		Expect(status.Run.Attempt).To(Equal(int32(1)))
		Expect(meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionServerPodReady)).To(BeTrue())

		var pod corev1.Pod
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: m.connect.namespace, Name: "shared-server"}, &pod)).To(Succeed())
		Expect(pod.UID).To(Equal(m.connect.driver), "the server was replaced")
		Expect(pods(ctx, m.connect.namespace)).To(ConsistOf("shared-server"))
		var service corev1.Service
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: m.connect.namespace, Name: "shared-server"}, &service)).To(Succeed())
		Expect(service.Spec.Ports).To(HaveLen(4))
		Expect(service.Spec.Selector).To(HaveKeyWithValue("spark-role", "connect-server"))
	})

	It("has created no driver too many in the end", func() {
		for name, want := range taken {
			Expect(m.births.of(m.applications[name].namespace)).To(HaveLen(want.drivers), name)
		}
	})
})
