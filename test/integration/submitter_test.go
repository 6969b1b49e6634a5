// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// editor is a client of a user who may do everything with our kinds in a namespace.
func editor(ctx context.Context, namespace, user string, groups ...string) client.Client {
	GinkgoHelper()
	at := metav1.ObjectMeta{Namespace: namespace, Name: "editor-" + user}
	Expect(admin.Create(ctx, &rbacv1.Role{ObjectMeta: at, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"sparkoperator.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
	}})).To(Succeed())
	Expect(admin.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: at, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: at.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})).To(Succeed())
	cfg := rest.CopyConfig(server.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	c, err := client.New(cfg, client.Options{Scheme: admin.Scheme(), Mapper: admin.RESTMapper()})
	Expect(err).NotTo(HaveOccurred())
	return c
}

// forged are annotations that name somebody else.
func forged() map[string]string {
	return map[string]string{v1beta2.AnnotationSubmitter: "admin", v1beta2.AnnotationSubmitterGroups: "system:masters"}
}

func forge(o client.Object) client.Object {
	o.SetAnnotations(forged())
	return o
}

// recordsSubmitters are the specs about who is recorded, whatever records it.
func recordsSubmitters(namespace func() string, source lifecycle.SubmitterSource) {
	annotationsOf := func(ctx context.Context, o client.Object) []string {
		GinkgoHelper()
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		return []string{o.GetAnnotations()[v1beta2.AnnotationSubmitter], o.GetAnnotations()[v1beta2.AnnotationSubmitterGroups]}
	}
	const groups = "dev\nsystem:authenticated"

	It("records who creates an object, whatever is written in it, and keeps that", func(ctx SpecContext) {
		ann := editor(ctx, namespace(), "ann", "dev", "system:authenticated")
		bob := editor(ctx, namespace(), "bob", "ops", "system:authenticated")
		at := metav1.ObjectMeta{Namespace: namespace(), Name: "who"}
		pi := testutil.Pi()
		pi.ObjectMeta = at
		schedule := &v1beta2.ScheduledSparkApplication{ObjectMeta: at, Spec: v1beta2.ScheduledSparkApplicationSpec{Schedule: "@yearly", Template: pi.Spec}}
		connect := &v1alpha1.SparkConnect{ObjectMeta: at, Spec: v1alpha1.SparkConnectSpec{SparkVersion: "4.1.4", Image: new("spark:4.1.4")}}
		for _, o := range []client.Object{pi, schedule, connect} {
			Eventually(func() error { return ann.Create(ctx, forge(o)) }, wait, poll).Should(Succeed())
			Expect(annotationsOf(ctx, o)).To(Equal([]string{"ann", groups}))
			By("editing the annotations")
			for _, text := range []string{
				`{"metadata":{"annotations":{"sparkoperator.k8s.io/submitter":"bob","sparkoperator.k8s.io/submitter-groups":null}}}`,
				`{"metadata":{"annotations":null}}`,
			} {
				Eventually(func() error { return bob.Patch(ctx, o, mergePatch(text)) }, wait, poll).Should(Succeed())
				Expect(annotationsOf(ctx, o)).To(Equal([]string{"ann", groups}))
			}
		}
		By("looking at the statuses")
		want := &v1beta2.SubmitterStatus{User: "ann", Groups: []string{"dev", "system:authenticated"}, Source: string(source)}
		Eventually(func() []*v1beta2.SubmitterStatus {
			for _, o := range []client.Object{pi, schedule, connect} {
				Expect(admin.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
			}
			return []*v1beta2.SubmitterStatus{pi.Status.Submitter, schedule.Status.Submitter, connect.Status.Submitter}
		}, wait, poll).Should(HaveEach(Equal(want)))
	})

	It("gives the runs of a schedule the submitter of the schedule", func(ctx SpecContext) {
		ann := editor(ctx, namespace(), "ann-of-runs", "dev", "system:authenticated")
		pi := testutil.Pi()
		schedule := &v1beta2.ScheduledSparkApplication{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace(), Name: "runs"},
			Spec:       v1beta2.ScheduledSparkApplicationSpec{Schedule: "@yearly", Template: pi.Spec},
		}
		Eventually(func() error { return ann.Create(ctx, schedule) }, wait, poll).Should(Succeed())
		trigger := `{"metadata":{"annotations":{"sparkoperator.k8s.io/trigger-at":"` + time.Now().UTC().Format(time.RFC3339) + `"}}}`
		Expect(ann.Patch(ctx, schedule, mergePatch(trigger))).To(Succeed())
		run := &v1beta2.SparkApplication{}
		Eventually(func(g Gomega) {
			var all v1beta2.SparkApplicationList
			g.Expect(admin.List(ctx, &all, client.InNamespace(namespace()), client.MatchingLabels{v1beta2.LabelScheduledAppName: "runs"})).To(Succeed())
			g.Expect(all.Items).NotTo(BeEmpty())
			g.Expect(all.Items[0].Status.Submitter).NotTo(BeNil())
			run = &all.Items[0]
		}, wait, poll).Should(Succeed())
		Expect(run.Status.Submitter).To(HaveField("User", "ann-of-runs"))
		Expect(annotationsOf(ctx, run)).To(Equal([]string{"ann-of-runs", groups}))
		By("forging that of the run")
		Expect(ann.Patch(ctx, run, mergePatch(`{"metadata":{"annotations":{"sparkoperator.k8s.io/submitter":"admin"}}}`))).To(Succeed())
		Expect(annotationsOf(ctx, run)).To(Equal([]string{"ann-of-runs", groups}))
	})

	It("removes from an older object what was written there", func(ctx SpecContext) {
		ann := editor(ctx, namespace(), "ann-of-old", "dev")
		old := testutil.Pi()
		old.ObjectMeta = metav1.ObjectMeta{Namespace: namespace(), Name: "old"}
		Expect(asOperator().Create(ctx, old)).To(Succeed()) // nothing is recorded of what it creates
		Eventually(func() error {
			return ann.Patch(ctx, old, mergePatch(`{"metadata":{"annotations":{"sparkoperator.k8s.io/submitter":"admin","mine":"1"}}}`))
		}, wait, poll).Should(Succeed())
		Expect(annotationsOf(ctx, old)).To(Equal([]string{"", ""}))
		Expect(old.Annotations).To(HaveKeyWithValue("mine", "1"))
	})
}

