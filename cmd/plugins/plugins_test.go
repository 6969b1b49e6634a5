// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	fallback "cmp"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

func configured(t *testing.T, text string) config.BatchScheduler {
	t.Helper()
	c, err := config.Parse([]byte("apiVersion: " + config.APIVersion + "\nkind: " + config.Kind + "\nbatchScheduler: " + text))
	if err != nil {
		t.Fatal(err)
	}
	return c.BatchScheduler
}

// No one gets a scheduler that the administrator did not enable.
func TestSchedulersByDefault(t *testing.T) {
	r, err := Registry(configured(t, "{}"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"kube"}, r.Names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Everything that is configured reaches its plugin. The test takes the schedulers as they come: anyone who deletes one
// deletes nothing here.
func TestSchedulersAsConfigured(t *testing.T) {
	for _, plugin := range plugins(config.BatchScheduler{}) {
		d := plugin.Describe()
		t.Run(d.Name, func(t *testing.T) {
			r, err := Registry(configured(t, `{default: kube, enabled: [kube, `+d.Name+`], namespaceDefaults: true, plugins: {`+d.Name+`: {schedulerName: other, defaultQueue: batch}},
  allowedQueues: [{namespaces: [team-a], queues: [batch]}]}`))
			if err != nil {
				t.Fatal(err)
			}
			got, admission := r.Resolve(scheduler.SelectionRequest{Namespace: "team-a", NamespaceAnnotations: map[string]string{scheduler.AnnotationScheduler: d.Name}})
			queue := ""
			if d.Supports.Queues {
				queue = "batch"
			}
			if got.Plugin == nil || got.Scheduler != d.Name || got.Queue != queue {
				t.Fatalf("%+v, %+v", got.Choice, admission)
			}
			configurable := !strings.Contains("kube yunikorn", d.Name) // these two have no name to configure
			if renamed := got.Plugin.Describe().SchedulerName == "other"; renamed != configurable {
				t.Errorf("scheduler name %q", got.Plugin.Describe().SchedulerName)
			}
			_, refused := r.Resolve(scheduler.SelectionRequest{Namespace: "team-b", Scheduling: spark.Scheduling{Scheduler: d.Name}})
			if forbidden := refused.Reason == scheduler.ReasonQueueForbidden; forbidden != d.Supports.Queues {
				t.Errorf("another namespace: %+v", refused)
			}
		})
	}
}

// A plugin that serves several schedulers is chosen by the name of each of them, and each is told apart on the pods. The test
// takes the plugins as they come.
func TestSchedulerNames(t *testing.T) {
	for _, plugin := range base(config.BatchScheduler{}) {
		name := plugin.Describe().Name
		if _, ok := plugin.(scheduler.Multiple); !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r, err := Registry(configured(t, `{default: kube-scheduler, enabled: [kube, `+name+`], quota: {mode: Enforce, elasticQuotaSchedulers: [`+name+`]},
  plugins: {`+name+`: {schedulerName: gang, schedulerNames: [gang, kube-scheduler, default-scheduler]}}}`))
			if err != nil {
				t.Fatal(err)
			}
			want := []string{name, "default-scheduler", "gang", "kube", "kube-scheduler"}
			if diff := cmp.Diff(want, r.Names()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for written, schedulerName := range map[string]string{"": "kube-scheduler", name: "gang", "gang": "gang", "kube-scheduler": "kube-scheduler", "default-scheduler": "default-scheduler"} {
				got, admission := r.Resolve(scheduler.SelectionRequest{Scheduling: spark.Scheduling{Scheduler: written}})
				if got.Plugin == nil {
					t.Fatalf("%q: %+v", written, admission)
				}
				if d := got.Plugin.Describe(); d.SchedulerName != schedulerName || got.Scheduler != fallback.Or(written, "kube-scheduler") {
					t.Errorf("%q: %q, pods by %q", written, got.Scheduler, d.SchedulerName)
				}
			}
			if _, known := r.Plugin("other"); known {
				t.Error("a name that nobody configured")
			}
		})
	}
}

// An ElasticQuota binds a plugin's pods by whichever name it was chosen.
func TestElasticQuotaSchedulersByAllNames(t *testing.T) {
	c := config.BatchScheduler{Plugins: map[string]config.SchedulerPlugin{}}
	want := []string{}
	for _, plugin := range base(c) {
		name := plugin.Describe().Name
		c.Quota.ElasticQuotaSchedulers = append(c.Quota.ElasticQuotaSchedulers, name)
		if _, ok := plugin.(scheduler.Multiple); ok {
			c.Plugins[name] = config.SchedulerPlugin{SchedulerNames: []string{name + "-2"}}
			want = append(want, name+"-2")
		}
	}
	if diff := cmp.Diff(slices.Concat(c.Quota.ElasticQuotaSchedulers, want), elasticQuotaSchedulers(c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestQuotaIsAskedFirst(t *testing.T) {
	if len(admissions(config.BatchScheduler{})) == 0 && os.Getenv("CI") == "" {
		t.Skip("this build has no quota check")
	}
	for mode, want := range map[string]bool{"Off": false, "Warn": true, "Enforce": true} {
		r, err := Registry(configured(t, "{quota: {mode: "+mode+"}}"))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := r.Resolve(scheduler.SelectionRequest{})
		if reads := len(got.Plugin.Reads(scheduler.Attempt{})) > 0; reads != want {
			t.Errorf("%s: looks at quotas: %t", mode, reads)
		}
	}
}

// The configuration's parameters are checked by each plugin, before any application has them. The test takes the plugins as they come.
func TestParametersErrors(t *testing.T) {
	for _, plugin := range base(config.BatchScheduler{}) {
		name := plugin.Describe().Name
		want := "batchScheduler.plugins." + name + ".parameters.nonsense: is not a parameter of " + name + "; "
		if _, err := Registry(configured(t, "{plugins: {"+name+": {parameters: {nonsense: 1}}}}")); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestSchedulersErrors(t *testing.T) {
	for text, says := range map[string]string{
		"{default: volcan}":                        `batchScheduler.default: "volcan" is not a known scheduler`,
		"{enabled: [kub]}":                         `batchScheduler.enabled: "kub" is not a known scheduler`,
		"{quota: {elasticQuotaSchedulers: [x]}}":   `batchScheduler.quota.elasticQuotaSchedulers: "x" is not a known scheduler; known: kube`,
		"{plugins: {x: {}}}":                       `batchScheduler.plugins: "x" is not a known scheduler`,
		"{plugins: {kube: {schedulerNames: [x]}}}": `batchScheduler.plugins.kube.schedulerNames: this plugin serves one scheduler`,
	} {
		if _, err := Registry(configured(t, text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}
