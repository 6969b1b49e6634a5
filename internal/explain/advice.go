// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// advice maps a reason to an action of the user. NAME, NAMESPACE and POD are placeholders for the application's, TYPED for the name with the type, and LABEL
// for the label with the name. Braces enclose fields (spark.Fields). A reason has no entry if it needs no action or if its message names the action.
var advice = map[lifecycle.Reason]string{
	lifecycle.ReasonSchedulerObjects: "ask an administrator: the API server refuses the objects that the batch scheduler needs",
	lifecycle.ReasonSuspended:        "resume it: kubectl spark resume TYPED -n NAMESPACE",
	lifecycle.ReasonNameConflict:     "check its owner, and delete or rename it; a pod: kubectl get pod POD -n NAMESPACE -o yaml, or set {driver.podName}",
	lifecycle.ReasonPreviousDriver:   "if the pod is not deleted, check its node: kubectl get pod POD -n NAMESPACE -o wide",
	lifecycle.ReasonAwaitingAdoption: "label the driver: kubectl spark adopt POD -n NAMESPACE; if it does not run any more, delete the application",
	lifecycle.ReasonQuotaExceeded:    "free or raise the quota: kubectl describe resourcequota -n NAMESPACE; or request less in {driver}",
	lifecycle.ReasonAdmissionRefused: "change what the policy objects to, or the policy; the message comes from it",
	lifecycle.ReasonExposureInvalid: "correct what the condition Exposed names, in {ui}, {ports} " +
		"or the operator's configuration (docs/ui.md); the application runs without it",
	lifecycle.ReasonExposureRefused: "read the API server's message in the condition Exposed; " +
		"the application runs without the object, and the operator retries every 30 s",
	lifecycle.ReasonExposureForbidden: "change the field that the condition Exposed names to what the policy allows, " +
		"or ask an administrator; existing objects are kept, and the application runs",
	lifecycle.ReasonOperatorForbidden: "grant the operator the permission in the message: an administrator must change its role",
	lifecycle.ReasonUnschedulable:     "check what the nodes lack: kubectl describe pod POD -n NAMESPACE; request less, or add nodes",
	lifecycle.ReasonSchedulingGated:   "the owner of the scheduling gate must remove it: kubectl get pod POD -n NAMESPACE -o jsonpath='{.spec.schedulingGates}'",
	lifecycle.ReasonImagePull:         "check {image} for its name and tag, and {imagePullSecrets}",
	lifecycle.ReasonConfigMissing:     "create the ConfigMap, Secret or key that the message names: the pod continues automatically then",
	lifecycle.ReasonVolume:            "create the ConfigMap, Secret or claim that the message names: the pod continues automatically then",
	lifecycle.ReasonContainerStart:    "check the container's events: kubectl describe pod POD -n NAMESPACE",
	lifecycle.ReasonIdle:              "connect to it, which starts it again: kubectl spark connect NAME -n NAMESPACE",
	lifecycle.ReasonDraining:          "close its sessions, or replace it at once: kubectl spark rerun TYPED -n NAMESPACE",
	lifecycle.ReasonDriverNotReady:    "if it lasts, read the log: kubectl spark logs NAME -n NAMESPACE",
	lifecycle.ReasonDriverFailed:      "read the end of the log: kubectl spark logs NAME -n NAMESPACE",
	lifecycle.ReasonDriverRestarted:   "remove restartPolicy and restartPolicyRules from Spark's container of {driver}: retries are those of {restartPolicy}",
	lifecycle.ReasonDriverOutOfMemory: "raise {driver.memory} or memoryOverhead, or let {restartPolicy.outOfMemory.memoryFactor} raise it",
	lifecycle.ReasonDriverEvicted:     "a budget for such failures is {restartPolicy.infrastructure}",
	lifecycle.ReasonDriverNotFound:    "find out what deletes driver pods; a budget for such failures is {restartPolicy.infrastructure}",
	lifecycle.ReasonRetryRate:         "find out why it ends so often: kubectl spark logs NAME -n NAMESPACE",
	lifecycle.ReasonNodeLost:          "recover the node, or delete it: kubectl get pod POD -n NAMESPACE -o wide",
	lifecycle.ReasonInvalidSpec:       "change the fields that the message names and apply the manifest again; kubectl spark validate checks it before",
	lifecycle.ReasonSubmissionRefused: "change what the message names: the API server does not accept the object as it is",
	lifecycle.ReasonQueueTimeout:      "raise {deadlines.queued}, or check why the application waited",
	lifecycle.ReasonSchedulingTimeout: "raise {deadlines.driverScheduled}, or make room for the driver",
	lifecycle.ReasonStartTimeout:      "raise {deadlines.driverStart}, or check why the container did not start",
	lifecycle.ReasonNotReadyTimeout:   "raise {deadlines.driverPodReady}, or check why the pod was not ready",
	lifecycle.ReasonReadyTimeout:      "raise {deadlines.driverReady}, or check why the container did not start",
	lifecycle.ReasonExecutorsTimeout: "raise {deadlines.firstExecutors}, or check why executors do not start: " +
		"kubectl get pods -n NAMESPACE -l spark-role=executor",
	lifecycle.ReasonExecutorsRefused: "change what the message names: {executor}, the policy or the quota; Spark asks for executors again and again, " +
		"and its log has each answer: kubectl spark logs NAME -n NAMESPACE",
	lifecycle.ReasonRunTimeout:       "raise {deadlines.run} if the application needs the time",
	lifecycle.ReasonExecutorsPending: "check what executors wait for: kubectl get pods -n NAMESPACE -l spark-role=executor,LABEL=NAME",
}

