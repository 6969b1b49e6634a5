// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestThisRepository(t *testing.T) {
	problems, err := check(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) > 0 {
		t.Errorf("PROJECT does not list what there is:\n%s", strings.Join(problems, "\n"))
	}
}

// sound is a repository with one kind, whose PROJECT is right.
func sound() map[string]string {
	return map[string]string{
		"PROJECT": `cliVersion: 4.15.0
multigroup: true
repo: example.com/jobs
resources:
- api:
    crdVersion: v1
    namespaced: true
  controller: true
  domain: example.com
  group: batch
  kind: Job
  path: example.com/jobs/api/batch/v1
  version: v1
  webhooks:
    defaulting: true
    validation: true
    webhookVersion: v1
`,
		"go.mod":                        "module example.com/jobs\n",
		"hack/tools/kubebuilder/go.mod": "module example.com/jobs/hack/tools/kubebuilder\n\nrequire (\n\tsigs.k8s.io/kubebuilder/v4 v4.15.0 // indirect\n)\n",
		"api/batch/v1/group.go":         "// Package v1 has jobs.\n//\n// +groupName=batch.example.com\npackage v1\n",
		"api/batch/v1/job_types.go": `package v1

// JobSpec is no kind.
type JobSpec struct{}

// Job is one.
//
// +kubebuilder:object:root=true
type Job struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

// +kubebuilder:object:root=true

// JobList is a list.
type JobList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []Job
}
`,
		"config/crd/bases/jobs.yaml": definitionText("Job", "jobs", "Namespaced"),
		"internal/controller/setup.go": `package controller

// +kubebuilder:rbac:groups=batch.example.com,resources=jobs,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch.example.com,resources=jobs/status,verbs=get;patch
`,
		"internal/webhook/job.go": `package webhook

// +kubebuilder:webhook:path=/m,mutating=true,groups=batch.example.com,resources=jobs,verbs=create;update,versions=v1
// +kubebuilder:webhook:path=/v,mutating=false,groups=batch.example.com,resources=jobs,verbs=create;update,versions=v1
`,
	}
}

