// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// reasonWait is how soon a user is told what an application waits for; the issue says 10 seconds, and the machine is
// shared.
const reasonWait = 20 * time.Second

// script is an application whose driver runs a Python text.
func script(ctx context.Context, namespace, name, text string) *v1beta2.SparkApplication {
	GinkgoHelper()
	Expect(admin.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"main.py": text}})).To(Succeed())
	app := sparkPi(namespace, name)
	app.Spec.Type, app.Spec.MainClass = v1beta2.ApplicationTypePython, nil
	app.Spec.MainApplicationFile = ptr.To("local:///etc/job/main.py")
	app.Spec.Driver.ConfigMaps = []v1beta2.NamePath{{Name: name, Path: "/etc/job"}}
	return app
}

// allow makes a service account that may do what drivers do.
func allow(ctx context.Context, namespace, account string) {
	GinkgoHelper()
	Expect(admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}})).To(Succeed())
	change(ctx, client.ObjectKey{Namespace: namespace, Name: "spark-driver"}, func(binding *rbacv1.RoleBinding) {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account})
	})
}

func driverOf(ctx context.Context, app *v1beta2.SparkApplication) corev1.Pod {
	GinkgoHelper()
	var pod corev1.Pod
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-driver"}, &pod)).To(Succeed())
	return pod
}

func generation(ctx context.Context, app *v1beta2.SparkApplication) int64 {
	GinkgoHelper()
	var a v1beta2.SparkApplication
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(app), &a)).To(Succeed())
	return a.Generation
}

// change reads an object, changes it and writes it back, and does so again when someone else has written it meanwhile.
func change[T any, P interface {
	*T
	client.Object
}](ctx context.Context, key client.ObjectKey, how func(P)) {
	GinkgoHelper()
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		o := P(new(T))
		if err := admin.Get(ctx, key, o); err != nil {
			return err
		}
		how(o)
		return admin.Update(ctx, o)
	})).To(Succeed())
}

// edit changes the spec as a user does it: beside an operator that writes the status.
func edit(ctx context.Context, app *v1beta2.SparkApplication, how func(*v1beta2.SparkApplicationSpec)) {
	GinkgoHelper()
	change(ctx, client.ObjectKeyFromObject(app), func(a *v1beta2.SparkApplication) { how(&a.Spec) })
}

// eventuallyAttempt waits for a state of a certain attempt.
func eventuallyAttempt(ctx context.Context, app *v1beta2.SparkApplication, attempt int32, state v1beta2.ApplicationStateType) v1beta2.SparkApplicationStatus {
	GinkgoHelper()
	var s v1beta2.SparkApplicationStatus
	Eventually(func() string {
		s = statusOf(ctx, app)
		return fmt.Sprint(s.Attempt, " ", s.AppState.State)
	}, jobWait, poll).Should(Equal(fmt.Sprint(attempt, " ", state)), func() string { return evidence(app) })
	return s
}

// eventuallyReason waits for a condition's reason and a part of its sentence.
func eventuallyReason(ctx context.Context, app *v1beta2.SparkApplication, condition, reason, text string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		c := meta.FindStatusCondition(statusOf(ctx, app).Conditions, condition)
		g.Expect(c).NotTo(BeNil())
		g.Expect(c.Reason).To(Equal(reason), c.Message)
		g.Expect(c.Message).To(ContainSubstring(text))
	}, reasonWait, poll).Should(Succeed(), func() string { return evidence(app) })
}

// eventuallyExecutor waits for a running executor of another name than the given one.
func eventuallyExecutor(ctx context.Context, app *v1beta2.SparkApplication, not string) corev1.Pod {
	GinkgoHelper()
	var found corev1.Pod
	Eventually(func() bool {
		return slices.ContainsFunc(podsOf(ctx, app), func(p corev1.Pod) bool {
			found = p
			return p.Labels["spark-role"] == "executor" && p.Name != not && p.Status.Phase == corev1.PodRunning
		})
	}, jobWait, poll).Should(BeTrue(), func() string { return evidence(app) })
	return found
}

// drivers counts an application's driver pods through a watch: all that ever were, and how many there were at a time.
type drivers struct {
	mu     sync.Mutex
	now    map[types.UID]bool
	all    map[types.UID]bool
	record int
}

func watchDrivers(ctx context.Context, app *v1beta2.SparkApplication) *drivers {
	GinkgoHelper()
	w, err := admin.Watch(ctx, &corev1.PodList{}, client.InNamespace(app.Namespace))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.Stop)
	d := &drivers{now: map[types.UID]bool{}, all: map[types.UID]bool{}}
	go func() {
		for e := range w.ResultChan() {
			pod, ok := e.Object.(*corev1.Pod)
			if !ok || pod.Labels["spark-role"] != "driver" || !strings.HasPrefix(pod.Name, app.Name) {
				continue
			}
			d.mu.Lock()
			d.all[pod.UID] = true
			if d.now[pod.UID] = true; e.Type == watch.Deleted {
				delete(d.now, pod.UID)
			}
			d.record = max(d.record, len(d.now))
			d.mu.Unlock()
		}
	}()
	return d
}

func (d *drivers) most() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.record
}

func (d *drivers) seen() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.all)
}

// reachesNewExecutors edits where the executors of a running application run, and what their template marks them with. The one that
// follows a lost one is so, under the same driver.
func reachesNewExecutors(ctx context.Context, app *v1beta2.SparkApplication, executor corev1.Pod) {
	GinkgoHelper()
	By("editing where its executors run")
	driver := driverOf(ctx, app)
	edit(ctx, app, func(s *v1beta2.SparkApplicationSpec) {
		s.Executor.Tolerations = append(s.Executor.Tolerations, corev1.Toleration{Key: "edited", Operator: corev1.TolerationOpExists})
		s.Executor.Template.Labels = map[string]string{"edited": "yes"}
	})
	Eventually(func() string { return kubectl("get", "events", "-n", app.Namespace) }, jobWait, poll).Should(ContainSubstring("takes effect for new executors"))
	// A kubelet looks once a minute after what it has mounted, and at once when the pod changes.
	kubectl("annotate", "pod", driver.Name, "-n", app.Namespace, "hurry=yes")
	Eventually(func() string {
		return kubectl("exec", driver.Name, "-n", app.Namespace, "-c", "spark-kubernetes-driver", "--", "cat", "/opt/spark/pod-template/pod-spec-template.yml")
	}, jobWait, poll).Should(ContainSubstring("edited"))

	By("losing one")
	Expect(admin.Delete(ctx, &executor, client.GracePeriodSeconds(0))).To(Succeed())
	next := eventuallyExecutor(ctx, app, executor.Name)
	Expect(next.Labels).To(And(HaveKeyWithValue("edited", "yes"), Not(HaveKey("kept"))))
	Expect(next.Spec.Tolerations).To(ContainElement(HaveField("Key", "edited")))
	Expect(driverOf(ctx, app).UID).To(Equal(driver.UID))
	Expect(statusOf(ctx, app).ExecutorPlacement).To(HaveValue(And(HaveField("Outdated", false), HaveField("Problem", BeEmpty()))))
}
