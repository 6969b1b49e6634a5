// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// guarded is the first submission of a server whose clients present a token.
func guarded() spark.Submission {
	s := submission("a=b")
	s.TokenSecret = &corev1.Secret{ObjectMeta: metaOf("pi-token")}
	s.TokenSecret.Labels = map[string]string{"connect-name": "pi"}
	s.Driver.Spec.Containers = []corev1.Container{{Name: spark.DriverContainerName, Env: []corev1.EnvVar{{
		Name:      spark.EnvConnectToken,
		ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "pi-token"}, Key: spark.TokenKey}},
	}}}}
	return s
}

// made is a later submission of it: the status names the Secret.
func made(name string) spark.Submission {
	s := guarded().WithToken(name)
	s.TokenMade = true
	return s
}

// token is the Secret that the driver reads.
func (s *server) token(t *testing.T) *corev1.Secret {
	t.Helper()
	s.crashesAfter = 0
	var pod corev1.Pod
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: "jobs", Name: "pi-driver"}, &pod); err != nil {
		t.Fatal(err)
	}
	return s.secret(t, spark.TokenSecretOf(&pod.Spec.Containers[0]).Name)
}

func (s *server) secret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	var secret corev1.Secret
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: "jobs", Name: name}, &secret); err != nil {
		t.Fatal(err)
	}
	return &secret
}

func TestTokenComesBeforeAllElse(t *testing.T) {
	s := newServer()
	want := guarded()
	got := s.writer().Submit(t.Context(), owner, want)
	if got.Class != lifecycle.ClassDone {
		t.Fatalf("result %+v, want Done", got)
	}
	secret := s.token(t)
	if diff := cmp.Diff([]string{"create Secret " + secret.Name, "create service pi-svc", "create ConfigMap pi-conf", "create pod pi-driver"}, s.log); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.TokenSecret != secret.Name || !strings.HasPrefix(secret.Name, "pi-token-") {
		t.Errorf("the result names %q, the driver reads %q, want one name that begins with pi-token-", got.TokenSecret, secret.Name)
	}
	if token := string(secret.Data[spark.TokenKey]); len(token) != 2*tokenBytes || strings.Trim(token, "0123456789abcdef") != "" {
		t.Errorf("the token is %q, want %d random bytes in hexadecimal digits", token, tokenBytes)
	}
	if secret.Immutable == nil || !*secret.Immutable || len(secret.Data) != 1 || !metav1.IsControlledBy(secret, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: "app"}}) {
		t.Errorf("want an immutable Secret of the application with one key, got %+v", secret.ObjectMeta)
	}
	if diff := cmp.Diff(map[string]string{"connect-name": "pi", v1beta2.LabelCreatedBy: "true"}, secret.Labels); diff != "" {
		t.Errorf("it belongs to no attempt (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(guarded(), want); diff != "" {
		t.Errorf("the submission that was given has changed (-want +got):\n%s", diff)
	}
	other := newServer()
	other.writer().Submit(t.Context(), owner, guarded())
	if string(other.token(t).Data[spark.TokenKey]) == string(secret.Data[spark.TokenKey]) {
		t.Error("two applications have one token")
	}
}

// Hole 13 of security: a Secret that was there before the first one of the server may be of any user who may make Secrets, and that
// user knows the token.
func TestTokenOfAnotherIsNotTaken(t *testing.T) {
	planted := &corev1.Secret{ObjectMeta: metaOf("pi-token"), Data: map[string][]byte{spark.TokenKey: []byte("known")}}
	s := newServer(planted)
	if got := s.writer().Submit(t.Context(), owner, guarded()); got.Class != lifecycle.ClassDone {
		t.Fatalf("result %+v, want Done", got)
	}
	if got := s.token(t); string(got.Data[spark.TokenKey]) == "known" {
		t.Errorf("the server takes the token of Secret %s, which another has made", got.Name)
	}
}

