// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/firesteel-dev/firesteel/internal/config"
)

// electionQPS is the maximum rate of the election's requests to a failing API server, per second.
const electionQPS, electionBurst = 5, 10

// silence is how long a leader may have no confirmed renewal before its liveness check fails. A control plane upgrade takes minutes and must not end the
// operator. A refused token or a missing route needs a restart.
const silence = 10 * time.Minute

// podNamespaceFile has the namespace of the pod. The service account admission of Kubernetes mounts it.
var podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// election elects the leader. It is client-go's elector over client-go's Lease lock. Only the client below them differs, so that the elector can check often
// and react soon without sending a request each time.
//
// Correctness does not depend on the election: two replicas that both believe to be the leader still create one driver for each attempt.
type election struct {
	lock   *resourcelock.LeaseLock
	leases *leaseClient
	watch  toolscache.Controller
	// lease is how long a renewal excludes other replicas.
	lease time.Duration
}

func newElection(cfg *rest.Config, c config.LeaderElection) (*election, error) {
	namespace := c.Namespace
	if namespace == "" {
		text, err := os.ReadFile(podNamespaceFile)
		if err != nil {
			return nil, fmt.Errorf("leaderElection.namespace: name one, because this process does not run in a pod: %w", err)
		}
		namespace = string(text)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name this replica: %w", err)
	}
	cfg = rest.AddUserAgent(rest.CopyConfig(cfg), "leader-election")
	cfg.QPS, cfg.Burst = electionQPS, electionBurst
	client, err := coordinationclient.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("create client for leases: %w", err)
	}
	store, watch := toolscache.NewInformerWithOptions(toolscache.InformerOptions{
		ListerWatcher: toolscache.NewListWatchFromClient(client.RESTClient(), "leases", namespace, fields.OneTermEqualSelector("metadata.name", c.Name)),
		ObjectType:    &coordinationv1.Lease{},
		Handler:       toolscache.ResourceEventHandlerFuncs{},
	})
	leases := &leaseClient{
		LeaseInterface: client.Leases(namespace), identity: host + "_" + string(uuid.NewUUID()), owners: accountIn(cfg.BearerToken, namespace),
		clock: clock.RealClock{}, every: c.RenewPeriod(), patience: c.RenewDeadline.Duration / 2,
		watched: func() *coordinationv1.Lease {
			object, _, _ := store.GetByKey(namespace + "/" + c.Name)
			lease, _ := object.(*coordinationv1.Lease)
			return lease
		},
	}
	return &election{watch: watch, leases: leases, lease: c.LeaseDuration.Duration, lock: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: c.Name},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: leases.identity},
	}}, nil
}

// configure adds the election to the manager.
func (e *election) configure(o *ctrl.Options, c config.LeaderElection) {
	o.LeaderElection, o.LeaderElectionID, o.LeaderElectionResourceLockInterface = true, c.Name, e.lock
	o.LeaderElectionReleaseOnCancel = true // all workers end before the release
	o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = &c.LeaseDuration.Duration, &c.RenewDeadline.Duration, &c.RetryPeriod.Duration
}

// Start watches the Lease.
func (e *election) Start(ctx context.Context) error {
	e.watch.RunWithContext(ctx)
	return nil
}

// NeedLeaderElection is false, because standby replicas also watch.
func (e *election) NeedLeaderElection() bool { return false }

// leads reports whether this replica leads and no other replica can lead now. It is false while the elector continues only because it gets no response.
func (e *election) leads() bool {
	unconfirmed, held := e.leases.unconfirmed()
	return held && unconfirmed < e.lease
}

// check is the liveness check. A standby replica passes, because a restart would neither change the responses nor make it the leader.
func (e *election) check(*http.Request) error {
	if unconfirmed, held := e.leases.unconfirmed(); held && unconfirmed > silence {
		return fmt.Errorf("this replica leads and could not renew its lease for %s: the API server does not respond, or refuses the renewal",
			unconfirmed.Round(time.Second))
	}
	return nil
}

// leaseClient is a client for one Lease. It responds from memory if it can. The elector calls it from one goroutine.
type leaseClient struct {
	coordinationclient.LeaseInterface
	// identity is this replica's holder name.
	identity string
	// owners own the Lease. Kubernetes deletes the Lease with them.
	owners []metav1.OwnerReference
	clock  clock.PassiveClock
	// every is the time between two sent renewals. patience is the timeout of a request.
	every, patience time.Duration
	// watched returns the watched Lease, or nil.
	watched func() *coordinationv1.Lease
	// last is the newest version from the API server. renewed is the time of this replica's last renewal request.
	last    *coordinationv1.Lease
	renewed time.Time
	// unanswered is set if the last renewal failed and no response proves that the lease is lost.
	unanswered bool
	// readLive requires a live read, because a write failed and the known version may be outdated.
	readLive bool
	// confirmed is when the newest confirmed renewal was sent; nil if this replica is not the leader. Metrics and checks read it.
	confirmed atomic.Pointer[time.Time]
}

// unconfirmed returns the age of the last confirmed renewal. held is false if this replica does not believe to be the leader.
func (l *leaseClient) unconfirmed() (age time.Duration, held bool) {
	sent := l.confirmed.Load()
	if sent == nil {
		return 0, false
	}
	return l.clock.Since(*sent), true
}

