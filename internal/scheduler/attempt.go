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

// Attempt is the input of a scheduler for one run of an application. The core has already computed the sizes of its pods.
type Attempt struct {
	App App
	// Number counts from 1 and grows with every submission after a retry, a resume or an eviction.
	Number int32
	// ID is a DNS label of at most 63 characters, unique among all attempts of all applications in the cluster. Plugins derive
	// names from it.
	ID string
	// SparkID is Spark's id of the attempt, a label of its pods; "" if unknown.
	SparkID string

	// QueuedAt is when the attempt began to wait for its start.
	QueuedAt time.Time
	// Now is the time of this call; zero if unknown.
	Now time.Time

	// Choice is the plugin and the queue of the attempt. Their source is the user, the namespace, the configuration or the plugin's default. The queue is "" if
	// neither the plugin nor the user names one.
	Choice
	// QueueFrom is the operator policy that supplied the queue as a default; "" if none did.
	QueueFrom string
	// UsableQueues are patterns of the queues that the namespace may use; nil means all queues. Queue matches one of the patterns.
	UsableQueues []string
	// PriorityClass is the name of the application's PriorityClass; "" for none.
	PriorityClass string
	// PodClasses are the names of the PriorityClasses that the pods may have, sorted; "" for a pod without one. They are filled in with the scheduler.
	PodClasses []string
	// PlacedBy are the plugins whose schedulers place the pods, sorted. A pod may name another scheduler than the attempt's.
	PlacedBy []string
	// Priority is the smallest priority that a pod of the attempt may have; 0 for one without a class, or if the operator may not read the class. Only a plugin
	// with Descriptor.Quota receives it.
	Priority int32
	// User created the application; empty if it is not recorded.
	User User

	// PodSets are the exact requests of the driver and of one executor, with the number of executors.
	PodSets spark.PodSets
	// Placeholders are additional pods that the attempt's scheduler creates to reserve room; see PlaceholderUser.
	Placeholders []Placeholder
	// Made are the application's objects that are created together with its driver, such as a PodGroup.
	Made []Ref
	// Resources is what the user may ask for the whole application. It counts where it is more than the sum of PodSets.
	Resources corev1.ResourceList

	// Parameters are the user's plugin options in JSON; see DecodeParameters.
	Parameters json.RawMessage

	// Quota is the room that other attempts will still take from the attempt's quotas. Only a plugin with Descriptor.Quota receives it.
	Quota Outstanding

	// Fields names the user's fields in messages; see Field.
	Fields spark.Fields
	// Words are the user-facing words for the application and its pods; see Word.
	Words spark.Words
}

// App identifies the application of the attempt.
type App struct {
	Kind      schema.GroupKind
	Namespace string
	Name      string
	UID       types.UID
	Labels    map[string]string
}

// Key identifies an application among the applications of all kinds.
type Key struct {
	Kind            schema.GroupKind
	Namespace, Name string
}

// Key returns the application's key.
func (a App) Key() Key { return Key{a.Kind, a.Namespace, a.Name} }

// String formats the key for logs and for sorting.
func (k Key) String() string { return k.Namespace + "/" + k.Name + " " + k.Kind.String() }

// User is a Kubernetes user.
type User struct {
	Name   string
	Groups []string
}

// Source is the origin of a choice of scheduler.
type Source string

const (
	// SourceApplication : a field of the application.
	SourceApplication Source = "Application"
	// SourcePolicy : the default of an operator policy for the application's namespace.
	SourcePolicy Source = "Policy"
	// SourceNamespace : an annotation of the application's namespace.
	SourceNamespace Source = "Namespace"
	// SourceCluster : the operator's configuration.
	SourceCluster Source = "Cluster"
)

// Total returns the request of the driver and the initial executors: cpu in cores, memory in bytes. Where Resources has more of a resource, it counts.
func (a Attempt) Total() corev1.ResourceList {
	total := a.PodSets.Requests(a.PodSets.Initial)
	for name, asked := range a.Resources {
		if own := total[name]; asked.Cmp(own) > 0 {
			total[name] = asked
		}
	}
	return total
}

// Field returns the path of a user's field (FieldQueue ...), for messages.
func (a Attempt) Field(name spark.Field) string { return a.Fields.Path(name) }

// Word returns the word for the application, the driver or the executors in messages. The word depends on the kind of the object.
func (a Attempt) Word(word spark.Word) string { return a.Words.Of(word) }

// QueueField returns the source of the queue's name for messages: the user's field, or the operator policy.
func (a Attempt) QueueField() string { return cmp.Or(a.QueueFrom, a.Field(FieldQueue)) }

// Invalid returns an error in the user's object. path is the field's path in that object (Attempt.Field); problem describes the error and a correct value.
func Invalid(path, problem string) *field.Error {
	return field.Invalid(field.NewPath(path), field.OmitValueType{}, problem)
}

// Names of the user's fields, for Attempt.Field.
const (
	FieldScheduler     spark.Field = "batchScheduler"
	FieldQueue         spark.Field = "batchScheduler.queue"
	FieldPriorityClass spark.Field = "batchScheduler.priorityClass"
	FieldParameters    spark.Field = "batchScheduler.parameters"
	FieldResources                 = spark.FieldGroupResources
)

// PlaceholderUser is a plugin whose scheduler creates placeholder pods. They reserve room until the pods of the attempt replace them one by one. Quotas count
// placeholders and real pods.
type PlaceholderUser interface {
	// Placeholders lists the pods that the scheduler creates after the driver pod.
	Placeholders(Attempt) []Placeholder
}

// Placeholder is a set of equal placeholder pods.
type Placeholder struct {
	// Role is the role of the pods that replace the placeholders. The driver replaces its placeholder before executors exist.
	Role string
	// PodResources are the requests and limits of each placeholder.
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
