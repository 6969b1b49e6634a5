// SPDX-License-Identifier: Apache-2.0

package sparksubmit_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit"
	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit/commandline"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/manifest"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/test/golden"
)

// identity spells the ids as the recordings do.
var identity = spark.Identity{
	AppID:        "spark-" + strings.Repeat("a", 32),
	SubmissionID: "33333333-3333-4333-8333-000000000001",
	NameID:       strings.Repeat("b", 16),
	ConfigMapID:  strings.Repeat("c", 16),
	ServiceID:    strings.Repeat("d", 16),
	LocalDirID:   "11111111-1111-4111-8111-111111111111",
	SubmitTime:   time.UnixMilli(1700000000000),
}

// TestGolden goes the way of a user who comes from spark-submit: the recorded command line becomes a manifest, the
// manifest is read back, checked and built by the operator's own code, and the objects are compared with those that
// spark-submit created. Differences that are meant are in rules_test.go.
func TestGolden(t *testing.T) {
	used := compareAll(t, func(*testing.T, *run) bool { return true })
	for _, rule := range rules {
		t.Logf("deliberate difference %-22s in %4d runs: %s", rule.id, used[rule.id], rule.reason)
	}
}

// compareAll compares each recorded run that is prepared, and returns in how many of them each rule was needed.
func compareAll(t *testing.T, prepare func(*testing.T, *run) bool) (used map[string]int) {
	t.Helper()
	corpus := golden.Open(t, "GOLDEN", "../../spark/testdata/golden.zip")
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	report := golden.NewTally()
	used = map[string]int{}
	for _, recorded := range corpus.Cases(t) {
		t.Run(recorded.Dir, func(t *testing.T) {
			for _, version := range recorded.Versions {
				t.Run(version, func(t *testing.T) {
					r := newRun(t, corpus, recorded, version)
					if !prepare(t, r) {
						return
					}
					outcome, text := r.compare(t, registry)
					report.Add(version, outcome)
					if outcome == golden.Failed {
						t.Error(text)
					}
					if outcome != golden.Matched {
						report.Remark(recorded.Dir, version, text)
					}
					for _, id := range r.applied {
						used[id]++
					}
				})
			}
		})
	}
	t.Log(report)
	return used
}

// run is one recorded run and what became of it here.
type run struct {
	corpus   golden.Corpus
	recorded golden.Case
	version  string
	result   golden.Result
	requests []golden.Request
	machine  commandline.Machine
	command  commandline.Command
	// conf is the configuration that spark-submit read.
	conf map[string]string

	// convert makes the manifest, and rules are the differences that are meant.
	convert func() (v1beta2.SparkApplication, []sparksubmit.Finding, error)
	rules   []rule

	app      v1beta2.SparkApplication
	findings []sparksubmit.Finding
	// driverName is the name that the operator gives to the driver.
	driverName string
	// want and got are the recorded and the built objects.
	want, got []golden.Object
	applied   []string
}

func newRun(t *testing.T, c golden.Corpus, recorded golden.Case, version string) *run {
	t.Helper()
	r := &run{corpus: c, recorded: recorded, version: version, machine: c.Machine(t, recorded), rules: rules}
	r.convert = r.commandLine
	c.Read(t, &r.result, recorded.Dir, version, "result.json")
	r.requests = c.Requests(t, recorded.Dir, version)
	if command, err := commandline.Parse(recorded.Argv); err == nil {
		r.command = command
		major := 4
		if version < "4" {
			major = 3
		}
		r.conf, _ = command.Configuration(r.machine, major)
	}
	return r
}

// compare returns the outcome, and what is to be said about it.
func (r *run) compare(t *testing.T, registry *scheduler.Registry) (golden.Outcome, string) {
	t.Helper()
	submission, err := r.build(t, registry)
	if reason := r.notApplicable(err); reason != "" {
		return golden.NotApplicable, reason
	}
	refused := r.result.ExitCode != 0 && len(r.requests) == 0
	switch {
	case err != nil && (refused || r.result.ExitCode != 0 && r.objected()):
		return golden.Matched, ""
	case refused:
		return golden.Failed, "spark-submit refused: " + strings.Join(r.result.Errors, "; ")
	case err != nil:
		for _, refusal := range refusals {
			if refusal.is(t, r, err) {
				return golden.Deliberate, "refused: " + refusal.reason
			}
		}
		return golden.Failed, "spark-submit accepted, but: " + err.Error()
	}
	r.objects(t, submission)
	for _, rule := range r.rules {
		if rule.apply(r) {
			r.applied = append(r.applied, rule.id)
		}
	}
	if diff := r.difference(t); diff != "" {
		return golden.Failed, diff
	}
	if ids := slices.DeleteFunc(slices.Clone(r.applied), func(id string) bool { return everywhere[id] }); len(ids) > 0 {
		return golden.Deliberate, strings.Join(ids, ", ")
	}
	return golden.Matched, ""
}

// objected is whether the recording API server refused an object by itself, and not because the case told it to.
func (r *run) objected() bool {
	return len(r.recorded.Server.Fail)+len(r.recorded.Server.Exists) == 0 &&
		slices.ContainsFunc(r.requests, func(request golden.Request) bool { return request.Status >= 400 })
}