// queueing maps a reason of the batch scheduler to an action of the user. QUEUE is a placeholder for the flag with the attempt's queue, and APPLICATION for the
// word for an object of the kind.
var queueing = map[scheduler.Reason]string{
	scheduler.ReasonWaitingForScheduler: "if this lasts, ask an administrator whether the scheduler runs",
	scheduler.ReasonWaitingForQuota: "wait, request less in {driver} and {executor}, " +
		"or use another queue; see what else waits: kubectl spark queue -A QUEUE",
	scheduler.ReasonBehindOthers: "wait; see what is ahead: kubectl spark queue -A QUEUE",
	scheduler.ReasonQueueClosed:  "ask an administrator to open the queue, or take another one in {batchScheduler.queue}",
	scheduler.ReasonQueueNotFound: "correct {batchScheduler.queue}, or ask an administrator to create the queue: " +
		"the APPLICATION continues automatically then",
	scheduler.ReasonPodGroupNotFound:         "create the PodGroup that the pods name, or remove its name from their labels and annotations",
	scheduler.ReasonPriorityClassNotFound:    "create the PriorityClass, or name another one",
	scheduler.ReasonQueueNotLeaf:             "set {batchScheduler.queue} to a queue in the message",
	scheduler.ReasonQueueForbidden:           "set {batchScheduler.queue} to a queue in the message, or ask an administrator for the permission",
	scheduler.ReasonExceedsQueueCapacity:     "request less in {driver} and {executor}, or use another queue in {batchScheduler.queue}",
	scheduler.ReasonExceedsQuota:             "request less in {driver} and {executor}, or ask an administrator to raise the quota",
	scheduler.ReasonQuotaRequiresLimits:      "set what the message names on the driver and the executors, or ask an administrator for a LimitRange with defaults",
	scheduler.ReasonInvalidParameters:        "change the fields that the message names and apply the manifest again",
	scheduler.ReasonSchedulerRefused:         "change what the scheduler objects to; the message comes from it",
	scheduler.ReasonPodSchedulerNameConflict: "remove the scheduler's name from the pods, or set {batchScheduler}",
	scheduler.ReasonPodKeyConflict:           "remove the label or annotation that the message names",
	scheduler.ReasonSchedulerUnknown:         "set {batchScheduler} to a scheduler of the operator, or install the missing one",
	scheduler.ReasonSchedulerDisabled:        "set {batchScheduler} to an enabled scheduler, or ask an administrator to enable this one",
	scheduler.ReasonSchedulerNotInstalled: "ask an administrator to install what is missing (the APPLICATION continues automatically then), " +
		"or name another scheduler in {batchScheduler}",
	scheduler.ReasonSchedulerForbidden: "ask an administrator to grant the operator the permission in the message: the APPLICATION continues automatically then",
	scheduler.ReasonSchedulerFailed:    "report it: the plugin failed and is called again; see the operator's log",
	scheduler.ReasonCapturedByOther:    "find the client that changes the scheduler's name on pods of this namespace: kubectl get pod POD -n NAMESPACE -o yaml",
}

