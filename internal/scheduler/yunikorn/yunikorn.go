// SPDX-License-Identifier: Apache-2.0

// Package yunikorn is the plugin for Apache YuniKorn (https://yunikorn.apache.org), written for version 1.9.
//
// YuniKorn has no objects: it reads everything from the pods, and an application waits with its driver pod. Each attempt is a separate application in
// YuniKorn. Before the driver starts, YuniKorn may reserve room for the driver and the executors with placeholder pods (gang scheduling). The real pods
// replace the placeholders one by one.
package yunikorn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/apache/yunikorn-k8shim/pkg/common/constants"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Name is the plugin's name in spec.batchScheduler.
const Name = "yunikorn"

// Gang scheduling styles. The first two are names of YuniKorn.
const (
	styleSoft = "Soft"
	styleHard = "Hard"
	styleNone = "None"
)

// annotationUser names the user and the user's groups. YuniKorn reads it on the operator's pods only if its admission controller lists the operator in
// externalUsers.
const annotationUser = constants.DomainYuniKorn + "user.info"

// Plugin connects YuniKorn. It needs no configuration: the name of the scheduler is fixed in YuniKorn.
type Plugin struct{}

var (
	_ scheduler.Plugin            = Plugin{}
	_ scheduler.Observer          = Plugin{}
	_ scheduler.Queuer            = Plugin{}
	_ scheduler.PlaceholderUser   = Plugin{}
	_ scheduler.UserReader        = Plugin{}
	_ scheduler.ApplicationReader = Plugin{}
)

// parameters are spec.batchSchedulerOptions.parameters, with YuniKorn's names.
type parameters struct {
	// GangSchedulingStyle applies if the room for the whole gang is not found in time: Soft continues without a gang, Hard fails the application. None requests
	// no gang.
	GangSchedulingStyle string `json:"gangSchedulingStyle"`
	// PlaceholderTimeoutInSeconds is the lifetime of placeholders, from their creation to the replacement of the last one. It includes the start of the driver
	// and the executors. 0 means YuniKorn's default (15 minutes).
	PlaceholderTimeoutInSeconds int64 `json:"placeholderTimeoutInSeconds"`
}

var eventKind = schema.GroupVersionKind{Version: "v1", Kind: "Event"}

// Describe introduces the plugin.
func (Plugin) Describe() scheduler.Descriptor {
	claim := func(part scheduler.PodPart, key string) scheduler.PodKey {
		return scheduler.PodKey{Part: part, Key: key}
	}
	return scheduler.Descriptor{
		Name: Name, SchedulerName: constants.SchedulerName,
		Reads: []schema.GroupVersionKind{scheduler.PriorityClassKind, eventKind},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{scheduler.PriorityClassKind.Group}, Resources: []string{"priorityclasses"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list", "watch"}},
		},
		ManagedKeys: []scheduler.PodKey{
			applicationID,
			claim(scheduler.PodLabel, constants.CanonicalLabelQueueName),
			claim(scheduler.PodAnnotation, constants.AnnotationQueueName),
			claim(scheduler.PodAnnotation, constants.AnnotationTaskGroups),
			claim(scheduler.PodAnnotation, constants.AnnotationTaskGroupName),
			claim(scheduler.PodAnnotation, constants.AnnotationSchedulingPolicyParam),
			claim(scheduler.PodAnnotation, annotationUser),
			claim(scheduler.PodPriorityClass, ""),
		},
		Supports: scheduler.Support{Queues: true},
	}
}

// queuePath matches a queue's path: names joined by dots.
var queuePath = regexp.MustCompile(`^[a-zA-Z0-9_:#/@-]{1,64}(\.[a-zA-Z0-9_:#/@-]{1,64})*$`)

// Validate checks the format of the queue and the parameters.
func (Plugin) Validate(a scheduler.Attempt) field.ErrorList {
	_, findings := parametersOf(a)
	if a.Queue != "" && !queuePath.MatchString(a.Queue) {
		findings = append(findings, scheduler.Invalid(a.QueueField(), fmt.Sprintf("%q is not the path of a queue; write it as root.team-a.batch", a.Queue)))
	}
	return findings
}

