// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// clusterAdvice is what a user can do about a reason of a cluster, where it is not what advice and queueing say. The words in capitals stand for the
// same as there.
var clusterAdvice = map[lifecycle.Reason]string{
	lifecycle.ReasonSuspended:      "resume it: kubectl spark resume sparkcluster/NAME -n NAMESPACE",
	lifecycle.ReasonNameConflict:   "check the owner of the object, and delete or rename it, or give the cluster another name",
	lifecycle.ReasonQuotaExceeded:  "free or raise the quota: kubectl describe resourcequota -n NAMESPACE; or request less in {master.memory} and {worker.memory}",
	lifecycle.ReasonImagePull:      "check spark.kubernetes.container.image in {sparkConf} for its name and tag, and imagePullSecrets in {master.spec} and {worker.spec}",
	standalone.ReasonReplacing:     "if it is not deleted, check its finalizers, and the pods that it waits for: kubectl get pods -n NAMESPACE -l LABEL=NAME",
	standalone.ReasonPodsNotReady:  "if it lasts, read the log: kubectl logs POD -n NAMESPACE",
	lifecycle.ReasonContainerStart: "check the container's events and its log: kubectl describe pod POD -n NAMESPACE; kubectl logs POD -n NAMESPACE --previous",
}

// clusterWords are what the shared texts say of applications, and the same of clusters.
var clusterWords = strings.NewReplacer(
	"the driver and the executors", "the master and the workers", "{driver} and {executor}", "{master.memory} and {worker.memory}",
	"take another one in {batchScheduler.queue}", "name another one", "correct {batchScheduler.queue}", "correct the queue that the pods name",
	"name one of the queues of the message in {batchScheduler.queue}", "have the pods name one of the queues of the message",
	"another queue in {batchScheduler.queue}", "another queue", "the application", "the cluster",
)

// advice lists what a user can do, the most urgent first.
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
		all = append(all, clusterWords.Replace(advice[reason]))
	case queueing[reason] != "":
		all = append(all, clusterWords.Replace(queueing[reason]))
	}
	if s := v.Record.State; !begins && (s == standalone.Failed || s == standalone.Released || s == standalone.Refused) {
		all = append(all, "edit its spec: it begins again then")
	}
	if v.Desired.Deleting && len(v.Object.GetFinalizers()) > 0 {
		all = append(all, finalizers(v.Object))
	}
	flag := ""
	if queue := v.Record.Scheduling.Queue; queue != "" {
		flag = " --queue " + queue
	}
	fill := strings.NewReplacer("LABEL", v.Family.Labels.App, "NAMESPACE", v.Object.GetNamespace(), "NAME", v.Object.GetName(), "POD", v.pod(), " QUEUE", flag)
	for i := range all {
		all[i] = fill.Replace(v.Family.Fields.Text(all[i]))
	}
	return all
}

// pod is the first one that is not ready; "" if there is none.
func (v clusterView) pod() string {
	for _, pod := range v.Pods {
		if !pod.Ready {
			return pod.Name
		}
	}
	return ""
}
