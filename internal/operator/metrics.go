// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/metrics"
)

// NewMetrics returns the metrics; nil if they are not served.
func NewMetrics(mgr ctrl.Manager, c config.Metrics) (*metrics.Metrics, error) {
	if c.BindAddress == metrics.Off {
		return nil, nil
	}
	m := metrics.New(c)
	return m, serve(mgr, m.Collectors()...)
}

// countRequests counts a manager's API requests under the metric names of Apache's operator, if Apache's kinds are enabled. The returned function adds the
// metrics to the served ones.
func countRequests(cfg *rest.Config, c config.OperatorConfiguration, now clock.PassiveClock) func(ctrl.Manager) error {
	if !c.Apache.Enabled || c.Metrics.BindAddress == metrics.Off {
		return func(ctrl.Manager) error { return nil }
	}
	requests := metrics.NewApache(c.Metrics)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return requests.Transport(next, now) })
	return func(mgr ctrl.Manager) error { return serve(mgr, requests) }
}

func serve(mgr ctrl.Manager, all ...prometheus.Collector) error {
	for _, c := range all {
		if err := mgr.Add(registered{c}); err != nil {
			return fmt.Errorf("add metrics: %w", err)
		}
	}
	return nil
}

// registered keeps metrics in the served registry while the operator runs.
type registered struct{ prometheus.Collector }

var _ manager.LeaderElectionRunnable = registered{}

// Start implements manager.Runnable.
func (r registered) Start(ctx context.Context) error {
	if err := ctrlmetrics.Registry.Register(r.Collector); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	<-ctx.Done()
	ctrlmetrics.Registry.Unregister(r.Collector)
	return nil
}

// NeedLeaderElection is false, because a standby replica also serves metrics.
func (registered) NeedLeaderElection() bool { return false }

// CountWrites returns a client that measures its writes. After a status write it reads only the object's version from the response. m may be nil.
func CountWrites(c client.Client, m *metrics.Metrics, now clock.PassiveClock, scheme *runtime.Scheme) client.Client {
	return countingClient{c, writeCounter{m, now, scheme}}
}

// countingClient measures writes.
type countingClient struct {
	client.Client
	writeCounter
}

type writeCounter struct {
	metrics *metrics.Metrics
	clock   clock.PassiveClock
	scheme  *runtime.Scheme
}

func (w writeCounter) measure(ctx context.Context, verb string, o runtime.Object, subresource string, write func() error) error {
	began := w.clock.Now()
	err := write()
	w.metrics.Write(ctx, verb, w.resource(o)+subresource, w.clock.Since(began), err)
	return err
}

// resource returns the usual resource name of an object's kind.
func (w writeCounter) resource(o runtime.Object) string {
	if o != nil {
		if gvk, err := apiutil.GVKForObject(o, w.scheme); err == nil {
			plural, _ := meta.UnsafeGuessKindToResource(gvk)
			return plural.Resource
		}
	}
	return "unknown"
}

// Create implements client.Writer.
func (c countingClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return c.measure(ctx, "create", o, "", func() error { return c.Client.Create(ctx, o, opts...) })
}

// Delete implements client.Writer.
func (c countingClient) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return c.measure(ctx, "delete", o, "", func() error { return c.Client.Delete(ctx, o, opts...) })
}

// Apply implements client.Writer.
func (c countingClient) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	wanted, _ := o.(runtime.Object) // actuate applies no typed objects
	return c.measure(ctx, "apply", wanted, "", func() error { return c.Client.Apply(ctx, o, opts...) })
}

// Status implements client.StatusClient.
func (c countingClient) Status() client.SubResourceWriter {
	return countingStatus{c.Client.Status(), c.writeCounter}
}

type countingStatus struct {
	client.SubResourceWriter
	writeCounter
}

// Patch implements client.SubResourceWriter. The object gets only its new version. The rest equals the sent content, and decoding it would cost more than the
// write.
func (c countingStatus) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	data, err := p.Data(o)
	if err != nil {
		return fmt.Errorf("make a patch: %w", err)
	}
	gvk, err := apiutil.GVKForObject(o, c.scheme)
	if err != nil {
		return fmt.Errorf("name the kind of %T: %w", o, err)
	}
	answer := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()}}
	answer.SetGroupVersionKind(gvk)
	err = c.measure(ctx, "patch", o, "/status", func() error {
		return c.SubResourceWriter.Patch(ctx, answer, client.RawPatch(p.Type(), data), opts...)
	})
	if err == nil {
		o.SetResourceVersion(answer.ResourceVersion)
	}
	return err
}
