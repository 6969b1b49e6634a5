// SPDX-License-Identifier: Apache-2.0

// Package schedulers puts every scheduler plugin to the test of conformance: with a stand-in that plays its scheduler,
// and with the scheduler itself, built from its Go module. The nodes are KWOK's, and nothing that is said to run does.
package schedulers

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/cmd/plugins"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
	"github.com/firesteel-dev/firesteel/test/schedulers/conformance"
)

// TestMain lets cases run side by side although there are few cores: they mostly wait. All programs collect garbage more
// seldom: with so many of them that is a tenth of the time.
func TestMain(m *testing.M) {
	flag.Parse()
	if code, elsewhere := inOwnNetwork(); elsewhere {
		os.Exit(code)
	}
	const garbage = 200
	debug.SetGCPercent(garbage)
	for _, err := range []error{flag.Set("test.parallel", "16"), os.Setenv("GOGC", strconv.Itoa(garbage))} {
		if err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func TestSchedulers(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("KUBEBUILDER_ASSETS is not set: run make test-schedulers")
		}
		t.Skip("no API server: KUBEBUILDER_ASSETS is not set; run make test-schedulers")
	}
	dir := t.TempDir()
	if kept := os.Getenv("CONFORMANCE_LOGS"); kept != "" {
		dir = kept
		logTo(t, filepath.Join(dir, "operators.log"))
	} else {
		logf.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	}
	role, err := operatorRole()
	if err != nil {
		t.Fatal(err)
	}
	this, err := chosen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(this.why)
	report := &conformance.Report{Titles: titles}
	started := time.Now()
	t.Cleanup(func() { write(t, report, this.why, time.Since(started)) })
	for _, tier := range []conformance.Tier{conformance.StandIn, conformance.Real} {
		for name, all := range lanes {
			var subjects []subject
			for _, s := range all {
				if this.has(s.title, tier) {
					subjects = append(subjects, s)
				} else {
					report.LeaveOut(s.title, tier)
				}
			}
			if len(subjects) == 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s-%d", name, tier), func(t *testing.T) {
				t.Parallel()
				lane(t, filepath.Join(dir, t.Name()), func(c *cluster) {
					for _, subject := range subjects {
						s := subject.with(c, tier)
						s.Title, s.Role = subject.title, role
						one(t, c, s, report)
					}
				})
			})
		}
	}
}

// lanes are run side by side, each in a cluster of its own: they agree neither on who is the default scheduler nor on
// the APIs that are installed.
var lanes = map[string][]subject{
	"pods":   {{"volcano", volcanoSubject}, {"kube", kubeSubject}, {"quota", quotaSubject}, {"yunikorn", yunikornSubject}},
	"groups": {{"coscheduling", coschedulingSubject}, {"elasticquota", elasticSubject}},
}

// subject is known by its title before there is a cluster for it.
type subject struct {
	title string
	with  func(*cluster, conformance.Tier) conformance.Subject
}

// lane runs something in a cluster with drivers.
func lane(t *testing.T, dir string, run func(*cluster)) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	c, err := startCluster(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- conformance.RunDrivers(ctx, c.rest) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	run(c)
}

// one puts one subject to the test.
func one(t *testing.T, c *cluster, s conformance.Subject, report *conformance.Report) {
	t.Helper()
	name := subjectName(s.Title, s.Tier)
	t.Run(name, func(t *testing.T) {
		s.Admin, s.Registry = c.rest, plugins.Registry
		if s.Other = "kube"; s.Scheduler == s.Other {
			s.Other = "volcano"
		}
		begun := time.Now()
		conformance.Run(t, s, report)
		t.Logf("%s took %s", name, time.Since(begun).Round(time.Second))
	})
}

// operatorRole reads the rights that the operator is installed with.
func operatorRole() ([]rbacv1.PolicyRule, error) {
	text, err := os.ReadFile(filepath.Join(root, "config", "rbac", "role.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read the operator's role: %w", err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(text, &role); err != nil {
		return nil, fmt.Errorf("read the operator's role: %w", err)
	}
	return role.Rules, nil
}

// settings are the operator's for one plugin.
func settings(plugin string) config.BatchScheduler {
	enabled := []string{"kube"}
	if plugin != "kube" {
		enabled = append(enabled, plugin)
	}
	return config.BatchScheduler{Default: "kube", Enabled: enabled, Quota: config.Quota{Mode: "Off"}}
}

// Reasons that several plugins give.
const (
	hasNoAPI      = "the plugin needs no API of its own"
	hasNoQueues   = "there are no queues"
	hasNoObjects  = "the plugin has no objects"
	nodesMayCome  = "there is no limit that an application could exceed permanently: nodes may be added"
	isTheSame     = "all attempts are the same to a scheduler that knows only pods"
	orderIsTheirs = "the plugin promises no order: it is the scheduler's affair"
	partsOfARoom  = "two gangs may each get a part of the room, until their placeholders time out (seen in the real one)"
	wholesCount   = "the lines of quotas go by the priority class of the whole application"
	takesNoPods   = "the stand-in takes no pods down"
	doesNotChoose = "the scheduler reserves nothing and promises nothing to applications that race"
)

func kubeSubject(c *cluster, tier conformance.Tier) conformance.Subject {
	e := &kube{cluster: c}
	if tier == conformance.StandIn {
		e.stand = &standIn{cluster: c, name: "default-scheduler"}
	}
	return conformance.Subject{
		Tier: tier, Scheduler: "kube", Settings: settings("kube"), Environment: e,
		Silent: "DriverPending", // plain Kubernetes is not watched beyond its pods
		Full:   []scheduler.Reason{"Unschedulable", scheduler.ReasonWaitingForCapacity},
		DoesNotApply: map[int]string{
			3: hasNoAPI, 4: hasNoAPI, 5: hasNoAPI, 8: hasNoQueues, 9: hasNoQueues, 10: nodesMayCome, 13: isTheSame, 16: hasNoObjects, 24: doesNotChoose, 25: orderIsTheirs, 28: hasNoObjects, 29: hasNoObjects, 43: orderIsTheirs,
		},
	}
}

func quotaSubject(c *cluster, tier conformance.Tier) conformance.Subject {
	s := kubeSubject(c, tier)
	s.Environment = quotas{s.Environment.(*kube)}
	s.Settings.Quota.Mode = "Enforce"
	s.Settings.Quota.Order, s.Settings.Quota.AgingBound = config.BestEffortFIFO, metav1.Duration{Duration: 10 * time.Minute}
	s.Full, s.TooBig = []scheduler.Reason{scheduler.ReasonWaitingForQuota}, scheduler.ReasonExceedsQuota
	delete(s.DoesNotApply, 10)
	delete(s.DoesNotApply, 24)
	delete(s.DoesNotApply, 25)
	s.DoesNotApply[43] = wholesCount
	return s
}

func logTo(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	logf.SetLogger(zap.New(zap.WriteTo(file)))
}

// write prints the report and keeps it.
func write(t *testing.T, report *conformance.Report, why string, took time.Duration) {
	t.Helper()
	var text strings.Builder
	if err := report.Write(&text); err != nil {
		t.Error(err)
	}
	fmt.Fprintf(&text, "%s\ntook %s\n", why, took.Round(time.Second))
	if os.Getenv("CONFORMANCE_CASES") == "" && len(report.Missing()) > 0 {
		t.Errorf("nothing came of %q", report.Missing())
	}
	t.Log("\n" + text.String())
	testrun.Publish(t, "schedulers", strings.TrimSpace(text.String()))
}

// big is the room of the nodes that everybody shares.
func big() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi")}
}
