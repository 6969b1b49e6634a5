// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Attempt is everything that a scheduler may want to know of one run of an application, already sized by the core.
type Attempt struct {
	App App
	// Number counts from 1 and grows with every submission: retry, resume, eviction.
	Number int32
	// ID is unique among all attempts of all applications in the cluster and a DNS label of at most 63 characters. A
	// plugin names its objects by it.
	ID string
	// SparkID is Spark's own id of the attempt, which its pods carry; "" where there is none.
	SparkID string

	// QueuedAt is when the attempt began to wait for its start.
	QueuedAt time.Time
	// Now is when the scheduler is asked; zero where that is not known.
	Now time.Time

	// Choice is the plugin and the queue where the attempt waits: the user's, the namespace's, the configuration's or the
	// plugin's default. The queue is "" if the plugin has none and the user named none.
	Choice
	// QueueFrom is the operator's policy whose default the queue is; "" for anything else.
	QueueFrom string
	// UsableQueues are patterns of the queues that the application's namespace may use; nil for all. Queue is among them.
	UsableQueues []string
	// PriorityClass is the name of a PriorityClass; "" for none.
	PriorityClass string
	// Priority is the value of that class; 0 without one, or where the operator may not read it. It is filled in only for the plugin
	// that asks for Quota.
	Priority int32
	// User created the application; empty if it was not recorded.
	User User

	// PodSets are the exact requests of the driver and of one executor, and the number of executors.
	PodSets spark.PodSets
	// Placeholders are pods that the attempt's scheduler creates beside these; see PlaceholderUser.
	Placeholders []Placeholder
	// Made are objects of the application's own that are created with its driver, e.g. a group of its pods.
	Made []Ref
	// Resources, if set, is the user's own total for the whole application. It replaces what PodSets add up to.
	Resources corev1.ResourceList

	// Parameters are the plugin's own options as the user wrote them, in JSON; see DecodeParameters.
	Parameters json.RawMessage

	// Quota is what other attempts will still take of the quotas that this one meets. It is filled in only for the plugin
	// that asks for it (Descriptor.Quota).
	Quota Outstanding

	// Fields names the user's fields in messages; see Field.
	Fields spark.Fields
}

// App identifies the application whose attempt is scheduled.
type App struct {
	Kind      schema.GroupKind
	Namespace string
	Name      string
	UID       types.UID
	Labels    map[string]string
}

// Key names an application among those of all kinds.
type Key struct {
	Kind            schema.GroupKind
	Namespace, Name string
}

// Key names the application.
func (a App) Key() Key { return Key{a.Kind, a.Namespace, a.Name} }

// String is for logs and for an order among applications.
func (k Key) String() string { return k.Namespace + "/" + k.Name + " " + k.Kind.String() }

// User is a Kubernetes user.
type User struct {
	Name   string
	Groups []string
}

// Source is whose choice a scheduler was.
type Source string

const (
	// SourceApplication : the application's own field.
	SourceApplication Source = "Application"
	// SourcePolicy : the default of one of the operator's policies for the application's namespace.
	SourcePolicy Source = "Policy"
	// SourceNamespace : the annotation of the application's namespace.
	SourceNamespace Source = "Namespace"
	// SourceCluster : the operator's configuration.
	SourceCluster Source = "Cluster"
)

// Total is what the application asks for at its start, driver and initial executors together: cpu in cores, memory in
// bytes. It is the user's own number where there is one.
func (a Attempt) Total() corev1.ResourceList {
	if len(a.Resources) > 0 {
		return a.Resources.DeepCopy()
	}
	return Sum(a.PodSets.Driver.Requests, Times(a.PodSets.Executor.Requests, int64(a.PodSets.Initial)))
}

// Field is the path of one of the user's fields (FieldQueue ...), for messages.
func (a Attempt) Field(name spark.Field) string { return a.Fields.Path(name) }

// QueueField is what messages call the queue: the user's field, or the policy that named it.
func (a Attempt) QueueField() string { return cmp.Or(a.QueueFrom, a.Field(FieldQueue)) }

// Invalid is something in the attempt that the scheduler cannot work with: path is that in the user's object, as
// Attempt.Field says it, and problem says what is wrong and what would be right.
func Invalid(path, problem string) *field.Error {
	return field.Invalid(field.NewPath(path), field.OmitValueType{}, problem)
}

// Names of the user's fields, for Attempt.Field.
const (
	FieldScheduler     spark.Field = "batchScheduler"
	FieldQueue         spark.Field = "batchScheduler.queue"
	FieldPriorityClass spark.Field = "batchScheduler.priorityClass"
	FieldParameters    spark.Field = "batchScheduler.parameters"
)

// PlaceholderUser is a plugin whose scheduler creates pods of its own that keep room for the pods of an attempt until these
// replace them one by one. Quotas count both kinds.
type PlaceholderUser interface {
	// Placeholders are those that the scheduler creates once there is a driver pod.
	Placeholders(Attempt) []Placeholder
}

// Placeholder is a set of equal placeholder pods.
type Placeholder struct {
	// Role is that of the pods that replace them. The driver has replaced its own before there are executors.
	Role string
	// PodResources are what each of them requests, and its limits.
	spark.PodResources
	PriorityClass string
	Count         int32
}

// Placeholders asks the plugin for the placeholder pods of an attempt.
func Placeholders(p Plugin, a Attempt) ([]Placeholder, error) {
	user, ok := can[PlaceholderUser](p)
	if !ok {
		return nil, nil
	}
	return call(p, "Placeholders", func() ([]Placeholder, error) { return user.Placeholders(a), nil })
}
