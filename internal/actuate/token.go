// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// tokenBytes is how many random bytes a token has.
const tokenBytes = 32

// createToken creates the Secret with the token of an application's clients. Create is the one right that it needs: a Secret of that
// name is never read, changed or deleted, so that all attempts have the token of the first. It goes with the application.
func (w Writer) createToken(ctx context.Context, owner lifecycle.Owner, secret *corev1.Secret) lifecycle.Result {
	if secret == nil {
		return done()
	}
	var token [tokenBytes]byte
	_, _ = rand.Read(token[:]) // never fails
	owner.SubmissionID = ""    // it belongs to no attempt
	mine, _ := marked(secret, owner).(*corev1.Secret)
	mine.Immutable = new(true)
	mine.Data = map[string][]byte{spark.TokenKey: []byte(hex.EncodeToString(token[:]))}
	err := w.Client.Create(ctx, mine)
	if apierrors.IsAlreadyExists(err) {
		return done()
	}
	return resultOf(lifecycle.Submit, err)
}
