// SPDX-License-Identifier: Apache-2.0

package schedulers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	busv1alpha1 "volcano.sh/apis/pkg/apis/bus/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/firesteel-dev/firesteel/internal/controller"
)

const (
	patience = 2 * time.Minute
	poll     = 100 * time.Millisecond
)

// cluster is a control plane without machines: a real API server, the controllers that schedulers rely on, and KWOK,
// which plays the nodes. A pod that a scheduler binds runs at once, and a deleted one is gone.
type cluster struct {
	dir        string
	kubeconfig string
	rest       *rest.Config
	client     client.Client
	server     *envtest.Environment
	processes  []*process
	// end ends what runs in this process.
	end context.CancelFunc
}

// startCluster starts everything that all schedulers need. On failure it stops what it has started.
func startCluster(ctx context.Context, dir string) (_ *cluster, err error) {
	c := &cluster{dir: dir}
	inside, end := context.WithCancel(context.Background())
	c.end = end
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	kubernetes, err := tool(ctx, "kubernetes")
	if err != nil {
		return nil, err
	}
	kwok, err := tool(ctx, "kwok")
	if err != nil {
		return nil, err
	}
	c.server = &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true, ControlPlaneStartTimeout: patience, ControlPlaneStopTimeout: patience,
	}
	c.server.ControlPlane.GetAPIServer().Configure().
		Set("enable-priority-and-fairness", "false").
		Set("advertise-address", "192.0.2.1") // a network of its own has no address to find; no one calls this one
	if c.rest, err = c.server.Start(); err != nil {
		return nil, fmt.Errorf("start the API server: %w", err)
	}
	c.rest.QPS = -1
	user, err := c.server.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return nil, fmt.Errorf("add the administrator: %w", err)
	}
	text, err := user.KubeConfig()
	if err != nil {
		return nil, fmt.Errorf("write the administrator's kubeconfig: %w", err)
	}
	c.kubeconfig = filepath.Join(dir, "admin.kubeconfig")
	if err := os.WriteFile(c.kubeconfig, text, 0o600); err != nil {
		return nil, fmt.Errorf("write the administrator's kubeconfig: %w", err)
	}
	scheme := controller.Scheme()
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, v1alpha1.AddToScheme, v1beta1.AddToScheme, busv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("make a scheme: %w", err)
		}
	}
	if c.client, err = client.New(c.rest, client.Options{Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	if _, err = c.run(ctx, "kube-controller-manager", filepath.Join(kubernetes, "kube-controller-manager"), nil,
		"--kubeconfig="+c.kubeconfig, "--leader-elect=false", "--secure-port=0",
		"--use-service-account-credentials", // webhooks look at the creator of a pod
		"--controllers=garbage-collector-controller,resourcequota-controller,serviceaccount-controller,statefulset-controller",
		"--concurrent-gc-syncs=5", "--kube-api-qps=500", "--kube-api-burst=1000"); err != nil {
		return nil, err
	}
	if _, err = c.run(ctx, "kwok", filepath.Join(kwok, "kwok"), nil, "--kubeconfig="+c.kubeconfig,
		"--config="+filepath.Join("testdata", "kwok.yaml"), "--manage-all-nodes=true", "--node-lease-duration-seconds=0"); err != nil {
		return nil, err
	}
	if err = c.bury(inside); err != nil {
		return nil, err
	}
	return c, c.shareNodes(ctx)
}

const sharedNodes = 3

func sharedNode(i int) string { return fmt.Sprintf("node-%d", i) }

// shareNodes adds the nodes that everybody shares, unless they are there.
func (c *cluster) shareNodes(ctx context.Context) error {
	for i := range sharedNodes {
		name := sharedNode(i)
		if err := c.client.Get(ctx, client.ObjectKey{Name: name}, &corev1.Node{}); !apierrors.IsNotFound(err) {
			continue
		}
		if err := c.addNode(ctx, name, big(), nil); err != nil {
			return err
		}
	}
	return nil
}

// stop ends everything, the youngest first.
func (c *cluster) stop() {
	c.end()
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].stop()
	}
	if c.server != nil {
		if err := c.server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
		}
	}
}

