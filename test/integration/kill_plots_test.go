// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// plot is an application, how its drivers end, what a person does to it meanwhile, and how that has to end.
type plot struct {
	title string
	app   *v1beta2.SparkApplication
	// script says how the n-th driver ends.
	script func(pod *corev1.Pod, n int) ending
	// person edits the application; nil for no one.
	person func(p *person)
	state  v1beta2.ApplicationStateType
	// drivers is how many there have to be; 0 where that depends on the moments.
	drivers int
}

const (
	completed = v1beta2.ApplicationStateCompleted
	failed    = v1beta2.ApplicationStateFailed
	// edition is a label of the driver that says which edition of the spec it was made from.
	edition = "edition"
)

// plots are those that an application is given in turn.
var plots = []func(*rand.Rand, *plot){
	failsAndSucceeds, failsTooOften, olderRules, failsAndSucceeds, alwaysRuns, evicted, failsAndSucceeds, pausedWhileRunning,
	createdPaused, editedWhileRunning, renamedWhileRunning, failsTooOften, editedAtOnce, pausedAtRandom, driverDeleted,
}

func newPlot(namespace string, i int, r *rand.Rand) *plot {
	p := &plot{app: sparkPi(namespace, fmt.Sprintf("app-%02d", i)), state: completed}
	p.app.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure, Infrastructure: quick(4), Application: &v1beta2.ApplicationRule{RetryRule: *quick(3)}}
	plots[i%len(plots)](r, p)
	return p
}

// quick is a rule with a wait of a tenth of a second, doubled up to a third.
func quick(retries int32) *v1beta2.RetryRule {
	return &v1beta2.RetryRule{Retries: retries, Backoff: &v1beta2.Backoff{
		Initial: &metav1.Duration{Duration: 100 * time.Millisecond}, Max: &metav1.Duration{Duration: 300 * time.Millisecond},
	}}
}

// exits lets drivers end with the codes in turn, the last one for all that follow, each after a time of its own.
func exits(r *rand.Rand, codes ...int32) func(*corev1.Pod, int) ending {
	times := make([]time.Duration, len(codes))
	for i := range times {
		times[i] = time.Duration(30+r.IntN(400)) * time.Millisecond
	}
	return func(_ *corev1.Pod, n int) ending {
		i := min(n, len(codes)) - 1
		return ending{after: times[i], code: codes[i]}
	}
}

// outlived lets the first driver run until it is deleted, and the next succeed.
func outlived(r *rand.Rand) func(*corev1.Pod, int) ending {
	next := exits(r, 0)
	return func(pod *corev1.Pod, n int) ending {
		if n == 1 {
			return ending{never: true}
		}
		return next(pod, n)
	}
}

// edited lets a driver succeed if it was made from the second edition of the spec, and run forever if not.
func edited(r *rand.Rand) func(*corev1.Pod, int) ending {
	next := exits(r, 0)
	return func(pod *corev1.Pod, n int) ending {
		if pod.Labels[edition] != "2" {
			return ending{never: true}
		}
		return next(pod, n)
	}
}

func failsAndSucceeds(r *rand.Rand, p *plot) {
	failures := r.IntN(4)
	codes := append(make([]int32, 0, 4), 1, 2, 137)[:failures]
	p.title, p.drivers = fmt.Sprintf("fails %d times and succeeds", failures), failures+1
	p.script = exits(r, append(codes, 0)...)
}

func failsTooOften(r *rand.Rand, p *plot) {
	p.title, p.state, p.drivers, p.script = "fails too often", failed, 4, exits(r, 1)
}

func olderRules(r *rand.Rand, p *plot) {
	p.app.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: ptr.To[int32](2), OnFailureRetryInterval: ptr.To[int64](1)}
	p.title, p.drivers, p.script = "fails once, with the rules of old", 2, exits(r, 3, 0)
}

// alwaysRuns ends by the one exit code that is not worth another attempt.
func alwaysRuns(r *rand.Rand, p *plot) {
	const last = 42
	codes := []int32{}
	for range 2 + r.IntN(2) {
		codes = append(codes, int32(r.IntN(2)))
	}
	p.app.Spec.RestartPolicy = v1beta2.RestartPolicy{
		Type: v1beta2.RestartPolicyAlways, OnFailureRetryInterval: ptr.To[int64](1),
		Application: &v1beta2.ApplicationRule{RetryRule: *quick(50), FailExitCodes: []int32{last}},
	}
	p.title, p.state, p.drivers = "runs always, until it ends permanently", failed, len(codes)+1
	p.script = exits(r, append(codes, last)...)
}

func evicted(r *rand.Rand, p *plot) {
	evictions := 1 + r.IntN(3)
	next := exits(r, 137, 137, 137, 0)
	p.title, p.drivers = fmt.Sprintf("is evicted %d times", evictions), evictions+1
	p.script = func(pod *corev1.Pod, n int) ending {
		if n > evictions {
			return next(pod, 4)
		}
		e := next(pod, n)
		e.evicted = true
		return e
	}
}

