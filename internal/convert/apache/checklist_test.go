// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// What those who replace Apache's operator rely on, a test for each. The two versions of the API are tested in api/spark/v1, on a real API
// server and over the recorded manifests; what has a test of its own is not repeated: finalizers, take-over, suspension.

func restarting(s *v1.SparkApplicationSpec) {
	s.ApplicationTolerations = &v1.ApplicationTolerations{RestartConfig: &v1.RestartConfig{
		RestartPolicy: v1.RestartOnFailure, MaxRestartAttempts: new(int64(1)), RestartBackoffMillis: new(int64(1500)),
	}}
}

// failsTwice plays an application whose driver fails, and fails again.
func failsTwice(t *testing.T, conf string) *world {
	t.Helper()
	r := own(restarting)
	r.conf = conf
	w := newWorld(t, r)
	for range 2 {
		w.pass(5 * time.Second)
		w.play(driverIs("ready"))
		w.pass(time.Second)
		w.play(driverIs("failed"))
	}
	w.pass(5 * time.Second)
	return w
}

// Tools read a map whose keys are numbers from "0" on, which go on over attempts, and times in UTC with a Z.
func TestHistoryOfStates(t *testing.T) {
	const attempt = " DriverRequested DriverStarted DriverReady RunningHealthy Failed"
	const all = "Submitted" + attempt + " ScheduledToRestart" + attempt + " ResourceReleased"
	for name, tc := range map[string]struct {
		conf           string
		first, current int // the first key of the map, and how many states it has
	}{
		"trimmed": {"fast", 6, 7}, "whole": {"notrim", 0, 13},
	} {
		t.Run(name, func(t *testing.T) {
			w := failsTwice(t, tc.conf)
			w.expect(all)
			h := w.last.StateTransitionHistory
			if _, there := h[strconv.Itoa(tc.first)]; !there || len(h) != tc.current {
				t.Errorf("the history has %v", slices.Sorted(maps.Keys(h)))
			}
			for key, state := range h {
				if at := instantOf(state.LastTransitionTime); at.IsZero() || !strings.HasSuffix(state.LastTransitionTime, "Z") {
					t.Errorf("state %s has the time %q", key, state.LastTransitionTime)
				}
			}
			if diff := cmp.Diff(&v1.AttemptInfo{ID: 1, RestartCounter: 1, FailureRestartCounter: 1}, attemptOf(w.last.CurrentAttemptSummary)); diff != "" {
				t.Errorf("attempt (-want +got):\n%s", diff)
			}
			if trimmed := len(w.last.PreviousAttemptSummary.StateTransitionHistory) > 0; trimmed != (tc.first > 0) {
				t.Errorf("the attempt before: %+v", w.last.PreviousAttemptSummary)
			}
		})
	}
}

// Monitoring, NetworkPolicies and scripts select by these labels, and clients know the Service of a driver by its name. The application owns
// the driver, and the driver the rest.
func TestNamesAndLabels(t *testing.T) {
	w := newWorld(t, own(nil))
	w.pass(time.Second)
	want := []string{"ConfigMap demo-0-spark-drv-conf-map", "NetworkPolicy demo-0-policy", "Pod demo-0-driver", "Service demo-0-driver-svc"}
	if diff := cmp.Diff(want, w.names()); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	driver := w.driver()
	for key, value := range map[string]string{
		"spark.operator/name": "spark-kubernetes-operator", "spark.operator/spark-app-name": "demo", "spark-role": "driver", "spark-version": "4.1.4",
		"spark-app-selector": "demo-0", "spark-app-name": "spark",
	} {
		if got := driver.Labels[key]; got != value {
			t.Errorf("the driver has the label %s: %q, want %q", key, got, value)
		}
	}
	for _, o := range w.objects() {
		refs := o.GetOwnerReferences()
		if len(refs) != 1 || o.GetKind() == "Pod" && refs[0].UID != "app" || o.GetKind() != "Pod" && refs[0].UID != driver.UID {
			t.Errorf("%s %s belongs to %+v", o.GetKind(), o.GetName(), refs)
		}
	}
}