// addNode adds a node that KWOK plays. Admission taints new nodes until a controller finds them healthy; there is none.
func (c *cluster) addNode(ctx context.Context, name string, room corev1.ResourceList, labels map[string]string, taints ...corev1.Taint) error {
	room = room.DeepCopy()
	room[corev1.ResourcePods] = resource.MustParse("250")
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
		Spec:       corev1.NodeSpec{Taints: taints},
		Status:     corev1.NodeStatus{Allocatable: room, Capacity: room},
	}
	for key, value := range labels {
		node.Labels[key] = value
	}
	if err := c.client.Create(ctx, node); err != nil {
		return fmt.Errorf("create node %s: %w", name, err)
	}
	return c.eventually(ctx, "node "+name, func() error {
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
			return err
		}
		if len(node.Spec.Taints) != len(taints) {
			node.Spec.Taints = taints
			return errors.Join(errors.New("it had a taint"), c.client.Update(ctx, node))
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return errors.New("it is not ready")
	})
}

func (c *cluster) removeNode(ctx context.Context, name string) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.client.Delete(ctx, node); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete node %s: %w", name, err)
	}
	return nil
}

// eventually waits for something to come about.
func (c *cluster) eventually(ctx context.Context, what string, check func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: not within %s: %w", what, patience, errors.Join(last, err))
	}
	return nil
}

// install installs the CRDs of files and folders, and uninstall removes them and waits until they are gone.
func (c *cluster) install(_ context.Context, paths ...string) error {
	_, err := envtest.InstallCRDs(c.rest, envtest.CRDInstallOptions{Paths: paths, ErrorIfPathMissing: true})
	if err != nil {
		return fmt.Errorf("install CRDs: %w", err)
	}
	return nil
}

func (c *cluster) uninstall(ctx context.Context, groups ...string) error {
	var list apiextensionsv1.CustomResourceDefinitionList
	if err := c.client.List(ctx, &list); err != nil {
		return fmt.Errorf("list CRDs: %w", err)
	}
	for i := range list.Items {
		crd := &list.Items[i]
		for _, group := range groups {
			if crd.Spec.Group != group {
				continue
			}
			if err := c.client.Delete(ctx, crd); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("delete CRD %s: %w", crd.Name, err)
			}
			err := c.eventually(ctx, "the end of CRD "+crd.Name, func() error {
				if err := c.client.Get(ctx, client.ObjectKeyFromObject(crd), crd); !apierrors.IsNotFound(err) {
					return errors.Join(errors.New("it is there"), err)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// root is the repository's.
const root = "../.."

// tool builds the programs of a tool module, unless they are there, and returns the folder with them.
func tool(ctx context.Context, name string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(root, "hack", "tools", "build.sh"), name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// moduleDir is the folder of a vendor's module in the module cache, in the version that the tool is built from.
func moduleDir(ctx context.Context, name, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-C", filepath.Join(root, "hack", "tools", name), "-m", "-f", "{{.Dir}}", module)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// process is a program that runs beside the test. Its output goes to a file.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan error
}

// run starts a program. Should the test die, the kernel ends it, too.
func (c *cluster) run(ctx context.Context, name, path string, env []string, args ...string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(c.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{name: name, cmd: exec.CommandContext(context.WithoutCancel(ctx), path, args...), done: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() { // Pdeathsig is about the thread that starts the process: it must stay
		goruntime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.done <- p.cmd.Wait()
		}
		_ = log.Close()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c.processes = append(c.processes, p)
	return p, nil
}

// stop ends the program, gently at first.
func (p *process) stop() {
	if p == nil || p.cmd == nil || p.cmd.Process == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(2 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	p.cmd = nil
}

// answers waits for an HTTP endpoint to answer with 200.
func (c *cluster) answers(ctx context.Context, url string) error {
	return c.eventually(ctx, url, func() error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return errors.New(answer.Status)
		}
		return nil
	})
}