func parametersOf(a scheduler.Attempt) (parameters, field.ErrorList) {
	p := parameters{GangSchedulingStyle: constants.SchedulingPolicyStyleParamDefault}
	findings := scheduler.DecodeParameters(a, &p)
	if len(findings) > 0 {
		return p, findings
	}
	switch p.GangSchedulingStyle {
	case styleSoft, styleHard, styleNone:
	default:
		findings = append(findings, scheduler.Invalid(a.Field(scheduler.FieldParameters)+".gangSchedulingStyle",
			fmt.Sprintf("%q: must be %s, %s or %s", p.GangSchedulingStyle, styleSoft, styleHard, styleNone)))
	}
	if p.PlaceholderTimeoutInSeconds < 0 {
		findings = append(findings, scheduler.Invalid(a.Field(scheduler.FieldParameters)+"."+constants.SchedulingPolicyTimeoutParam,
			fmt.Sprintf("%d: must not be negative", p.PlaceholderTimeoutInSeconds)))
	}
	return p, findings
}

// Reads returns the read of the application's PriorityClass.
func (Plugin) Reads(a scheduler.Attempt) []scheduler.Read { return scheduler.ReadPriorityClass(a) }

// Admit always admits the attempt, because it waits with its driver pod. Only YuniKorn knows the queues.
func (Plugin) Admit(a scheduler.Attempt, s scheduler.Snapshot) (scheduler.Admission, error) {
	if missing, ok := scheduler.MissingPriorityClass(a, s); ok {
		return missing, nil
	}
	answer := scheduler.Admission{Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted,
		Message: fmt.Sprintf("the %s pod waits in %s", a.Word(spark.WordDriver), queueOf(a))}
	if answer.Warning = usersUser(a); answer.Warning != "" {
		return answer, nil
	}
	if options, _ := parametersOf(a); options.GangSchedulingStyle != styleNone && !usersGang(a) {
		answer.Warning = scheduler.FewPending(a)
	}
	return answer, nil
}

// usersUser returns the warning about executors on which the application itself names the user; "" without one. Without YuniKorn's admission controller, which
// the operator does not see, the annotation has no effect there.
func usersUser(a scheduler.Attempt) string {
	if _, set := a.PodSets.ExecutorAttributes.Annotations[annotationUser]; !set || a.PodSets.ByControllers {
		return ""
	}
	driver := a.Word(spark.WordDriver)
	return fmt.Sprintf("the %s pod has the annotation %s, which YuniKorn's admission controller refuses on pods that a %s creates; "+
		"remove it: the %s pod names the user", a.Word(spark.WordExecutor), annotationUser, driver, driver)
}

func queueOf(a scheduler.Attempt) string {
	if a.Queue == "" {
		return "the queue that YuniKorn's placement rules choose"
	}
	return "queue " + a.Queue
}

// Keys that users may set themselves: the application of the pods, and the gang. YuniKorn prefers this application to Spark's id.
var (
	applicationID    = scheduler.PodKey{Part: scheduler.PodLabel, Key: constants.CanonicalLabelApplicationID}
	applicationMarks = []scheduler.PodKey{
		applicationID, {Part: scheduler.PodAnnotation, Key: constants.AnnotationApplicationID}, {Part: scheduler.PodLabel, Key: constants.LabelApplicationID},
	}
	gangMarks = []scheduler.PodKey{
		{Part: scheduler.PodAnnotation, Key: constants.AnnotationTaskGroups}, {Part: scheduler.PodAnnotation, Key: constants.AnnotationTaskGroupName},
	}
)

// marked reports whether the user set one of the keys on the pods of either role.
func marked(a scheduler.Attempt, keys []scheduler.PodKey) bool {
	return slices.ContainsFunc(keys, func(key scheduler.PodKey) bool { return len(scheduler.UsersMarks(a, key)) > 0 })
}

// usersGang reports whether the user described a gang or put the pods into a gang. In that case the plugin describes no gang.
func usersGang(a scheduler.Attempt) bool { return marked(a, gangMarks) }

