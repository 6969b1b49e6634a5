// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"net"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// lines are the connections of an operator. An API server asks for rights when a watch begins, and ends watches after
// minutes; who cannot wait for that cuts the connection.
type lines struct {
	mu   sync.Mutex
	open []net.Conn
}

// through returns the configuration of a client with these connections.
func (l *lines) through(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.open = append(l.open, conn)
		}
		return conn, err
	}
	return cfg
}

func (l *lines) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.open {
		_ = conn.Close() // closed already, or closed now
	}
	l.open = nil
}

// forbid takes the operator's rights in one namespace away.
func (t *tenants) forbid(ctx context.Context, namespace string) {
	GinkgoHelper()
	at := metav1.ObjectMeta{Namespace: namespace, Name: "operator"}
	Expect(t.client.Delete(ctx, &rbacv1.RoleBinding{ObjectMeta: at})).To(Succeed())
	Expect(t.client.Delete(ctx, &rbacv1.Role{ObjectMeta: at})).To(Succeed())
}

// watched is what the metrics say of a namespace; -1 if they say nothing.
func watched(namespace string) func(Gomega) float64 {
	return func(g Gomega) float64 {
		families, err := metrics.Registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		for _, family := range families {
			if family.GetName() != "tenants_spark_operator_namespace_watched" {
				continue
			}
			for _, m := range family.GetMetric() {
				if m.GetLabel()[0].GetValue() == namespace {
					return m.GetGauge().GetValue()
				}
			}
		}
		return -1
	}
}
