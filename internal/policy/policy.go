// SPDX-License-Identifier: Apache-2.0

// Package policy holds what the operator's administrator says about the applications of a namespace: defaults for what
// they leave open, and limits for what they ask. It is pure.
//
// A limit binds what the operator creates and the configuration that the driver starts with. What a driver asks the API
// server for by itself is bound by the rights of its service account, by quotas and by admission policies.
package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/text"
)

// Set are the policies of an operator, in their order. All that match a namespace hold in it: of several defaults for the
// same thing the first wins, and limits are kept all together.
type Set []Policy

// Policy is what holds in some namespaces.
type Policy struct {
	// Name appears in messages.
	Name string `json:"name"`
	// Namespaces are patterns of names; * matches any text.
	Namespaces []string `json:"namespaces"`
	Defaults   Defaults `json:"defaults,omitempty"`
	Limits     Limits   `json:"limits,omitempty"`
}

// Defaults apply where the application sets nothing, in a field or in sparkConf.
type Defaults struct {
	Image           string `json:"image,omitempty"`
	ImagePullPolicy string `json:"imagePullPolicy,omitempty"`
	// ServiceAccount is the driver's. Spark gives it to executors that have none of their own.
	ServiceAccount string       `json:"serviceAccount,omitempty"`
	Driver         RoleDefaults `json:"driver,omitempty"`
	Executor       RoleDefaults `json:"executor,omitempty"`
	// SparkConf are Spark properties.
	SparkConf map[string]string `json:"sparkConf,omitempty"`
	// Labels are those of driver and executors.
	Labels map[string]string `json:"labels,omitempty"`
	// BatchScheduler is the name of a scheduler plugin, and Queue its queue.
	BatchScheduler string `json:"batchScheduler,omitempty"`
	Queue          string `json:"queue,omitempty"`
	// TimeToLiveSeconds is how long an application is kept when it is over.
	TimeToLiveSeconds *int64 `json:"timeToLiveSeconds,omitempty"`
	// Deadlines bound the stages of an attempt.
	Deadlines Deadlines `json:"deadlines,omitempty"`
}

// Deadlines are those of an application's spec.deadlines.
type Deadlines struct {
	Queued          Span `json:"queued,omitempty"`
	DriverScheduled Span `json:"driverScheduled,omitempty"`
	DriverReady     Span `json:"driverReady,omitempty"`
	FirstExecutors  Span `json:"firstExecutors,omitempty"`
	Run             Span `json:"run,omitempty"`
}

// Span is a length of time such as "2h30m"; empty for none.
type Span string

// duration is 0 for a span that is empty or invalid.
func (s Span) duration() time.Duration {
	d, err := time.ParseDuration(string(s))
	if err != nil {
		return 0
	}
	return d
}

// RoleDefaults are the size of a pod in Spark's units.
type RoleDefaults struct {
	Cores     *int32 `json:"cores,omitempty"`
	CoreLimit Amount `json:"coreLimit,omitempty"`
	Memory    string `json:"memory,omitempty"`
}

