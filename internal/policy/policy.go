// SPDX-License-Identifier: Apache-2.0

// Package policy holds the administrator's rules for the applications of a namespace: defaults for unset fields, and limits. It
// is pure.
//
// Limits apply to the objects that the operator creates and to the driver's initial configuration. They do not apply to the driver's own requests to the API
// server: the permissions of its service account, quotas and admission policies limit those.
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

// Set holds the policies of an operator, in order. All policies that match a namespace apply: the first default of a field wins, and every limit holds.
type Set []Policy

// Policy applies to some namespaces.
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
	// ServiceAccount is the driver's service account. Spark uses it for executors that have no account of their own.
	ServiceAccount string       `json:"serviceAccount,omitempty"`
	Driver         RoleDefaults `json:"driver,omitempty"`
	Executor       RoleDefaults `json:"executor,omitempty"`
	// SparkConf holds Spark properties.
	SparkConf map[string]string `json:"sparkConf,omitempty"`
	// Labels are set on driver and executors.
	Labels map[string]string `json:"labels,omitempty"`
	// BatchScheduler names a scheduler plugin, and Queue its queue.
	BatchScheduler string `json:"batchScheduler,omitempty"`
	Queue          string `json:"queue,omitempty"`
	// TimeToLiveSeconds is how long an ended application is kept.
	TimeToLiveSeconds *int64 `json:"timeToLiveSeconds,omitempty"`
	// Deadlines bound the stages of an attempt.
	Deadlines Deadlines `json:"deadlines,omitempty"`
}

// Deadlines are defaults of an application's spec.deadlines.
type Deadlines struct {
	Queued          Span `json:"queued,omitempty"`
	DriverScheduled Span `json:"driverScheduled,omitempty"`
	DriverReady     Span `json:"driverReady,omitempty"`
	FirstExecutors  Span `json:"firstExecutors,omitempty"`
	Run             Span `json:"run,omitempty"`
}

// Span is a duration such as "2h30m"; empty for none.
type Span string

// duration returns 0 for an empty or invalid span.
func (s Span) duration() time.Duration {
	d, err := time.ParseDuration(string(s))
	if err != nil {
		return 0
	}
	return d
}

// RoleDefaults are the default size of a pod, in Spark's units.
type RoleDefaults struct {
	Cores     *int32 `json:"cores,omitempty"`
	CoreLimit Amount `json:"coreLimit,omitempty"`
	Memory    string `json:"memory,omitempty"`
}

