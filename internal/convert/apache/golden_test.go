// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/spark/v1beta1"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/test/golden"
)

// recording is a recorded case of Apache's operator (testdata/README.md).
type recording struct {
	dir, namespace, conf string
	app                  *v1.SparkApplication
	before               []golden.Object
	steps                []recordedStep
	writes               []write
	sequence             []string
	expected             expected
	recordedAttempt      *v1.AttemptInfo
}

// write is an entry of writes.json.
type write struct {
	Body     any
	Code     int
	Resource string
	Verb     string
	Refused  struct{ Message, Reason string }
}

// object is what was created or applied, if it was.
func (w write) object() (golden.Object, bool) {
	object, ok := w.Body.(golden.Object)
	return object, ok && !strings.HasPrefix(w.Resource, "spark") && (w.Verb == "create" || w.Verb == "patch")
}

// recordings are those of applications.
func recordings(t *testing.T) []recording {
	t.Helper()
	corpus := golden.Open(t, "GOLDEN_APACHE", "testdata/golden.zip")
	var all []recording
	for _, c := range corpus.Cases(t) {
		var input struct {
			Manifest        json.RawMessage
			Namespace, Conf string
			Before          []golden.Object
			Steps           []recordedStep
		}
		var states recordedStates
		r := recording{dir: c.Dir}
		corpus.Read(t, &input, c.Dir, "case.json")
		corpus.Read(t, &states, c.Dir, "states.json")
		if _, err := corpus.ReadFile(c.Dir, "writes.json"); err == nil {
			corpus.Read(t, &r.writes, c.Dir, "writes.json")
		}
		var kind struct{ APIVersion, Kind string }
		decode(t, input.Manifest, &kind)
		if kind.Kind != "SparkApplication" {
			continue
		}
		if strings.HasSuffix(kind.APIVersion, "/v1beta1") { // theirs drops what that version does not have
			var old v1beta1.SparkApplication
			decode(t, input.Manifest, &old)
			input.Manifest = encode(t, old)
		}
		r.app, r.namespace, r.sequence = &v1.SparkApplication{}, input.Namespace, states.Sequence
		r.conf, r.before, r.steps = input.Conf, input.Before, input.Steps
		var stored map[string]any
		if _, err := corpus.ReadFile(c.Dir, "stored.json"); err == nil {
			corpus.Read(t, &stored, c.Dir, "stored.json")
		}
		decode(t, input.Manifest, r.app)
		r.app.Namespace = r.namespace
		r.expected = expectedOf(&r, states, stored)
		all = append(all, r)
	}
	return all
}