// Users rely on what is set where they say nothing, and override it.
func TestInjectedProperties(t *testing.T) {
	keys := []string{
		"spark.authenticate", "spark.io.encryption.enabled", "spark.kubernetes.driver.annotateExitException", "spark.kubernetes.executor.useDriverPodIP",
		"spark.kubernetes.executor.deleteOnTermination",
	}
	conf := func(change func(*v1.SparkApplicationSpec)) map[string]string {
		app, _ := Normalize(own(change).app)
		return app.Conf
	}
	usual := conf(nil)
	for i, want := range []string{"true", "true", "true", "true", "false"} {
		if usual[keys[i]] != want {
			t.Errorf("%s is %q, want %q", keys[i], usual[keys[i]], want)
		}
	}
	if kept, set := conf(restarting)[keys[4]]; set {
		t.Errorf("with another attempt %s is %q", keys[4], kept)
	}
	own := conf(func(s *v1.SparkApplicationSpec) {
		s.SparkConf["spark.authenticate"] = "false"
		s.SparkConf["spark.kubernetes.driver.container.image"], s.SparkConf["spark.image"] = "a:{{SPARK_VERSION}}", "b:{{SPARK_VERSION}}"
	})
	if own["spark.authenticate"] != "false" || own["spark.kubernetes.driver.container.image"] != "a:4.1.4" || own["spark.image"] != "b:{{SPARK_VERSION}}" {
		t.Errorf("%v", own)
	}
	ofCluster := conf(func(s *v1.SparkApplicationSpec) { s.SparkConf["spark.master"] = "spark://lab-master-svc:7077" })
	if set, is := ofCluster["spark.authenticate"]; is || ofCluster["spark.master"] != "spark://lab-master-svc:7077" {
		t.Errorf("a driver of a standalone cluster has no secret, and spark.authenticate %q: %v", set, ofCluster)
	}
}

// Of a cluster the version is put into the image of its pods, and nowhere else.
func TestImageOfCluster(t *testing.T) {
	o := &v1.SparkCluster{}
	o.Name, o.Spec.RuntimeVersions.SparkVersion = "lab", "4.1.4"
	o.Spec.SparkConf = map[string]string{spark.ConfImage: "a:{{SPARK_VERSION}}", "spark.kubernetes.driver.container.image": "b:{{SPARK_VERSION}}"}
	for _, r := range clusterBuilt(o, nil).Roles {
		d := r.Pod.Spec.Containers[0]
		if d.Image != "a:4.1.4" || !strings.Contains(d.Env[len(d.Env)-1].Value, `-Dspark.kubernetes.driver.container.image="b:{{SPARK_VERSION}}"`) {
			t.Errorf("%s: image %s, %v", r.Name, d.Image, d.Env)
		}
	}
}