// Limits are what an application may ask for at most. What is left out has no limit.
type Limits struct {
	// Images and ServiceAccounts are patterns of those that may be used.
	Images          []string `json:"images,omitempty"`
	ServiceAccounts []string `json:"serviceAccounts,omitempty"`
	// Driver and Executor bound one pod, with all its containers and the memory that Spark adds.
	Driver   RoleLimits `json:"driver,omitempty"`
	Executor RoleLimits `json:"executor,omitempty"`
	// Executors is how many there may be at a time, with dynamic allocation, too.
	Executors *int32 `json:"executors,omitempty"`
	// ForbiddenConf are patterns of properties that must not be in sparkConf and hadoopConf.
	ForbiddenConf []string `json:"forbiddenConf,omitempty"`
	// URLs are patterns of those that dependencies may be fetched from: scheme://host/path, in which * matches any text of its part, and
	// maven:GROUP:ARTIFACT:VERSION for packages.
	URLs []string `json:"urls,omitempty"`
	// RequiredLabels are the names of labels that the pods must have.
	RequiredLabels []string `json:"requiredLabels,omitempty"`
	// ServiceTypes are those of Services that an application may ask for.
	ServiceTypes []string `json:"serviceTypes,omitempty"`
	// Hosts are patterns of those of its Ingresses, and Paths of those that its Ingresses may take with all that is below
	// them. {{$appNamespace}} stands for its namespace.
	Hosts []string `json:"hosts,omitempty"`
	Paths []string `json:"paths,omitempty"`
	// IngressClasses are patterns of the classes of its Ingresses, and Gateways of the parents of its routes, as NAMESPACE/NAME.
	IngressClasses []string `json:"ingressClasses,omitempty"`
	Gateways       []string `json:"gateways,omitempty"`
	// PlainServices allows no Service that chooses its pods, its addresses or its ports of nodes by itself.
	PlainServices bool `json:"plainServices,omitempty"`
	// ForbidNetworkPeers allows no NetworkPolicy to let in what is not in the namespace.
	ForbidNetworkPeers bool `json:"forbidNetworkPeers,omitempty"`
	// ForbiddenLabels and ForbiddenAnnotations are patterns of those that an application may not give to anything that is made for it.
	ForbiddenLabels      []string `json:"forbiddenLabels,omitempty"`
	ForbiddenAnnotations []string `json:"forbiddenAnnotations,omitempty"`
	// PodLabels and PodAnnotations are patterns of those that an application may give to its pods, beside those that Spark,
	// the operator and its scheduler plugin set.
	PodLabels      []string `json:"podLabels,omitempty"`
	PodAnnotations []string `json:"podAnnotations,omitempty"`
	// PodSecurity is the level of the Pod Security Standards that pods must meet: baseline or restricted.
	PodSecurity string `json:"podSecurity,omitempty"`
	// SchedulerNames, PriorityClasses, RuntimeClasses, StorageClasses and PullSecrets are patterns of those that may be named.
	SchedulerNames  []string `json:"schedulerNames,omitempty"`
	PriorityClasses []string `json:"priorityClasses,omitempty"`
	RuntimeClasses  []string `json:"runtimeClasses,omitempty"`
	StorageClasses  []string `json:"storageClasses,omitempty"`
	PullSecrets     []string `json:"pullSecrets,omitempty"`
	// Tolerations are patterns of the keys of taints that may be tolerated; * stands for every taint, too.
	Tolerations []string `json:"tolerations,omitempty"`
	// NodeLabels are patterns of the labels by which nodes may be chosen, in node selectors and affinities. With them no
	// node may be chosen by its name.
	NodeLabels []string `json:"nodeLabels,omitempty"`
	// VolumeClaims is how many PersistentVolumeClaims an attempt may make, those of its executors included.
	VolumeClaims *int32 `json:"volumeClaims,omitempty"`
	// VolumeClaimStorage is how much storage these claims may request in total.
	VolumeClaimStorage Amount `json:"volumeClaimStorage,omitempty"`
	// RetriesPerHour is how often an application may be tried again within an hour.
	RetriesPerHour *int32 `json:"retriesPerHour,omitempty"`
	// ForbidLogTails keeps what drivers and executors print out of statuses, events and the operator's log.
	ForbidLogTails bool `json:"forbidLogTails,omitempty"`
	// TimeToLiveSeconds is how long an application may be kept when it is over. One that says nothing is kept that long.
	TimeToLiveSeconds *int64 `json:"timeToLiveSeconds,omitempty"`
	// ForbidHostAccess is PodSecurity baseline.
	ForbidHostAccess bool `json:"forbidHostAccess,omitempty"`
}

// RoleLimits bound a pod, requests and limits alike.
type RoleLimits struct {
	Cores  Amount `json:"cores,omitempty"`
	Memory Amount `json:"memory,omitempty"`
	// Resources are other resources by patterns of their names, such as "nvidia.com/*": 1; 0 forbids them. Of several patterns that match
	// a name the longest counts. "resourceclaims" are the devices that a pod claims.
	Resources map[string]Amount `json:"resources,omitempty"`
}

// Amount is a quantity of Kubernetes; empty for none.
type Amount string

// UnmarshalJSON takes numbers, too.
func (a *Amount) UnmarshalJSON(encoded []byte) error {
	var number json.Number
	if err := json.Unmarshal(encoded, &number); err == nil {
		*a = Amount(number)
		return nil
	}
	var s string
	if err := json.Unmarshal(encoded, &s); err != nil {
		return fmt.Errorf(`%s: write a Kubernetes quantity such as "500m" or "16Gi"`, encoded)
	}
	*a = Amount(s)
	return nil
}

// quantity returns the amount, if there is one.
func (a Amount) quantity() (resource.Quantity, bool) {
	q, err := spark.ParseQuantity(string(a))
	return q, err == nil
}

// For returns the policies that hold in a namespace.
func (s Set) For(namespace string) Set {
	var matching Set
	for _, p := range s {
		if text.MatchesAny(p.Namespaces, namespace) {
			matching = append(matching, p)
		}
	}
	return matching
}

// ForbidLogTails reports whether a policy keeps what drivers print out of what the operator stores. The set must be the one for the
// application's namespace.
func (s Set) ForbidLogTails() bool {
	return slices.ContainsFunc(s, func(p Policy) bool { return p.Limits.ForbidLogTails })
}
