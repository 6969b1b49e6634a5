// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// Real Spark jobs through the real schedulers, all of which run at the same time beside the node's own. What they say and how long
// they let wait is held by test/schedulers, against the same programs.
var _ = Describe("A batch scheduler", longest, Ordered, ContinueOnFailure, func() {
	ctx := context.Background()
	var b *externalSchedulers

	BeforeAll(func() {
		b = newExternalSchedulers(ctx)
		b.startVolcano(ctx)
		b.startYuniKorn(ctx)
	})
	AfterEach(func() {
		if CurrentSpecReport().Failed() {
			GinkgoWriter.Println(b.tails())
		}
	})

	// runs waits until driver and executor of an application run where the scheduler has put them.
	runs := func(app *v1beta2.SparkApplication, scheduler string) {
		GinkgoHelper()
		executor := eventuallyExecutor(ctx, app, "")
		Expect(executor.Spec.SchedulerName).To(Equal(scheduler))
		Expect(driverOf(ctx, app).Spec.SchedulerName).To(Equal(scheduler))
	}

	// waits checks all places in which a user looks for why the application waits.
	waits := func(app *v1beta2.SparkApplication, reason, sentence string) {
		GinkgoHelper()
		said, _, _ := strings.Cut(sentence, freeWord)
		eventuallyReason(ctx, app, "Admitted", reason, said)
		words := anyFree(sentence)
		s := statusOf(ctx, app)
		Expect(s.Scheduling).NotTo(BeNil())
		Expect(s.Scheduling.Message).To(MatchRegexp("^" + words + "$"))
		Expect(s.Scheduling).To(And(HaveField("Reason", reason), HaveField("QueuedAt", Not(BeNil())), HaveField("AdmittedAt", BeNil())))
		Expect(s.AppState.State).To(Equal(v1beta2.ApplicationStateSubmitted), "tools poll for it")
		Expect(podsOf(ctx, app)).To(BeEmpty(), "the driver is held back")

		Eventually(func() int { return countEvents(ctx, app, sentence) }, reasonWait, poll).Should(Equal(1), "one event")
		text, code := plugin(ctx, "queue", "-n", app.Namespace)
		Expect(code).To(BeZero(), text)
		queue := s.Scheduling.Queue
		if queue == "" {
			queue = "-"
		}
		Expect(text).To(MatchRegexp(`(?m)^` + app.Namespace + ` +` + app.Name + ` +` + s.Scheduling.Scheduler + ` +` + queue + ` +\S+ +\w+ +` + reason + ` +` + words + `$`))
		text, code = plugin(ctx, "explain", app.Name, "-n", app.Namespace)
		Expect(code).To(BeZero(), text)
		Expect(text).To(And(MatchRegexp("waits for its driver: "+words), MatchRegexp("Decision   wait: "+words)))
		Expect(kubectl("get", "sparkapplications.sparkoperator.k8s.io", "-n", app.Namespace, app.Name, "-o", "wide")).To(MatchRegexp(`QUEUE +REASON\n.*` + reason + `\n`))
	}

	// ends checks that an application completes, with nothing left of its waits.
	ends := func(app *v1beta2.SparkApplication) {
		GinkgoHelper()
		s := eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		Expect(driverLog(ctx, app)).To(ContainSubstring("Pi is roughly 3.1"))
		Expect(s.ExecutionAttempts).To(BeEquivalentTo(1))
		Expect(s.Scheduling).To(And(HaveField("AdmittedAt", Not(BeNil())), HaveField("Reason", BeEmpty()), HaveField("Message", BeEmpty())))
	}

	It("volcano runs driver and executors as a group of a queue", func() {
		ns := newNamespace(ctx, "volcano")
		object(ctx, volcanoQueue, "", "team-v", map[string]any{"weight": int64(1), "capability": map[string]any{"cpu": "300m"}})
		app := through(sparkPi(ns, "spark-pi", "100"), "volcano", "team-v")
		priority := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "team-v"}, Value: 7}
		Expect(admin.Create(ctx, priority)).To(Succeed())
		DeferCleanup(func() { Expect(admin.Delete(ctx, priority)).To(Succeed()) })
		app.Spec.BatchSchedulerOptions.PriorityClassName = &priority.Name
		app.Spec.DriverPodDisruptionBudget = ptr.To(true)
		Expect(admin.Create(ctx, app)).To(Succeed())
		runs(app, "volcano")
		group, err := groupOf(ctx, app, volcanoGroup)
		Expect(err).NotTo(HaveOccurred())
		Expect(driverOf(ctx, app).Annotations).To(HaveKeyWithValue("scheduling.k8s.io/group-name", group.GetName()))
		Expect(group.GetOwnerReferences()).To(ContainElement(HaveField("Name", app.Name)))
		member, _, err := unstructured.NestedInt64(group.Object, "spec", "minMember")
		Expect(err).NotTo(HaveOccurred())
		Expect(member).To(BeEquivalentTo(1))
		class, _, err := unstructured.NestedString(group.Object, "spec", "priorityClassName")
		Expect(err).NotTo(HaveOccurred())
		Expect(class).To(Equal(priority.Name))
		exposed := func() []string {
			var names []string
			for _, list := range []client.ObjectList{&networkingv1.IngressList{}, &policyv1.PodDisruptionBudgetList{}} {
				Expect(admin.List(ctx, list, client.InNamespace(ns))).To(Succeed())
				Expect(meta.EachListItem(list, func(o runtime.Object) error {
					names = append(names, o.(client.Object).GetName())
					return nil
				})).To(Succeed())
			}
			return names
		}
		Eventually(exposed, jobWait, poll).Should(ConsistOf(app.Name+"-ui-ingress", app.Name+"-driver"))
		ends(app)
		Eventually(func() bool {
			_, err := groupOf(ctx, app, volcanoGroup)
			return apierrors.IsNotFound(err)
		}, jobWait, poll).Should(BeTrue(), "the group is gone with the attempt")
	})

	It("volcano runs as a group what names it on its pods only, as applications of spark.apache.org do", func() {
		object(ctx, volcanoQueue, "", "team-w", map[string]any{"weight": int64(1)})
		app := apachePi(newNamespace(ctx, "volcano"), "pi", "10")
		maps.Copy(app.Spec.SparkConf, map[string]string{
			"spark.kubernetes.scheduler.name": "volcano", "spark.kubernetes.driver.annotation.scheduling.volcano.sh/queue-name": "team-w",
			"spark.kubernetes.executor.annotation.scheduling.volcano.sh/queue-name": "team-w",
		})
		Expect(admin.Create(ctx, app)).To(Succeed())
		groups := func() []unstructured.Unstructured {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(volcanoGroup)
			Expect(admin.List(ctx, list, client.InNamespace(app.Namespace))).To(Succeed())
			return list.Items
		}
		ofRole := func(role string) func() []corev1.Pod {
			return func() []corev1.Pod {
				return slices.DeleteFunc(apachePods(ctx, app), func(p corev1.Pod) bool { return p.Labels["spark-role"] != role || p.Spec.NodeName == "" })
			}
		}
		Eventually(ofRole("executor"), jobWait, poll).Should(HaveLen(1))
		Expect(groups()).To(HaveLen(1))
		group := groups()[0]
		Expect(group.Object["spec"]).To(And(HaveKeyWithValue("queue", "team-w"), HaveKey("minResources")))
		for _, pod := range append(ofRole("driver")(), ofRole("executor")()...) {
			Expect(pod.Spec.SchedulerName).To(Equal("volcano"))
			Expect(pod.Annotations).To(HaveKeyWithValue("scheduling.k8s.io/group-name", group.GetName()), pod.Name)
		}
		eventuallyApache(ctx, app, toRun+" Succeeded ResourceReleased")
		Eventually(groups, jobWait, poll).Should(BeEmpty(), "the group is gone with the attempt")
	})

	It("yunikorn runs driver and executors as one application of its own", func() {
		app := through(script(ctx, newNamespace(ctx, "yunikorn"), "spark-pi", untilTold), "yunikorn", "root.spark.team-y")
		Expect(admin.Create(ctx, app)).To(Succeed())
		runs(app, "yunikorn")
		id := driverOf(ctx, app).Labels["yunikorn.apache.org/app-id"]
		Expect(id).To(MatchRegexp(`^spark-[0-9a-z]+-1$`), "of this attempt")
		for _, pod := range podsOf(ctx, app) {
			Expect(pod.Labels).To(And(HaveKeyWithValue("yunikorn.apache.org/app-id", id), HaveKeyWithValue("yunikorn.apache.org/queue", "root.spark.team-y")), pod.Name)
		}
		Expect(yunikorn(ctx, "queue/root.spark.team-y/application/"+id)).To(And(ContainSubstring(`"applicationState":"Running"`), MatchRegexp(`"taskGroupName":"driver","count":1,[^}]*},"replaced":1`)), "the gang's room was held")
		signal(app, "end")
		ends(app)
		Eventually(func() string { return yunikorn(ctx, "queue/root.spark.team-y/application/"+id) }, jobWait, poll).Should(ContainSubstring(`"applicationState":"Comple`))
	})

	It("yunikorn runs both kinds of spark.apache.org that name it on their pods (pi-on-yunikorn.yaml, cluster-on-yunikorn.yaml)", Label(exhaustive), func() {
		const queue = "root.spark.team-y"
		placed := func(pods []corev1.Pod) {
			GinkgoHelper()
			for _, pod := range pods {
				Expect(pod.Spec.SchedulerName).To(Equal("yunikorn"), pod.Name)
				Expect(pod.Labels).To(HaveKeyWithValue("queue", queue), pod.Name)
			}
		}
		app := apacheBehaves(newNamespace(ctx, "yunikorn"), "pi", "sleep", "20")
		maps.Copy(app.Spec.SparkConf, map[string]string{
			"spark.kubernetes.scheduler.name": "yunikorn", "spark.kubernetes.driver.label.queue": queue, "spark.kubernetes.executor.label.queue": queue,
		})
		Expect(admin.Create(ctx, app)).To(Succeed())
		pods := func() []corev1.Pod { return apachePods(ctx, app) }
		Eventually(pods, jobWait, poll).Should(And(HaveLen(2), HaveEach(HaveField("Status.Phase", corev1.PodRunning))), func() string { return apacheEvidence(app) })
		placed(pods())
		id := pods()[0].Labels["yunikorn.apache.org/app-id"]
		Expect(yunikorn(ctx, "queue/"+queue+"/application/"+id)).To(ContainSubstring(`"applicationState":"Running"`))
		eventuallyApache(ctx, app, toRun+" Succeeded ResourceReleased")

		o := standalone(newNamespace(ctx, "yunikorn"))
		o.Spec.SparkConf["spark.kubernetes.scheduler.name"] = "yunikorn"
		for _, role := range []*v1.RoleObjects{&o.Spec.MasterSpec.RoleObjects, &o.Spec.WorkerSpec.RoleObjects} {
			role.StatefulSetSpec.Template.Labels = map[string]string{"queue": queue}
		}
		Expect(admin.Create(ctx, o)).To(Succeed())
		eventuallyClusterReady(ctx, o, "master: 1 of 1 ready, workers: 2 of 2 ready")
		list := &corev1.PodList{}
		Expect(admin.List(ctx, list, client.InNamespace(o.Namespace), client.MatchingLabels{v1.LabelClusterName: o.Name})).To(Succeed())
		Expect(list.Items).To(HaveLen(3))
		placed(list.Items)
	})

	It("coscheduling is waited for until it is installed, and applies an ElasticQuota", func() {
		ns := newNamespace(ctx, "cosched")
		app, second := through(script(ctx, ns, "first", untilTold), "coscheduling", ""), through(sparkPi(ns, "second", "10"), "coscheduling", "")
		Expect(admin.Create(ctx, app)).To(Succeed())
		const missing = "coscheduling is not installed: the API server has no PodGroup of scheduling.x-k8s.io v1alpha1; " +
			"install the CRDs, the controller and the scheduler of kubernetes-sigs/scheduler-plugins (coscheduling)"
		waits(app, "SchedulerNotInstalled", missing)

		By("installing it")
		b.startCoscheduling(ctx)
		limits := map[string]any{"cpu": "300m", "memory": "8Gi"}
		object(ctx, elasticQuota, ns, "team-c", map[string]any{"min": limits, "max": limits})
		runs(app, "coscheduling-quota")
		group, err := groupOf(ctx, app, coschedulingGroup)
		Expect(err).NotTo(HaveOccurred())
		Expect(driverOf(ctx, app).Labels).To(HaveKeyWithValue("scheduling.x-k8s.io/pod-group", group.GetName()))

		By("waiting for the quota")
		Expect(admin.Create(ctx, second)).To(Succeed())
		waits(second, "WaitingForQuota", "waiting for quota in namespace "+ns+": cpu asked 200m, free 100m of 300m (ElasticQuota team-c) (coscheduling)")
		Expect(admin.Delete(ctx, second)).To(Succeed())
		signal(app, "end")
		ends(app)
		Eventually(func() bool {
			_, err := groupOf(ctx, app, coschedulingGroup)
			return apierrors.IsNotFound(err)
		}, jobWait, poll).Should(BeTrue(), "the group is gone with the attempt")
	})

	elasticitySpecs(ctx, func() *externalSchedulers { return b })
})