// The operator dies after each write in turn: the driver reads a Secret that the operator has made, and the same from then on.
func TestTokenSurvivesACrashAnywhere(t *testing.T) {
	const writes = 4
	for n := 1; n <= writes; n++ {
		t.Run(fmt.Sprintf("after write %d", n), func(t *testing.T) {
			s := newServer()
			s.crashesAfter = n
			first := s.writer().Submit(t.Context(), owner, guarded())
			s.crashesAfter = 0
			if got := s.writer().Submit(t.Context(), owner, guarded()); got.Class != lifecycle.ClassDone {
				t.Fatalf("the repetition ends with %+v, want Done", got)
			}
			before := s.token(t)
			if n == writes && before.Name != first.TokenSecret {
				t.Errorf("the driver reads %s, and the first try has made %s for it", before.Name, first.TokenSecret)
			}
			if got := s.writer().Submit(t.Context(), owner, made(before.Name)); got.Class != lifecycle.ClassDone {
				t.Fatalf("with the recorded name it ends with %+v, want Done", got)
			}
			if diff := cmp.Diff(before, s.token(t)); diff != "" {
				t.Errorf("clients know the first token (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(whole, s.inventory(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Who wants another token deletes the Secret: the next attempt makes it again under its name.
func TestTokenIsMadeAgain(t *testing.T) {
	s := newServer()
	if got := s.writer().Submit(t.Context(), owner, made("pi-token-1")); got.Class != lifecycle.ClassDone {
		t.Fatalf("result %+v, want Done", got)
	}
	if got := s.token(t); got.Name != "pi-token-1" || len(got.Data[spark.TokenKey]) != 2*tokenBytes {
		t.Errorf("the driver reads %s, want a new token in pi-token-1", got.Name)
	}
}

// A crash before the write leaves nothing, and the next try makes everything.
func TestTokenAfterALostWrite(t *testing.T) {
	s := newServer()
	s.refuse = func(o client.Object) error {
		if _, isSecret := o.(*corev1.Secret); isSecret {
			return errCrash
		}
		return nil
	}
	if got := s.writer().Submit(t.Context(), owner, guarded()); got.Class != lifecycle.ClassTransient || len(s.log) != 0 {
		t.Fatalf("result %+v after the writes %v, want none, and another try", got, s.log)
	}
	s.refuse = nil
	if got := s.writer().Submit(t.Context(), owner, guarded()); got.Class != lifecycle.ClassDone {
		t.Fatalf("the repetition ends with %+v, want Done", got)
	}
	s.token(t)
}

// All that is done to a Secret is to create it: no other right is needed, whatever happens to the submission.
func TestTokenIsNeverTouchedAgain(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	cases := map[string]struct {
		reason string
		refuse func(client.Object) error
		class  lifecycle.Class
		stays  bool
	}{
		"Refused": {
			reason: "the driver is refused, its resources go, and the token stays for the next try",
			refuse: refusing(apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "pi-driver", nil)), class: lifecycle.ClassRefused, stays: true,
		},
		"Forbidden": {
			reason: "the operator may not create Secrets", class: lifecycle.ClassOperatorForbidden,
			refuse: func(o client.Object) error {
				if _, isSecret := o.(*corev1.Secret); isSecret {
					return apierrors.NewForbidden(secrets, o.GetName(), errors.New(`User "operator" cannot create resource "secrets"`))
				}
				return nil
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.refuse = tc.refuse
			w := s.writer()
			existing := w.Existing
			w.Existing = func(ctx context.Context, o client.Object) (client.Object, error) {
				if _, isSecret := o.(*corev1.Secret); isSecret {
					t.Errorf("%s: Secret %s is read", tc.reason, o.GetName())
				}
				return existing(ctx, o)
			}
			got := w.Submit(t.Context(), owner, guarded())
			if got.Class != tc.class || (got.TokenSecret != "") != tc.stays {
				t.Errorf("%s: result %+v, want %s, and the name of what stays", tc.reason, got, tc.class)
			}
			if r := w.DeleteResources(t.Context(), "jobs", owner); r.Class != lifecycle.ClassDone {
				t.Errorf("%s: DeleteResources ends with %+v", tc.reason, r)
			}
			for _, entry := range s.log {
				if strings.Contains(entry, "Secret") && !strings.HasPrefix(entry, "create Secret pi-token-") {
					t.Errorf("%s: %s", tc.reason, entry)
				}
			}
			if tc.stays {
				s.secret(t, got.TokenSecret)
			}
			if left := s.inventory(t); len(left) > 0 {
				t.Errorf("%s: %v are left", tc.reason, left)
			}
		})
	}
}