// whenBehind is the advice about a status that is older than the spec.
const whenBehind = "if the status does not follow within seconds, check that the operator is running and watches this namespace: " +
	"kubectl spark check -n NAMESPACE"

// finalizers is the advice about an object that its finalizers keep.
func finalizers(o metav1.Object) string {
	return "if it is not deleted, the owner of its finalizers must remove them: " + strings.Join(o.GetFinalizers(), ", ")
}

// advice lists the user's possible actions, the most urgent first.
func (v view) advice() []string {
	switch d := v.Scope.Desired; {
	case d.Probe:
		return []string{"leave it alone"}
	case d.ManagedBy != "":
		return []string{"ask who runs " + d.ManagedBy}
	}
	var all []string
	if v.behind() != "" && v.before.DrainSince.IsZero() && !v.Scope.Desired.Deleting {
		all = append(all, whenBehind)
	}
	reason := v.mainReason()
	if text := remedyFor(reason, v.cause().Message); text != "" {
		all = append(all, text)
	} else if text, ok := advice[reason]; ok {
		all = append(all, text)
	} else if text, ok := queueing[reason]; ok {
		all = append(all, text)
	}
	switch trouble := v.before.Exposure.Trouble.Reason; trouble {
	case "":
	case lifecycle.ReasonExposureInvalid, lifecycle.ReasonExposureRefused, lifecycle.ReasonExposureForbidden:
		all = append(all, advice[trouble])
	default:
		all = append(all, "the application runs without an auxiliary object of its driver: the condition Exposed names it and the reason")
	}
	if v.before.State == lifecycle.Failed && v.before.Cause.Reason != lifecycle.ReasonInvalidSpec {
		all = append(all, again(v.Scope.Family.RerunAt))
	}
	flag := ""
	if queue := v.scheduling().Queue; queue != "" {
		flag = "--queue " + queue
	}
	words := []string{"LABEL", v.Scope.Family.Labels.App, "TYPED", v.Typed, "NAMESPACE", v.Object.GetNamespace(), "NAME", v.Object.GetName(),
		"APPLICATION", "application", "POD", v.Observed.Driver.Name, " QUEUE", strings.TrimRight(" "+flag, " ")}
	if v.Scope.Desired.Endures {
		words = append([]string{"kubectl spark logs NAME", "kubectl logs " + v.Observed.Driver.Name}, words...)
	}
	all = filled(all, v.Scope.Family, words...)
	if v.Scope.Desired.Deleting && len(v.Object.GetFinalizers()) > 0 {
		all = append(all, finalizers(v.Object))
	}
	return all
}

// filled replaces the placeholders of templates by words, and their fields by paths. Only words may contain users' names.
func filled(templates []string, family lifecycle.Family, words ...string) []string {
	fill := strings.NewReplacer(words...)
	for i := range templates {
		templates[i] = fill.Replace(family.Fields.Text(templates[i]))
	}
	return templates
}

// again is the advice to run a finished application again.
func again(annotation string) string {
	if annotation == "" {
		return "run it again: change the spec, or delete and create the application"
	}
	return "run it again: kubectl spark rerun TYPED -n NAMESPACE; or change the spec"
}

// mainReason returns the reason for which there is advice; "" for none.
func (v view) mainReason() lifecycle.Reason {
	e := v.executors()
	switch c := v.cause(); {
	case v.Scope.Desired.Deleting:
		return ""
	case v.again && v.raise() != "":
		return ""
	case c.Reason != "":
		return c.Reason
	case v.plan.Record.State == lifecycle.Running && e.Running < e.Wanted:
		return lifecycle.ReasonExecutorsPending
	}
	return ""
}
