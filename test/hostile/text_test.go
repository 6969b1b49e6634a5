// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const (
	// evil is what terminals obey, what reverses a line, and what begins a line that looks like the operator's own, in YAML.
	evil = `\u001b]0;owned\u0007\u001b[2J\u202egnp.exe\u0007\nlevel=error msg=forged\r\u0000\u0085\u2028`
	// marked is in each of them, so that it is known where they come out.
	marked = "gnp.exe"
	secret = "hunter2-hunter2"
)

func init() {
	for _, x := range []struct{ name, reason, spec, told string }{
		{"TextOfVersion", "a value that is quoted in a message", `sparkVersion: "4.1` + evil + `"`, "sparkVersion"},
		{"TextOfMode", "a value of a list of values", `mode: "` + evil + `"`, "mode"},
		{"TextOfImage", "a value that becomes a part of a pod", `image: "x` + evil + `"`, ""},
		{"TextOfKey", "the name of a property", `sparkConf: {"spark.executor.memoryOverhead` + evil + `": "x"}`, ""},
		{"TextOfProperty", "the value of a property", `sparkConf: {spark.executor.memoryOverhead: "` + evil + `"}`, "memoryOverhead"},
		{"TextOfQuantity", "a number", `driver: {coreLimit: "1` + evil + `"}`, "coreLimit"},
		{"TextOfScheduler", "the name of a scheduler that there is not", `batchScheduler: "` + evil + `"`, ""},
		{"TextOfQueue", "the name of a queue", `batchSchedulerOptions: {queue: "` + evil + `"}`, ""},
		{"TextOfURL", "an address", `driverIngressOptions: [{servicePort: 80, servicePortName: p, ingressURLFormat: "a.b/` + evil + `"}]`, ""},
		{"TextOfField", "the name of a field that there is not", `"` + evil + `": 1`, ""},
	} {
		add(attack{
			name: x.name, reason: x.reason + " says to a terminal or a log what the operator does not say", by: tenant, shares: started,
			do:     func(a *arena) error { return errors.Join(a.app(objectOf(x.name), x.spec), a.looks(objectOf(x.name))) },
			cannot: (*arena).printable,
			told:   x.told,
		})
	}
	for _, x := range []struct{ name, reason, spec, told string }{
		{"TextOfSchedule", "the times of a schedule", `schedule: "` + evil + `"`, "spec.schedule"},
		{"TextOfTimeZone", "the time zone of a schedule", `timeZone: "` + strings.Repeat(evil, 1000) + `"`, "schedule and time zone have"},
		{"TextOfVariable", "15,000 variables that there are not, each with all of them", `template: {arguments: ["` + evil + strings.Repeat("$(SCHEDULED_)", 15_000) + `"]}`, "unknown variable"},
		{"BackfillOfTheBeginning", "a range whose status is not stored", `backfill: {from: "0001-01-01T00:00:00Z", to: "0003-01-01T00:00:00Z"}`, "must be in one of the years"},
		{"BackfillBeforeNames", "a range whose runs have no names", `backfill: {from: "1600-01-01T00:00:00Z", to: "1602-01-01T00:00:00Z"}`, "must be in one of the years"},
	} {
		add(attack{
			name: x.name, reason: x.reason + " says to a terminal or a log what the operator does not say", by: tenant, shares: started,
			do: func(a *arena) error {
				return errors.Join(a.apply(schedule, objectOf(x.name), x.spec), a.looked(schedule, objectOf(x.name)))
			},
			cannot: (*arena).printable,
			told:   x.told,
		})
	}
	add(
		attack{
			name: "TextOfTermination", reason: "what a driver prints last reaches a status and a terminal", by: driverCode,
			do:     func(a *arena) error { return a.fails("printed", unquoted(evil)) },
			cannot: (*arena).printable,
			told:   marked,
			weak:   "nothing that a driver prints is stored there",
		},
		attack{
			name: "SecretsInTails", reason: "what a driver prints last is read by all who may read the application", by: driverCode,
			do: func(a *arena) error {
				return a.fails("leaks", "connect: password="+secret+"\nfs.s3a.secret.key -> "+secret+"\njdbc:postgresql://user:"+secret+"@db/x\n{\"token\": \""+secret+"\"}")
			},
			cannot: func(a *arena) error { return a.silent("leaks", secret) },
			told:   "redacted",
			weak:   "nothing that a driver prints is stored there",
		},
		attack{
			name: "ForbiddenTails", reason: "where a policy forbids it nothing that a driver prints is stored", by: driverCode, policy: hushed,
			do:     func(a *arena) error { return a.fails("hushed", "the account of Alice is "+secret) },
			cannot: func(a *arena) error { return errors.Join(a.silent("hushed", secret), a.silent("hushed", "Alice")) },
		},
		beyond("SecretsInMessages", "a value that Spark would redact is not in the sentence that refuses it", open, tries{
			"conf": {`sparkConf: {spark.executor.memoryOverhead: "${spark.db.password}", spark.db.password: ` + secret + `}`, "memoryOverhead"},
		}),
	)
}