// undecodable is whether a real API server could not even read a recorded object.
func (r *run) undecodable(t *testing.T) bool {
	t.Helper()
	return slices.ContainsFunc(r.requests, func(request golden.Request) bool {
		_, undecodable := r.corpus.Object(t, r.recorded.Dir, r.version, request)["undecodable"]
		return undecodable
	})
}

// commandLine converts what the user wrote.
func (r *run) commandLine() (v1beta2.SparkApplication, []sparksubmit.Finding, error) {
	return sparksubmit.Convert(sparksubmit.Input{Argv: r.recorded.Argv, Machine: r.machine, SparkVersion: r.result.SparkVersion})
}

// build goes through the manifest to the objects. The error is what a user is told.
func (r *run) build(t *testing.T, registry *scheduler.Registry) (spark.Submission, error) {
	t.Helper()
	app, findings, err := r.convert()
	if err != nil {
		return spark.Submission{}, err
	}
	text, err := manifest.YAML(app)
	if err != nil {
		t.Fatal(err)
	}
	documents, err := manifest.Read(text)
	if err != nil || len(documents) != 1 || documents[0].Object == nil || len(documents[0].Problems) > 0 {
		t.Fatalf("the manifest cannot be read back: %v, %+v\n%s", err, documents, text)
	}
	r.findings, r.app = findings, *documents[0].Object.(*v1beta2.SparkApplication)
	r.app.UID = types.UID("7b0f0a52-0000-4000-8000-000000000001")
	loaded := resolve.Load(kubeflow.SparkApplications{}, &r.app, lifecycle.Record{SubmissionID: identity.SubmissionID}, resolve.Operator{}, identity.SubmitTime)
	r.driverName = loaded.DriverName()
	loaded.Identity = identity
	candidate, result := admission.NewCandidate(loaded, registry, nil)
	if candidate != nil {
		result = candidate.Admit(nil)
	}
	if result.Verdict != scheduler.Admit {
		return spark.Submission{}, errors.New(result.Message)
	}
	return result.Submission, nil
}

// objects reads the recorded and the built objects, with spark.properties as a map.
func (r *run) objects(t *testing.T, s spark.Submission) {
	t.Helper()
	for _, request := range r.requests {
		r.want = append(r.want, r.corpus.Object(t, r.recorded.Dir, r.version, request))
	}
	var resources []golden.Object
	for _, object := range s.Resources {
		resources = append(resources, golden.Stored(t, object))
	}
	r.got = golden.Ordered(resources, golden.Stored(t, s.Driver), r.want)
	groups := golden.GroupsOf(r.conf)
	r.want, r.got = groups.Normalize(r.want, r.version), groups.Normalize(r.got, r.version)
	properties, recorded := r.corpus.Properties(t, r.recorded.Dir, r.version)
	for i, objects := range [][]golden.Object{r.want, r.got} {
		entries := properties.Entries
		if i == 1 {
			entries = s.Properties
		}
		for _, object := range objects {
			data := golden.Child(object, "data")
			if _, ok := data[golden.PropertiesFile]; ok && recorded {
				asMap := golden.Object{}
				for key, value := range entries {
					asMap[key] = value
				}
				data[golden.PropertiesFile] = asMap
			}
		}
	}
	if r.result.ExitCode != 0 {
		// A submission that failed half way wrote only some of its objects.
		r.got = r.got[:min(len(r.got), len(r.want))]
	}
}

// difference is what is left after the rules.
func (r *run) difference(t *testing.T) string {
	t.Helper()
	kinds, names := [2][]string{}, [2][]string{}
	for i, objects := range [][]golden.Object{r.want, r.got} {
		for _, object := range objects {
			kinds[i] = append(kinds[i], golden.KindOf(object))
			names[i] = append(names[i], golden.NameOf(object))
		}
	}
	if diff := cmp.Diff(kinds[0], kinds[1]); diff != "" {
		return "kinds of objects (-recorded +built):\n" + diff
	}
	for i := range r.want {
		// Claims come in the order of a hash map.
		j := slices.Index(names[1], names[0][i])
		if j < 0 {
			return "missing: " + names[0][i]
		}
		if diff := cmp.Diff(r.want[i], r.got[j]); diff != "" {
			return names[0][i] + " (-recorded +built):\n" + diff
		}
	}
	return ""
}

// Users read why objects differ; the list must be the one that the comparison uses.
func TestRulesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/from-spark-submit.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, rule := range rules {
		if row := "| `" + rule.id + "` | " + rule.reason + " |\n"; !strings.Contains(string(page), row) {
			t.Errorf("docs/from-spark-submit.md lacks the row\n%s", row)
		}
		if seen[rule.id] {
			t.Errorf("two rules are called %s", rule.id)
		}
		seen[rule.id] = true
	}
	if rows := strings.Count(string(page), "\n| `"); rows != len(rules) {
		t.Errorf("docs/from-spark-submit.md has %d rules, the comparison %d", rows, len(rules))
	}
}
