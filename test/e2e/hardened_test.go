// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"regexp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// operatorDigest is that of the operator's image, once the node tells of it: it does so every few seconds.
func operatorDigest(ctx context.Context) string {
	GinkgoHelper()
	pattern := regexp.MustCompile(`^firesteel\.local/spark-operator@(sha256:[0-9a-f]{64})$`)
	digest := ""
	Eventually(func(g Gomega) {
		var nodes corev1.NodeList
		g.Expect(admin.List(ctx, &nodes)).To(Succeed())
		for _, image := range nodes.Items[0].Status.Images {
			for _, name := range image.Names {
				if found := pattern.FindStringSubmatch(name); found != nil {
					digest = found[1]
				}
			}
		}
		g.Expect(digest).NotTo(BeEmpty(), "the node has no image of the operator with a digest: %+v", nodes.Items[0].Status.Images)
	}, installWait, poll).Should(Succeed())
	return digest
}

// asDriver returns a client with the token that the driver's pod has.
func asDriver(ctx context.Context, driver *corev1.Pod) client.Client {
	GinkgoHelper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To[int64](3600), BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID},
	}}
	answer, err := clientset.CoreV1().ServiceAccounts(driver.Namespace).CreateToken(ctx, driver.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("FIRESTEEL_E2E_KUBECONFIG"))
	Expect(err).NotTo(HaveOccurred())
	cfg = rest.AnonymousClientConfig(cfg)
	cfg.BearerToken = answer.Status.Token
	if ns := os.Getenv("FIRESTEEL_E2E_NETNS"); ns != "" {
		cfg.Dial = dialIn(ns)
	}
	c, err := client.New(cfg, client.Options{Scheme: admin.Scheme(), Mapper: admin.RESTMapper()})
	Expect(err).NotTo(HaveOccurred())
	return c
}

// meetsRestricted gives both roles what the pod security standard restricted asks for. The image has a user that is not root.
func meetsRestricted(app *v1beta2.SparkApplication) *v1beta2.SparkApplication {
	for _, pod := range []*v1beta2.SparkPodSpec{&app.Spec.Driver.SparkPodSpec, &app.Spec.Executor.SparkPodSpec} {
		pod.PodSecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
		pod.SecurityContext = &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	}
	return app
}

var _ = Describe("The hardened chart", longest, func() {
	ctx := context.Background()

	It("runs what meets its policy, and says of everything else why it does not", func() {
		helm := newChart("hardened", "hardened-ops")
		jobs := ownNamespace(ctx, "hardened")
		kubectl("label", "namespace", jobs, enforceLabel+"=restricted")
		helm.prepare(ctx)
		helm.do("install", helm.release, chartPath, "--set", "hardened=true,image.digest="+operatorDigest(ctx),
			"--set", "spark.jobNamespaces={"+jobs+"},executorAdmissionPolicy.images={apache/spark*}", "--wait", "--timeout", "3m")
		account := ptr.To(helm.account())

		By("refusing what is not")
		plain := sparkPi(jobs, "plain")
		plain.Spec.Driver.ServiceAccount = account
		var err error
		Eventually(func() error { err = admin.Create(ctx, plain.DeepCopy(), client.DryRunAll); return err }, installWait, poll).Should(Satisfy(apierrors.IsInvalid))
		Expect(err).To(MatchError(And(ContainSubstring("spec.driver.securityContext"), ContainSubstring("spec.executor.securityContext"),
			ContainSubstring("allows only pods of the Pod Security level restricted"), ContainSubstring(`operator policy "hardened"`))))
		published := meetsRestricted(sparkPi(jobs, "published"))
		published.Spec.Driver.ServiceAccount = nil // the policy has one
		published.Spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{ServiceType: ptr.To(corev1.ServiceTypeLoadBalancer)}
		Expect(admin.Create(ctx, published)).To(MatchError(ContainSubstring("Services of type ClusterIP")))

		By("running what is, as Kubernetes' own admission sees it, too")
		pi := meetsRestricted(sparkPi(jobs, "meets"))
		pi.Spec.Driver.ServiceAccount = nil
		Expect(admin.Create(ctx, pi)).To(Succeed())
		eventuallyState(ctx, pi, v1beta2.ApplicationStateCompleted)
		Expect(driverLog(ctx, pi)).To(ContainSubstring("Pi is roughly 3.1"))

		By("letting the driver's program start no executor that reaches the node, and publish nothing, where the namespace has no level, too")
		kubectl("label", "namespace", jobs, enforceLabel+"-")
		driver := driverOf(ctx, pi)
		Expect(driver.Spec.ServiceAccountName).To(Equal(*account))
		program := asDriver(ctx, &driver)
		executor := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: jobs, Name: "meets-exec-9", Labels: map[string]string{"spark-role": "executor", v1beta2.LabelAppName: pi.Name},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID}},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: sparkImage}}, HostNetwork: true},
		}
		Expect(program.Create(ctx, executor)).To(MatchError(ContainSubstring("may not reach its node")))
		executor.Spec.HostNetwork, executor.Spec.Containers[0].Image = false, "elsewhere.example/miner"
		Expect(program.Create(ctx, executor)).To(MatchError(ContainSubstring("may not have the image elsewhere.example/miner; allowed are apache/spark*")))
		publish := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + jobs + ":" + *account, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: jobs, Verb: "create", Resource: "services"},
		}}
		Expect(admin.Create(ctx, publish)).To(Succeed())
		Expect(publish.Status.Allowed).To(BeFalse(), publish.Status.Reason)

		By("uninstalling")
		helm.uninstall()
	})
})
