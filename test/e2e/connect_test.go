// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
)

var _ = Describe("A Spark Connect server", longest, func() {
	ctx := context.Background()

	It("of Spark 4.1 answers clients that have its token, whatever became of it, and drains, as its page says", func() {
		r, server := newServerReader(ctx)
		out := r.makeServer(ctx)
		Expect(out).To(And(ContainSubstring("all fares: 24500"), ContainSubstring("Ready"), ContainSubstring("notebooks-server")))
		first := takesClients(ctx, server, corev1.Pod{})
		token := r.tokenOfServer(ctx)
		Expect(token).To(HaveLen(64))
		interpreter, url := python(ctx, "4.1"), serviceURL(ctx, server, token)

		By("asking through the Service, with the token, without one and with a wrong one")
		answers(ctx, server, interpreter, url)
		for wrong, says := range map[string]string{"": "No authentication token provided", "wrong": "Invalid authentication token"} {
			out, err := ask(ctx, interpreter, serviceURL(ctx, server, wrong))
			Expect(err).To(HaveOccurred(), out)
			Expect(out).To(ContainSubstring(says))
		}
		eventuallyWithoutExecutors(ctx, server, first)

		second := replacedAfterKill(ctx, server, first, interpreter)
		Expect(serviceURL(ctx, server, r.tokenOfServer(ctx))).To(Equal(url), "address and token stay")
		stoppedWhenIdle(ctx, server, second)
		By("waking it, and asking")
		out, code := plugin(ctx, "connect", server.Name, "-n", server.Namespace, "--exec", interpreter, notebook)
		Expect(code).To(BeZero(), out)
		Expect(out).To(And(ContainSubstring("waking it"), ContainSubstring("all fares: 24500")))
		r.wakeServer(ctx)
		third := takesClients(ctx, server, second)
		answers(ctx, server, interpreter, url)

		replacedAfterSessions(ctx, server, third, interpreter, url)
		Expect(r.rerunServer(ctx)).To(ContainSubstring("rerun"))
	})

	It("of Spark 3.5 answers clients, and is stopped when idle", func() {
		server := connectServer(newNamespace(ctx, "connect"), "3.5.9", otherSparkImage)
		Expect(admin.Create(ctx, server)).To(Succeed())
		first := takesClients(ctx, server, corev1.Pod{})
		interpreter, url := python(ctx, "3.5"), serviceURL(ctx, server, "")
		answers(ctx, server, interpreter, url)
		eventuallyWithoutExecutors(ctx, server, first)

		stoppedWhenIdle(ctx, server, first)
	})
})

// eventuallyWithoutExecutors waits until a server that has executed something has no executors.
func eventuallyWithoutExecutors(ctx context.Context, server *v1alpha1.SparkConnect, pod corev1.Pod) {
	GinkgoHelper()
	By("waiting until there is no executor while nobody asks")
	Expect(kubectl("logs", "-n", server.Namespace, pod.Name, "-c", pod.Spec.Containers[0].Name)).To(ContainSubstring("Registered executor"))
	eventuallyServer(ctx, server, func(g Gomega, s v1alpha1.SparkConnectStatus) {
		g.Expect(s.Executors["running"] + s.Executors["pending"]).To(BeZero())
		var executors corev1.PodList
		g.Expect(admin.List(ctx, &executors, client.InNamespace(server.Namespace), client.MatchingLabels{"spark-role": "executor"})).To(Succeed())
		g.Expect(executors.Items).To(BeEmpty())
	})
}

// replacedAfterKill kills the Java machine of a server, which another follows, on the same forwarded port.
func replacedAfterKill(ctx context.Context, server *v1alpha1.SparkConnect, pod corev1.Pod, interpreter string) corev1.Pod {
	GinkgoHelper()
	By("killing it")
	forwarded, end := forwarding(ctx, server)
	kubectl("exec", "-n", server.Namespace, pod.Name, "--", "pkill", "-KILL", "java")
	next := takesClients(ctx, server, pod)
	answers(ctx, server, interpreter, forwarded)
	end()
	return next
}

// stoppedWhenIdle leaves a server alone until it is stopped. It is woken with a timeout that none of these tests reaches.
func stoppedWhenIdle(ctx context.Context, server *v1alpha1.SparkConnect, pod corev1.Pod) {
	GinkgoHelper()
	By("leaving it alone")
	changeServer(ctx, server, func(s *v1alpha1.SparkConnectSpec) { s.IdleTimeout = &metav1.Duration{Duration: time.Second} })
	eventuallySays(ctx, server, "Suspended", metav1.ConditionTrue, "Idle")
	Expect(apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(&pod), &pod))).To(BeTrue(), "its pod is gone")
	changeServer(ctx, server, func(s *v1alpha1.SparkConnectSpec) { s.IdleTimeout = &metav1.Duration{Duration: time.Hour} })
}

// replacedAfterSessions edits a server with an open session, which is to end before the server does.
func replacedAfterSessions(ctx context.Context, server *v1alpha1.SparkConnect, pod corev1.Pod, interpreter, url string) {
	GinkgoHelper()
	By("editing it under an open session")
	session := openSession(ctx, interpreter, url)
	session.ask("40+2", "42")
	changeServer(ctx, server, func(s *v1alpha1.SparkConnectSpec) { s.SparkConf["spark.sql.session.timeZone"] = "Asia/Tokyo" })
	eventuallySays(ctx, server, "Reconciling", metav1.ConditionTrue, "Draining")
	session.ask("current_timezone() = 'Asia/Tokyo'", "False")
	Expect(takesClients(ctx, server, corev1.Pod{}).UID).To(Equal(pod.UID))

	By("ending the session")
	session.stop()
	takesClients(ctx, server, pod)
	session = openSession(ctx, interpreter, url)
	session.ask("current_timezone() = 'Asia/Tokyo'", "True")
	session.stop()
}
