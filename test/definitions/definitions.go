// SPDX-License-Identifier: Apache-2.0

// Package definitions finds other projects' CustomResourceDefinitions for tests, in the releases that modules/go.mod names:
// their schemas must accept the operator's objects.
package definitions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Files are definitions of one project: a Go module, and files in it.
type Files struct {
	module string
	folder string
	names  []string
}

// Kubeflow are the definitions of Kubeflow's operator, which an installation of ours may find in the cluster.
var Kubeflow = Files{"github.com/kubeflow/spark-operator/v2", "config/crd/bases", []string{
	"sparkoperator.k8s.io_sparkapplications.yaml", "sparkoperator.k8s.io_scheduledsparkapplications.yaml", "sparkoperator.k8s.io_sparkconnects.yaml",
}}

// What we make objects of.
var (
	GatewayAPI = Files{"sigs.k8s.io/gateway-api", "config/crd/standard", []string{
		"gateway.networking.k8s.io_httproutes.yaml", "gateway.networking.k8s.io_grpcroutes.yaml",
	}}
	CertManager = Files{"github.com/cert-manager/cert-manager", "deploy/crds", []string{
		"cert-manager.io_certificates.yaml", "cert-manager.io_issuers.yaml",
	}}
	PrometheusOperator = Files{"github.com/prometheus-operator/prometheus-operator", "example/prometheus-operator-crd", []string{
		"monitoring.coreos.com_podmonitors.yaml", "monitoring.coreos.com_servicemonitors.yaml", "monitoring.coreos.com_prometheusrules.yaml",
	}}
	SchedulerPlugins = Files{"sigs.k8s.io/scheduler-plugins", "config/crd/bases", []string{"scheduling.x-k8s.io_podgroups.yaml"}}
)

// Paths downloads the module unless Go's cache has it, checks it against go.sum, and returns where the files are. The root
// is that of this repository.
func (f Files) Paths(ctx context.Context, root string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-C", filepath.Join(root, "test", "definitions", "modules"), "-json", f.module)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.Output()
	var found struct{ Dir, Error string }
	if err = errors.Join(err, json.Unmarshal(out, &found)); err != nil {
		return nil, fmt.Errorf("download %s: %w: %s", f.module, err, found.Error)
	}
	paths := make([]string, 0, len(f.names))
	for _, name := range f.names {
		path := filepath.Join(found.Dir, filepath.FromSlash(f.folder), name)
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("definitions of %s: %w", f.module, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}