// controllerUser is what the operator is called in the configuration and in the policy.
const controllerUser = "system:serviceaccount:spark-operator:spark-operator-controller"

// asOperator is a client of the operator's user with all rights.
func asOperator() client.Client {
	GinkgoHelper()
	cfg := operatorConfig()
	c, err := client.New(cfg, client.Options{Scheme: admin.Scheme(), Mapper: admin.RESTMapper()})
	Expect(err).NotTo(HaveOccurred())
	return c
}

func operatorConfig() *rest.Config {
	cfg := rest.CopyConfig(server.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: controllerUser, Groups: []string{"system:masters"}}
	return cfg
}

// startAsOperator restarts the operator as the user that it is in a cluster, with a section of its configuration.
func startAsOperator(section string) {
	GinkgoHelper()
	stopOperator()
	extraConfig = section
	startOperator(operatorConfig())
}

var _ = Describe("The admission policy that records submitters", Serial, Ordered, func() {
	var ns string
	BeforeAll(func(ctx SpecContext) {
		startAsOperator("submitter: {from: AdmissionPolicy}")
		DeferCleanup(func() { restartOperator(func() { extraConfig = "" }) })
		for _, o := range manifests("config", "submitter", "policy.yaml") {
			install(ctx, o)
		}
		ns = newNamespace(ctx)
		By("waiting until the API server goes by the policy")
		Eventually(func(g Gomega) string {
			o := testutil.Pi()
			o.ObjectMeta = metav1.ObjectMeta{Namespace: ns, GenerateName: "probe-"}
			g.Expect(admin.Create(ctx, o, client.DryRunAll)).To(Succeed())
			return o.Annotations[v1beta2.AnnotationSubmitter]
		}, wait, poll).ShouldNot(BeEmpty())
	})
	recordsSubmitters(func() string { return ns }, lifecycle.SubmitterFromPolicy)
})

var _ = Describe("The webhook that records submitters", Serial, Ordered, func() {
	var ns string
	BeforeAll(func(ctx SpecContext) {
		startAsOperator("submitter: {from: Webhook, operatorUser: " + controllerUser + "}")
		DeferCleanup(func() { restartOperator(func() { extraConfig = "" }) })
		options := installHooks("submitters", admissionv1.Fail)
		startWebhookWith(server.Config, config.OperatorConfiguration{
			Webhook: filesOf(options), Submitter: config.Submitter{From: lifecycle.SubmitterFromWebhook, OperatorUser: controllerUser},
		})
		ns = newNamespace(ctx)
		guard(ctx, ns, "submitters")
		Eventually(func(g Gomega) string {
			o := testutil.Pi()
			o.ObjectMeta = metav1.ObjectMeta{Namespace: ns, GenerateName: "probe-"}
			g.Expect(admin.Create(ctx, o, client.DryRunAll)).To(Succeed())
			return o.Annotations[v1beta2.AnnotationSubmitter]
		}, wait, poll).ShouldNot(BeEmpty())
	})
	recordsSubmitters(func() string { return ns }, lifecycle.SubmitterFromWebhook)
})

var _ = Describe("An operator that nobody tells who records submitters", func() {
	It("believes nothing", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		o := testutil.Pi()
		o.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "pi", Annotations: forged()}
		Expect(admin.Create(ctx, o)).To(Succeed())
		Eventually(func() string {
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
			return string(o.Status.AppState.State)
		}, wait, poll).ShouldNot(BeEmpty())
		Expect(o.Status.Submitter).To(BeNil())
	})
})