// Leases makes the client its own getter, because there is only one namespace.
func (l *leaseClient) Leases(string) coordinationclient.LeaseInterface { return l }

// Get responds from the watch, so that a standby replica can check often at no cost. A late watch is harmless. If it makes a held lease look expired, the API
// server refuses the next update by its resourceVersion, and Get reads live until the watch has caught up.
func (l *leaseClient) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	if lease := l.watched(); lease != nil && !l.readLive && (l.last == nil || !older(lease, l.last)) {
		l.last = lease.DeepCopy()
		return lease.DeepCopy(), nil
	}
	return l.read(ctx, name, o)
}

// read reads the Lease from the API server.
func (l *leaseClient) read(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	lease, err := l.LeaseInterface.Get(ctx, name, o)
	if err != nil {
		return nil, err
	}
	l.last, l.readLive = lease.DeepCopy(), false
	return lease, nil
}

// Create adds the owner and sends the Lease.
func (l *leaseClient) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return l.write(ctx, func(ctx context.Context) (*coordinationv1.Lease, error) {
		return l.LeaseInterface.Create(ctx, l.owned(lease), o)
	})
}

// Update skips a renewal if the last one is younger than every. A failed renewal counts as successful until the API server or the watch reports that the lease
// is lost. Without an API server a leader can write nothing, and ending would restart the operator at each control plane upgrade and lose its caches. During
// that time the elector's belief may be wrong, so a release is sent only for a Lease that this replica held when it was last read.
func (l *leaseClient) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	held := l.last != nil && holder(l.last) == l.identity
	renewal := held && holder(lease) == l.identity
	if holder(lease) == "" && !held {
		return lease, nil
	}
	if renewal && l.clock.Since(l.renewed) < l.every {
		return l.last.DeepCopy(), nil
	}
	written, err := l.write(ctx, func(ctx context.Context) (*coordinationv1.Lease, error) {
		return l.LeaseInterface.Update(ctx, l.owned(lease), o)
	})
	if err != nil && renewal && !l.lost(ctx, err) {
		if !l.unanswered {
			ctrl.LoggerFrom(ctx).Info("the lease is not renewed; this replica leads until another one holds the lease", "error", err.Error())
		}
		l.unanswered = true
		return l.last.DeepCopy(), nil
	}
	if err == nil && l.unanswered {
		ctrl.LoggerFrom(ctx).Info("the lease is renewed again")
	}
	l.unanswered = false
	if err != nil {
		l.confirmed.Store(nil)
	}
	return written, err
}

// lost reports whether a renewal failed because the Lease is missing or another replica holds it. A conflict alone does not prove it, because a slow API server
// may have stored a renewal without responding.
func (l *leaseClient) lost(ctx context.Context, err error) bool {
	seen := l.watched()
	if apierrors.IsConflict(err) {
		seen, err = l.read(ctx, l.last.Name, metav1.GetOptions{})
	}
	return apierrors.IsNotFound(err) || seen != nil && !older(seen, l.last) && holder(seen) != l.identity
}

// owned adds the owners to a Lease that has none.
func (l *leaseClient) owned(lease *coordinationv1.Lease) *coordinationv1.Lease {
	lease = lease.DeepCopy()
	if len(lease.OwnerReferences) == 0 {
		lease.OwnerReferences = l.owners
	}
	return lease
}

// write sends a write. After an error the next renewal is sent, because the result is unknown.
func (l *leaseClient) write(ctx context.Context, send func(context.Context) (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	sent := l.clock.Now()
	lease, err := send(ctx)
	if err != nil {
		l.renewed, l.readLive = time.Time{}, true
		return nil, err
	}
	l.last, l.renewed, l.readLive = lease.DeepCopy(), sent, false
	l.confirmed.Store(nil)
	if holder(lease) == l.identity {
		l.confirmed.Store(&sent)
	}
	return lease, nil
}

// accountIn returns the service account of a token as the owner of objects in a namespace, so that Kubernetes deletes the Lease when the operator is
// uninstalled. The token has the account's UID (Kubernetes: claims of bound service account tokens), so no permission to read the account is needed. A token
// with another format or namespace yields no owner.
func accountIn(token, namespace string) []metav1.OwnerReference {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil
	}
	var claims struct {
		Kubernetes struct {
			Namespace      string `json:"namespace"`
			ServiceAccount struct {
				Name string    `json:"name"`
				UID  types.UID `json:"uid"`
			} `json:"serviceaccount"`
		} `json:"kubernetes.io"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return nil
	}
	account := claims.Kubernetes.ServiceAccount
	if claims.Kubernetes.Namespace != namespace || account.Name == "" || account.UID == "" {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "ServiceAccount", Name: account.Name, UID: account.UID}}
}

func holder(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func older(a, b *coordinationv1.Lease) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err != nil || order < 0
}

// leaderEvents makes the lock record the leader as an event of events.k8s.io, like all other events.
type leaderEvents struct{ recorder events.EventRecorder }

func (e leaderEvents) Eventf(lease runtime.Object, kind, reason, format string, args ...any) {
	e.recorder.Eventf(lease, nil, kind, reason, "Elect", format, args...)
}
