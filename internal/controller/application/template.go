// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"strings"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=patch

// updateTemplate writes what a running driver makes its executors from, as the spec has it now. An edit is judged as a start would be: it cannot
// bring what a policy forbids.
func (e *Engine[T]) updateTemplate(ctx context.Context, s *scope[T]) lifecycle.Result {
	r := lifecycle.Result{Kind: lifecycle.UpdateTemplate, Class: lifecycle.ClassRefused}
	candidate, answer, err := e.candidate(ctx, s)
	if err != nil {
		r.Class, r.Message = lifecycle.ClassTransient, err.Error()
		return r
	}
	if candidate == nil {
		r.Message = answer.Message
		return r
	}
	if forbidden := candidate.Forbidden(); len(forbidden) > 0 {
		r.Message = strings.Join(forbidden, "; ")
		return r
	}
	built := candidate.AssumeAdmitted()
	if built.Submission.ExecutorTemplate == nil {
		r.Message = built.Message
		return r
	}
	return e.Writer.UpdateTemplate(ctx, s.Owner, built.Submission.ExecutorTemplate)
}
