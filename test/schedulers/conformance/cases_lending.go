// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Lender is for environments where one namespace may use the room that is guaranteed to another, until that one needs it.
type Lender interface {
	// Lend makes a place for each of two namespaces. Each is guaranteed the given room, and there is no more than both have together.
	Lend(ctx context.Context, borrower, owner string, each corev1.ResourceList) (borrowers, owners Place, err error)
}

// lending : an application that fits into what its namespace is guaranteed gets a driver while another namespace uses all there is: only for pods does a
// scheduler take back what it has lent. The real one takes the borrower's executors, and the borrower has them again afterwards.
func lending(w *Harness) {
	owner := w.newNamespace()
	borrowers, owners, err := w.Environment.(Lender).Lend(w.Context(), w.Namespace, owner, room(1))
	must(w, "make the places", err)
	w.everywhere = true // else the operator does not know what all are guaranteed together, and leaves that to the scheduler
	w.start()
	w.place = borrowers
	class := w.driverClass()
	borrower := w.create("borrower", func(a *app) {
		a.Spec.Driver.PriorityClassName, a.Spec.Executor.Instances = &class, ptr.To[int32](3)
	})
	w.runs(borrower, 3)
	w.place = owners
	a := w.create("owner", func(a *app) { a.Namespace = owner }, w.lendable)
	if w.Tier == StandIn { // it takes nothing back
		w.eventually("the owner has a driver", func() error {
			if n := len(w.pods(a, spark.RoleDriver)); n != 1 {
				return fmt.Errorf("%d drivers", n)
			}
			return nil
		})
		w.completes(borrower)
		w.runs(a, 1)
		w.completes(a)
		return
	}
	w.runs(a, 1)
	must(w, "the borrower continues with less", w.inState(borrower, v1beta2.ApplicationStateRunning)())
	must(w, "the borrower has what it is guaranteed", w.hasRunning(borrower, 1))
	w.completes(a)
	w.runs(borrower, 3)
	w.completes(borrower)
}

// lendable makes of an application one whose scheduler takes room back for it.
func (w *Harness) lendable(a *app) {
	if w.TakesBack != "" {
		withParameters(w.TakesBack)(a)
	}
}
