// SPDX-License-Identifier: Apache-2.0

package schedulers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/yunikorn-k8shim/pkg/common/constants"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/schedulers/conformance"
)

// yunikorn is YuniKorn. A place is a queue with a maximum; all queues are below root.conformance.
type yunikorn struct {
	*cluster
	stand *standIn
	live  *process
	// controller is the admission controller.
	controller *process

	mu     sync.Mutex
	queues map[string]corev1.ResourceList
	closed map[string]bool
}

const (
	yunikornNamespace = "yunikorn"
	yunikornParent    = "root.conformance."
	// yunikornAddress is fixed in YuniKorn, so that only one can run.
	yunikornAddress = "127.0.0.1:9080"
)

func (y *yunikorn) Install(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: yunikornNamespace}}
	if err := y.client.Create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create YuniKorn's namespace: %w", err)
	}
	if y.stand == nil {
		if err := y.installController(ctx); err != nil {
			return err
		}
	}
	return y.configure(ctx)
}

func (y *yunikorn) Uninstall(ctx context.Context) error { return y.uninstallController(ctx) }

func (y *yunikorn) Start(ctx context.Context) error {
	if y.stand != nil {
		return y.stand.start(ctx)
	}
	if y.live != nil {
		return nil
	}
	dir, err := tool(ctx, "yunikorn")
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", ":9080")
	if err != nil {
		return fmt.Errorf("YuniKorn can listen on port 9080 only, which is taken: %w", err)
	}
	if err := l.Close(); err != nil {
		return fmt.Errorf("free port 9080: %w", err)
	}
	y.live, err = y.run(ctx, "yunikorn", filepath.Join(dir, "shim"), []string{"KUBECONFIG=" + y.kubeconfig, "NAMESPACE=" + yunikornNamespace})
	if err != nil {
		return err
	}
	if err := y.answers(ctx, "http://"+yunikornAddress+"/ws/v1/partition/default/queues"); err != nil {
		return err
	}
	return y.startController(ctx, dir)
}

func (y *yunikorn) Stop() {
	y.stand.stop()
	y.live.stop()
	y.controller.stop()
	y.live, y.controller = nil, nil
}

func (y *yunikorn) Place(ctx context.Context, namespace string, room corev1.ResourceList) (conformance.Place, error) {
	name := yunikornParent + namespace + placeQueue
	return conformance.Place{Queue: name}, y.CreateQueue(ctx, name, room)
}

// placeQueue is the queue of a place. Beside it is one that may take all of its room back. A fence keeps it from taking
// the room of other places, which would not help it: YuniKorn counts that as its one try.
const (
	placeQueue     = ".apps"
	importantQueue = ".important"
)

// Preempt makes an application in the queue that is entitled to the room.
func (y *yunikorn) Preempt(ctx context.Context, namespace string, place conformance.Place, cpus int64) (func(context.Context) error, error) {
	name := fmt.Sprintf("%s-%d", namespace, cpus)
	return y.importantPod(ctx, metav1.NamespaceDefault, name, place, cpus, func(pod *corev1.Pod) {
		pod.Spec.SchedulerName = "yunikorn"
		pod.Labels = map[string]string{
			constants.CanonicalLabelApplicationID: name, constants.CanonicalLabelQueueName: yunikornParent + namespace + importantQueue,
		}
	})
}

// Remove leaves the queue: an empty one is in no one's way.
func (y *yunikorn) Remove(context.Context, string) error { return nil }

func (y *yunikorn) CreateQueue(ctx context.Context, name string, room corev1.ResourceList) error {
	return y.change(ctx, name, func() { y.queues[strings.TrimPrefix(name, yunikornParent)] = room }, "Active")
}

// CloseQueue takes the queue out of the configuration: YuniKorn lets it drain.
func (y *yunikorn) CloseQueue(ctx context.Context, name string) error {
	return y.change(ctx, name, func() { y.closed[strings.TrimPrefix(name, yunikornParent)] = true }, "Draining")
}

