// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
)

var _ = Describe("Without the webhook that is installed", func() {
	invalid := func(ns, name string) *v1beta2.SparkApplication {
		o := sparkPi(ns, name)
		o.Spec.Driver.Memory = ptr.To("2gb")
		return o
	}

	It("everything runs the same, with failurePolicy Ignore", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		options := installHooks("ignored", admissionv1.Ignore)
		end := startWebhook(server.Config, filesOf(options))
		guard(ctx, ns, "ignored")
		Eventually(func() error { return admin.Create(ctx, invalid(ns, "bad"), client.DryRunAll) }, wait, poll).Should(Satisfy(apierrors.IsInvalid))
		said := admin.Create(ctx, invalid(ns, "bad"), client.DryRunAll).(apierrors.APIStatus).Status().Details.Causes[0]
		Expect(admin.Create(ctx, bare(ns, "before"))).To(Succeed())
		kubelet(ctx, driverPod(ctx, ns, "before-driver"), corev1.PodRunning, driverContainer, running())
		eventuallyState(ctx, ns, "before", v1beta2.ApplicationStateRunning)
		before := driverPod(ctx, ns, "before-driver")
		end()

		By("running the same driver for the same words")
		Expect(admin.Create(ctx, bare(ns, "after"))).To(Succeed())
		after := driverPod(ctx, ns, "after-driver")
		Expect(app(ctx, ns, "after").Spec.Mode).To(BeEmpty(), "no one wrote the defaults down")
		Expect(after.Spec.Containers[0].Resources).To(Equal(before.Spec.Containers[0].Resources))
		Expect(after.Spec.Containers[0].Args).To(Equal(before.Spec.Containers[0].Args))

		By("refusing the same in the same words, a moment later")
		Expect(admin.Create(ctx, invalid(ns, "bad"))).To(Succeed())
		eventuallyState(ctx, ns, "bad", v1beta2.ApplicationStateFailed)
		Expect(app(ctx, ns, "bad").Status.AppState.ErrorMessage).To(ContainSubstring(said.Field + ": " + said.Message))

		By("leaving alone what runs, when its manifest is sent again without the defaults")
		replaceBare(ctx, ns, "before")
		Expect(app(ctx, ns, "before").Spec.Driver.Memory).To(BeNil())
		Eventually(func() int64 { return condition(ctx, ns, "before", "Admitted").ObservedGeneration }, wait, poll).Should(BeEquivalentTo(app(ctx, ns, "before").Generation))
		Expect(app(ctx, ns, "before").Status.AppState.State).To(Equal(v1beta2.ApplicationStateRunning))
		Expect(driverPod(ctx, ns, "before-driver").UID).To(Equal(before.UID))
	})

	It("nothing new is taken, with failurePolicy Fail, and what runs continues to its end", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		options := installHooks("failing", admissionv1.Fail)
		end := startWebhook(server.Config, filesOf(options))
		guard(ctx, ns, "failing")
		Eventually(func() error { return admin.Create(ctx, invalid(ns, "bad"), client.DryRunAll) }, wait, poll).Should(Satisfy(apierrors.IsInvalid))
		Expect(admin.Create(ctx, sparkPi(ns, "pi"))).To(Succeed())
		driver := driverPod(ctx, ns, "pi-driver")
		kubelet(ctx, driver, corev1.PodRunning, driverContainer, running())
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateRunning)
		end()

		err := admin.Create(ctx, sparkPi(ns, "late"))
		Expect(err).To(MatchError(And(
			ContainSubstring("mutate-sparkoperator-k8s-io-v1beta2-sparkapplication.sparkoperator.k8s.io"), ContainSubstring("failed calling webhook"),
		)))
		kubelet(ctx, driver, corev1.PodSucceeded, driverContainer, exited(0, "Completed"))
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateCompleted)
		Expect(admin.Delete(ctx, sparkPi(ns, "pi"))).To(Succeed(), "a deletion is no one's business")
		Eventually(gone(ctx, sparkPi(ns, "pi")), wait, poll).Should(BeTrue())
	})
})

// filesOf is the configuration of a webhook with the certificates that envtest made.
func filesOf(options *envtest.WebhookInstallOptions) config.Webhook {
	c := config.DefaultWebhook()
	c.Port, c.CertDir, c.Certificates = options.LocalServingPort, options.LocalServingCertDir, config.CertificatesFiles
	return c
}