// Limits restrict applications. An empty field limits nothing.
type Limits struct {
	// Images and ServiceAccounts are patterns of allowed names.
	Images          []string `json:"images,omitempty"`
	ServiceAccounts []string `json:"serviceAccounts,omitempty"`
	// Driver and Executor limit one pod, including all containers and the memory overhead.
	Driver   RoleLimits `json:"driver,omitempty"`
	Executor RoleLimits `json:"executor,omitempty"`
	// Group allows and limits batchSchedulerOptions.resources that are more than the pods request. Without a limit of a resource no more is asked for.
	Group RoleLimits `json:"group,omitempty"`
	// Executors limits the number of executors at any time, even with dynamic allocation.
	Executors *int32 `json:"executors,omitempty"`
	// ForbiddenConf are patterns of forbidden properties in sparkConf and hadoopConf.
	ForbiddenConf []string `json:"forbiddenConf,omitempty"`
	// URLs are patterns of allowed sources of dependencies. A pattern is scheme://host/path, in which * matches any text within its part, or
	// maven:GROUP:ARTIFACT:VERSION for packages.
	URLs []string `json:"urls,omitempty"`
	// RequiredLabels are labels that the pods must have.
	RequiredLabels []string `json:"requiredLabels,omitempty"`
	// ServiceTypes are the allowed types of Services.
	ServiceTypes []string `json:"serviceTypes,omitempty"`
	// Hosts are patterns of the allowed hosts of Ingresses. Paths are patterns of the allowed paths and allow everything below them. {{$appNamespace}} means the
	// application's namespace.
	Hosts []string `json:"hosts,omitempty"`
	Paths []string `json:"paths,omitempty"`
	// IngressClasses are patterns of the allowed classes of Ingresses. Gateways are patterns of the allowed parents of routes, as NAMESPACE/NAME.
	IngressClasses []string `json:"ingressClasses,omitempty"`
	Gateways       []string `json:"gateways,omitempty"`
	// PlainServices forbids Services that choose their pods, addresses or node ports themselves.
	PlainServices bool `json:"plainServices,omitempty"`
	// ForbidNetworkPeers forbids NetworkPolicies that admit traffic from outside the namespace.
	ForbidNetworkPeers bool `json:"forbidNetworkPeers,omitempty"`
	// ForbiddenLabels and ForbiddenAnnotations are patterns of forbidden names. They apply to all objects of an application.
	ForbiddenLabels      []string `json:"forbiddenLabels,omitempty"`
	ForbiddenAnnotations []string `json:"forbiddenAnnotations,omitempty"`
	// PodLabels and PodAnnotations are patterns of the names allowed on pods. Names that Spark, the operator or its scheduler plugin sets are always allowed.
	PodLabels      []string `json:"podLabels,omitempty"`
	PodAnnotations []string `json:"podAnnotations,omitempty"`
	// PodSecurity is the required level of the Pod Security Standards: baseline or restricted.
	PodSecurity string `json:"podSecurity,omitempty"`
	// SchedulerNames, PriorityClasses, RuntimeClasses, StorageClasses and PullSecrets are patterns of allowed names.
	SchedulerNames  []string `json:"schedulerNames,omitempty"`
	PriorityClasses []string `json:"priorityClasses,omitempty"`
	RuntimeClasses  []string `json:"runtimeClasses,omitempty"`
	StorageClasses  []string `json:"storageClasses,omitempty"`
	PullSecrets     []string `json:"pullSecrets,omitempty"`
	// Tolerations are patterns of the allowed taint keys; * also allows a toleration of all taints.
	Tolerations []string `json:"tolerations,omitempty"`
	// NodeLabels are patterns of the allowed labels in node selectors and affinities. If it is set, selecting a node by name is forbidden.
	NodeLabels []string `json:"nodeLabels,omitempty"`
	// VolumeClaims limits the number of PersistentVolumeClaims of an attempt, including the claims of executors.
	VolumeClaims *int32 `json:"volumeClaims,omitempty"`
	// VolumeClaimStorage limits the total storage of an attempt's PersistentVolumeClaims.
	VolumeClaimStorage Amount `json:"volumeClaimStorage,omitempty"`
	// RetriesPerHour limits the retries of an application within an hour.
	RetriesPerHour *int32 `json:"retriesPerHour,omitempty"`
	// ForbidLogTails keeps the output of drivers and executors out of statuses, events and the operator's log.
	ForbidLogTails bool `json:"forbidLogTails,omitempty"`
	// TimeToLiveSeconds limits how long an ended application is kept. It is also the default.
	TimeToLiveSeconds *int64 `json:"timeToLiveSeconds,omitempty"`
	// ForbidHostAccess equals PodSecurity baseline.
	ForbidHostAccess bool `json:"forbidHostAccess,omitempty"`
}

// RoleLimits limit the requests and limits of a pod.
type RoleLimits struct {
	Cores  Amount `json:"cores,omitempty"`
	Memory Amount `json:"memory,omitempty"`
	// Resources limit other resources by patterns of their names, such as "nvidia.com/*": 1; 0 forbids a resource. The longest matching pattern counts.
	// "resourceclaims" limits the number of devices that a pod claims.
	Resources map[string]Amount `json:"resources,omitempty"`
}

// Amount is a Kubernetes quantity; empty for none.
type Amount string

// UnmarshalJSON accepts a JSON number as well as a string.
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

// quantity returns the amount; false if it is empty or invalid.
func (a Amount) quantity() (resource.Quantity, bool) {
	q, err := spark.ParseQuantity(string(a))
	return q, err == nil
}

// For returns the policies that apply to a namespace.
func (s Set) For(namespace string) Set {
	var matching Set
	for _, p := range s {
		if text.MatchesAny(p.Namespaces, namespace) {
			matching = append(matching, p)
		}
	}
	return matching
}

// ForbidLogTails reports whether a policy forbids storing drivers' output. The set must contain the policies of the application's namespace.
func (s Set) ForbidLogTails() bool {
	return slices.ContainsFunc(s, func(p Policy) bool { return p.Limits.ForbidLogTails })
}