func (y *yunikorn) OpenQueue(ctx context.Context, name string) error {
	return y.change(ctx, name, func() { delete(y.closed, strings.TrimPrefix(name, yunikornParent)) }, "Active")
}

// change changes the configuration and waits until YuniKorn has taken notice, if it runs.
func (y *yunikorn) change(ctx context.Context, name string, edit func(), status string) error {
	y.mu.Lock()
	edit()
	err := y.configure(ctx)
	y.mu.Unlock()
	if err != nil || y.live == nil {
		return err
	}
	return y.eventually(ctx, "queue "+name, func() error {
		got, err := queueStatus(ctx, name)
		if err == nil && got != status {
			err = fmt.Errorf("it is %q, and should be %s", got, status)
		}
		return err
	})
}

// user is that of the driver's application: the real YuniKorn says which it counts, and the stand-in reads it where YuniKorn does.
func (y *yunikorn) user(ctx context.Context, driver *corev1.Pod) (string, error) {
	var known struct {
		User string `json:"user"`
	}
	if y.stand != nil {
		err := json.Unmarshal([]byte(driver.Annotations["yunikorn.apache.org/user.info"]), &known)
		return known.User, err
	}
	path := "/ws/v1/partition/default/queue/" + driver.Labels[constants.CanonicalLabelQueueName] + "/application/" + driver.Labels[constants.CanonicalLabelApplicationID]
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+yunikornAddress+path, http.NoBody)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	err = json.NewDecoder(answer.Body).Decode(&known)
	return known.User, err
}

func queueStatus(ctx context.Context, name string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+yunikornAddress+"/ws/v1/partition/default/queue/"+name, http.NoBody)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	var queue struct {
		Status string `json:"status"`
	}
	return queue.Status, json.Unmarshal(text, &queue)
}

// configure writes YuniKorn's configuration, which it reads again when it changes.
func (y *yunikorn) configure(ctx context.Context) error {
	var b strings.Builder
	b.WriteString("partitions:\n- name: default\n  queues:\n  - name: root\n    submitacl: \"*\"\n    queues:\n    - name: conformance\n      parent: true\n      queues:\n")
	b.WriteString("      - {name: always-there}\n")
	for _, name := range slices.Sorted(maps.Keys(y.queues)) {
		if y.closed[name] {
			continue
		}
		room := y.queues[name]
		cpu, memory := room[corev1.ResourceCPU], room[corev1.ResourceMemory]
		all := fmt.Sprintf("{vcore: %q, memory: %q}", cpu.String(), memory.String())
		if place, nested := strings.CutSuffix(name, placeQueue); nested {
			fmt.Fprintf(&b, "      - {name: %s, parent: true, properties: {preemption.policy: fence}, resources: {max: %s}, queues: [{name: apps, %s}, {name: important, %s, resources: {guaranteed: %s}}]}\n",
				place, all, "properties: {application.sort.policy: fifo}", "properties: {application.sort.policy: fifo, preemption.delay: 1s}", all)
			continue
		}
		fmt.Fprintf(&b, "      - {name: %s, properties: {application.sort.policy: fifo}, resources: {max: %s}}\n", name, all)
	}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: yunikornNamespace, Name: "yunikorn-configs"}}
	err := y.client.Get(ctx, client.ObjectKeyFromObject(m), m)
	m.Data = map[string]string{
		"queues.yaml": b.String(), "service.schedulingInterval": "100ms", "service.placeholderImage": "pause",
		"kubernetes.qps": "500", "kubernetes.burst": "1000",
	}
	maps.Copy(m.Data, controllerSettings)
	if apierrors.IsNotFound(err) {
		return y.client.Create(ctx, m)
	}
	return errors.Join(err, y.client.Update(ctx, m))
}

// yunikornRules are the stand-in's: a gang gets its room at once or waits, and what its queue can never take is refused. Once its pods
// have replaced all placeholders nothing is held but for them.
type yunikornRules struct {
	*yunikorn
	// complete are the applications whose placeholders are gone, by their IDs.
	complete map[string]bool
	// written are the events that there are already, by the pod's UID and their text.
	written map[string]bool
}

