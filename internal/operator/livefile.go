// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
)

// envConfigMap is the environment variable with the name of the ConfigMap that the configuration file is mounted from. The ConfigMap is in the operator's
// namespace.
const envConfigMap = "CONFIG_MAP_NAME"

// liveFile watches the ConfigMap of the configuration file for the file's text. Without the right to watch it the text is unknown, and the file is the source.
// A nil liveFile is always unknown.
type liveFile struct {
	key     string // of the ConfigMap's data
	log     logr.Logger
	watch   toolscache.SharedIndexInformer
	changed chan struct{}
	lost    atomic.Bool // whether the missing right to watch was logged

	mu    sync.Mutex
	text  string
	known bool
}

// newLiveFile adds the watch to the manager. The result is nil if the environment names no ConfigMap or no namespace.
func newLiveFile(mgr ctrl.Manager, environment func(string) string, file string) (*liveFile, error) {
	name, namespace := environment(envConfigMap), environment("POD_NAMESPACE")
	if name == "" || namespace == "" {
		return nil, nil //nolint:nilnil // the file alone
	}
	clientset, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("create client for the configuration: %w", err)
	}
	one := toolscache.NewListWatchFromClient(clientset.CoreV1().RESTClient(), "configmaps", namespace, fields.OneTermEqualSelector("metadata.name", name))
	f := &liveFile{
		key: filepath.Base(file), changed: make(chan struct{}, 1),
		log:   mgr.GetLogger().WithName("configuration").WithValues("configMap", namespace+"/"+name),
		watch: toolscache.NewSharedIndexInformer(one, &corev1.ConfigMap{}, 0, nil),
	}
	if err := f.watch.SetWatchErrorHandlerWithContext(f.failed); err != nil {
		return nil, fmt.Errorf("watch the configuration: %w", err)
	}
	if _, err := f.watch.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: f.see, UpdateFunc: func(_, o any) { f.see(o) }, DeleteFunc: func(any) { f.set("", false) },
	}); err != nil {
		return nil, fmt.Errorf("watch the configuration: %w", err)
	}
	if err := mgr.Add(f); err != nil {
		return nil, fmt.Errorf("add watch of the configuration: %w", err)
	}
	return f, nil
}

// Start watches the ConfigMap until the context ends. It implements manager.Runnable.
func (f *liveFile) Start(ctx context.Context) error {
	f.watch.RunWithContext(ctx)
	return nil
}

// NeedLeaderElection is false, because standby replicas also need the configuration.
func (f *liveFile) NeedLeaderElection() bool { return false }

// changes returns a channel that receives after each change; nil without a ConfigMap.
func (f *liveFile) changes() <-chan struct{} {
	if f == nil {
		return nil
	}
	return f.changed
}

// read returns the ConfigMap's text, and whether it is known.
func (f *liveFile) read() (text string, known bool) {
	if f == nil {
		return "", false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text, f.known
}

func (f *liveFile) see(o any) {
	if m, ok := o.(*corev1.ConfigMap); ok {
		f.lost.Store(false)
		text, has := m.Data[f.key]
		f.set(text, has)
	}
}

func (f *liveFile) set(text string, known bool) {
	f.mu.Lock()
	f.text, f.known = text, known
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default: // an earlier change is not read yet
	}
}

// failed handles an interrupted watch. The known text stays valid, unless the right to watch is missing. Then only the kubelet brings changes.
func (f *liveFile) failed(ctx context.Context, r *toolscache.Reflector, err error) {
	if !apierrors.IsForbidden(err) {
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
		return
	}
	if f.lost.CompareAndSwap(false, true) {
		f.log.Info("no permission to watch the configuration's ConfigMap: a change applies after the kubelet has updated the file", "error", err.Error())
		f.set("", false)
	}
}
