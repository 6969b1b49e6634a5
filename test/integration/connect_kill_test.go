// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

// serving are the specs of an operator that crashes while it keeps servers alive.
func serving(l *lab) {
	It("keeps one server of each, with its address and its token, however often it is killed", safety, func(ctx SpecContext) {
		const servers = 6
		kills := testrun.Pick(10, 15, 30)
		w := &watchOver{lab: l, namespace: l.namespace(ctx), services: map[string]types.UID{}, secrets: map[string]string{}}
		r := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), servers))
		node := &nodeAgent{client: l.client, ctx: ctx, goes: 60 * time.Millisecond, script: func(_ *corev1.Pod, n int) ending {
			return ending{after: time.Second, code: 1, never: n > 1, ready: true} // the first of each fails
		}}
		h := l.watchDrivers(ctx, w.namespace, node.follow)
		// The API server needs a second to serve a definition for the first time, which is not the operator's.
		Expect(l.client.List(ctx, &v1alpha1.SparkConnectList{})).To(Succeed())
		for i := range servers {
			Expect(l.client.Create(ctx, connectServer(w.namespace, func(o *v1alpha1.SparkConnect) {
				o.Name = fmt.Sprintf("s%d", i)
				o.Spec.Authentication = &v1alpha1.AuthenticationSpec{Token: true}
				o.Spec.DrainTimeout = &metav1.Duration{}
			}))).To(Succeed())
		}
		op := l.operator(w.namespace, "leaderElection: {enabled: false}")
		began := time.Now()
		Expect(op.start()).To(Succeed())
		DeferCleanup(func() { _ = op.end(syscall.SIGKILL) })
		Eventually(ctx, h.created, wait, time.Millisecond).Should(BeNumerically(">=", 1), func() string { return op.log.String() })
		pace := time.Since(began)

		for n := range kills {
			if r.IntN(2) == 0 {
				bound, stop := context.WithTimeout(ctx, pace)
				select {
				case <-h.next():
				case <-bound.Done():
				}
				stop()
			}
			pause(ctx, time.Duration(r.Int64N(int64(pace))))
			Expect(op.end(syscall.SIGKILL)).To(Succeed())
			w.addresses(ctx)
			switch n {
			case kills / 3:
				w.edit(ctx, func(i int, o *v1alpha1.SparkConnect) { o.Spec.Suspend = new(i%2 == 0) })
			case kills / 2:
				w.edit(ctx, func(i int, o *v1alpha1.SparkConnect) { o.Spec.Server.Memory = new("1g") })
			case kills * 2 / 3:
				w.edit(ctx, func(_ int, o *v1alpha1.SparkConnect) { o.Spec.Suspend = nil })
			}
			Expect(op.start()).To(Succeed())
		}
		Eventually(ctx, w.unfinished, time.Minute, 100*time.Millisecond).Should(BeEmpty(), func() string { return op.log.String() })
		w.addresses(ctx)
		Expect(h.violations()).To(BeEmpty())
		Expect(w.services).To(HaveLen(servers))
		w.tokens(ctx, servers)
	}, NodeTimeout(5*time.Minute))
}

// watchOver is the servers of a namespace of the lab.
type watchOver struct {
	lab       *lab
	namespace string
	// services are the Services of clients that there were, and secrets those with the tokens of servers.
	services map[string]types.UID
	secrets  map[string]string
}

// addresses checks that neither the Service of clients nor their token is replaced.
func (w *watchOver) addresses(ctx context.Context) {
	GinkgoHelper()
	objects, err := w.list(ctx)
	Expect(err).NotTo(HaveOccurred())
	for i := range objects {
		o := &objects[i]
		now := o.Status.Server.TokenSecretName
		if before := w.secrets[o.Name]; before != "" {
			Expect(now).To(Equal(before), "the token of server %s was replaced", o.Name)
		}
		w.secrets[o.Name] = now
	}
	var all corev1.ServiceList
	Expect(w.lab.client.List(ctx, &all, client.InNamespace(w.namespace), client.MatchingLabels{"sparkoperator.k8s.io/exposes": "connect"})).To(Succeed())
	for i := range all.Items {
		s := &all.Items[i]
		if before, known := w.services[s.Name]; known {
			Expect(s.UID).To(Equal(before), "Service %s was replaced", s.Name)
		}
		w.services[s.Name] = s.UID
	}
}

func (w *watchOver) list(ctx context.Context) ([]v1alpha1.SparkConnect, error) {
	var all v1alpha1.SparkConnectList
	err := w.lab.client.List(ctx, &all, client.InNamespace(w.namespace))
	return all.Items, err
}

func (w *watchOver) edit(ctx context.Context, change func(int, *v1alpha1.SparkConnect)) {
	GinkgoHelper()
	all, err := w.list(ctx)
	Expect(err).NotTo(HaveOccurred())
	for i := range all {
		change(i, &all[i])
		Expect(w.lab.client.Update(ctx, &all[i])).To(Succeed(), "no operator runs")
	}
}

// unfinished says what is not where it belongs: each server accepts clients, and is what its spec says.
func (w *watchOver) unfinished(ctx context.Context) ([]string, error) {
	all, err := w.list(ctx)
	var left []string
	for i := range all {
		o := &all[i]
		var pod corev1.Pod
		err := w.lab.client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name + "-server"}, &pod)
		memory := int64(0)
		if err == nil {
			memory = pod.Spec.Containers[0].Resources.Limits.Memory().Value()
		}
		if o.Status.State != v1alpha1.SparkConnectStateReady || o.Status.ObservedGeneration != o.Generation || memory < 1<<30 {
			left = append(left, fmt.Sprintf("%s is %s at generation %d of %d, its pod has %d bytes, %v", o.Name, o.Status.State, o.Status.ObservedGeneration, o.Generation, memory, err))
		}
	}
	return left, err
}

// tokens checks that each server reads the one that its status names, and that creating them was all that was done. The answers do
// not matter: the API server records a time-out for who was killed while it asked. Who is killed between Secret and pod leaves a Secret.
func (w *watchOver) tokens(ctx context.Context, servers int) {
	GinkgoHelper()
	all, err := w.list(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(all).To(HaveLen(servers))
	for i := range all {
		o := &all[i]
		var pod corev1.Pod
		Expect(w.lab.client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Status.Server.PodName}, &pod)).To(Succeed())
		reads := spark.TokenSecretOf(&pod.Spec.Containers[0])
		Expect(reads).NotTo(BeNil())
		Expect(reads.Name).To(Equal(o.Status.Server.TokenSecretName))
		var secret corev1.Secret
		Expect(w.lab.client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: reads.Name}, &secret)).To(Succeed())
		Expect(metav1.IsControlledBy(&secret, o)).To(BeTrue())
	}
	for request, n := range w.lab.requests() {
		if strings.Contains(request, " secrets ") {
			Expect(request).To(HavePrefix("create secrets "), "%d times", n)
		}
	}
}