// Decorate marks the pods of both roles as one application for this attempt alone. If an id is already known, YuniKorn adds the pods to the old application,
// with its queue and gang. Users who set an id themselves want this.
func (Plugin) Decorate(a scheduler.Attempt, d *scheduler.Decoration) error {
	options, _ := parametersOf(a)
	for _, o := range []*spark.PodOverlay{&d.Driver, &d.Executor} {
		if !marked(a, applicationMarks) {
			scheduler.SetIn(&o.Labels, applicationID.Key, a.ID)
		}
		setQueue(o, a.Queue)
	}
	if err := setUsers(a, d); err != nil {
		return err
	}
	scheduler.DecoratePriorityClass(a, d)
	if options.GangSchedulingStyle == styleNone || usersGang(a) {
		return nil
	}
	return setGang(a, options, d)
}

// setQueue sets the queue as a label, or as an annotation if it is too long for a label.
func setQueue(o *spark.PodOverlay, queue string) {
	switch {
	case queue == "":
	case len(validation.IsValidLabelValue(queue)) == 0:
		scheduler.SetIn(&o.Labels, constants.CanonicalLabelQueueName, queue)
	default:
		scheduler.SetIn(&o.Annotations, constants.AnnotationQueueName, queue)
	}
}

// QueueOf returns the queue that a pod names. YuniKorn reads the label first, then the annotation, then the old label.
func (Plugin) QueueOf(pod spark.PodAttributes, _ []*unstructured.Unstructured) (string, bool) {
	return cmp.Or(
		pod.Labels[constants.CanonicalLabelQueueName], pod.Annotations[constants.AnnotationQueueName], pod.Labels[constants.LabelQueueName],
	), true
}

// QueueOfObject always returns false, because YuniKorn has no objects.
func (Plugin) QueueOfObject(*unstructured.Unstructured) (string, bool) { return "", false }

// userInfo is the user of a pod, as YuniKorn decodes it from the annotation.
type userInfo struct {
	User   string   `json:"user"`
	Groups []string `json:"groups,omitempty"`
}

// setUsers names the user on each pod that may be the first of the application, because YuniKorn reads the user there. YuniKorn's admission controller refuses
// the annotation on other pods: it accepts it from accounts that an administrator trusts, such as the operator's and those of Kubernetes' controllers, but the
// driver creates the executors with an account of the tenant.
func setUsers(a scheduler.Attempt, d *scheduler.Decoration) error {
	if a.User.Name == "" {
		return nil
	}
	text, err := json.Marshal(userInfo{a.User.Name, a.User.Groups})
	if err != nil {
		return fmt.Errorf("encode the user: %w", err)
	}
	scheduler.SetIn(&d.Driver.Annotations, annotationUser, string(text))
	if a.PodSets.ByControllers {
		scheduler.SetIn(&d.Executor.Annotations, annotationUser, string(text))
	}
	return nil
}

// OtherUser reads the annotation, or the old label if there is no annotation.
func (Plugin) OtherUser(pod spark.PodAttributes, user scheduler.User) (scheduler.PodKey, bool) {
	if text, set := pod.Annotations[annotationUser]; set {
		var named userInfo
		other := func(group string) bool { return !slices.Contains(user.Groups, group) }
		if err := json.Unmarshal([]byte(text), &named); err != nil || user.Name == "" || named.User != user.Name || slices.ContainsFunc(named.Groups, other) {
			return scheduler.PodKey{Part: scheduler.PodAnnotation, Key: annotationUser}, true
		}
	}
	if name, set := pod.Labels[constants.DefaultUserLabel]; set && (user.Name == "" || name != user.Name) {
		return scheduler.PodKey{Part: scheduler.PodLabel, Key: constants.DefaultUserLabel}, true
	}
	return scheduler.PodKey{}, false
}

