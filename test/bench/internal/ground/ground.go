// SPDX-License-Identifier: Apache-2.0

// Package ground runs an operator's environment: etcd, a kube-apiserver, KWOK for kubelets, and a stand-in for the scheduler
// and for the drivers that create executors. Each is a process of its own that listens on the loopback address.
package ground

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/firesteel-dev/firesteel/internal/testutil/ports"
	"github.com/firesteel-dev/firesteel/test/bench/internal/audit"
)

const (
	// Operator is the user whose calls are counted.
	Operator = "operator"
	admin    = "admin"
	// Namespace is where the applications are.
	Namespace = "bench"
	// node is the node that KWOK simulates.
	node = "kwok-0"
	// StandIn is the role of the process that binds pods and creates executors.
	StandIn = "stand-in"

	patience = 2 * time.Minute
	poll     = 50 * time.Millisecond
)

//go:embed stages.yaml
var stages []byte

// Programs are the executables of a ground.
type Programs struct {
	Etcd, APIServer, KWOK string
	// Self is this program, which plays several roles.
	Self string
	// Definitions is the folder of the custom resource definitions.
	Definitions string
}

// Ground runs.
type Ground struct {
	// Admin is the configuration of clients that are not measured.
	Admin *rest.Config
	// Kubeconfig is the operator's; AdminKubeconfig is for the other processes.
	Kubeconfig, AdminKubeconfig string
	// Etcd is where the API server's etcd takes requests.
	Etcd string
	// Calls is the log of the operator's calls.
	Calls *audit.Tail
	// Processes are those of the ground, the oldest first.
	Processes []*Process

	programs  Programs
	dir, logs string
	// address is host and port of the API server.
	address string
	ca      []byte
}

// Up starts a ground whose files are in dir and whose logs are in logs. On failure it ends what it has started.
func Up(ctx context.Context, programs Programs, dir, logs string) (_ *Ground, err error) {
	g := &Ground{programs: programs, dir: dir, logs: logs, Calls: &audit.Tail{Path: filepath.Join(dir, "audit.log")}}
	defer func() {
		if err != nil {
			g.Down()
		}
	}()
	addresses, err := FreeAddresses(ctx, 4)
	if err != nil {
		return nil, err
	}
	etcd, peer, secure, kwok := addresses[0], addresses[1], addresses[2], addresses[3]
	if err := g.start("etcd", programs.Etcd, "--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls=http://"+etcd, "--advertise-client-urls=http://"+etcd, "--listen-peer-urls=http://"+peer,
		"--initial-advertise-peer-urls=http://"+peer, "--initial-cluster=default=http://"+peer); err != nil {
		return nil, err
	}
	g.Etcd = "http://" + etcd
	if err := g.startAPIServer(ctx, g.Etcd, secure); err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "stages.yaml")
	if err := os.WriteFile(config, stages, 0o600); err != nil {
		return nil, fmt.Errorf("configure KWOK: %w", err)
	}
	if err := g.start("kwok", programs.KWOK, "--kubeconfig="+g.AdminKubeconfig, "--config="+config, "--manage-all-nodes=false",
		"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", "--node-lease-duration-seconds=0", "--server-address="+kwok); err != nil {
		return nil, err
	}
	if err := g.furnish(ctx); err != nil {
		return nil, err
	}
	return g, g.start(StandIn, programs.Self, StandIn, "--kubeconfig="+g.AdminKubeconfig)
}

// Down kills all processes, the youngest first. Nobody needs the ground's data afterwards, so there is no grace period.
func (g *Ground) Down() {
	for i := len(g.Processes) - 1; i >= 0; i-- {
		g.Processes[i].Kill()
	}
}

// Failed is the end of a process that should run.
func (g *Ground) Failed() error {
	var errs []error
	for _, p := range g.Processes {
		errs = append(errs, p.Failed())
	}
	return errors.Join(errs...)
}

func (g *Ground) start(name string, command ...string) error {
	p, err := Start(name, g.logs, nil, command...)
	if err != nil {
		return err
	}
	g.Processes = append(g.Processes, p)
	return nil
}

