/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/markdown"
)

// guide is a page of docs/ whose commands are run as they stand there, but for namespaces and for what the reader fills in.
type guide struct {
	blocks         []markdown.Block
	helm           chart
	folder, plugin string
	release        string // the page's release, and its namespace there
	operator       string // that namespace here
	jobs           string // the namespace of applications
}

// openGuide reads a page, and prepares what a reader has: programs and a namespace for jobs. release is the page's.
func openGuide(ctx context.Context, page, release string) guide {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	Expect(err).NotTo(HaveOccurred())
	folder := GinkgoT().TempDir()
	g := guide{blocks: markdown.Blocks(string(text)), helm: newChart(), folder: folder, plugin: filepath.Join(folder, "kubectl-spark"), release: release, operator: "docs-" + release}
	out, err := exec.CommandContext(ctx, "go", "build", "-o", g.plugin, "../../cmd/kubectl-spark").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	g.jobs = newNamespace(ctx, "docs")
	DeferCleanup(func() {
		_, _ = g.helm.try("uninstall", release, "-n", g.operator, "--ignore-not-found", "--wait")
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: g.operator}}
		Expect(client.IgnoreNotFound(admin.Delete(context.Background(), ns))).To(Succeed())
	})
	return g
}

// run runs the commands of a section, and returns what they print.
func (g guide) run(ctx context.Context, section string) string {
	GinkgoHelper()
	var printed strings.Builder
	found := false
	for _, b := range g.blocks {
		if b.Section != section || strings.HasPrefix(b.Mark, "not run: ") {
			continue
		}
		found = true
		if b.Language == "yaml" {
			Expect(os.WriteFile(filepath.Join(g.folder, "spark-pi.yaml"), []byte(b.Text), 0o600)).To(Succeed())
		}
		for _, c := range b.Commands() {
			By(strings.Join(c.Words, " "))
			printed.WriteString(g.command(ctx, c.Words))
		}
	}
	Expect(found).To(BeTrue(), "the page has no section %q", section)
	return printed.String()
}

func (g guide) command(ctx context.Context, words []string) string {
	GinkgoHelper()
	args := g.fill(words)
	if args[0] == "helm" {
		if args[1] == "install" { // the definitions are there already, and other namespaces belong to other tests
			args = append(args, "--take-ownership", "--force-conflicts", "--set", "spark.jobNamespaces={"+g.jobs+"}")
		}
		return g.helm.do(args[1:]...)
	}
	Expect(args[0]).To(Equal("kubectl"))
	program, args := args[0], args[1:]
	if args[0] == "spark" {
		program, args = g.plugin, args[1:]
	}
	if !slices.Contains(args, "-n") && !slices.Contains(args, "-A") && args[0] != "validate" {
		args = append(args, "-n", g.jobs)
	}
	out, code := plugin(ctx, program, args...)
	Expect(code).To(BeZero(), "%s: %s", strings.Join(words, " "), out)
	return out
}

// fill puts in what the page leaves to the reader, and the namespace of this test for that of the page's operator.
func (g guide) fill(words []string) []string {
	out := slices.Clone(words)
	for i, word := range out {
		switch {
		case i > 0 && out[i-1] == "-n" && word == g.release:
			out[i] = g.operator
		case word == "charts/spark-operator":
			out[i] = chartPath
		case word == "spark-pi.yaml":
			out[i] = filepath.Join(g.folder, word)
		default:
			out[i] = strings.NewReplacer("=REGISTRY", "=firesteel.local", "=TAG", "=dev").Replace(word)
		}
	}
	return out
}

var _ = Describe("The pages of docs/", Serial, func() {
	ctx := context.Background()

	It("lead a beginner from the installation to a result", func() {
		withoutSuiteOperator(ctx)
		page := openGuide(ctx, "quick-start.md", "spark-operator")
		page.run(ctx, "Install")
		Expect(page.run(ctx, "A first application")).To(And(ContainSubstring("errors: 0"), ContainSubstring("COMPLETED")))
		Expect(page.run(ctx, "Look at it")).To(And(
			ContainSubstring("COMPLETED"), ContainSubstring("Pi is roughly 3.1"), ContainSubstring("SparkApplication "+page.jobs+"/spark-pi has completed")))
		page.run(ctx, "Take it away")
		Expect(columns(ctx)).NotTo(BeEmpty(), "the definitions stay")
	})

	It("lead an administrator from Kubeflow's operator to this one", func() {
		withoutSuiteOperator(ctx)
		page := openGuide(ctx, "migrate-from-kubeflow.md", "firesteel")
		app := sparkPi(page.jobs, "held-back")
		app.Spec.Suspend = ptr.To(true)
		Expect(admin.Create(ctx, app)).To(Succeed())

		page.run(ctx, "4. Install Firesteel, and take over the definitions")
		eventuallyReason(ctx, app, "Suspended", "Suspended", "spec.suspend is true")
		Expect(page.run(ctx, "5. See that all is well")).To(And(ContainSubstring(app.Name), ContainSubstring("SUBMITTED")))
	})
})
