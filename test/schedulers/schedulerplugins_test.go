// SPDX-License-Identifier: Apache-2.0

package schedulers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil/ports"
	"github.com/firesteel-dev/firesteel/test/schedulers/conformance"
)

// coscheduling is scheduler-plugins' scheduler and controller. Its groups are compared with the room of all nodes
// together, so that a place is the whole cluster: one node, and no other.
type coscheduling struct {
	*cluster
	stand           *standIn
	live, caretaker *process
}

func (s *coscheduling) Install(ctx context.Context) error {
	dir, err := moduleDir(ctx, "scheduler-plugins", "sigs.k8s.io/scheduler-plugins")
	if err != nil {
		return err
	}
	crds := filepath.Join(dir, "config", "crd", "bases")
	return s.install(ctx, filepath.Join(crds, "scheduling.x-k8s.io_podgroups.yaml"), filepath.Join(crds, "scheduling.x-k8s.io_elasticquotas.yaml"))
}

func (s *coscheduling) Uninstall(ctx context.Context) error {
	return s.uninstall(ctx, v1alpha1.SchemeGroupVersion.Group)
}

func (s *coscheduling) Start(ctx context.Context) error {
	if s.stand != nil {
		return s.stand.start(ctx)
	}
	if s.live != nil {
		return nil
	}
	dir, err := tool(ctx, "scheduler-plugins")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join("testdata", "scheduler-plugins.yaml"))
	if err != nil {
		return fmt.Errorf("read the scheduler's configuration: %w", err)
	}
	path := filepath.Join(s.dir, "scheduler-plugins.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "KUBECONFIG", s.kubeconfig)), 0o600); err != nil {
		return fmt.Errorf("write the scheduler's configuration: %w", err)
	}
	port, err := ports.Free(ctx)
	if err != nil {
		return err
	}
	if s.live, err = s.run(ctx, "coscheduling-scheduler", filepath.Join(dir, "scheduler"), nil,
		"--config="+path, "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port), "--cert-dir="+filepath.Join(s.dir, "coscheduling"),
		"--authentication-kubeconfig="+s.kubeconfig, "--authorization-kubeconfig="+s.kubeconfig, "--authentication-skip-lookup"); err != nil {
		return err
	}
	s.caretaker, err = s.run(ctx, "coscheduling-controller", filepath.Join(dir, "controller"), nil,
		"--kubeconfig="+s.kubeconfig, "--metricsAddr=127.0.0.1:0", "--probeAddr=127.0.0.1:0", "--enableLeaderElection=false")
	return err
}

func (s *coscheduling) Stop() {
	s.stand.stop()
	s.live.stop()
	s.caretaker.stop()
	s.live, s.caretaker = nil, nil
	if err := s.shareNodes(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "nodes:", err)
	}
}

// Place makes the cluster as large as the place, and those of other cases that are not over yet.
func (s *coscheduling) Place(ctx context.Context, namespace string, room corev1.ResourceList) (conformance.Place, error) {
	for i := range sharedNodes {
		if err := s.removeNode(ctx, sharedNode(i)); err != nil {
			return conformance.Place{}, err
		}
	}
	labels := map[string]string{labelPlace: namespace}
	return conformance.Place{NodeSelector: labels}, s.addNode(ctx, "node-"+namespace, room, labels)
}

// Remove deletes the node.
func (s *coscheduling) Remove(ctx context.Context, namespace string) error {
	return s.removeNode(ctx, "node-"+namespace)
}

// elastic is coscheduling where an ElasticQuota has the place's room, too.
type elastic struct{ *coscheduling }

func (e elastic) Place(ctx context.Context, namespace string, room corev1.ResourceList) (conformance.Place, error) {
	if err := e.createQuota(ctx, namespace, room, room); err != nil {
		return conformance.Place{}, err
	}
	labels := map[string]string{labelPlace: namespace}
	return conformance.Place{NodeSelector: labels}, e.addNode(ctx, "node-"+namespace, room, labels)
}