// look writes the events that YuniKorn writes about pods without a node: that it has queued one, and once why it waits, in a gang
// about a placeholder.
func (r yunikornRules) look(ctx context.Context, s *sight) error {
	var errs []error
	for i := range s.pods {
		pod := &s.pods[i]
		if pod.Spec.SchedulerName != "yunikorn" || pod.Spec.NodeName != "" || ended(pod) {
			continue
		}
		errs = append(errs, r.write(ctx, pod, pod.Name, corev1.EventTypeNormal, "Scheduling", pod.Namespace+"/"+pod.Name+" is queued and waiting for allocation"))
		app, about := pod.Labels[constants.CanonicalLabelApplicationID], pod.Name
		switch word := r.verdict(s, pod); {
		case word.refusal != "":
			errs = append(errs, r.write(ctx, pod, pod.Name, corev1.EventTypeWarning, "ApplicationFailed", "Application "+app+" scheduling failed, reason: "+word.refusal+":"+word.message))
		case word.wait:
			if pod.Annotations[constants.AnnotationTaskGroups] != "" {
				about = fmt.Sprintf("tg-%.28s-driver-%.10s", app, pod.UID)
			}
			errs = append(errs, r.write(ctx, pod, about, corev1.EventTypeNormal, "Informational", fmt.Sprintf("Request '%s' does not fit in queue '%s'", pod.UID, pod.Labels[constants.CanonicalLabelQueueName])))
		}
	}
	return errors.Join(errs...)
}

func (r yunikornRules) write(ctx context.Context, pod *corev1.Pod, about, kind, reason, text string) error {
	key := string(pod.UID) + text
	if r.written[key] {
		return nil
	}
	object := corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: about}
	if about == pod.Name {
		object.UID = pod.UID
	}
	err := r.client.Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: pod.Namespace, GenerateName: "yunikorn-"},
		InvolvedObject: object, Type: kind, Reason: reason, Action: reason, Message: text,
		EventTime: metav1.NowMicro(), ReportingController: "yunikorn", ReportingInstance: "yunikorn-stand-in",
	})
	r.written[key] = err == nil
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}

// gang reads what the driver asks for all its pods.
func gang(driver *corev1.Pod) corev1.ResourceList {
	var groups []struct {
		MinMember   int64               `json:"minMember"`
		MinResource corev1.ResourceList `json:"minResource"`
	}
	total := corev1.ResourceList{}
	if err := json.Unmarshal([]byte(driver.Annotations[constants.AnnotationTaskGroups]), &groups); err != nil {
		return requests(driver)
	}
	for _, g := range groups {
		total = scheduler.Sum(total, scheduler.Times(g.MinResource, g.MinMember))
	}
	return total
}

// taken is what the applications of a queue have, placeholders among it, and whether one of them does.
func (r yunikornRules) taken(s *sight, queue, app string) (corev1.ResourceList, bool) {
	pods, gangs := map[string]corev1.ResourceList{}, map[string]corev1.ResourceList{}
	for i := range s.pods {
		p := &s.pods[i]
		if p.Labels[constants.CanonicalLabelQueueName] != queue || p.Spec.NodeName == "" || ended(p) {
			continue
		}
		id := p.Labels[constants.CanonicalLabelApplicationID]
		pods[id] = scheduler.Sum(pods[id], requests(p))
		if p.Annotations[constants.AnnotationTaskGroups] != "" {
			gangs[id] = gang(p)
		}
	}
	all := corev1.ResourceList{}
	for id, own := range pods {
		r.complete[id] = r.complete[id] || len(scheduler.Shortages(gangs[id], nil, own)) == 0
		if r.complete[id] {
			all = scheduler.Sum(all, own)
		} else {
			all = scheduler.Sum(all, gangs[id])
		}
	}
	return all, pods[app] != nil
}

