// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

var _ = Describe("A corpus of applications", func() {
	It("has none that validation accepts and the API server refuses", func() {
		ctx := context.Background()
		size, seed := testrun.Pick(500, 500, 2000), testrun.Seed()
		namespace := newNamespace(ctx)
		cfg := rest.CopyConfig(server.Config)
		cfg.QPS = -1
		fast, err := client.New(cfg, client.Options{Scheme: controller.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		accepted, refused := 0, map[string]int{}
		var broken []string
		for i := range size {
			o := drawn(rand.New(rand.NewPCG(seed, uint64(i))), namespace, i)
			checked := admission.Validate(resolve.Load(kubeflow.SparkApplications{}, o, lifecycle.Record{}, resolve.Operator{}, time.Unix(1e9, 0)))
			if len(checked.Objections) > 0 {
				for _, f := range checked.Objections {
					_, what, _ := strings.Cut(f.Problem, ";")
					refused[what]++
				}
				continue
			}
			accepted++
			for _, object := range created(checked) {
				if err := fast.Create(ctx, object, client.DryRunAll); err != nil {
					broken = append(broken, fmt.Sprintf("application %d, %T: %v", i, object, err))
				}
			}
		}
		Expect(broken).To(BeEmpty(), "%d refused with FIRESTEEL_SEED=%d: %s", len(broken), seed, strings.Join(broken, "\n"))
		publish("corpus", "corpus: %d of %d applications accepted, %d kinds of refusals, seed %d", accepted, size, len(refused), seed)
		Expect(accepted).To(BeNumerically(">=", size/5), "a corpus of mistakes proves nothing")
		Expect(len(refused)).To(BeNumerically(">", 20), "nor does one without: %v", refused)
	})
})

// created is what the operator creates for an application, and an executor as its driver would.
func created(checked admission.Checked) []client.Object {
	var objects []client.Object
	for _, r := range checked.Built.Resources {
		objects = append(objects, r)
	}
	app, executor := checked.App, checked.Built.Executor
	executor.Namespace, executor.Name = app.Namespace, "executor-"+app.Name
	executor.Spec.RestartPolicy = corev1.RestartPolicyNever
	for i := range executor.Spec.Containers {
		if c := &executor.Spec.Containers[i]; c.Image == "" {
			c.Image = "spark"
		}
	}
	for _, name := range []string{"spark-local-dir-1", "conf-dir", "token-volume"} { // what the driver adds
		if !hasVolume(executor, name) {
			executor.Spec.Volumes = append(executor.Spec.Volumes, emptyDir(name))
		}
	}
	return append(objects, checked.Built.Driver, executor)
}

func hasVolume(pod *corev1.Pod, name string) bool {
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].Name == name {
			return true
		}
	}
	return false
}

func emptyDir(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

// drawn is application number i: a sound one, changed in some ways of which many are sound, too.
func drawn(r *rand.Rand, namespace string, i int) *v1beta2.SparkApplication {
	o := sparkPi(namespace, fmt.Sprintf("corpus-%d", i))
	o.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
	o.Spec.SparkVersion = pick(r, spark.SupportedVersions()...)
	for range r.IntN(9) {
		changes[r.IntN(len(changes))](r, o)
	}
	return o
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// one is either role of the application.
func one(r *rand.Rand, o *v1beta2.SparkApplication) *v1beta2.SparkPodSpec {
	return pick(r, &o.Spec.Driver.SparkPodSpec, &o.Spec.Executor.SparkPodSpec)
}