// repository is the sound one with changes.
func repository(all ...change) fs.FS {
	files := sound()
	for _, apply := range all {
		apply(files)
	}
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// change breaks files, whose texts are given by their names.
type change func(files map[string]string)

type changes = []change

func definitionText(kind, plural, scope string) string {
	return "spec:\n  group: batch.example.com\n  names: {kind: " + kind + ", plural: " + plural + "}\n  scope: " + scope + "\n  versions: [{name: v1}]\n"
}

// queue is a second kind, as Kubebuilder scaffolds it: the marker does not stand in the type's own comment.
const queue = `package v1

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status

// Queue is the Schema for the queues API
type Queue struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}
`

const queueResource = `- api:
    crdVersion: v1
  domain: example.com
  group: batch
  kind: Queue
  path: example.com/jobs/api/batch/v1
  version: v1
`

func replace(file, old, with string) change {
	return func(files map[string]string) {
		if !strings.Contains(files[file], old) {
			panic(file + " has no " + old)
		}
		files[file] = strings.Replace(files[file], old, with, 1)
	}
}

func inProject(old, with string) change { return replace("PROJECT", old, with) }

func addQueue(files map[string]string) {
	files["api/batch/v1/queue_types.go"] = queue
	files["config/crd/bases/queues.yaml"] = definitionText("Queue", "queues", "Cluster")
}

func addToProject(resource string) change {
	return func(files map[string]string) { files["PROJECT"] += resource }
}

type row struct {
	reason string
	change changes
	want   []string
}

func checkRows(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			got, err := check(repository(r.change...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

const (
	job       = "PROJECT: resources[0] (Job v1): "
	noDefault = "no +kubebuilder:webhook marker in internal/webhook has mutating=true for jobs.batch.example.com/v1"
	noCheck   = "no +kubebuilder:webhook marker in internal/webhook has mutating=false for jobs.batch.example.com/v1"
)

func TestResourceThatDiffers(t *testing.T) {
	checkRows(t, []row{
		{"a right one is left alone", nil, nil},
		{"the group is another", changes{inProject("group: batch", "group: bath")}, []string{
			job + "group is bath, right is batch: the kind is in api/batch/v1",
		}},
		{"the domain is another", changes{inProject("domain: example.com", "domain: k8s.io")}, []string{
			job + "domain is k8s.io, right is example.com: +groupName in api/batch/v1 is batch.example.com",
		}},
		{"the version is another", changes{inProject("version: v1\n", "version: v2\n")}, []string{
			"PROJECT: resources[0] (Job v2): version is v2, right is v1: the kind is in api/batch/v1",
		}},
		{"the path is another", changes{inProject("api/batch/v1", "api/v1")}, []string{
			job + "path is example.com/jobs/api/v1, right is example.com/jobs/api/batch/v1: the kind is at api/batch/v1/job_types.go:9",
		}},
		{"the path is left out", changes{inProject("  path: example.com/jobs/api/batch/v1\n", "")}, []string{
			job + "path is missing, right is example.com/jobs/api/batch/v1: the kind is at api/batch/v1/job_types.go:9",
		}},
		{"no scope means the whole cluster", changes{inProject("    namespaced: true\n", "")}, []string{
			job + "api.namespaced is false, right is true: config/crd/bases/jobs.yaml has the scope Namespaced",
		}},
		{"a kind of the whole cluster", changes{replace("config/crd/bases/jobs.yaml", "Namespaced", "Cluster")}, []string{
			job + "api.namespaced is true, right is false: config/crd/bases/jobs.yaml has the scope Cluster",
		}},
		{"no API, as of a kind of others", changes{inProject("api:\n    crdVersion: v1\n    namespaced: true\n  ", "")}, []string{
			job + "api.crdVersion is missing, right is v1: config/crd/bases/jobs.yaml",
			job + "api.namespaced is false, right is true: config/crd/bases/jobs.yaml has the scope Namespaced",
		}},
		{"a plural that no one uses", changes{inProject("  path:", "  plural: jobses\n  path:")}, []string{
			job + "plural is jobses, right is jobs: config/crd/bases/jobs.yaml",
		}},
		{"the plural may be written", changes{inProject("  path:", "  plural: jobs\n  path:")}, nil},
	})
}

func TestControllerAndWebhooksThatDiffer(t *testing.T) {
	const setup, hooks = "internal/controller/setup.go", "internal/webhook/job.go"
	const noController = "no +kubebuilder:rbac marker in internal/controller may patch or update jobs.batch.example.com/status"
	checkRows(t, []row{
		{"the controller is not listed", changes{inProject("  controller: true\n", "")}, []string{
			job + "controller is false, right is true: the marker at internal/controller/setup.go:4",
		}},
		{"no marker for the status", changes{replace(setup, "jobs/status", "jobs/scale")}, []string{
			job + "controller is true, right is false: " + noController,
		}},
		{"who reads the status is no controller", changes{replace(setup, "get;patch", "get")}, []string{
			job + "controller is true, right is false: " + noController,
		}},
		{"the status of another group's jobs", changes{replace(setup, "batch.example.com,resources=jobs/status", "batch,resources=jobs/status")}, []string{
			job + "controller is true, right is false: " + noController,
		}},
		{"one marker for two kinds, quoted", changes{replace(setup, "batch.example.com,resources=jobs/status", `"batch.example.com",resources=queues/status;jobs/status`)}, nil},
		{"a controller in a folder of its own", changes{func(files map[string]string) {
			files["internal/controller/job/setup.go"] = files[setup]
			delete(files, setup)
			files[setup] = "package controller\n"
		}}, nil},
		{"a marker in a test is none", changes{func(files map[string]string) {
			files["internal/controller/setup_test.go"] = files[setup]
			files[setup] = "package controller\n"
		}}, []string{job + "controller is true, right is false: " + noController}},
		{"defaults are not listed", changes{inProject("    defaulting: true\n", "")}, []string{
			job + "webhooks.defaulting is false, right is true: the marker at internal/webhook/job.go:3",
		}},
		{"webhooks are not listed", changes{inProject("  webhooks:\n    defaulting: true\n    validation: true\n    webhookVersion: v1\n", "")}, []string{
			job + "webhooks.defaulting is false, right is true: the marker at internal/webhook/job.go:3",
			job + "webhooks.validation is false, right is true: the marker at internal/webhook/job.go:4",
			job + "webhooks.webhookVersion is missing, right is v1: it is v1 if there is a webhook",
		}},
		{"no marker for defaults", changes{replace(hooks, "mutating=true", "mutating=false")}, []string{
			job + "webhooks.defaulting is true, right is false: " + noDefault,
		}},
		{"no webhooks", changes{replace(hooks, "versions=v1\n", "versions=v2\n"), replace(hooks, "versions=v1\n", "versions=v2\n")}, []string{
			job + "webhooks.defaulting is true, right is false: " + noDefault,
			job + "webhooks.validation is true, right is false: " + noCheck,
			job + "webhooks.webhookVersion is v1, right is missing: it is v1 if there is a webhook",
		}},
	})
}

func TestResourceTooFewOrTooMany(t *testing.T) {
	const second = "PROJECT: resources[1] (Queue v1): "
	checkRows(t, []row{
		{"a kind was added by hand", changes{addQueue}, []string{
			"PROJECT: resources: kind Queue (api/batch/v1/queue_types.go:7) is missing, right is:\n" + queueResource,
		}},
		{"what is proposed is right", changes{addQueue, addToProject(queueResource)}, nil},
		{"the order means nothing", changes{addQueue, inProject("resources:\n", "resources:\n"+queueResource)}, nil},
		{"a kind was taken out", changes{addToProject(queueResource)}, []string{
			second + "api/batch/v1 has Job and no other struct with +kubebuilder:object:root=true; right is to take it out",
		}},
		{"its folder was taken out", changes{addToProject(strings.Replace(queueResource, "api/batch/v1", "api/queue/v1", 1))}, []string{
			second + "the folder of its path, api/queue/v1, does not exist; right is to take it out",
		}},
		{"its folder has no kinds", changes{addToProject(strings.Replace(queueResource, "api/batch/v1", "internal/webhook", 1))}, []string{
			second + "internal/webhook has no struct with +kubebuilder:object:root=true; right is to take it out",
		}},
		{"one kind twice", changes{addQueue, addToProject(queueResource + queueResource)}, []string{
			"PROJECT: resources[2] (Queue v1): the kind has another resource in PROJECT; right is to take it out",
		}},
		{"two versions, and the resource of one", changes{func(files map[string]string) {
			files["api/batch/v0/job_types.go"] = "// +groupName=batch.example.com\npackage v0\n\n// +kubebuilder:object:root=true\ntype Job struct{}\n"
			files["config/crd/bases/jobs.yaml"] = strings.Replace(files["config/crd/bases/jobs.yaml"], "[{", "[{name: v0}, {", 1)
		}}, []string{
			"PROJECT: resources: kind Job (api/batch/v0/job_types.go:5) is missing, right is:\n" + `- api:
    crdVersion: v1
    namespaced: true
  controller: true
  domain: example.com
  group: batch
  kind: Job
  path: example.com/jobs/api/batch/v0
  version: v0
`,
		}},
	})
}

func TestWhatBelongsToNoResource(t *testing.T) {
	checkRows(t, []row{
		{"another Kubebuilder", changes{inProject("4.15.0", "4.14.0")}, []string{
			"PROJECT: cliVersion is 4.14.0, right is 4.15.0: the version in hack/tools/kubebuilder/go.mod",
		}},
		{"one group", changes{inProject("multigroup: true\n", "")}, []string{
			"PROJECT: multigroup is false, right is true: there is one folder per group in api/",
		}},
		{"the module was renamed", changes{replace("go.mod", "jobs", "works")}, []string{
			"PROJECT: repo is example.com/jobs, right is example.com/works: the module in go.mod",
		}},
		{"no definition", changes{func(files map[string]string) { delete(files, "config/crd/bases/jobs.yaml") }}, []string{
			`config/crd/bases: no definition of kind Job in group "batch.example.com" has version v1; make manifests writes it`,
		}},
		{"a folder of another name than the group", changes{func(files map[string]string) {
			for _, name := range []string{"group.go", "job_types.go"} {
				files["api/work/v1/"+name] = files["api/batch/v1/"+name]
				delete(files, "api/batch/v1/"+name)
			}
		}}, []string{
			`api/work/v1: the folder's group is "work" and +groupName is "batch.example.com", right is a folder named as +groupName up to its first dot`,
		}},
	})
}

func TestUnreadable(t *testing.T) {
	for _, r := range []struct {
		reason string
		change change
		want   string
	}{
		{"no PROJECT", func(files map[string]string) { delete(files, "PROJECT") }, "open PROJECT: file does not exist"},
		{"no YAML", inProject("repo:", "repo"), "read PROJECT: error converting YAML to JSON: yaml: line 4: could not find expected ':'"},
		{"no Kubebuilder", replace("hack/tools/kubebuilder/go.mod", "sigs.k8s.io/kubebuilder/v4", "sigs.k8s.io/kubebuilder/v5"),
			`hack/tools/kubebuilder/go.mod: no line begins with "sigs.k8s.io/kubebuilder/v4"`},
		{"no Go", replace("api/batch/v1/group.go", "package", "pakage"),
			"read sources in api: api/batch/v1/group.go:4:1: expected 'package', found pakage"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			_, err := check(repository(r.change))
			if err == nil || err.Error() != r.want {
				t.Errorf("error is %v, want %s", err, r.want)
			}
		})
	}
}