// unquoted is a text in YAML as it is meant.
func unquoted(text string) string {
	var out string
	if err := yaml.Unmarshal([]byte(`"`+text+`"`), &out); err != nil {
		panic(err)
	}
	return out
}

// looks waits for the operator, if the API server has taken the object.
func (a *arena) looks(name string) error {
	if _, err := a.stored(application, name); err != nil {
		return client.IgnoreNotFound(err)
	}
	return a.looked(application, name)
}

// fails lets the driver of an application end with a message, as a kubelet reports it, and waits until the operator knows.
func (a *arena) fails(name, message string) error {
	pod, err := a.runs(name, "restartPolicy: {type: Never}")
	if err != nil {
		return err
	}
	if err := a.admin.Get(a.ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
		return err
	}
	ended := pod.DeepCopy()
	now := metav1.NewTime(time.Now())
	ended.Status.Phase = corev1.PodFailed
	for i := range ended.Status.ContainerStatuses {
		ended.Status.ContainerStatuses[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: "Error", Message: message, StartedAt: now, FinishedAt: now,
		}}
	}
	if err := a.admin.Status().Patch(a.ctx, ended, client.MergeFrom(pod)); err != nil {
		return err
	}
	return a.state(name, "FAILED")
}

// longest is more than any text of a status has, in bytes.
const longest = 4 << 10

const theLog = "the operator's log"

// printable is nil if nothing that the operator has written has a character that a terminal or a log obeys: statuses, events, its log. Texts of
// statuses are short.
func (a *arena) printable() error {
	words := map[string]string{theLog: a.operator.log.text()}
	for _, kind := range []schema.GroupVersionKind{application, schedule, connect, apache, standalone} {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(kind)
		if err := a.admin.List(a.ctx, &list, client.InNamespace(a.namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			eachText(list.Items[i].Object["status"], func(text string) { words["the status: "+text] = text })
		}
	}
	for _, text := range words {
		if len(text) > longest && text != words[theLog] {
			return fmt.Errorf("a text of a status has %d bytes: %.300q", len(text), text)
		}
	}
	heard := a.heard.text()
	all, err := a.said()
	if err != nil {
		return err
	}
	words["events and conditions"] = strings.TrimPrefix(all, heard)
	for where, text := range words {
		for _, r := range text {
			if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
				return fmt.Errorf("%U is in %.300q", r, where)
			}
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "level=error msg=forged") && where == theLog {
				return errors.New("the operator's log has a line of the attacker's")
			}
		}
	}
	return nil
}

// eachText calls a function with every text of a value.
func eachText(value any, call func(string)) {
	switch v := value.(type) {
	case string:
		call(v)
	case []any:
		for _, item := range v {
			eachText(item, call)
		}
	case map[string]any:
		for key, item := range v {
			call(key)
			eachText(item, call)
		}
	}
}

// silent is nil if a text is not in the status of an application, in an event or in the operator's log.
func (a *arena) silent(name, text string) error {
	o, err := a.stored(application, name)
	if err != nil {
		return err
	}
	all, err := a.said()
	if err != nil {
		return err
	}
	eachText(o.Object["status"], func(s string) { all += s + "\n" })
	if at := strings.Index(all, text); at >= 0 {
		return fmt.Errorf("%q is in %.200q", text, all[max(0, at-100):])
	}
	if strings.Contains(a.operator.log.text(), text) {
		return fmt.Errorf("%q is in the operator's log", text)
	}
	return nil
}
