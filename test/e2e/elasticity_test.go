// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// slot is the CPU request of each pod, and slots how many of them the places have.
const (
	slot  = 50
	slots = 11
)

// elasticPlace is a place of a scheduler's own that has room for so many pods.
type elasticPlace struct {
	scheduler, queue string
	// open makes the place.
	open func(ctx context.Context, b *externalSchedulers, namespace string)
	// used is the CPU that the scheduler says is used there, in thousandths.
	used func(ctx context.Context, namespace string) int64
	// held is what the scheduler keeps for the application beyond its pods, in words; "" for nothing.
	held func(ctx context.Context, app *v1beta2.SparkApplication) string
	// gang are the parameters by which executors start together, and full is what kubectl spark queue shows of the place, as an expression; ""
	// for nothing.
	gang, full string
	// left is what is there for applications of the namespace, whichever.
	left func(ctx context.Context, namespace string) []string
}

func limits() map[string]any { return map[string]any{"cpu": fmt.Sprintf("%dm", slot*slots)} }

// elasticPlaces are those of the three schedulers with groups.
func elasticPlaces() (volcano, coscheduling, yuniKorn elasticPlace) {
	volcano = elasticPlace{
		scheduler: "volcano", queue: "team-e",
		open: func(ctx context.Context, _ *externalSchedulers, _ string) {
			object(ctx, volcanoQueue, "", "team-e", map[string]any{"weight": int64(1), "capability": limits()})
		},
		used: func(ctx context.Context, _ string) int64 {
			return cpuOf(ctx, volcanoQueue, client.ObjectKey{Name: "team-e"}, "status", "allocated")
		},
		held: heldByGroup(volcanoGroup), left: groupsIn(volcanoGroup), gang: `{"executorGang":true}`,
		full: fmt.Sprintf(`(?m)^\* +Queue team-e +cpu +1 +%dm +%dm +0 +0 +%s$`, 8*slot, 11*slot, limits()["cpu"]),
	}
	coscheduling = elasticPlace{
		scheduler: "coscheduling",
		open: func(ctx context.Context, b *externalSchedulers, ns string) {
			b.startCoscheduling(ctx)
			all := limits()
			all["memory"] = "20Gi" // what it does not name has none
			object(ctx, elasticQuota, ns, "team-e", map[string]any{"min": all, "max": all})
		},
		used: func(ctx context.Context, ns string) int64 {
			return cpuOf(ctx, elasticQuota, client.ObjectKey{Namespace: ns, Name: "team-e"}, "status", "used")
		},
		held: heldByGroup(coschedulingGroup), left: groupsIn(coschedulingGroup),
	}
	const path = "queue/root.spark.team-e"
	yuniKorn = elasticPlace{
		scheduler: "yunikorn", queue: "root.spark.team-e",
		open: func(ctx context.Context, _ *externalSchedulers, _ string) {
			Eventually(func() string { return yunikorn(ctx, path) }, installWait, poll).Should(ContainSubstring(`"status":"Active"`))
		},
		used: func(ctx context.Context, _ string) int64 {
			found := regexp.MustCompile(`"allocatedResource":\{[^}]*"vcore":(\d+)`).FindStringSubmatch(yunikorn(ctx, path))
			if found == nil {
				return 0
			}
			cpu, err := strconv.ParseInt(found[1], 10, 64)
			Expect(err).NotTo(HaveOccurred())
			return cpu
		},
		held: func(ctx context.Context, app *v1beta2.SparkApplication) string {
			return strings.Join(placeholdersIn(ctx, app.Namespace), " ")
		},
		left: placeholdersIn,
	}
	return volcano, coscheduling, yuniKorn
}

// cpuOf reads an amount of CPU, in thousandths; 0 if there is none.
func cpuOf(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey, path ...string) int64 {
	GinkgoHelper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	Expect(admin.Get(ctx, key, u)).To(Succeed())
	text, found, err := unstructured.NestedString(u.Object, append(path, "cpu")...)
	Expect(err).NotTo(HaveOccurred())
	if !found {
		return 0
	}
	cpu, err := resource.ParseQuantity(text)
	Expect(err).NotTo(HaveOccurred())
	return cpu.MilliValue()
}

// heldByGroup is whether a group asks for more than the driver, which always runs.
func heldByGroup(kind schema.GroupVersionKind) func(context.Context, *v1beta2.SparkApplication) string {
	return func(ctx context.Context, app *v1beta2.SparkApplication) string {
		group, err := groupOf(ctx, app, kind)
		Expect(err).NotTo(HaveOccurred())
		member, _, err := unstructured.NestedInt64(group.Object, "spec", "minMember")
		Expect(err).NotTo(HaveOccurred())
		if cpu := cpuOf(ctx, kind, client.ObjectKeyFromObject(group), "spec", "minResources"); cpu > slot || member > 1 {
			return fmt.Sprintf("%s of at least %d members and %dm CPU", group.GetName(), member, cpu)
		}
		return ""
	}
}

func groupsIn(kind schema.GroupVersionKind) func(context.Context, string) []string {
	return func(ctx context.Context, ns string) []string {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		Expect(admin.List(ctx, list, client.InNamespace(ns))).To(Succeed())
		names := make([]string, 0, len(list.Items))
		for i := range list.Items {
			names = append(names, list.Items[i].GetName())
		}
		return names
	}
}

// placeholdersIn are the pods that are not Spark's.
func placeholdersIn(ctx context.Context, ns string) []string {
	var pods corev1.PodList
	Expect(admin.List(ctx, &pods, client.InNamespace(ns))).To(Succeed())
	names := []string{}
	for i := range pods.Items {
		if pods.Items[i].Labels["spark-role"] == "" {
			names = append(names, pods.Items[i].Name)
		}
	}
	return names
}