var _ = Describe("The webhook's own certificates", func() {
	It("are made, told and renewed with the rights of config/webhook, and no others", func(ctx SpecContext) {
		const value = "self"
		ns := newNamespace(ctx)
		c := config.DefaultWebhook()
		c.Namespace, c.Port, c.CertDir = ns, freePort(), GinkgoT().TempDir()
		user, err := server.AddUser(envtest.User{Name: "webhook"}, server.Config)
		Expect(err).NotTo(HaveOccurred())
		permitWebhook(ctx, ns, "webhook")
		install(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: c.SecretName}})
		install(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "of-somebody-else"}})
		options := hooks(c.Configurations, value, admissionv1.Fail)
		for i, o := range options.MutatingWebhooks {
			for j := range o.Webhooks {
				byName(&options.MutatingWebhooks[i].Webhooks[j].ClientConfig, c.Port)
			}
			install(ctx, o)
		}
		for i, o := range options.ValidatingWebhooks {
			for j := range o.Webhooks {
				byName(&options.ValidatingWebhooks[i].Webhooks[j].ClientConfig, c.Port)
			}
			install(ctx, o)
		}
		startWebhook(user.Config(), c)
		guard(ctx, ns, value)
		asked := func(g Gomega) {
			o := sparkPi(ns, "bad")
			o.Spec.Driver.Memory = ptr.To("2gb")
			g.Expect(apierrors.IsInvalid(admin.Create(ctx, o, client.DryRunAll))).To(BeTrue())
			g.Expect(admin.Create(ctx, sparkPi(ns, "good"), client.DryRunAll)).To(Succeed())
		}
		Eventually(asked, wait, poll).Should(Succeed(), "the API server trusts the certificate")
		first := served(ctx, c.Port)
		Expect(first.VerifyHostname("spark-operator-webhook-svc." + ns + ".svc")).To(Succeed())

		By("losing the certificate, but not the authority")
		Expect(admin.Patch(ctx, secretOf(c), mergePatch(`{"data":{"tls.crt":null}}`))).To(Succeed())
		Eventually(func() string {
			return served(ctx, c.Port).SerialNumber.String() + string(served(ctx, c.Port).Signature)
		}, wait, poll).
			ShouldNot(Equal(first.SerialNumber.String()+string(first.Signature)), "another certificate is served")
		second := served(ctx, c.Port)
		Expect(second.AuthorityKeyId).To(Equal(first.AuthorityKeyId))
		Eventually(asked, wait, poll).Should(Succeed())

		By("coming near the end of the authority")
		certificate, key := authority(29 * 24 * time.Hour)
		short := change(ctx, admin, ns, c.SecretName, func(s *corev1.Secret) { s.Data["ca.crt"], s.Data["ca.key"] = certificate, key })
		Eventually(func() string { return string(served(ctx, c.Port).AuthorityKeyId) }, wait, poll).ShouldNot(Equal(string(second.AuthorityKeyId)))
		Eventually(asked, wait, poll).Should(Succeed(), "the API server was told of the new authority")
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(secretOf(c)), short)).To(Succeed())
		made, err := cert.ParseCertsPEM(short.Data["ca.crt"])
		Expect(err).NotTo(HaveOccurred())
		Expect(made[0].NotAfter).To(BeTemporally("~", time.Now().Add(365*24*time.Hour), 2*time.Hour))
		second = served(ctx, c.Port)
		Expect(second.NotAfter).To(BeTemporally("~", time.Now().Add(90*24*time.Hour), 2*time.Hour))

		By("losing everything")
		Expect(admin.Patch(ctx, secretOf(c), mergePatch(`{"data":null}`))).To(Succeed())
		Eventually(func() string { return string(served(ctx, c.Port).Signature) }, wait, poll).ShouldNot(Equal(string(second.Signature)))
		Eventually(asked, wait, poll).Should(Succeed(), "the API server was told of the new authority")
		var stored corev1.Secret
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(secretOf(c)), &stored)).To(Succeed())
		Expect(stored.Data).To(And(HaveKey("ca.crt"), HaveKey("tls.crt"), HaveKey("tls.key")))
	})
})

// authority is one that ends after a while.
func authority(life time.Duration) (certificate, key []byte) {
	GinkgoHelper()
	pair, err := rsa.GenerateKey(rand.Reader, 2048)
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "spark-operator-webhook-ca"}, DNSNames: []string{"spark-operator-webhook-ca"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(life), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, pair.Public(), pair)
	Expect(err).NotTo(HaveOccurred())
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(pair)})
}

func secretOf(c config.Webhook) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.SecretName}}
}

// byName lets the API server connect to a name that the certificate is for, with an authority that it is told later.
func byName(c *admissionv1.WebhookClientConfig, port int) {
	c.URL = ptr.To(fmt.Sprintf("https://localhost:%d%s", port, *c.Service.Path))
	c.Service = nil
}

// permitWebhook gives a user the rights that the webhook is installed with.
func permitWebhook(ctx context.Context, namespace, user string) {
	GinkgoHelper()
	who := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	for _, o := range manifests("config", "webhook", "role.yaml") {
		if o.GetKind() == "Role" {
			o.SetNamespace(namespace)
		}
		install(ctx, o)
	}
	install(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "webhook"}, Subjects: who,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "webhook"},
	})
	install(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "webhook"}, Subjects: who,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "webhook"},
	})
}

// served is the certificate that the webhook shows.
func served(ctx context.Context, port int) *x509.Certificate {
	GinkgoHelper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("localhost", strconv.Itoa(port)))
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(conn.Close()).To(Succeed()) }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
}