// A driver of an earlier attempt that is still being deleted is waited for, and never taken for that of the next.
func TestEarlierDriverIsWaitedFor(t *testing.T) {
	w := newWorld(t, own(restarting))
	w.pass(time.Second)
	old := w.driver()
	old.Finalizers = []string{"example.org/slow"}
	if err := w.client.Update(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	w.play(driverIs("failed"))
	w.pass(5 * time.Second)
	w.expect("Submitted DriverRequested Failed ScheduledToRestart")
	old = w.driver()
	old.Finalizers = nil
	if err := w.client.Update(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	w.pass(5 * time.Second)
	w.expect("Submitted DriverRequested Failed ScheduledToRestart DriverRequested")
	if w.driver().Name != "demo-1-driver" {
		t.Errorf("%v", w.names())
	}
}

// Whose name it is, counts: a pod or ConfigMap of others is neither used nor deleted.
func TestObjectsOfOthers(t *testing.T) {
	for _, theirs := range []string{"Pod demo-0-driver", "ConfigMap demo-0-spark-drv-conf-map", "ConfigMap settings"} {
		t.Run(theirs, func(t *testing.T) {
			r := own(func(s *v1.SparkApplicationSpec) { s.ConfigMapSpecs = []v1.ConfigMapSpec{{Name: "settings"}} })
			kind, name, _ := strings.Cut(theirs, " ")
			r.before = []map[string]any{{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"namespace": "jobs", "name": name}}}
			w := newWorld(t, r)
			w.pass(time.Minute)
			w.expect("Submitted")
			if diff := cmp.Diff([]string{theirs}, w.names()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Only the container that runs Spark is judged: the first of the driver's template, if no property names another.
func TestSidecarsAreNotJudged(t *testing.T) {
	w := newWorld(t, own(func(s *v1.SparkApplicationSpec) {
		s.DriverSpec = &v1.RoleSpec{PodTemplateSpec: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "spark-here"}, {Name: "proxy", Image: "proxy"}}}}}
	}))
	w.pass(time.Second)
	w.play(driverIs("ready"))
	w.pass(time.Second)
	w.play(recordedStep{Do: "driver", Status: "terminated", Container: "proxy"})
	w.pass(time.Second)
	if s := w.last.CurrentState.CurrentStateSummary; s != v1.StateRunningHealthy {
		t.Errorf("its proxy has ended, and the application is %s", s)
	}
	w.play(recordedStep{Do: "driver", Status: "terminated", Container: "spark-here"})
	w.pass(10 * time.Second)
	if got := strings.Join(w.sequence(), " "); !strings.HasSuffix(got, "RunningHealthy Failed ResourceReleased") {
		t.Errorf("its Spark container has ended: %s", got)
	}
}

// An application that is deleted and made once more inherits nothing.
func TestNextOfTheNameStartsAfresh(t *testing.T) {
	w := failsTwice(t, "fast")
	w.play(recordedStep{Do: "delete"})
	w.pass(time.Second)
	next := w.r.app.DeepCopy()
	next.UID, next.CreationTimestamp, next.Generation, next.ResourceVersion = "next", metav1.NewTime(w.clock.Now()), 1, ""
	if err := w.client.Create(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	clear(w.seen)
	w.pass(time.Second)
	w.expect("Submitted DriverRequested")
	if info := attemptOf(w.last.CurrentAttemptSummary); info.ID != 0 || info.RestartCounter != 0 {
		t.Errorf("%+v", info)
	}
}

// Attempts have ids of their own also where the user names one, and long names are cut to what a label takes.
func TestIdsOfAttempts(t *testing.T) {
	o := own(nil).app
	ids := func() (all []string) {
		for attempt := int32(1); attempt <= 2; attempt++ {
			all = append(all, Identity(o, attempt, began).AppID)
		}
		return all
	}
	if diff := cmp.Diff([]string{"demo-0", "demo-1"}, ids()); diff != "" {
		t.Error(diff)
	}
	o.Spec.SparkConf[spark.ConfAppID] = "mine"
	if diff := cmp.Diff([]string{"mine", "mine-1"}, ids()); diff != "" {
		t.Error(diff)
	}
	delete(o.Spec.SparkConf, spark.ConfAppID)
	const longest = "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" // with its number it has 46 characters
	o.Name = longest
	if diff := cmp.Diff([]string{longest + "-0", longest + "-1"}, ids()); diff != "" {
		t.Error(diff)
	}
	o.Name += "n" // a driver that runs is found by its id again: these are those that Apache's operator has
	if diff := cmp.Diff([]string{"nnnnnnnnn-2x1ffvgih2wamn3pdxmlu088nsxm59va41rp", "nnnnnnnnn-1rekmeqvgxjgsdm9oqbxuzw7k4k3d50c75ns"}, ids()); diff != "" {
		t.Error(diff)
	}
}

// The limits of a run are exact: no tick has to come by, and a spec that says 0 or less means none.
func TestTimeouts(t *testing.T) {
	for _, tc := range []struct {
		millis int64
		want   string
	}{{1234, "Submitted DriverRequested DriverStartTimedOut ResourceReleased"}, {0, "Submitted DriverRequested"}, {-1, "Submitted DriverRequested"}} {
		w := newWorld(t, own(func(s *v1.SparkApplicationSpec) {
			s.ApplicationTolerations = &v1.ApplicationTolerations{ApplicationTimeoutConfig: &v1.ApplicationTimeoutConfig{DriverStartTimeoutMillis: &tc.millis}}
		}))
		w.pass(1233 * time.Millisecond)
		w.expect("Submitted DriverRequested")
		w.pass(time.Millisecond)
		w.pass(time.Hour)
		w.expect(tc.want)
	}
}

// What cannot run ends once, says why in words for people, and can be deleted.
func TestInvalidEndsOnce(t *testing.T) {
	w := newWorld(t, own(func(s *v1.SparkApplicationSpec) { s.DeploymentMode = v1.ClientMode }))
	w.pass(time.Hour)
	w.expect("Submitted Failed ResourceReleased")
	if c := FromStatus(&v1.SparkApplication{Status: w.last}).Cause; c.Reason != lifecycle.ReasonInvalidSpec || !strings.Contains(c.Message, "spec.deploymentMode") {
		t.Errorf("%+v", c)
	}
	w.play(recordedStep{Do: "delete"})
	w.pass(time.Second)
	if err := w.client.Get(t.Context(), w.key(), &v1.SparkApplication{}); err == nil {
		t.Error("it cannot be deleted")
	}
}

// Tools compare states by their order, and the enum of the definition has it, too (section 2.1 of their documentation's facts; Suspended came last).
func TestOrderOfStates(t *testing.T) {
	want := []string{
		"Submitted", "ScheduledToRestart", "DriverRequested", "DriverStarted", "DriverReady", "InitializedBelowThresholdExecutors", "RunningHealthy",
		"RunningWithPartialCapacity", "RunningWithBelowThresholdExecutors", "DriverStartTimedOut", "ExecutorsStartTimedOut", "DriverReadyTimedOut", "Succeeded",
		"Failed", "SchedulingFailure", "DriverEvicted", "ResourceReleased", "TerminatedWithoutReleaseResources", "Suspended",
	}
	if diff := cmp.Diff(want, States()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	served, err := os.ReadFile("../../../config/crd/bases/spark.apache.org_sparkapplications.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if enum := "-" + strings.Join(want, "\n-"); !strings.Contains(strings.ReplaceAll(string(served), " ", ""), enum) {
		t.Error("the enum of the definition has another order")
	}
}

// An application that may run again keeps nothing at its end, whatever the retain policy says: release 1.1.0 has it so.
func TestRestartsRetainNothing(t *testing.T) {
	r := own(func(s *v1.SparkApplicationSpec) {
		restarting(s)
		s.ApplicationTolerations.RestartConfig.MaxRestartAttempts = new(int64(0))
		s.ApplicationTolerations.ResourceRetainPolicy = v1.RetainAlways
	})
	w := newWorld(t, r)
	w.pass(5 * time.Second)
	w.play(driverIs("ready"))
	w.pass(time.Second)
	w.play(driverIs("failed"))
	w.pass(5 * time.Second)
	w.expect("Submitted DriverRequested DriverStarted DriverReady RunningHealthy Failed ResourceReleased")
	if left := w.names(); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// The tests that testdata/README.md names are there.
func TestChecklistNamesTests(t *testing.T) {
	text, err := os.ReadFile("testdata/README.md")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, folder := range []string{".", "../../../api/spark/v1", "../../../docs", "../../controller/cluster", "../../controller/sentinel", "../../lifecycle", "../../standalone"} {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(code), -1) {
				declared[found[1]] = true
			}
		}
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 30 {
		t.Errorf("it names %d tests", len(named))
	}
	for _, found := range named {
		if !declared[found[1]] {
			t.Errorf("there is no %s", found[1])
		}
	}
}
