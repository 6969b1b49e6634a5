// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// summary describes the cluster in words that follow its name.
func (v clusterView) summary() string {
	c := v.cause()
	switch {
	case v.Desired.Deleting:
		return "is being deleted"
	case v.Desired.Probe:
		return "is a health probe, and no cluster"
	}
	switch v.Record.State {
	case standalone.New:
		return withCause("is new", c.Message)
	case standalone.Submitted:
		return withCause("waits for its start", c.Message)
	case standalone.Running:
		return v.running(c)
	case standalone.Suspended:
		if len(v.Observed.Master.Pods)+len(v.Observed.Workers.Pods) > 0 {
			return "is being suspended"
		}
		return "is suspended"
	case standalone.Refused, standalone.Released:
		return withCause("was refused", c.Message)
	case standalone.Failed:
		return withCause("has failed under another operator", c.Message)
	}
	return ""
}

// running describes a cluster whose objects exist.
func (v clusterView) running(c lifecycle.Cause) string {
	m, w := v.Observed.Master, v.Observed.Workers
	if v.Observed.Unknown {
		return withCause("was running at the last reconcile", c.Message)
	}
	text := fmt.Sprintf("runs with %d of %d workers", w.Ready, w.Wanted)
	if m.Ready < max(1, m.Wanted) {
		text = fmt.Sprintf("has no master that is ready, and %d of %d workers", w.Ready, w.Wanted)
	}
	if c.Reason == standalone.ReasonPodsNotReady { // the numbers already say that pods are not ready
		return text
	}
	return withCause(text, c.Message)
}

// decision returns the operator's next step.
func (v clusterView) decision() Decision {
	d := Decision{Sentence: v.sentence(), State: v.Word(v.plan.Record.State)}
	if d.State == "" {
		d.State = "NEW"
	}
	for _, a := range v.plan.Actions {
		d.Actions = append(d.Actions, v.action(a))
	}
	return d
}

func (v clusterView) action(a standalone.Action) string {
	switch a.Kind {
	case standalone.Apply:
		if v.exists(a.Ref) {
			return "apply " + a.Ref.String()
		}
		return "create " + a.Ref.String()
	case standalone.Delete:
		return "delete " + a.Ref.String()
	case standalone.Schedule:
		return "apply the scheduler's objects"
	case standalone.Release:
		return "delete the scheduler's objects"
	case standalone.RemoveFinalizer:
		return "remove the finalizer of another operator"
	}
	return string(a.Kind)
}

func (v clusterView) exists(ref standalone.Ref) bool {
	return v.Observed.Found[ref].Presence == lifecycle.Present
}

// sentence describes the decision.
func (v clusterView) sentence() string {
	c := v.Desired
	switch {
	case c.Deleting:
		return "nothing: the cluster's objects are deleted with it"
	case c.Probe:
		return "leave it alone"
	case v.Observed.Unknown:
		return "unknown: the objects of the cluster could not be read"
	}
	switch v.Record.State {
	case standalone.New, standalone.Submitted:
		return v.starting()
	case standalone.Running:
		return v.keeping()
	case standalone.Suspended:
		return v.resting()
	case standalone.Refused:
		return "delete the cluster's objects; it is " + v.Word(standalone.Released) + " then"
	case standalone.Failed, standalone.Released:
		if v.plan.Record.State == standalone.Submitted {
			return "start again with the edited spec"
		}
		return "nothing until its spec is edited"
	}
	return ""
}

// starting describes a cluster before its start.
func (v clusterView) starting() string {
	next := v.plan.Record
	switch {
	case next.State == standalone.Suspended:
		return "suspend it: " + v.Desired.SuspendField + " is true"
	case v.Desired.Suspend:
		return "create nothing until " + v.Desired.SuspendField + " is false"
	case next.State == standalone.Refused:
		return withCause("refuse it", next.Cause.Message)
	case next.State == standalone.Running && v.cause().Reason != "":
		return "try again to create the objects of the cluster"
	case next.State == standalone.Running && v.Record.State == standalone.New:
		return "ask the scheduler for room for the master and all workers together, then create the objects of the cluster"
	case next.State == standalone.Running:
		return "create the objects of the cluster"
	}
	return withCause("wait", next.Cause.Message)
}