// OtherApplication reads all labels and annotations that can name an application, because YuniKorn's versions differ in their precedence. Spark's id is the
// last. The pods are as Spark makes them: an {{APP_ID}} that is left is in a template, where Spark does not replace it, and names one application for all.
func (Plugin) OtherApplication(pod spark.PodAttributes, a scheduler.Attempt) (scheduler.PodKey, bool) {
	for _, key := range append(slices.Clone(applicationMarks), scheduler.PodKey{Part: scheduler.PodLabel, Key: constants.SparkLabelAppID}) {
		value, set := pod.Labels[key.Key]
		if key.Part == scheduler.PodAnnotation {
			value, set = pod.Annotations[key.Key]
		}
		if set && value != a.ID && (value != a.SparkID || value == "") {
			return key, true
		}
	}
	return scheduler.PodKey{}, false
}

// taskGroup is a set of placeholders in the format of YuniKorn's annotation.
type taskGroup struct {
	Name         string              `json:"name"`
	MinMember    int32               `json:"minMember"`
	MinResource  corev1.ResourceList `json:"minResource"`
	NodeSelector map[string]string   `json:"nodeSelector,omitempty"`
	Tolerations  []corev1.Toleration `json:"tolerations,omitempty"`
	Affinity     *corev1.Affinity    `json:"affinity,omitempty"`
}

// setGang describes the gang on the driver, which is the first pod of the application, and names the group on every pod. The driver has a group of its own,
// because YuniKorn places only placeholders until all placeholders have a node.
func setGang(a scheduler.Attempt, options parameters, d *scheduler.Decoration) error {
	s := a.PodSets
	groups := []taskGroup{group(spark.RoleDriver, 1, s.Driver, s.DriverAttributes)}
	if s.Initial > 0 {
		groups = append(groups, group(spark.RoleExecutor, s.Initial, s.Executor, s.ExecutorAttributes))
		scheduler.SetIn(&d.Executor.Annotations, constants.AnnotationTaskGroupName, spark.RoleExecutor)
	}
	text, err := json.Marshal(groups)
	if err != nil {
		return fmt.Errorf("encode the task groups: %w", err)
	}
	scheduler.SetIn(&d.Driver.Annotations, constants.AnnotationTaskGroups, string(text))
	scheduler.SetIn(&d.Driver.Annotations, constants.AnnotationTaskGroupName, spark.RoleDriver)
	scheduler.SetIn(&d.Driver.Annotations, constants.AnnotationSchedulingPolicyParam, policy(options))
	return nil
}

// Placeholders returns the placeholders of the gang that Decorate describes. YuniKorn gives them the driver's priority class, and limits equal to their
// requests. The placeholders of a user's own gang are unknown.
func (Plugin) Placeholders(a scheduler.Attempt) []scheduler.Placeholder {
	if options, _ := parametersOf(a); options.GangSchedulingStyle == styleNone || usersGang(a) {
		return nil
	}
	class := cmp.Or(a.PodSets.DriverAttributes.PriorityClassName, a.PriorityClass)
	of := func(role string, shape spark.PodResources, count int32) scheduler.Placeholder {
		return scheduler.Placeholder{
			Role: role, PodResources: spark.PodResources{Requests: shape.Requests, Limits: shape.Requests}, PriorityClass: class, Count: count,
		}
	}
	all := []scheduler.Placeholder{of(spark.RoleDriver, a.PodSets.Driver, 1)}
	if a.PodSets.Initial > 0 {
		all = append(all, of(spark.RoleExecutor, a.PodSets.Executor, a.PodSets.Initial))
	}
	return all
}

func group(name string, members int32, shape spark.PodResources, traits spark.PodAttributes) taskGroup {
	return taskGroup{
		Name: name, MinMember: members, MinResource: shape.Requests,
		NodeSelector: traits.NodeSelector, Tolerations: traits.Tolerations, Affinity: traits.Affinity,
	}
}

func policy(p parameters) string {
	words := []string{constants.SchedulingPolicyStyleParam + "=" + p.GangSchedulingStyle}
	if p.PlaceholderTimeoutInSeconds > 0 {
		words = append([]string{fmt.Sprintf("%s=%d", constants.SchedulingPolicyTimeoutParam, p.PlaceholderTimeoutInSeconds)}, words...)
	}
	return strings.Join(words, constants.SchedulingPolicyParamDelimiter)
}
