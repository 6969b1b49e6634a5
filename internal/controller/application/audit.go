// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"strings"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// audit logs policy violations with the submitter, the field, the limit and its policy. It logs them after the status write, once for each edit of the
// application and each change of the violations. The refusal events have the same content. The submitter is the application's creator; the API server's audit
// log has the editor of this generation.
func (s *scope[T]) audit(ctx context.Context, to lifecycle.Record) {
	log := ctrllog.FromContext(ctx).WithValues("application", s.App.Namespace+"/"+s.App.Name, "generation", to.Generation, "submitter", to.Submitter.String())
	edited := s.stored.Generation != to.Generation
	if edited || s.stored.Exposure.Trouble != to.Exposure.Trouble {
		for _, o := range s.objections {
			log.Info("a policy forbids auxiliary objects of a running application", "object", o.Object.String(),
				"field", s.App.PathOf(o.ConfError), "value", o.Shown(), "policy", o.Policy, "limit", o.Limit, "problem", o.Problem)
		}
	}
	if edited || s.stored.Cause != to.Cause {
		for _, o := range s.admission.Objections {
			if o.Policy != "" {
				log.Info("a policy refuses an application", "field", s.App.PathOf(o), "value", o.Shown(),
					"policy", o.Policy, "limit", o.Limit, "problem", strings.TrimSpace(o.Problem))
			}
		}
	}
}