// running is how many executors of an application run, by its pods and by its status; -1 if these differ.
func running(ctx context.Context, app *v1beta2.SparkApplication) int {
	pods, known := 0, 0
	for _, pod := range podsOf(ctx, app) {
		if pod.Labels["spark-role"] == "executor" && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			pods++
		}
	}
	for _, state := range statusOf(ctx, app).ExecutorState {
		if state == v1beta2.ExecutorStateRunning {
			known++
		}
	}
	if pods != known {
		return -1
	}
	return pods
}

// small makes a pod of either role a slot.
func small(app *v1beta2.SparkApplication) *v1beta2.SparkApplication {
	request := fmt.Sprintf("%dm", slot)
	app.Spec.Driver.CoreRequest, app.Spec.Executor.CoreRequest = &request, &request
	app.Spec.Executor.MemoryOverhead = ptr.To("256m")
	return app
}

// elastic is an application whose stages have so many tasks, each of which holds an executor.
func elastic(ctx context.Context, ns string, most, fewest int32, stages ...string) *v1beta2.SparkApplication {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("testdata", "stages.py"))
	Expect(err).NotTo(HaveOccurred())
	app := small(script(ctx, ns, "elastic", string(text)))
	app.Spec.Arguments = stages
	app.Spec.Executor.Instances = nil
	app.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{
		Enabled: true, InitialExecutors: &most, MinExecutors: &fewest, MaxExecutors: &most, ShuffleTrackingTimeout: ptr.To[int64](2000),
	}
	app.Spec.SparkConf = map[string]string{
		"spark.dynamicAllocation.executorIdleTimeout":          "10s",
		"spark.scheduler.minRegisteredResourcesRatio":          "0", // the first stage takes the executors as they come: none is idle
		"spark.kubernetes.allocation.batch.delay":              "200ms",
		"spark.kubernetes.dynamicAllocation.deleteGracePeriod": "1s",
	}
	return app
}

// elasticitySpecs are for the container that runs the schedulers.
func elasticitySpecs(ctx context.Context, b func() *externalSchedulers) {
	volcano, coscheduling, yuniKorn := elasticPlaces()
	DescribeTable("follows dynamic allocation from 10 executors to 2 and to 8", Label(exhaustive), func(place *elasticPlace) {
		ns := newNamespace(ctx, "elastic")
		place.open(ctx, b(), ns)
		first := through(elastic(ctx, ns, 10, 2, "10", "2", "8"), place.scheduler, place.queue)
		has := func(app *v1beta2.SparkApplication, executors int) {
			GinkgoHelper()
			Eventually(func() int { return running(ctx, app) }).Should(Equal(executors), func() string { return evidence(app) })
		}
		reaches := func(stage, executors int) {
			GinkgoHelper()
			has(first, executors)
			words := fmt.Sprintf("stage %d holds %d executors\n", stage, executors)
			Eventually(func() string { return driverLog(ctx, first) }).Should(ContainSubstring(words), "Spark has executors")
			has(first, executors)
		}
		uses := func(pods int64) {
			GinkgoHelper()
			Eventually(func() int64 { return place.used(ctx, ns) }).Should(Equal(pods*slot), "CPU by the word of %s", place.scheduler)
		}
		holdsNothing := func(app *v1beta2.SparkApplication) {
			GinkgoHelper()
			Eventually(func() string { return place.held(ctx, app) }).Should(BeEmpty(), "more than pods")
		}

		By("running 10 executors")
		Expect(admin.Create(ctx, first)).To(Succeed())
		reaches(1, 10)
		uses(11)
		holdsNothing(first)

		By("letting a gang of 8 wait for the room")
		second := small(through(script(ctx, ns, "gang", untilTold), place.scheduler, place.queue))
		second.Spec.Executor.Instances = ptr.To[int32](7)
		if place.gang != "" {
			second.Spec.BatchSchedulerOptions.Parameters = &runtime.RawExtension{Raw: []byte(place.gang)}
		}
		Expect(admin.Create(ctx, second)).To(Succeed())
		Eventually(func() string { text, _ := plugin(ctx, "queue", "-n", ns); return text }).Should(And(MatchRegexp(ns+` +gang +`+place.scheduler), MatchRegexp(place.full)))
		Consistently(func() int64 { return place.used(ctx, ns) }).Should(BeEquivalentTo(11 * slot))

		By("shrinking to 2 executors")
		signal(first, "1")
		reaches(2, 2)
		has(second, 7)
		uses(11)
		holdsNothing(first)

		By("growing to 8 executors, beside the gang at first")
		signal(first, "2")
		Eventually(func() int { return len(podsOf(ctx, first)) }).Should(BeNumerically(">", 3), "executors that wait")
		signal(second, "end")
		eventuallyState(ctx, second, v1beta2.ApplicationStateCompleted)
		reaches(3, 8)
		uses(9)
		holdsNothing(first)

		By("ending")
		signal(first, "3")
		eventuallyState(ctx, first, v1beta2.ApplicationStateCompleted)
		Expect(driverLog(ctx, first)).To(ContainSubstring("stage 3 of 8: 2\n"))
		Eventually(func() []string { return place.left(ctx, ns) }).Should(BeEmpty())
		uses(0)
		text, _ := plugin(ctx, "queue", "-n", ns)
		Expect(text).To(ContainSubstring("No application and no cluster waits."))
	},
		Entry("volcano", &volcano),
		Entry("coscheduling", &coscheduling),
		Entry("yunikorn", &yuniKorn),
	)
}