func (e elastic) createQuota(ctx context.Context, namespace string, least, most corev1.ResourceList) error {
	quota := &v1alpha1.ElasticQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "place"}, Spec: v1alpha1.ElasticQuotaSpec{Min: least, Max: most},
	}
	if err := e.client.Create(ctx, quota); err != nil {
		return fmt.Errorf("create the quota: %w", err)
	}
	return nil
}

// Lend makes the whole cluster as large as the mins of both together.
func (e elastic) Lend(ctx context.Context, borrower, owner string, each corev1.ResourceList) (conformance.Place, conformance.Place, error) {
	both := scheduler.Times(each, 2)
	place, err := e.coscheduling.Place(ctx, borrower, both)
	for _, namespace := range []string{borrower, owner} {
		err = errors.Join(err, e.createQuota(ctx, namespace, each, both))
	}
	return place, place, err
}

// Remove deletes the quota.
func (e elastic) Remove(ctx context.Context, namespace string) error {
	quota := &v1alpha1.ElasticQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "place"}}
	if err := e.client.Delete(ctx, quota); client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
		return fmt.Errorf("delete the quota: %w", err)
	}
	return e.coscheduling.Remove(ctx, namespace)
}

// coschedulingRules are the stand-in's.
type coschedulingRules struct {
	*cluster
	groups map[client.ObjectKey]*v1alpha1.PodGroup
	quotas map[string]*v1alpha1.ElasticQuota
}

