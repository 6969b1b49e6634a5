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

	DescribeTable("answers clients, also after it was killed, and after it was stopped because it was idle", func(version, image, minor string) {
		server := connectServer(newNamespace(ctx, "connect"), version, image)
		hasTokens := minor != "3.5"
		if hasTokens {
			server.Spec.Authentication = &v1alpha1.AuthenticationSpec{Token: true}
		}
		Expect(admin.Create(ctx, server)).To(Succeed())
		interpreter := python(ctx, minor)
		first := takesClients(ctx, server, corev1.Pod{})
		url := serviceURL(ctx, server, tokenOf(ctx, server))

		By("asking through the Service")
		answers(ctx, server, interpreter, url)
		if hasTokens {
			By("asking without a token, and with a wrong one")
			for wrong, says := range map[string]string{"": "No authentication token provided", "wrong": "Invalid authentication token"} {
				out, err := ask(ctx, interpreter, serviceURL(ctx, server, wrong))
				Expect(err).To(HaveOccurred(), out)
				Expect(out).To(ContainSubstring(says))
			}
		}
		By("waiting until there is no executor while nobody asks")
		eventuallyServer(ctx, server, func(g Gomega, s v1alpha1.SparkConnectStatus) {
			g.Expect(s.Executors["running"] + s.Executors["pending"]).To(BeZero())
		})

		By("killing it")
		forwarded, end := forwarding(ctx, server)
		kubectl("exec", "-n", server.Namespace, first.Name, "--", "pkill", "-KILL", "java")
		second := takesClients(ctx, server, first)
		answers(ctx, server, interpreter, forwarded)
		end()
		Expect(serviceURL(ctx, server, tokenOf(ctx, server))).To(Equal(url), "the address stays")

		By("leaving it alone")
		changeServer(ctx, server, func(s *v1alpha1.SparkConnectSpec) { s.IdleTimeout = &metav1.Duration{Duration: time.Second} })
		eventuallySays(ctx, server, "Suspended", metav1.ConditionTrue, "Idle")
		Expect(apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(&second), &second))).To(BeTrue(), "its pod is gone")
		changeServer(ctx, server, func(s *v1alpha1.SparkConnectSpec) { s.IdleTimeout = nil })

		By("waking it")
		out, code := plugin(ctx, "connect", server.Name, "-n", server.Namespace, "--exec", interpreter, notebook)
		Expect(code).To(BeZero(), out)
		Expect(out).To(And(ContainSubstring("waking it"), ContainSubstring("all fares: 24500")))
		third := takesClients(ctx, server, second)

		if hasTokens { // clients of Spark 3.5 do not tell when their session ends
			replacedAfterSessions(ctx, server, third, interpreter, url)
		}
	},
		Entry("Spark 4.1", "4.1.4", sparkImage, "4.1"),
		Entry("Spark 3.5", "3.5.9", otherSparkImage, "3.5"),
	)
})

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

// tokenOf is the token of a server, "" if it asks for none.
func tokenOf(ctx context.Context, server *v1alpha1.SparkConnect) string {
	GinkgoHelper()
	var current v1alpha1.SparkConnect
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(server), &current)).To(Succeed())
	name := current.Status.Server.TokenSecretName
	if name == "" {
		return ""
	}
	var secret corev1.Secret
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: server.Namespace, Name: name}, &secret)).To(Succeed())
	return string(secret.Data["token"])
}
