// SPDX-License-Identifier: Apache-2.0

// Package e2e runs real Spark jobs on a real kubelet, with the operator installed as a Deployment.
package e2e

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/reporters"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

const (
	installWait = 2 * time.Minute
	jobWait     = 4 * time.Minute
	poll        = 200 * time.Millisecond

	// specsFile is the report of the suite, in the folder FIRESTEEL_SPECS.
	specsFile = "e2e.json"

	operatorNamespace = "spark-operator"
	operatorName      = "spark-operator-controller"
	sparkImage        = "apache/spark:4.1.4"

	// Java options for a quick start: no better compiler, and no proof of byte code that is Spark's own.
	quickStart = "-XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"

	// longest is for what takes longest: it begins first, so that all processes end at the same time.
	longest = SpecPriority(1)

	// exhaustive is for what a cheaper test holds, too: it runs with FIRESTEEL_TESTS=all.
	exhaustive = "exhaustive"
)

var (
	admin      client.WithWatch
	clientset  *kubernetes.Clientset
	clusterCmd = filepath.Join("..", "..", "hack", "cluster", "cluster.sh")
	// kubectlSpark is the plugin's program.
	kubectlSpark string
)

func TestE2E(t *testing.T) {
	if os.Getenv("FIRESTEEL_E2E_KUBECONFIG") == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("FIRESTEEL_E2E_KUBECONFIG is not set: run make test")
		}
		t.Skip("no real node: FIRESTEEL_E2E_KUBECONFIG is not set; run make test-e2e on Linux as root")
	}
	RegisterFailHandler(Fail)
	if processes := os.Getenv(envProcesses); processes != "" {
		sideBySide(t, processes)
		return
	}
	if folder := os.Getenv(envFolder); folder != "" {
		t.Chdir(folder)
	}
	// A wait without a time is one second otherwise. Each of Ginkgo's processes comes here.
	SetDefaultEventuallyTimeout(jobWait)
	SetDefaultEventuallyPollingInterval(poll)
	SetDefaultConsistentlyDuration(2 * time.Second)
	SetDefaultConsistentlyPollingInterval(poll)
	suite, reporter := GinkgoConfiguration()
	suite.LabelFilter = testrun.Pick("!"+exhaustive, "!"+exhaustive, "")
	RunSpecs(t, "E2E", suite, reporter)
}

// The runner names the slowest specs, and those that failed.
var _ = ReportAfterSuite("report", func(r Report) {
	if dir := os.Getenv("FIRESTEEL_SPECS"); dir != "" {
		Expect(reporters.GenerateJSONReport(r, filepath.Join(dir, specsFile))).To(Succeed())
	}
})

const (
	// envProcesses is how many processes share the specs; without it there is one, which takes Ginkgo's flags.
	envProcesses = "FIRESTEEL_E2E_PROCESSES"
	// envFolder is where the test's files are: Ginkgo starts its processes elsewhere.
	envFolder = "FIRESTEEL_E2E_FOLDER"
)

// sideBySide runs this program in several processes at once: most of a spec is waiting for Java machines, pods and timers.
// The serial specs, which change something for all, come when the others are over.
func sideBySide(t *testing.T, processes string) {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := exec.CommandContext(t.Context(), filepath.Join("..", "..", "hack", "tools", "build.sh"), "ginkgo").Output()
	if err != nil {
		t.Fatalf("build ginkgo: %v", err)
	}
	// it gives up before go test does, and then tells which specs hang
	cmd := exec.CommandContext(t.Context(), filepath.Join(strings.TrimSpace(string(dir)), "ginkgo"),
		"run", "--no-color", "--procs="+processes, "--timeout=40m", program, "--", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), envProcesses+"=", envFolder+"="+folder)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
}

// The first process installs the operator, and all make their clients.
var _ = SynchronizedBeforeSuite(func(ctx SpecContext) []byte {
	connect()
	By("building kubectl spark")
	program, err := testrun.Program(ctx, filepath.Join("..", ".."), filepath.Join("..", "..", "dist", "e2e"), testrun.KubectlSpark)
	Expect(err).NotTo(HaveOccurred())
	By("installing the operator")
	kubectl("apply", "--server-side", "-f", volcanoAPI(ctx))
	kubectl("apply", "--server-side", "--force-conflicts", "-k", filepath.Join("testdata", "operator"))
	eventuallyReady(operatorName, 1)
	return []byte(program)
}, func(program []byte) {
	connect()
	kubectlSpark = string(program)
})

func connect() {
	GinkgoHelper()
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("FIRESTEEL_E2E_KUBECONFIG"))
	Expect(err).NotTo(HaveOccurred())
	if ns := os.Getenv("FIRESTEEL_E2E_NETNS"); ns != "" {
		cfg.Dial = dialIn(ns)
	}
	cfg.WarningHandler = rest.NoWarnings{}
	admin, err = client.NewWithWatch(cfg, client.Options{Scheme: controller.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	clientset, err = kubernetes.NewForConfig(cfg)
	Expect(err).NotTo(HaveOccurred())
}

// eventuallyReady waits until a Deployment of the operator's has so many ready pods.
func eventuallyReady(name string, replicas int32) {
	GinkgoHelper()
	Eventually(func() (int32, error) {
		var d appsv1.Deployment
		err := admin.Get(context.Background(), client.ObjectKey{Namespace: operatorNamespace, Name: name}, &d)
		return d.Status.ReadyReplicas, err
	}, installWait, poll).Should(Equal(replicas), "ready pods of %s", name)
}

// dialIn connects from inside a network namespace: the cluster's addresses exist only there.
func dialIn(path string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		err = within(path, func() (err error) {
			conn, err = (&net.Dialer{Timeout: 10 * time.Second, FallbackDelay: -1}).DialContext(ctx, network, address)
			return err
		})
		return conn, err
	}
}

// within makes a socket in a network namespace, where it stays. The calling goroutine keeps its thread meanwhile.
func within(path string, open func() error) error {
	runtime.LockOSThread()
	outside, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer func() { _ = outside.Close() }()
	inside, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = inside.Close() }()
	if err := unix.Setns(int(inside.Fd()), unix.CLONE_NEWNET); err != nil {
		return os.NewSyscallError("setns", err)
	}
	opened := open()
	if err := unix.Setns(int(outside.Fd()), unix.CLONE_NEWNET); err != nil {
		return os.NewSyscallError("setns", err) // the thread stays locked and ends with the goroutine
	}
	runtime.UnlockOSThread()
	return opened
}

// kubectl runs kubectl in the cluster and returns what it prints.
func kubectl(args ...string) string {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, clusterCmd, append([]string{"exec", "kubectl"}, args...)...)
	out, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "kubectl %s: %s", strings.Join(args, " "), out)
	return string(out)
}