func (r *coschedulingRules) look(ctx context.Context, s *sight) error {
	var groups v1alpha1.PodGroupList
	var quotas v1alpha1.ElasticQuotaList
	for _, list := range []client.ObjectList{&groups, &quotas} {
		if err := r.client.List(ctx, list); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
	r.groups, r.quotas = map[client.ObjectKey]*v1alpha1.PodGroup{}, map[string]*v1alpha1.ElasticQuota{}
	for i := range groups.Items {
		r.groups[client.ObjectKeyFromObject(&groups.Items[i])] = &groups.Items[i]
	}
	var errs []error
	for i := range quotas.Items {
		q := &quotas.Items[i]
		r.quotas[q.Namespace] = q
		used := corev1.ResourceList{corev1.ResourceCPU: {}, corev1.ResourceMemory: {}}
		for j := range s.pods {
			if pod := &s.pods[j]; pod.Namespace == q.Namespace && pod.Status.Phase == corev1.PodRunning {
				used = scheduler.Sum(used, requests(pod))
			}
		}
		if !equalResources(used, q.Status.Used) {
			q.Status.Used = used
			errs = append(errs, client.IgnoreNotFound(r.client.Status().Update(ctx, q)))
		}
	}
	return errors.Join(errs...)
}

func equalResources(a, b corev1.ResourceList) bool {
	return len(scheduler.Shortages(a, nil, b)) == 0 && len(scheduler.Shortages(b, nil, a)) == 0 && len(a) == len(b)
}

func (r *coschedulingRules) verdict(s *sight, pod *corev1.Pod) judgement {
	if q := r.quotas[pod.Namespace]; q != nil {
		used := corev1.ResourceList{}
		for i := range s.pods {
			if p := &s.pods[i]; p.Namespace == pod.Namespace && p.Spec.NodeName != "" && !ended(p) {
				used = scheduler.Sum(used, requests(p))
			}
		}
		if len(scheduler.Shortages(requests(pod), used, q.Spec.Max)) > 0 {
			return judgement{wait: true, message: "Pod " + pod.Namespace + "/" + pod.Name + " is rejected in PreFilter because ElasticQuota " + pod.Namespace + " is more than Max."}
		}
	}
	name := pod.Labels[v1alpha1.PodGroupLabel]
	if name == "" {
		return judgement{}
	}
	group := r.groups[client.ObjectKey{Namespace: pod.Namespace, Name: name}]
	if group == nil {
		return judgement{wait: true, message: "0/1 nodes are available: 1 PodGroup not found."}
	}
	members, room := int32(0), s.free()
	var missing []*corev1.Pod // of those that must start together
	for i := range s.pods {
		p := &s.pods[i]
		if p.Labels[v1alpha1.PodGroupLabel] != name || p.Namespace != pod.Namespace {
			continue
		}
		members++
		switch {
		case p.Spec.NodeName != "" && !ended(p):
			room = scheduler.Sum(room, requests(p))
		case p.Spec.NodeName == "" && len(missing) < int(group.Spec.MinMember):
			missing = append(missing, p)
		}
	}
	switch { // in the order of the real one: the first two are its PreFilter
	case members < group.Spec.MinMember:
		return judgement{wait: true, message: "pre-filter pod " + pod.Name + " cannot find enough sibling pods"}
	case len(scheduler.Shortages(group.Spec.MinResources, nil, room)) > 0:
		return judgement{wait: true, message: "0/1 nodes are available: resource gap"}
	case !s.haveRoom(missing):
		return judgement{wait: true, message: "0/1 nodes are available: 1 optimistic rejection in PostFilter."}
	}
	return judgement{}
}

// aliasScheduler is a second profile with the plugin Coscheduling, which applications choose by its name.
const aliasScheduler = "kube-scheduler"

func coschedulingSubject(c *cluster, tier conformance.Tier) conformance.Subject {
	e := &coscheduling{cluster: c}
	if tier == conformance.StandIn {
		e.stand = &standIn{cluster: c, name: "coscheduling", alias: aliasScheduler, rules: &coschedulingRules{cluster: c}}
	}
	s := conformance.Subject{
		Tier: tier, Scheduler: "coscheduling", Settings: settings("coscheduling"), Environment: e,
		API: "scheduling.x-k8s.io", AllOrNothing: `{"executorGang":true}`, Alone: []int{11, 41}, Renews: "firesteel.dev/nudged-at",
		Silent: scheduler.ReasonWaitingForScheduler, Full: []scheduler.Reason{scheduler.ReasonWaitingForCapacity},
		Says:         "resource gap",
		DoesNotApply: map[int]string{8: hasNoQueues, 9: hasNoQueues, 10: nodesMayCome, 24: doesNotChoose, 25: orderIsTheirs, 43: orderIsTheirs},
	}
	s.Settings.Plugins = map[string]config.SchedulerPlugin{"coscheduling": {SchedulerName: "coscheduling", SchedulerNames: []string{aliasScheduler}}}
	s.Alias, s.OwnGroup = aliasScheduler, scheduler.PodKey{Part: scheduler.PodLabel, Key: v1alpha1.PodGroupLabel}
	return s
}

func elasticSubject(c *cluster, tier conformance.Tier) conformance.Subject {
	s := coschedulingSubject(c, tier)
	e := s.Environment.(*coscheduling)
	if e.stand != nil {
		e.stand.name, e.stand.alias = "coscheduling-quota", ""
	}
	s.Environment, s.Alone, s.Alias = elastic{e}, []int{42}, ""
	s.Settings.Plugins = map[string]config.SchedulerPlugin{"coscheduling": {SchedulerName: "coscheduling-quota"}}
	s.Settings.Quota = config.Quota{Mode: "Enforce", ElasticQuotaSchedulers: []string{"coscheduling"}, Order: config.StrictFIFO, AgingBound: metav1.Duration{Duration: 10 * time.Minute}}
	s.Full, s.TooBig = []scheduler.Reason{scheduler.ReasonWaitingForQuota}, scheduler.ReasonExceedsQuota
	s.Says = "" // the operator finds that the quota is full before there is a pod
	delete(s.DoesNotApply, 10)
	delete(s.DoesNotApply, 24)
	delete(s.DoesNotApply, 25)
	s.DoesNotApply[43] = wholesCount
	s.TakesBack = s.AllOrNothing // groups with minResources are compared with the room of the nodes, which is used up
	s.DoesNotApply[33] = "the quota lets an application in when there is room for all of it"
	return s
}
