// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// way is the cause of the applications' wait. No scheduler runs: this program writes its objects.
type way struct {
	// plugin is their batchScheduler; "" for plain Kubernetes. Theirs is also the PriorityClass of waitingClass.
	plugin string
	// quota is batchScheduler.quota of the operator's configuration.
	quota map[string]any
	// kinds are the definitions of the scheduler; nil for none.
	kinds *definitions
	// pods is set if applications wait with pods.
	pods bool
	// limit creates the full quotas or queues before the applications.
	limit func(ctx context.Context, w *environment) error
	// answer writes the scheduler's reports about waiting applications; nil for none.
	answer func(ctx context.Context, w *environment) error
	// settles is how long the operator takes to believe it.
	settles time.Duration
	// repeat writes what the scheduler writes all the time, until the context ends; nil for nothing.
	repeat func(ctx context.Context, w *environment)
	// room makes room for some applications.
	room func(ctx context.Context, w *environment, some int) error
}

const (
	quotaName    = "full"
	waitingClass = "waiting"
	// cpusOfAnApplication is the request of the driver and the executors of application.json.
	cpusOfAnApplication = 3
	// full is the number of cores that each tenant may use, and uses.
	full = 100
)

// definitions are a folder of a module in the version that a tool is built from.
type definitions struct{ tool, module, folder string }

var (
	volcanoKinds     = &definitions{"volcano", "volcano.sh/volcano", "config/crd/volcano/bases"}
	coschedulerKinds = &definitions{"scheduler-plugins", "sigs.k8s.io/scheduler-plugins", "config/crd/bases"}
)

var (
	byResourceQuota = &way{quota: map[string]any{"mode": "Enforce"}, limit: fillQuotas, room: raiseQuotas}
	byMax           = elasticWay("BestEffortFIFO", limitByMax, raiseMax)
	bySumOfMins     = elasticWay("FairShare", limitByMin, lend)
	byVolcano       = &way{plugin: "volcano", kinds: volcanoKinds, limit: createQueues, answer: leavePending, repeat: repeatEvents, room: admitGroups}
	byYuniKorn      = &way{plugin: "yunikorn", pods: true, answer: sayQueued, settles: 45 * time.Second, room: bind}
	byCoscheduling  = &way{plugin: "coscheduling", kinds: coschedulerKinds, pods: true, answer: sayUnschedulable, room: bind}
)

// elasticWay is a wait for an ElasticQuota.
func elasticWay(order string, limit func(context.Context, *environment) error, room func(context.Context, *environment, int) error) *way {
	quota := map[string]any{"mode": "Enforce", "elasticQuotaSchedulers": []string{"coscheduling"}, "order": order}
	return &way{plugin: "coscheduling", quota: quota, kinds: coschedulerKinds, limit: limit, room: room}
}

// tenants are the namespaces in which applications wait.
func (w *environment) tenants() []string {
	var out []string
	for i := range min(w.size, 100) {
		out = append(out, fmt.Sprintf("tenant-%03d", i))
	}
	return out
}

func (w *environment) createNamespace(ctx context.Context, name string) error {
	if _, err := w.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create a namespace: %w", err)
	}
	return nil
}

// furnish creates what applications need that wait.
func (y *way) furnish(ctx context.Context, w *environment) error {
	for _, name := range w.tenants() {
		if err := w.createNamespace(ctx, name); err != nil {
			return err
		}
		for _, account := range []string{"default", "spark"} {
			if _, err := w.client.CoreV1().ServiceAccounts(name).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}},
				metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create service account %s: %w", account, err)
			}
		}
	}
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: waitingClass}, Value: 1}
	if _, err := w.client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the PriorityClass: %w", err)
	}
	if y.kinds != nil {
		folder, err := y.kinds.find(ctx, w.root)
		if err != nil {
			return err
		}
		if _, err := envtest.InstallCRDs(w.ground.Admin, envtest.CRDInstallOptions{Paths: []string{folder}, ErrorIfPathMissing: true}); err != nil {
			return fmt.Errorf("install the scheduler's definitions: %w", err)
		}
	}
	if y.limit == nil {
		return nil
	}
	return y.limit(ctx, w)
}

func (d *definitions) find(ctx context.Context, root string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-C", filepath.Join(root, "hack", "tools", d.tool), "-m", "-f", "{{.Dir}}", d.module)
	cmd.Env, cmd.Stderr = append(os.Environ(), "GOFLAGS=", "GOWORK=off"), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", d.module, err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), filepath.FromSlash(d.folder)), nil
}

// template is the application that waits.
func (y *way) template() []byte {
	spec := fmt.Sprintf(`"batchSchedulerOptions": {"priorityClassName": %q}, `, waitingClass)
	if y.plugin != "" {
		spec += fmt.Sprintf(`"batchScheduler": %q, `, y.plugin)
	}
	return bytes.Replace(application, []byte(`"spec": {`), []byte(`"spec": {`+spec), 1)
}

// batchScheduler is that section of the operator's configuration.
func (y *way) batchScheduler() map[string]any {
	section := map[string]any{}
	if y.plugin != "" {
		section["enabled"] = []string{"kube", y.plugin}
	}
	if y.quota != nil {
		section["quota"] = y.quota
	}
	return section
}