func (r yunikornRules) verdict(s *sight, pod *corev1.Pod) judgement {
	r.mu.Lock()
	defer r.mu.Unlock()
	queue := pod.Labels[constants.CanonicalLabelQueueName]
	name, _ := strings.CutPrefix(queue, yunikornParent)
	room, known := r.queues[name]
	app := pod.Labels[constants.CanonicalLabelApplicationID]
	held, mine := r.taken(s, queue, app)
	asked := gang(pod)
	switch {
	case mine: // its room is held, until all placeholders are gone
		return judgement{wait: r.complete[app] && len(scheduler.Shortages(requests(pod), held, room)) > 0}
	case !known || r.closed[name]:
		return judgement{refusal: constants.ApplicationRejectedFailure, message: " failed to place application " + app}
	case len(scheduler.Shortages(asked, nil, room)) > 0:
		return judgement{refusal: constants.ApplicationRejectedFailure, message: " queue " + queue + " cannot fit application " + app}
	case len(scheduler.Shortages(asked, held, room)) > 0:
		if limit := givesUpAfter(pod); limit > 0 && time.Since(pod.CreationTimestamp.Time) > limit {
			return judgement{refusal: constants.ApplicationInsufficientResourcesFailure, message: "Scheduling has timed out due to insufficient resources"}
		}
		return judgement{wait: true}
	}
	return judgement{}
}

// givesUpAfter reads how long a gang that must be complete waits; 0 forever.
func givesUpAfter(driver *corev1.Pod) time.Duration {
	var seconds int
	hard := false
	for word := range strings.FieldsSeq(driver.Annotations[constants.AnnotationSchedulingPolicyParam]) {
		hard = hard || word == constants.SchedulingPolicyStyleParam+"=Hard"
		if text, ok := strings.CutPrefix(word, constants.SchedulingPolicyTimeoutParam+"="); ok {
			seconds, _ = strconv.Atoi(text)
		}
	}
	if !hard {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// yunikornReckons reads the task groups from the driver.
func yunikornReckons(_ context.Context, _ client.Client, driver *corev1.Pod, _ []unstructured.Unstructured) (corev1.ResourceList, error) {
	return gang(driver), nil
}

func yunikornSubject(c *cluster, tier conformance.Tier) conformance.Subject {
	e := &yunikorn{cluster: c, queues: map[string]corev1.ResourceList{}, closed: map[string]bool{}}
	if tier == conformance.StandIn {
		e.stand = &standIn{cluster: c, name: "yunikorn", rules: yunikornRules{e, map[string]bool{}, map[string]bool{}}}
	}
	return conformance.Subject{
		Tier: tier, Scheduler: "yunikorn", Settings: settings("yunikorn"), Environment: e,
		QueuePrefix: yunikornParent, Silent: scheduler.ReasonWaitingForScheduler,
		Full:   []scheduler.Reason{scheduler.ReasonWaitingForGang, scheduler.ReasonWaitingForQuota, scheduler.ReasonWaitingForCapacity},
		Says:   "does not fit in queue 'root.conformance.",
		TooBig: scheduler.ReasonSchedulerRefused, MissingQueue: scheduler.ReasonSchedulerRefused, ClosedQueue: scheduler.ReasonSchedulerRefused,
		Placeholders: true,
		Reckons:      yunikornReckons,
		User:         e.user,
		QueueMark:    scheduler.PodKey{Part: scheduler.PodLabel, Key: constants.CanonicalLabelQueueName},
		OwnGroup:     scheduler.PodKey{Part: scheduler.PodLabel, Key: constants.CanonicalLabelApplicationID},
		AllOrNothing: `{"gangSchedulingStyle":"Hard"}`, GivesUp: `{"gangSchedulingStyle":"Hard","placeholderTimeoutInSeconds":8}`,
		DoesNotApply: map[int]string{3: hasNoAPI, 4: hasNoAPI, 5: hasNoAPI, 16: hasNoObjects, 24: partsOfARoom, 25: orderIsTheirs, 28: hasNoObjects, 29: hasNoObjects, 43: orderIsTheirs},
	}
}
