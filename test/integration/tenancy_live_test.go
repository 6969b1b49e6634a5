// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// A kubelet brings a changed ConfigMap to the operator's file a minute or two later; here it does so when a spec writes the file.
var _ = Describe("The ConfigMap of the configuration", Ordered, func() {
	const inForce = 5 * time.Second // as docs/tenants.md says
	t := &liveTenants{}
	BeforeAll(func(ctx SpecContext) { t.start(ctx) })
	AfterEach(func() { Expect(t.ended).NotTo(Receive(), "the operator ended") })

	It("adds a namespace before the kubelet brings the file, for both families", func(ctx SpecContext) {
		t.createBoth(ctx, "live-b", "pi")
		t.untouched(ctx, "live-b", "pi")
		t.edit(ctx, "namespaces: [live-a, live-b]")
		Eventually(t.drivers(ctx, "live-b"), inForce, poll).Should(ConsistOf("pi-driver", "pi-apache-0-driver"))
		t.createBoth(ctx, "live-a", "pi")
		Eventually(t.drivers(ctx, "live-a"), wait, poll).Should(ConsistOf("pi-driver", "pi-apache-0-driver"))
	})

	It("takes a namespace off, and asks for nothing there when its rights go", func(ctx SpecContext) {
		t.edit(ctx, "namespaces: [live-a]")
		Eventually(t.events(ctx), inForce, poll).Should(ContainElement(HaveSuffix("are in force: policies: 0; namespaces: live-a")))
		t.forbid(ctx, "live-b")
		t.finish(ctx, "live-b", "pi")
		t.createBoth(ctx, "live-b", "late")
		t.untouched(ctx, "live-b", "late")
		Expect(t.drivers(ctx, "live-b")(Default)).To(ConsistOf("pi-driver", "pi-apache-0-driver"))
		Expect(t.state(ctx, "live-b", "pi")()).To(Equal(v1beta2.ApplicationStateSubmitted))
		Expect(t.refused.Load()).To(BeZero(), "requests that were forbidden")
	})

	It("stays with the file without the right to watch the ConfigMap", func(ctx SpecContext) {
		t.ownRight(ctx, false)
		t.lines.cut()
		Eventually(t.refused.Load, wait, poll).Should(BeNumerically(">", 0))
		t.edit(ctx, "namespaces: [live-a, live-c]")
		t.createBoth(ctx, "live-c", "pi")
		t.untouched(ctx, "live-c", "pi")
		t.file("namespaces: [live-a, live-c]")
		Eventually(t.drivers(ctx, "live-c"), wait, poll).Should(ConsistOf("pi-driver", "pi-apache-0-driver"))
	})

	It("follows the ConfigMap again with the right", func(ctx SpecContext) {
		const pause = 90 * time.Second // of an informer between two tries
		t.ownRight(ctx, true)
		t.edit(ctx, "namespaces: [live-a, live-d]")
		t.createBoth(ctx, "live-d", "pi")
		Eventually(t.drivers(ctx, "live-d"), pause, poll).Should(ConsistOf("pi-driver", "pi-apache-0-driver"))
	})
})

// liveTenants are tenants whose configuration is mounted from a ConfigMap.
type liveTenants struct {
	tenants
	// refused counts the operator's requests that the API server has forbidden.
	refused atomic.Int32
}

const liveConfigMap = "spark-operator-controller-config"

func (t *liveTenants) start(ctx context.Context) {
	GinkgoHelper()
	user := t.begin("role.yaml", filepath.Join("families", "apache.yaml"))
	for _, name := range []string{"live-a", "live-b", "live-c", "live-d", "live-operator"} {
		t.namespace(ctx, name, nil)
		t.permit(ctx, name)
	}
	t.ownRight(ctx, true)
	for key, value := range map[string]string{
		"POD_NAMESPACE": "live-operator", "POD_NAME": "controller-1", "POD_UID": "uid-1", "CONFIG_MAP_NAME": liveConfigMap,
	} {
		GinkgoT().Setenv(key, value)
	}
	t.tenants.file = filepath.Join(GinkgoT().TempDir(), "config.yaml")
	t.file("namespaces: [live-a]")
	Expect(t.client.Create(ctx, t.configMap("namespaces: [live-a]"))).To(Succeed())
	own := t.lines.through(user.Config())
	own.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next, &t.refused} })
	t.operator(own)
}

// counting counts forbidden requests.
type counting struct {
	next    http.RoundTripper
	refused *atomic.Int32
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusForbidden {
		c.refused.Add(1)
	}
	return response, err
}

func (t *liveTenants) text(sections string) string {
	return "apiVersion: config.firesteel.dev/v1alpha1\nkind: OperatorConfiguration\nmetrics: {bindAddress: \"127.0.0.1:0\", prefix: live-}\n" +
		"health: {bindAddress: \"0\"}\napache: {enabled: true}\n" + sections + "\n"
}

func (t *liveTenants) configMap(sections string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "live-operator", Name: liveConfigMap}, Data: map[string]string{"config.yaml": t.text(sections)},
	}
}

// edit changes the ConfigMap, and not the file.
func (t *liveTenants) edit(ctx context.Context, sections string) {
	GinkgoHelper()
	Expect(t.client.Update(ctx, t.configMap(sections))).To(Succeed())
}

// file does what a kubelet does.
func (t *liveTenants) file(sections string) {
	GinkgoHelper()
	Expect(os.WriteFile(t.tenants.file+".new", []byte(t.text(sections)), 0o600)).To(Succeed())
	Expect(os.Rename(t.tenants.file+".new", t.tenants.file)).To(Succeed())
}

// ownRight gives the operator in its own namespace what the chart does, or the same without the ConfigMap.
func (t *liveTenants) ownRight(ctx context.Context, has bool) {
	GinkgoHelper()
	at := metav1.ObjectMeta{Namespace: "live-operator", Name: "operator"}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}}}
	if has {
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{liveConfigMap}, Verbs: []string{"list", "watch"},
		})
	}
	Expect(t.client.Update(ctx, &rbacv1.Role{ObjectMeta: at, Rules: rules})).To(Succeed())
}

// createBoth creates an application of each family.
func (t *liveTenants) createBoth(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	t.create(ctx, namespace, name)
	o := newApache(namespace)
	o.Name = name + "-apache"
	o.Spec.DriverServiceIngressList, o.Spec.ConfigMapSpecs = nil, nil
	Expect(t.client.Create(ctx, o)).To(Succeed())
}

func (t *liveTenants) drivers(ctx context.Context, namespace string) func(Gomega) []string {
	return func(g Gomega) (names []string) {
		var pods corev1.PodList
		g.Expect(t.client.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
		for i := range pods.Items {
			names = append(names, pods.Items[i].Name)
		}
		return names
	}
}