// startAPIServer starts the API server with a log of the operator's calls. Users have tokens, as operators in pods do.
func (g *Ground) startAPIServer(ctx context.Context, etcd, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("start the API server: %w", err)
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, nil)
	if err != nil {
		return fmt.Errorf("make the API server's certificate: %w", err)
	}
	files := map[string][]byte{
		"tls.crt": certificate, "tls.key": key, "audit.yaml": []byte(audit.Policy(Operator)),
		"tokens.csv": fmt.Appendf(nil, "%[1]s,%[1]s,1,system:masters\n%[2]s,%[2]s,2,system:masters\n", Operator, admin),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(g.dir, name), text, 0o600); err != nil {
			return fmt.Errorf("configure the API server: %w", err)
		}
	}
	file := func(name string) string { return filepath.Join(g.dir, name) }
	g.address, g.ca = address, certificate
	if err := g.start("kube-apiserver", g.programs.APIServer, "--etcd-servers="+etcd, "--bind-address="+host, "--secure-port="+port,
		"--advertise-address="+host, "--endpoint-reconciler-type=none", "--authorization-mode=RBAC", "--token-auth-file="+file("tokens.csv"),
		"--tls-cert-file="+file("tls.crt"), "--tls-private-key-file="+file("tls.key"), "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+file("tls.key"), "--service-account-signing-key-file="+file("tls.key"), "--service-cluster-ip-range=10.96.0.0/16",
		"--audit-policy-file="+file("audit.yaml"), "--audit-log-path="+g.Calls.Path, "--audit-log-maxsize=10000"); err != nil {
		return err
	}
	if g.Kubeconfig, err = g.writeKubeconfig(Operator); err != nil {
		return err
	}
	if g.AdminKubeconfig, err = g.writeKubeconfig(admin); err != nil {
		return err
	}
	if g.Admin, err = clientcmd.BuildConfigFromFlags("", g.AdminKubeconfig); err != nil {
		return fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	g.Admin.QPS = -1
	return g.waitReady(ctx)
}

func (g *Ground) writeKubeconfig(user string) (string, error) {
	c := api.NewConfig()
	c.Clusters["bench"] = &api.Cluster{Server: "https://" + g.address, CertificateAuthorityData: g.ca}
	c.AuthInfos[user] = &api.AuthInfo{Token: user}
	c.Contexts["bench"] = &api.Context{Cluster: "bench", AuthInfo: user, Namespace: Namespace}
	c.CurrentContext = "bench"
	path := filepath.Join(g.dir, user+".kubeconfig")
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		return "", fmt.Errorf("write a kubeconfig: %w", err)
	}
	return path, nil
}

// Environment is how an operator finds the API server, and a spark-submit that it starts, too.
func (g *Ground) Environment() []string {
	host, port, _ := strings.Cut(g.address, ":")
	return []string{"KUBECONFIG=" + g.Kubeconfig, "KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port}
}

func (g *Ground) waitReady(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(g.Admin)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		_, last = client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return last == nil, g.Failed()
	})
	if err != nil {
		return fmt.Errorf("wait for the API server: %w; its last answer: %w", err, last)
	}
	return nil
}

// furnish creates the definitions, and what applications need.
func (g *Ground) furnish(ctx context.Context) error {
	if _, err := envtest.InstallCRDs(g.Admin, envtest.CRDInstallOptions{Paths: []string{g.programs.Definitions}, ErrorIfPathMissing: true}); err != nil {
		return fmt.Errorf("install the definitions: %w", err)
	}
	client, err := kubernetes.NewForConfig(g.Admin)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	return furnish(ctx, client)
}

// FreeAddresses returns addresses without a listener.
func FreeAddresses(ctx context.Context, n int) ([]string, error) {
	var addresses []string
	for range n {
		port, err := ports.Free(ctx)
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		addresses = append(addresses, "127.0.0.1:"+strconv.Itoa(port))
	}
	return addresses, nil
}