func pausedWhileRunning(r *rand.Rand, p *plot) {
	p.title, p.drivers, p.script = "is suspended while it runs, and resumed", 2, outlived(r)
	p.person = func(h *person) {
		h.await(v1beta2.ApplicationStateRunning)
		h.edit(func(a *v1beta2.SparkApplication) { a.Spec.Suspend = ptr.To(true) })
		h.await(v1beta2.ApplicationStateSuspended)
		h.edit(func(a *v1beta2.SparkApplication) { a.Spec.Suspend = ptr.To(false) })
	}
}

func createdPaused(r *rand.Rand, p *plot) {
	p.title, p.drivers, p.script = "is created suspended, and resumed", 1, exits(r, 0)
	p.app.Spec.Suspend = ptr.To(true)
	later := time.Duration(r.IntN(1500)) * time.Millisecond
	p.person = func(h *person) {
		pause(h.ctx, later)
		h.edit(func(a *v1beta2.SparkApplication) { a.Spec.Suspend = ptr.To(false) })
	}
}

func second(a *v1beta2.SparkApplication) { a.Spec.Driver.Labels = map[string]string{edition: "2"} }

func editedWhileRunning(r *rand.Rand, p *plot) {
	p.title, p.drivers, p.script = "is edited while it runs", 2, edited(r)
	p.person = func(h *person) {
		h.await(v1beta2.ApplicationStateRunning)
		h.edit(second)
	}
}

// renamedWhileRunning cannot rely on the API server to refuse a second pod of the same name.
func renamedWhileRunning(r *rand.Rand, p *plot) {
	p.title, p.drivers, p.script = "is given another driver name while it runs", 2, edited(r)
	p.person = func(h *person) {
		h.await(v1beta2.ApplicationStateRunning)
		h.edit(func(a *v1beta2.SparkApplication) {
			second(a)
			a.Spec.Driver.PodName = ptr.To(a.Name + "-renamed")
		})
	}
}

// editedAtOnce is edited at any moment around its first submission, also in its driver's name.
func editedAtOnce(r *rand.Rand, p *plot) {
	p.title, p.script = "is edited around its submission", edited(r)
	later, rename := time.Duration(r.IntN(500))*time.Millisecond, r.IntN(2) == 0
	p.person = func(h *person) {
		pause(h.ctx, later)
		h.edit(func(a *v1beta2.SparkApplication) {
			if second(a); rename {
				a.Spec.Driver.PodName = ptr.To(a.Name + "-renamed")
			}
		})
	}
}

func pausedAtRandom(r *rand.Rand, p *plot) {
	p.title, p.script = "is suspended and resumed at any moment", exits(r, 0)
	waits := []time.Duration{}
	for range 4 {
		waits = append(waits, time.Duration(r.IntN(800))*time.Millisecond)
	}
	p.person = func(h *person) {
		for i, d := range waits {
			pause(h.ctx, d)
			h.edit(func(a *v1beta2.SparkApplication) { a.Spec.Suspend = ptr.To(i%2 == 0) })
		}
	}
}

func driverDeleted(r *rand.Rand, p *plot) {
	p.title, p.drivers, p.script = "loses its driver to a person", 2, outlived(r)
	p.person = func(h *person) {
		h.await(v1beta2.ApplicationStateRunning)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: h.key.Namespace, Name: h.key.Name + "-driver"}}
		h.fail(h.client.Delete(h.ctx, pod))
	}
}

// person does things to an application. The first error is the last.
type person struct {
	ctx    context.Context
	client client.Client
	key    client.ObjectKey
	err    error
	done   atomic.Bool
}

// failure returns what kept a person from doing all; nil while it is at it.
func (p *person) failure() error {
	if !p.done.Load() {
		return nil
	}
	return p.err
}

func (p *person) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *person) await(state v1beta2.ApplicationStateType) {
	for p.err == nil {
		var a v1beta2.SparkApplication
		if p.fail(p.client.Get(p.ctx, p.key, &a)); a.Status.AppState.State == state {
			return
		}
		if !pause(p.ctx, poll) {
			p.fail(fmt.Errorf("%s is not %s but %s: %w", p.key.Name, state, a.Status.AppState.State, p.ctx.Err()))
		}
	}
}

func (p *person) edit(change func(*v1beta2.SparkApplication)) {
	for p.err == nil {
		var a v1beta2.SparkApplication
		p.fail(p.client.Get(p.ctx, p.key, &a))
		change(&a)
		err := p.client.Update(p.ctx, &a)
		if apierrors.IsConflict(err) {
			continue
		}
		p.fail(err)
		return
	}
}
