// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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
	var before []string
	if err := await(ctx, func() (err error) { before, err = l.before(written.Size(), name, pod); return err }); err != nil {
		return err
	}
	if len(before) > ahead {
		return fmt.Errorf("%d drivers of others were created after its application and before its driver, and not at most %d: %s ... %s", len(before), ahead, before[0], before[len(before)-1])
	}
	return a.phase(pod, corev1.PodSucceeded) // it ends, so that it is nobody's load
}

// judged waits until the policies of admission judge applications. They look for new kinds every 30 s, and refuse until then what they
// do not know.
func (l *lab) judged(ctx context.Context) error {
	o, err := (&arena{lab: l, ctx: ctx, namespace: bystanders, tenant: l.admin}).object(application, "first")
	if err != nil {
		return err
	}
	return awaitFor(ctx, 2*wait, func() error { return l.admin.Create(ctx, o.DeepCopy(), client.DryRunAll) })
}

// request is a line of the audit log.
type request struct {
	Verb           string
	User           struct{ Username string }
	ObjectRef      struct{ Resource, Subresource, Namespace, Name string }
	ResponseStatus struct{ Code int }
}

// before are the pods of other namespaces that the operator created between an application and its driver. The log may be
// behind what it tells of.
func (l *lab) before(offset int64, app string, driver client.Object) ([]string, error) {
	requests, err := l.requests(offset)
	if err != nil {
		return nil, err
	}
	created := false
	var others []string
	for _, r := range requests {
		pod := types.NamespacedName{Namespace: r.ObjectRef.Namespace, Name: r.ObjectRef.Name}
		switch {
		case r.Verb != "create" || r.ResponseStatus.Code != 201:
		case r.ObjectRef.Resource == "sparkapplications" && r.ObjectRef.Namespace == bystanders:
			created = created || r.ObjectRef.Name == app
		case r.User.Username != operatorUser || r.ObjectRef.Resource != "pods" || !created:
		case pod == client.ObjectKeyFromObject(driver):
			return others, nil
		case pod.Namespace != bystanders:
			others = append(others, pod.String())
		}
	}
	return nil, fmt.Errorf("the audit log does not tell of pod %s", driver.GetName())
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