// keeping describes the next step for a running cluster. It does not know which objects an edit would change.
func (v clusterView) keeping() string {
	var others []string
	edited := false
	for _, a := range v.plan.Actions {
		if a.Kind == standalone.Apply && v.exists(a.Ref) {
			edited = true
		} else {
			others = append(others, v.action(a))
		}
	}
	if edited {
		others = append([]string{"apply the edited spec to the objects of the cluster"}, others...)
	}
	switch {
	case v.plan.Record.State == standalone.Suspended:
		return "stop its pods: " + v.Desired.SuspendField + " is true"
	case v.Desired.Problem.Reason != "":
		return "keep it unchanged: the edit cannot be built"
	case len(others) > 0:
		return strings.Join(others, ", ")
	case v.unready().Reason != "":
		return "wait until its pods are ready"
	}
	return "keep it running"
}

// resting describes a suspended cluster.
func (v clusterView) resting() string {
	switch next := v.plan.Record; {
	case next.State == standalone.Submitted:
		return "begin again: " + v.Desired.SuspendField + " is false"
	case len(v.plan.Actions) > 0:
		return v.decided()
	case len(v.Observed.Master.Pods)+len(v.Observed.Workers.Pods) > 0:
		return "wait until its pods are gone"
	}
	return "nothing until " + v.Desired.SuspendField + " is false"
}

// decided lists the actions.
func (v clusterView) decided() string {
	var all []string
	for _, a := range v.plan.Actions {
		all = append(all, v.action(a))
	}
	return strings.Join(all, ", ")
}

// Text returns the report for users.
func (r ClusterReport) Text() string {
	p := printer{now: r.now}
	p.line("%s %s/%s %s", r.Kind, r.Namespace, r.Name, r.Summary)
	p.section("")
	state := r.State
	if r.Since != nil {
		state += " for " + p.since(r.Since.Time)
	}
	p.field("State", "%s, created %s ago", state, p.since(r.Created.Time))
	if by := r.Submitter; by != nil {
		p.field("Submitter", "%s (recorded by %s)", by.User, by.Source)
	}
	if r.Behind != "" {
		p.field("Status", "generation %d of %d: %s", r.ObservedGeneration, r.Generation, r.Behind)
	}
	if r.Reason != "" {
		p.field("Reason", "%s", Report{Summary: r.Summary, Decision: r.Decision, Reason: r.Reason, Message: r.Message}.reason())
	}
	p.field("Decision", "%s", r.Decision.Sentence)
	p.list("What you can do", r.Advice)
	r.evidence(&p)
	Report{Conditions: r.Conditions}.history(&p)
	p.list("Could not be read", r.Unreadable)
	return p.String()
}

func (r ClusterReport) evidence(p *printer) {
	p.section("Evidence")
	if !r.unknown {
		p.field("Master", "%s", r.Master.text())
		p.field("Workers", "%s", r.Workers.text())
	}
	for i, pod := range r.Pods {
		if i == shownPods {
			p.field("Pods", "and %d more", len(r.Pods)-shownPods)
			break
		}
		p.field("Pods", "%s", pod.text(p))
	}
	r.Scheduling.ofCluster(p, strings.Contains(r.Summary, r.Scheduling.Message))
	printLines(p, r.Lines)
	if r.Start > 1 {
		p.field("Starts", "%d", r.Start)
	}
}

// ofCluster prints the lines about a cluster's scheduler. It omits the group's phase, which is not read.
func (s Scheduling) ofCluster(p *printer, printed bool) {
	group := s.Group
	if s.Group = ""; s.Source == string(scheduler.SourceApplication) {
		s.Source = ownCluster
	}
	s.text(p, printed)
	if group != "" {
		p.field("Group", "%s", group)
	}
}

// shownPods bounds the listed pods.
const shownPods = 20

func (r *ClusterRole) text() string {
	if r == nil {
		return "no StatefulSet"
	}
	text := fmt.Sprintf("%d of %d ready", r.Ready, r.Wanted)
	if r.Updated < r.Wanted {
		text += fmt.Sprintf(", %d of %d up to date", r.Updated, r.Wanted)
	}
	return text
}

