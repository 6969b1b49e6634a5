// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/firesteel-dev/firesteel/internal/definitions"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// definitionsPeriod is the interval for comparing definitions. Installing another operator may replace them without a restart of this operator.
const definitionsPeriod = 10 * time.Minute

// definitionsDelay is how long a new leader works on applications before it compares definitions.
const definitionsDelay = 10 * time.Second

// comparison reports served definitions that are older than this operator. The API server silently drops unknown fields, so the operator continues and loses
// conditions, history and retry counts.
type comparison struct {
	log      logr.Logger
	served   openapi.Client
	scheme   *runtime.Scheme
	versions []schema.GroupVersion
	recorder events.EventRecorder
	pod      *corev1.Pod // may be nil
	delay    time.Duration

	last string
}

// addDefinitions adds the comparison of the definitions of all kinds in the families' groups to a manager. It begins after a delay.
func addDefinitions(mgr ctrl.Manager, families []lifecycle.Family, recorder events.EventRecorder, pod *corev1.Pod, delay time.Duration) error {
	apis, err := discovery.NewDiscoveryClientForConfig(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("create client for schemas: %w", err)
	}
	d := &comparison{log: mgr.GetLogger().WithName("definitions"), served: apis.OpenAPIV3(), scheme: mgr.GetScheme(), recorder: recorder, pod: pod, delay: delay}
	for _, f := range families {
		if v := (schema.GroupVersion{Group: f.Group, Version: f.Version}); !slices.Contains(d.versions, v) {
			d.versions = append(d.versions, v)
		}
	}
	if err := mgr.Add(d); err != nil {
		return fmt.Errorf("add comparison of the definitions: %w", err)
	}
	return nil
}

// Start compares definitions until the context ends. It implements manager.Runnable; only the leader runs it.
func (d *comparison) Start(ctx context.Context) error {
	timer := time.NewTimer(d.delay)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		d.look()
		timer.Reset(definitionsPeriod)
	}
}

// look compares the definitions once, and reports changed results.
func (d *comparison) look() {
	var all []string
	for _, version := range d.versions {
		lacking, err := d.lacking(version)
		if err != nil {
			d.log.Error(err, "cannot compare the definitions with this operator's fields", "groupVersion", version)
			return
		}
		all = append(all, lacking...)
	}
	now := strings.Join(all, "; ")
	if now == d.last {
		return
	}
	d.last = now
	if now == "" {
		d.log.Info("the definitions have all fields of this operator")
		return
	}
	const remedy = "the API server drops them; update the definitions (docs/install.md, Custom resource definitions)"
	d.log.Error(errors.New(now), "the definitions are older than this operator: "+remedy)
	if d.pod != nil {
		d.recorder.Eventf(d.pod, nil, corev1.EventTypeWarning, "DefinitionsOutdated", "Compare", "%s; %s", now, remedy)
	}
}

// lacking returns the missing status fields of each kind in a served group version.
func (d *comparison) lacking(version schema.GroupVersion) ([]string, error) {
	paths, err := d.served.Paths()
	if err != nil {
		return nil, fmt.Errorf("list the served schemas: %w", err)
	}
	document, found := paths["apis/"+version.String()]
	if !found {
		return nil, nil // the cache reports definitions that are not installed
	}
	text, err := document.Schema(runtime.ContentTypeJSON)
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", version, err)
	}
	served, err := definitions.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("decode the schema of %s: %w", version, err)
	}
	var all []string
	for kind, s := range served {
		status, known := statusOf(d.scheme, kind)
		if !known {
			continue
		}
		if fields := definitions.Lacking(status, s.Properties["status"], "status"); len(fields) > 0 {
			all = append(all, fmt.Sprintf("%s lacks %s", kind.Kind, definitions.Some(fields)))
		}
	}
	slices.Sort(all)
	return all, nil
}

// statusOf returns the status type of a known kind.
func statusOf(scheme *runtime.Scheme, kind schema.GroupVersionKind) (reflect.Type, bool) {
	t, known := scheme.AllKnownTypes()[kind]
	if !known {
		return nil, false
	}
	status, found := t.FieldByName("Status")
	return status.Type, found && status.Type.Kind() == reflect.Struct
}
