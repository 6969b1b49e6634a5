// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// CreateRun creates a run of a schedule, with a name derived from its time. It returns an existing object of that name, which may be the run itself if an
// operator crashed before its status write.
func (w Writer) CreateRun(ctx context.Context, run client.Object) (existing client.Object, err error) {
	err = w.Client.Create(ctx, run)
	if !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	found, err := w.Existing(ctx, run)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fmt.Errorf("run %s was deleted concurrently; retrying", run.GetName())
	}
	return found, nil
}

// DeleteRun deletes a run of a schedule with its dependents. It returns a conflict if the run's UID or, unless empty, its version has changed.
func (w Writer) DeleteRun(ctx context.Context, run client.Object, uid, version string) error {
	condition := client.Preconditions{UID: (*types.UID)(&uid)}
	if version != "" {
		condition.ResourceVersion = &version
	}
	err := w.Client.Delete(ctx, run, condition, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if apierrors.IsNotFound(err) || version == "" && apierrors.IsConflict(err) {
		return nil // already deleted
	}
	return err
}

// SetConf sets one Spark property in the spec of an object, and updates o to the stored object. Another object of the name causes a conflict. The version is
// not compared, because the edit must succeed while the cache is stale.
func (w Writer) SetConf(ctx context.Context, o client.Object, property, value string) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": o.GetUID()},
		"spec":     map[string]any{"sparkConf": map[string]string{property: value}},
	})
	if err != nil {
		return err
	}
	return w.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch))
}

// Reasons why a driver's template is not updated.
const (
	noTemplate    = "the driver has no executor template that the operator could edit"
	fixedTemplate = "the driver's executor template cannot be changed: another release of the operator created it"
)

// UpdateTemplate updates the ConfigMap with a driver's executor template. It creates no ConfigMap, because a driver without one would not read it. It ignores a
// ConfigMap of an earlier try. A nil template belongs to a driver without Spark's template step.
func (w Writer) UpdateTemplate(ctx context.Context, owner lifecycle.Owner, s spark.Submission) lifecycle.Result {
	template := s.ExecutorTemplate
	driver, err := w.Existing(ctx, s.Driver)
	var found client.Object
	if err == nil && template != nil {
		found, err = w.Existing(ctx, template)
	}
	if err != nil {
		return lifecycle.Result{Kind: lifecycle.UpdateTemplate, Class: lifecycle.ClassTransient, Message: err.Error()}
	}
	reads := template != nil && readsFrom(driver, template.Name)
	existing, ok := found.(*corev1.ConfigMap)
	switch {
	case !reads && !slices.Contains(s.Resources, spark.Object(template)):
		return resultOf(lifecycle.UpdateTemplate, nil)
	case !reads, !ok, owner.Of(existing) != lifecycle.Current:
		return lifecycle.Result{Kind: lifecycle.UpdateTemplate, Class: lifecycle.ClassRefused, Message: noTemplate}
	case ptr.Deref(existing.Immutable, false):
		return lifecycle.Result{Kind: lifecycle.UpdateTemplate, Class: lifecycle.ClassRefused, Message: fixedTemplate}
	case maps.Equal(existing.Data, template.Data):
		return resultOf(lifecycle.UpdateTemplate, nil)
	}
	next := existing.DeepCopy()
	next.Data = template.Data
	return resultOf(lifecycle.UpdateTemplate, w.Client.Patch(ctx, next, client.MergeFromWithOptions(existing, client.MergeFromWithOptimisticLock{})))
}

// readsFrom reports whether a pod mounts a ConfigMap.
func readsFrom(o client.Object, configMap string) bool {
	pod, ok := o.(*corev1.Pod)
	return ok && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.ConfigMap != nil && v.ConfigMap.Name == configMap })
}

// tokenBytes is the length of a token, in random bytes.
const tokenBytes = 32

// createToken creates the Secret with the token of a server's clients. Its name is unused and random, because a guessable name could belong to an attacker's
// Secret. If a recorded Secret is missing, it is created again under its name. The only permission needed is create: the application owns the Secret, and the
// operator never reads, changes or deletes it.
func (w Writer) createToken(ctx context.Context, owner lifecycle.Owner, s spark.Submission) (spark.Submission, lifecycle.Result) {
	if s.TokenSecret == nil {
		return s, done()
	}
	if !s.TokenMade {
		if r, found := w.recognize(ctx, owner, s.Driver); found {
			return s, asResource(r)
		}
	}
	var token [tokenBytes]byte
	_, _ = rand.Read(token[:]) // never fails
	owner.SubmissionID = ""    // the Secret belongs to no attempt
	mine, _ := marked(s.TokenSecret, owner).(*corev1.Secret)
	if !s.TokenMade {
		mine.Name, mine.GenerateName = "", mine.Name+"-"
	}
	mine.Immutable = new(true)
	mine.Data = map[string][]byte{spark.TokenKey: []byte(hex.EncodeToString(token[:]))}
	switch err := w.Client.Create(ctx, mine); {
	case apierrors.IsAlreadyExists(err) && s.TokenMade:
		return s, done()
	case apierrors.IsAlreadyExists(err):
		return s, transient(err.Error())
	case err != nil:
		return s, resultOf(lifecycle.Submit, err)
	}
	return s.WithToken(mine.Name), done()
}
