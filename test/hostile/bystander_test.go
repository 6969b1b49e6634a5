// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ahead is how many applications of other namespaces may be submitted between the creation of the bystander's and its
// own submission: those that are being submitted at that time, one for each of the chart's workers, and as many once more, for
// the cache of the operator hears of all of them at different times.
const ahead = 20

// order creates an application of somebody who attacks nobody, and waits for its driver. It is an error if it was not
// submitted next, which is judged by the order of the API server's audit log.
func (l *lab) order(ctx context.Context) error {
	if err := l.operator.alive(); err != nil {
		return fmt.Errorf("the operator ended: %w", err)
	}
	l.bystanders++
	a := &arena{lab: l, ctx: ctx, namespace: bystanders, tenant: l.admin}
	name := fmt.Sprintf("calm-%d", l.bystanders)
	written, err := os.Stat(l.audit)
	if err != nil {
		return err
	}
	o, err := a.object(application, name)
	if err != nil {
		return err
	}
	if err := l.admin.Create(ctx, o); err != nil {
		return err
	}
	defer func() { _ = a.clear() }() // what is left is nobody's load: quiet looks at attackers' namespaces
	pod, err := a.driverOf(name)
	if err != nil {
		return fmt.Errorf("its application was not submitted: %w", err)
	}
	var others []string
	if err := await(ctx, func() error {
		requests, err := l.requests(written.Size())
		if err != nil {
			return err
		}
		others, err = before(requests, name, pod)
		return err
	}); err != nil {
		return err
	}
	if len(others) > ahead {
		return fmt.Errorf("%d drivers of others were created after its application and before its driver, and not at most %d: %s ... %s", len(others), ahead, others[0], others[len(others)-1])
	}
	return a.phase(pod, corev1.PodSucceeded) // it ends, so that it is nobody's load
}

// judged waits until the policies of admission judge all kinds. They look for new kinds every 30 s, and refuse until then what they
// do not know.
func (l *lab) judged(ctx context.Context) error {
	a := &arena{lab: l, ctx: ctx, namespace: bystanders, tenant: l.admin}
	for _, kind := range []schema.GroupVersionKind{application, schedule, connect, apache, standalone} {
		o, err := a.object(kind, "first")
		if err != nil {
			return err
		}
		if err := awaitFor(ctx, 2*wait, func() error { return l.admin.Create(ctx, o.DeepCopy(), client.DryRunAll) }); err != nil {
			return fmt.Errorf("%s: %w", kind.Kind, err)
		}
	}
	return nil
}

// request is a line of the audit log.
type request struct {
	Verb                     string
	User                     struct{ Username string }
	ObjectRef                struct{ Resource, Subresource, Namespace, Name string }
	ResponseStatus           struct{ Code int }
	RequestReceivedTimestamp metav1.MicroTime
}

// before are the pods of other namespaces that the operator created between the requests for an application and for its driver.
// The API server writes down a request when it has answered it: the log may be behind, and a driver be told of before its
// application, for the operator hears of an application before the one who created it does.
func before(requests []request, app string, driver client.Object) ([]string, error) {
	var created []request
	var asked, submitted time.Time
	for _, r := range requests {
		switch {
		case r.Verb != "create" || r.ResponseStatus.Code != 201:
		case r.ObjectRef.Resource == "sparkapplications" && r.ObjectRef.Namespace == bystanders && r.ObjectRef.Name == app:
			asked = r.RequestReceivedTimestamp.Time
		case r.User.Username != operatorUser || r.ObjectRef.Resource != "pods":
		case r.ObjectRef.Namespace == driver.GetNamespace() && r.ObjectRef.Name == driver.GetName():
			submitted = r.RequestReceivedTimestamp.Time
		case r.ObjectRef.Namespace != bystanders:
			created = append(created, r)
		}
	}
	if asked.IsZero() || submitted.IsZero() {
		return nil, fmt.Errorf("the audit log does not tell of both application %s and pod %s", app, driver.GetName())
	}
	var others []string
	for _, r := range created {
		if at := r.RequestReceivedTimestamp.Time; at.After(asked) && at.Before(submitted) {
			others = append(others, r.ObjectRef.Namespace+"/"+r.ObjectRef.Name)
		}
	}
	return others, nil
}

// requests are those in the audit log behind an offset.
func (l *lab) requests(offset int64) ([]request, error) {
	log, err := os.Open(l.audit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // it was only read
	if _, err := log.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	var all []request
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 16<<20) // an answer may list thousands of errors
	for lines.Scan() {
		var r request
		if json.Unmarshal(lines.Bytes(), &r) == nil { // the last line may be a part of one
			all = append(all, r)
		}
	}
	return all, lines.Err()
}

func TestDriversBetweenAnApplicationAndItsDriverAreCounted(t *testing.T) {
	t.Parallel()
	at := func(second int64, user, resource, namespace, name string) (r request) {
		r.Verb, r.User.Username, r.ResponseStatus.Code = "create", user, 201
		r.ObjectRef.Resource, r.ObjectRef.Namespace, r.ObjectRef.Name = resource, namespace, name
		r.RequestReceivedTimestamp = metav1.NewMicroTime(time.Unix(second, 0))
		return r
	}
	app, driver := at(2, "admin", "sparkapplications", bystanders, "calm"), at(4, operatorUser, "pods", bystanders, "calm-driver")
	earlier, between, later := at(1, operatorUser, "pods", "a", "earlier"), at(3, operatorUser, "pods", "a", "between"), at(5, operatorUser, "pods", "a", "later")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: bystanders, Name: "calm-driver"}}
	for _, c := range []struct {
		reason string
		log    []request
		want   []string
		fails  bool
	}{
		{reason: "the log has the order of the requests", log: []request{earlier, app, between, driver, later}, want: []string{"a/between"}},
		{reason: "the answer to the one who created the application was written down last", log: []request{earlier, between, driver, app}, want: []string{"a/between"}},
		{reason: "the log is behind", log: []request{app, between}, fails: true},
		{reason: "the log does not have the application yet", log: []request{between, driver}, fails: true},
	} {
		got, err := before(c.log, "calm", pod)
		if !slices.Equal(got, c.want) || (err != nil) != c.fails {
			t.Errorf("%s: %q, %v, and not %q", c.reason, got, err, c.want)
		}
	}
}
