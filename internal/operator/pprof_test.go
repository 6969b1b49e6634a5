// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
	"github.com/firesteel-dev/firesteel/internal/testutil/ports"
)

// TestPprof : profiles are served where the configuration says, and nowhere unless it says so.
func TestPprof(t *testing.T) {
	address := fmt.Sprintf("127.0.0.1:%d", ports.ForTest(t))
	cases := map[string]struct {
		reason, section string
		served          bool
	}{
		"Default":  {reason: "off", section: ""},
		"Loopback": {reason: "for this machine", section: "pprof: {bindAddress: \"" + address + "\"}", served: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := config.Parse([]byte("apiVersion: config.firesteel.dev/v1alpha1\nkind: OperatorConfiguration\nmetrics: {bindAddress: \"0\"}\nhealth: {bindAddress: \"127.0.0.1:0\"}\n" + tc.section))
			if err != nil {
				t.Fatal(err)
			}
			runManager(t, c)
			if err := profiles(t.Context(), address, tc.served); (err == nil) != tc.served {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// runManager runs a manager until the test is over.
func runManager(t *testing.T, c config.OperatorConfiguration) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	server := apiserver.New(t, []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")})
	mgr, err := NewManager(&rest.Config{Host: server.URL}, c, scheme, []lifecycle.Family{kubeflow.SparkApplications{}.Family()}, Cached{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	select {
	case <-mgr.Elected(): // after the servers have begun
	case <-time.After(10 * time.Second):
		t.Fatal("the manager does not start")
	}
}

// profiles asks for the list of profiles. What is to be served it asks for until it is there.
func profiles(ctx context.Context, address string, wanted bool) error {
	var said error
	_ = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/debug/pprof/", nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if said = err; err == nil {
			said = response.Body.Close()
		}
		return said == nil || !wanted, nil
	})
	return said
}
