// SPDX-License-Identifier: Apache-2.0

// Package integration runs the operator against a real kube-apiserver and etcd. There is no kubelet: the tests write
// the pods' statuses themselves.
package integration

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/reporters"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	operators "github.com/firesteel-dev/firesteel/internal/operator"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	freeports "github.com/firesteel-dev/firesteel/internal/testutil/ports"
)

const (
	wait = 20 * time.Second
	poll = 50 * time.Millisecond
	// serverPause is the pause before a server that has ended is replaced for the first time.
	serverPause = 3 * time.Second
)

// smoke are the specs of make check: of each part the one that breaks first. They need no API server but that of the suite.
var smoke = Label("smoke")

// safety are those that look for what goes wrong once in many times: hack/testreport does not let them be tried again.
var safety = Label("safety")

var (
	server *envtest.Environment
	admin  client.Client
	writes = &writeCounter{}
	stop   context.CancelFunc
	ended  chan error
	// shortPeriods are those of the operators in this process, so that no spec waits long for what no watch tells.
	shortPeriods = operators.Periods{
		Core: lifecycle.Periods{Conflict: time.Second, Drain: time.Second}, Server: serverPause, Run: time.Second, Exposure: time.Second,
		Discovery: time.Second, Installed: time.Second, Definitions: time.Second, Configuration: 100 * time.Millisecond,
	}
	// extraConfig is more of the configuration file of the operators that are started.
	extraConfig string
)

func TestIntegration(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("KUBEBUILDER_ASSETS is not set: run make test")
		}
		t.Skip("no API server: KUBEBUILDER_ASSETS is not set; run make test-integration")
	}
	RegisterFailHandler(Fail)
	// A wait without a time is one second otherwise, which a busy machine does not keep.
	SetDefaultEventuallyTimeout(wait)
	SetDefaultEventuallyPollingInterval(poll)
	SetDefaultConsistentlyDuration(time.Second)
	SetDefaultConsistentlyPollingInterval(poll)
	RunSpecs(t, "Integration")
}

// Each suite below test/ says how long its specs wait when they do not say it themselves.
func TestSuitesSetTheirWaits(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "*", "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\tRunSpecs(t, ") && !strings.Contains(string(text), "\tSetDefaultEventuallyTimeout(") {
			t.Errorf("%s: call SetDefaultEventuallyTimeout before RunSpecs: an Eventually without a time waits for one second only", file)
		}
	}
}

// The runner names the slowest specs, and those that failed.
var _ = ReportAfterSuite("report", func(r Report) {
	if dir := os.Getenv("FIRESTEEL_SPECS"); dir != "" {
		Expect(reporters.GenerateJSONReport(r, filepath.Join(dir, "integration.json"))).To(Succeed())
	}
})

var _ = BeforeSuite(func() {
	logf.SetLogger(zap.New(zap.WriteTo(GinkgoWriter)))
	startServer()
})

// startServer starts an API server with our definitions, and an operator.
func startServer() {
	GinkgoHelper()
	server = &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	cfg, err := server.Start()
	Expect(err).NotTo(HaveOccurred())
	admin, err = client.New(cfg, client.Options{Scheme: controller.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	startOperator(cfg)
}

// stopServer ends both.
func stopServer() {
	GinkgoHelper()
	if stop != nil {
		stopOperator()
	}
	Expect(server.Stop()).To(Succeed())
}

// serverAlone gives the specs of a container an API server of their own. It is for those that change or read what all namespaces have in common: what
// other specs have left would be found there, in an order that differs in each run.
func serverAlone() {
	GinkgoHelper()
	stopOperator()
	shared, sharedAdmin := server, admin
	DeferCleanup(func() {
		stopServer()
		server, admin = shared, sharedAdmin
		startOperator(server.Config)
	})
	startServer()
}

var _ = AfterSuite(stopServer)

// startOperator runs the operator as its main function would, but for the counting of its writes.
func startOperator(cfg *rest.Config) { startOperatorWith(cfg, `{bindAddress: "0"}`) }

// startOperatorWith also says how it serves metrics.
func startOperatorWith(cfg *rest.Config, metrics string) {
	c, err := config.Parse([]byte("apiVersion: config.firesteel.dev/v1alpha1\nkind: OperatorConfiguration\nhealth: {bindAddress: \"0\"}\nmetrics: " + metrics + "\n" + extraConfig))
	Expect(err).NotTo(HaveOccurred())
	startConfigured(cfg, c)
}

func startConfigured(cfg *rest.Config, c config.OperatorConfiguration) {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { writes.next = next; return writes })
	cfg.Dial = dial
	registry, err := scheduler.NewRegistry(c.BatchScheduler.Default, kube.Plugin{})
	Expect(err).NotTo(HaveOccurred())
	mgr, err := controller.NewManager(cfg, c)
	Expect(err).NotTo(HaveOccurred())
	var ctx context.Context
	ctx, stop = context.WithCancel(context.Background())
	Expect(controller.SetupWith(ctx, again{mgr}, c, registry, shortPeriods)).To(Succeed())
	ended = make(chan error, 1)
	go func() {
		err := mgr.Start(ctx)
		if err != nil {
			GinkgoWriter.Println("the operator ended:", err)
		}
		ended <- err
	}()
}

// again lets a process hold one operator after the other: each has metrics of the same names.
type again struct{ ctrl.Manager }

func (a again) GetControllerOptions() ctrlconfig.Controller {
	options := a.Manager.GetControllerOptions()
	options.SkipNameValidation = ptr.To(true)
	return options
}

// stopOperator stops the operator, and waits until it does nothing any more.
func stopOperator() {
	GinkgoHelper()
	stop()
	Eventually(ended, wait).Should(Receive(BeNil()), "the operator stops gracefully")
	stop = nil
}

// restartOperator starts a new operator after something that the old one is not to see happen.
func restartOperator(meanwhile func()) {
	GinkgoHelper()
	stopOperator()
	meanwhile()
	startOperator(server.Config)
}

// freePort is a port at which nothing listens, and which no connection gets before the product opens it.
func freePort() int {
	GinkgoHelper()
	port, err := freeports.Free(context.Background())
	Expect(err).NotTo(HaveOccurred())
	return port
}

// freeAddress is such a port on the loopback address.
func freeAddress() string {
	GinkgoHelper()
	return fmt.Sprintf("127.0.0.1:%d", freePort())
}