// clusterAdvice overrides advice and queueing for clusters, with the same placeholders. In a cluster, the pods name the queue, and the containers have the
// sizes.
var clusterAdvice = map[lifecycle.Reason]string{
	lifecycle.ReasonSuspended:     "resume it: kubectl spark resume sparkcluster/NAME -n NAMESPACE",
	lifecycle.ReasonNameConflict:  "check the owner of the object, and delete or rename it, or give the cluster another name",
	lifecycle.ReasonQuotaExceeded: "free or raise the quota: kubectl describe resourcequota -n NAMESPACE; or request less in {master.memory} and {worker.memory}",
	lifecycle.ReasonImagePull: "check spark.kubernetes.container.image in {sparkConf} for its name and tag, " +
		"and imagePullSecrets in {master.spec} and {worker.spec}",
	standalone.ReasonReplacing:     "if it is not deleted, check its finalizers, and the pods that it waits for: kubectl get pods -n NAMESPACE -l LABEL=NAME",
	standalone.ReasonPodsNotReady:  "if it lasts, read the log: kubectl logs POD -n NAMESPACE",
	lifecycle.ReasonContainerStart: "check the container's events and its log: kubectl describe pod POD -n NAMESPACE; kubectl logs POD -n NAMESPACE --previous",
	scheduler.ReasonWaitingForQuota: "wait, request less in {master.memory} and {worker.memory}, " +
		"or use another queue; see what else waits: kubectl spark queue -A QUEUE",
	scheduler.ReasonQueueClosed: "ask an administrator to open the queue, or name another one",
	scheduler.ReasonQueueNotFound: "correct the queue that the pods name, or ask an administrator to create the queue: " +
		"the cluster continues automatically then",
	scheduler.ReasonQueueNotLeaf:         "name a queue in the message on the pods",
	scheduler.ReasonQueueForbidden:       "name a queue in the message on the pods, or ask an administrator for the permission",
	scheduler.ReasonExceedsQueueCapacity: "request less in {master.memory} and {worker.memory}, or use another queue",
	scheduler.ReasonExceedsQuota:         "request less in {master.memory} and {worker.memory}, or ask an administrator to raise the quota",
	scheduler.ReasonQuotaRequiresLimits:  "set what the message names on the master and the workers, or ask an administrator for a LimitRange with defaults",
}

// advice lists the user's possible actions, the most urgent first.
func (v clusterView) advice() []string {
	var all []string
	if v.behind() != "" {
		all = append(all, whenBehind)
	}
	reason, begins := v.cause().Reason, !v.Record.State.Starts() && v.plan.Record.State == standalone.Submitted
	switch text := clusterAdvice[reason]; {
	case begins:
	case reason == standalone.ReasonPodsNotReady && v.pod() == "":
		all = append(all, "if it lasts, check why pods are not created: kubectl describe statefulsets -n NAMESPACE -l LABEL=NAME")
	case text != "":
		all = append(all, text)
	case advice[reason] != "":
		all = append(all, advice[reason])
	case queueing[reason] != "":
		all = append(all, queueing[reason])
	}
	if s := v.Record.State; !begins && (s == standalone.Failed || s == standalone.Released || s == standalone.Refused) {
		all = append(all, "edit its spec to start it again")
	}
	flag := ""
	if queue := v.Record.Scheduling.Queue; queue != "" {
		flag = " --queue " + queue
	}
	all = filled(all, v.Family, "LABEL", v.Family.Labels.App, "NAMESPACE", v.Object.GetNamespace(), "NAME", v.Object.GetName(),
		"APPLICATION", "cluster", "POD", v.pod(), " QUEUE", flag)
	if v.Desired.Deleting && len(v.Object.GetFinalizers()) > 0 {
		all = append(all, finalizers(v.Object))
	}
	return all
}

// pod returns the name of the first pod that is not ready; "" for none.
func (v clusterView) pod() string {
	for _, pod := range v.Pods {
		if !pod.Ready {
			return pod.Name
		}
	}
	return ""
}
