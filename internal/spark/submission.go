// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Identity has the IDs of one attempt. spark-submit generates them at random. Here they are a function of the application's UID and the attempt (see
// NewIdentity), so that a repeated submission finds its own objects.
type Identity struct {
	// AppID is the Spark application ID: "spark-" and 32 hexadecimal digits.
	AppID string
	// SubmissionID is a UUID that marks the attempt's pods (label sparkoperator.k8s.io/submission-id).
	SubmissionID string
	// NameID is the 16-digit ID in the names of the pod, the Service and most other objects.
	NameID string
	// ConfigMapID is the 16-digit ID in the driver ConfigMap's name.
	ConfigMapID string
	// ServiceID is the 16-digit ID in the Service's name if the application's name is too long for it.
	ServiceID string
	// LocalDirID is the UUID in the path of the default scratch directory.
	LocalDirID string
	// SubmitTime becomes spark.app.submitTime, in milliseconds since 1970.
	SubmitTime time.Time
}

// Object is a Kubernetes object of k8s.io/api.
type Object interface {
	metav1.Object
	runtime.Object
}

// Submission has the objects of one attempt, exactly as spark-submit would create them. The writer adds the owner references.
type Submission struct {
	// Resources are created before the driver pod, in Spark's order: PodGroup (as *unstructured.Unstructured, only if the user names Spark's Volcano step),
	// credentials Secret, Service, NetworkPolicy, PVCs, ConfigMaps and the Secret of the keytab, the application's own ConfigMaps, and last the driver's
	// ConfigMap. A server's ConfigMap of the executors' template takes the place of the others' template ConfigMap, even without a template.
	Resources []Object
	Driver    *corev1.Pod
	// TokenSecret is created before the driver, once and with a random token; nil for none. Unless TokenMade is set its name is new, because an existing Secret
	// of any name belongs to another owner.
	TokenSecret *corev1.Secret
	TokenMade   bool
	// Properties is the final Spark configuration, as written to spark.properties.
	Properties map[string]string

	// Executor is the pod template of the executors, with the sizes that the driver will set. ExecutorContainer is the index of Spark's container in it.
	// Spark's other additions to an executor are missing.
	Executor          *corev1.Pod
	ExecutorContainer int
	// ExecutorTemplate is the ConfigMap with the template that the driver reads for each executor; nil for a server. It is in Resources only if there is a
	// template.
	ExecutorTemplate *corev1.ConfigMap
	// PodSets are the sizes of the pods.
	PodSets PodSets
}

// PodResources are the requests and limits of one pod of a role: the sum over its Spark container and its sidecars, or those of its init containers if they are
// larger. A missing request is the limit, as in the API server.
type PodResources struct {
	Requests corev1.ResourceList
	Limits   corev1.ResourceList
	// Parts have the names and the resources of the containers, those of the pod as a whole, and its overhead; nil if only the sums are known.
	Parts *corev1.PodSpec
}

// PodSets are the exact sizes of an application's pods, the other attributes that schedulers read, and the numbers of executors.
type PodSets struct {
	Driver             PodResources
	Executor           PodResources
	DriverAttributes   PodAttributes
	ExecutorAttributes PodAttributes
	// Initial, Min and Max count executors. All three are equal without dynamic allocation. Max is the largest int32 if dynamic allocation has no limit.
	Initial, Min, Max int32
	// MaxPending is the maximum number of executors without a node at a time; 0 for no limit. Property: spark.kubernetes.allocation.maxPendingPods.
	MaxPending int32
	// ByControllers reports whether Kubernetes' controllers create the pods of both roles, from objects of the operator. Otherwise the operator creates the
	// driver, and the driver creates the executors with its own service account.
	ByControllers bool
}

// Requests returns what the driver and some executors request together.
func (s PodSets) Requests(executors int32) corev1.ResourceList {
	total := s.Driver.Requests.DeepCopy()
	if total == nil {
		total = corev1.ResourceList{}
	}
	for name, quantity := range s.Executor.Requests {
		sum := quantity.DeepCopy()
		sum.Mul(int64(executors))
		sum.Add(total[name])
		total[name] = sum
	}
	return total
}

// identityNamespace separates this operator's name-based UUIDs from all others.
var identityNamespace = uuid.NewSHA1(uuid.NameSpaceDNS, []byte("spark.firesteel.dev"))

// NewIdentity derives the IDs of one attempt from the application's UID and the attempt's number, so that a repeated submission, also after a crash, has the
// same names. The IDs do not depend on submitTime.
func NewIdentity(uid types.UID, attempt int32, submitTime time.Time) Identity {
	seed := string(uid) + "/" + strconv.FormatInt(int64(attempt), 10)
	return Identity{
		AppID:        "spark-" + hexID(seed, "app", 32),
		SubmissionID: uuid.NewSHA1(identityNamespace, []byte(seed+"/submission")).String(),
		NameID:       hexID(seed, "name", 16),
		ConfigMapID:  hexID(seed, "config-map", 16),
		ServiceID:    hexID(seed, "service", 16),
		LocalDirID:   uuid.NewSHA1(identityNamespace, []byte(seed+"/local-dir")).String(),
		SubmitTime:   submitTime,
	}
}

// hexID returns a number of hexadecimal digits (at most 64) for one purpose.
func hexID(seed, purpose string, digits int) string {
	sum := sha256.Sum256([]byte(seed + "/" + purpose))
	return hex.EncodeToString(sum[:])[:digits]
}