func decode(t *testing.T, content []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(content, into); err != nil {
		t.Fatal(err)
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	content, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// attempts are the recorded objects of each attempt: those of its driver, and what was created or applied after it. What the API server
// refused is among them.
func (r recording) attempts(t *testing.T) [][]golden.Object {
	t.Helper()
	var all [][]golden.Object
	for _, w := range r.writes {
		body, ok := w.object()
		if !ok {
			continue
		}
		object := golden.Stored(t, recorded(body))
		if golden.KindOf(object) == "Pod" {
			all = append(all, nil)
		}
		// The ConfigMaps of the user's come first, and are applied once more with their labels.
		if _, labeled := golden.Child(object, "metadata", "labels")[spark.LabelRole]; labeled {
			all[len(all)-1] = append(all[len(all)-1], object)
		}
	}
	return all
}

// recorded writes the configuration of a ConfigMap as a text.
func recorded(object golden.Object) golden.Object {
	data := golden.Child(object, "data")
	if properties, ok := data[golden.PropertiesFile].(golden.Object); ok {
		var lines []string
		for _, part := range []string{"comments", "lines"} {
			for _, line := range properties[part].([]any) {
				lines = append(lines, line.(string))
			}
		}
		data[golden.PropertiesFile] = strings.Join(lines, "\n") + "\n"
	}
	return object
}

var scratchDir = regexp.MustCompile(`spark-[0-9a-f]{8}-[0-9a-f-]{27}`)

// built are the objects of an attempt.
func built(t *testing.T, app spark.Application, id spark.Identity) ([]golden.Object, error) {
	t.Helper()
	profile, err := spark.ProfileOf(app)
	if err != nil {
		return nil, err
	}
	s, err := spark.Build(app, id, profile)
	if err != nil {
		return nil, err
	}
	objects := []golden.Object{golden.Stored(t, s.Driver)}
	for _, o := range s.Resources {
		objects = append(objects, golden.Stored(t, o))
	}
	var plain []golden.Object
	decode(t, scratchDir.ReplaceAll(encode(t, objects), []byte("spark-<uuid>")), &plain)
	return plain, nil
}

// templateFile is in the recorded configuration of a driver with a template: a file of the operator's that was gone when anybody could read it
// (docs/migrate-from-apache.md).
const templateFile = "spark.kubernetes.driver.podTemplateFile=<template file>\n"

// compared brings objects into the form in which they are compared. differs says that what differs on purpose was left out.
func compared(t *testing.T, objects []golden.Object, conf map[string]string) (all map[string]golden.Object, differs bool) {
	t.Helper()
	all = map[string]golden.Object{}
	for _, o := range golden.GroupsOf(conf).Normalize(objects, "4.2") {
		delete(golden.Child(o, "metadata"), "ownerReferences")
		data := golden.Child(o, "data")
		if text, ok := data[golden.PropertiesFile].(string); ok {
			differs = differs || strings.Contains(text, templateFile)
			data[golden.PropertiesFile] = strings.ReplaceAll(text, templateFile, "")
		}
		if text, ok := data["podspec-configmap-key"].(string); ok {
			template, err := spark.ParseTemplate(text) // JSON there, YAML here
			if err != nil {
				t.Fatal(err)
			}
			data["podspec-configmap-key"] = string(encode(t, template))
		}
		all[golden.NameOf(o)] = o
	}
	return all, differs
}

// Every recorded manifest and status has a place for each of its fields.
func TestGoldenFields(t *testing.T) {
	corpus := golden.Open(t, "GOLDEN_APACHE", "testdata/golden.zip")
	for _, r := range recordings(t) {
		if unknown := r.app.UnknownFields; len(unknown) > 0 {
			t.Errorf("%s: unknown fields %v", r.dir, unknown)
		}
		var states struct{ Final any }
		corpus.Read(t, &states, r.dir, "states.json")
		final, ok := states.Final.(golden.Object)
		if !ok {
			continue // it is gone
		}
		var status v1.SparkApplicationStatus
		decoder := json.NewDecoder(bytes.NewReader(encode(t, timed(golden.Child(final, "status")))))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&status); err != nil {
			t.Errorf("%s: status: %v", r.dir, err)
		}
	}
}

// timed puts a time where the recordings have a word for it, and a text where they have the parts of a message.
func timed(value any) any {
	switch value := value.(type) {
	case string:
		return strings.ReplaceAll(value, "<time>", "2026-01-01T00:00:00Z")
	case []any:
		for i := range value {
			value[i] = timed(value[i])
		}
	case golden.Object:
		for key := range value {
			if _, parts := value[key].(golden.Object); parts && key == "message" {
				value[key] = ""
			}
			value[key] = timed(value[key])
		}
	}
	return value
}

// TestGoldenObjects builds every recorded application and compares its objects with those that Apache's operator created. GOLDEN_APACHE
// names a folder with other recordings.
func TestGoldenObjects(t *testing.T) {
	tally := golden.NewTally()
	for _, r := range recordings(t) {
		t.Run(r.dir, func(t *testing.T) {
			outcome := golden.Matched
			defer func() {
				if t.Failed() {
					outcome = golden.Failed
				}
				tally.Add("objects", outcome)
			}()
			app, problems := Normalize(r.app)
			attempts := r.attempts(t)
			if len(attempts) == 0 {
				_, err := built(t, app, Identity(r.app, 1, time.Now()))
				unbuildable := slices.Contains(r.sequence, string(v1.StateSchedulingFailure)) || slices.Contains(r.sequence, string(v1.StateFailed))
				if refused := err != nil || len(problems) > 0; refused != unbuildable {
					t.Errorf("refused: %t (%v, %v), recorded are %v", refused, err, problems, r.sequence)
				}
				return
			}
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			for i, want := range attempts {
				objects, err := built(t, app, Identity(r.app, int32(i+1), time.Now()))
				if err != nil {
					t.Fatal(err)
				}
				got, _ := compared(t, objects, app.Conf)
				recorded, differs := compared(t, want, app.Conf)
				if differs {
					outcome = golden.Deliberate
				}
				for name, object := range recorded {
					if diff := cmp.Diff(object, got[name]); diff != "" {
						t.Errorf("attempt %d, %s (-recorded +built):\n%s", i, name, diff)
					}
				}
				if last := want[len(want)-1]; len(want) > 1 && len(got) != len(recorded) {
					t.Errorf("attempt %d: %d objects, recorded are %d; the last is %s", i, len(got), len(recorded), golden.NameOf(last))
				}
			}
		})
	}
	t.Log(tally)
}
