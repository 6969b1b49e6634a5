// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// fault is one thing wrong in a template: where it is, and what stands there; nil takes it away.
type fault struct {
	path  []string
	value any
}

// String names the fault in reports.
func (f fault) String() string { return fmt.Sprintf("%s: %.40v", strings.Join(f.path, "."), f.value) }

// faults are what may be wrong with each value of a template: it is missing, empty, another word, out of range, or there twice.
func faults(path []string, value any) []fault {
	below := func(step string) []string { return append(slices.Clone(path), step) }
	all := []fault{{path, nil}}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, faults(below(key), v[key])...)
		}
		return append(all, fault{path, map[string]any{}})
	case []any:
		for i, one := range v {
			all = append(all, faults(below(strconv.Itoa(i)), one)...)
		}
		return append(all, fault{path, []any{}}, fault{path, append(slices.Clone(v), v[0])})
	case string:
		return append(all, fault{path, ""}, fault{path, "Not Valid!"}, fault{path, strings.Repeat("a", 300)}, fault{path, "../" + v})
	case float64:
		return append(all, fault{path, -1}, fault{path, 0}, fault{path, 70000})
	default:
		return append(all, fault{path, value != true})
	}
}

// put is a value with another one at a path; nil takes away what is there.
func put(value any, path []string, other any) any {
	if len(path) == 0 {
		return other
	}
	if list, is := value.([]any); is {
		i, err := strconv.Atoi(path[0])
		Expect(err).NotTo(HaveOccurred())
		list = slices.Clone(list)
		if list[i] = put(list[i], path[1:], other); list[i] == nil {
			return slices.Delete(list, i, i+1)
		}
		return list
	}
	fields := maps.Clone(value.(map[string]any))
	if fields[path[0]] = put(fields[path[0]], path[1:], other); fields[path[0]] == nil {
		delete(fields, path[0])
	}
	return fields
}

// judge says what is wrong with a template offline, and which object is made of it; nil if that cannot be built.
type judge func(template *corev1.PodTemplateSpec) ([]string, client.Object)

func checkedWith(change func(*v1beta2.SparkApplication)) admission.Checked {
	o := sparkPi("default", "pi")
	o.UID = "3a5f1e9c-0000-4000-8000-000000000000"
	change(o)
	return admission.Validate(resolve.Load(kubeflow.SparkApplications{}, o, lifecycle.Record{}, resolve.Operator{}, time.Unix(1_700_000_000, 0)))
}

func objections(app spark.Application, found []*spark.ConfError) (all []string) {
	for _, e := range found {
		all = append(all, e.About(app.PathOf(e)))
	}
	return all
}

var judges = map[string]judge{
	"spec.driver.template": func(template *corev1.PodTemplateSpec) ([]string, client.Object) {
		c := checkedWith(func(o *v1beta2.SparkApplication) { o.Spec.Driver.Template = template })
		if c.Built.Driver == nil {
			return nil, nil
		}
		return objections(c.App, c.Objections), c.Built.Driver
	},
	"spec.executor.template": func(template *corev1.PodTemplateSpec) ([]string, client.Object) {
		c := checkedWith(func(o *v1beta2.SparkApplication) { o.Spec.Executor.Template = template })
		if c.Built.Driver == nil {
			return nil, nil
		}
		pod, _ := spark.NewReader(c.App, c.Built).MadeExecutor(c.Built)
		pod.Name, pod.Namespace, pod.Spec.RestartPolicy, pod.Spec.Hostname = "executor", "default", corev1.RestartPolicyNever, "executor" // as Spark does
		return objections(c.App, c.Objections), pod
	},
	"spec.workerSpec.statefulSetSpec.template": func(template *corev1.PodTemplateSpec) ([]string, client.Object) {
		o := newCluster("default")
		o.Spec.WorkerSpec = &v1.WorkerSpec{RoleObjects: v1.RoleObjects{StatefulSetSpec: &appsv1.StatefulSetSpec{Template: *template}}}
		loaded := apache.Clusters{}.Load(o, func(a spark.Application) spark.Application { return a }, admission.CheckCluster(resolve.Operator{}, "default"))
		return objections(apache.ClusterNames(o), loaded.Objections), loaded.Built.Roles[1].Set
	},
}

// verdicts compares what is said of each fault with what the API server says of the pod. placed are the refusals that name a field of the template.
func verdicts(ctx context.Context, c client.Client, field string, judge judge, template any) (differ []string, tried, refused, placed int) {
	GinkgoHelper()
	for i, f := range append([]fault{{nil, template}}, faults(nil, template)...) {
		text, err := json.Marshal(put(template, f.path, f.value))
		Expect(err).NotTo(HaveOccurred())
		wrong := &corev1.PodTemplateSpec{}
		if json.Unmarshal(text, wrong) != nil {
			continue // no such template gets so far
		}
		said, made := judge(wrong)
		if made == nil {
			continue
		}
		err = c.Create(ctx, made, client.DryRunAll)
		if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
			Expect(err).NotTo(HaveOccurred(), f.String())
		}
		Expect(i > 0 || err == nil).To(BeTrue(), "without a fault: %v", err)
		tried++
		if (err != nil) != (len(said) > 0) {
			differ = append(differ, fmt.Sprintf("%s: said %q, the API server %v", f, said, err))
		}
		if err != nil && len(said) > 0 {
			refused++
			if slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, field) }) {
				placed++
			}
		}
	}
	return differ, tried, refused, placed
}

var _ = Describe("A pod", func() {
	for _, field := range slices.Sorted(maps.Keys(judges)) {
		It("made of "+field+" is refused before as the API server would refuse it", func(ctx SpecContext) {
			text, err := os.ReadFile(filepath.Join("testdata", "template.yaml"))
			Expect(err).NotTo(HaveOccurred())
			var template any
			Expect(yaml.Unmarshal(text, &template)).To(Succeed())
			if field == "spec.workerSpec.statefulSetSpec.template" {
				template = put(template, []string{"spec", "containers", "0", "name"}, "worker")
				template = put(template, []string{"spec", "restartPolicy"}, "Always")
				template = put(template, []string{"spec", "activeDeadlineSeconds"}, nil)
			}
			differ, tried, refused, placed := verdicts(ctx, admin, field, judges[field], template)
			AddReportEntry("faults", fmt.Sprintf("%d tried, %d refused, %d by their field, %d differ", tried, refused, placed, len(differ)))
			Expect(strings.Join(differ, "\n")).To(BeEmpty())
			Expect(tried).To(BeNumerically(">", 1000))
			Expect(refused-placed).To(BeNumerically("<=", 1), "a role's own resources against a limit of another container are in no field of the template")
		}, SpecTimeout(10*time.Minute))
	}
})
