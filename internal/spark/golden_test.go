// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit/commandline"
	"github.com/firesteel-dev/firesteel/test/golden"
)

// notApplicable are recorded cases that an operator cannot repeat. Everything else must match in every recorded release,
// but for what outOfScope recognizes by itself.
var notApplicable = map[string]string{
	"master-https/3.3": "the recorder's certificate was not accepted",
}

// TestGolden compares Build with recordings of the real spark-submit.
func TestGolden(t *testing.T) {
	corpus := golden.Open(t, "GOLDEN", "testdata/golden.zip")
	report := golden.NewTally()
	for _, recorded := range corpus.Cases(t) {
		machine := corpus.Machine(t, recorded)
		t.Run(recorded.Dir, func(t *testing.T) {
			for _, version := range recorded.Versions {
				t.Run(version, func(t *testing.T) {
					difference, outOfScope := compareCase(t, corpus, recorded, machine, version)
					if reason, ok := notApplicable[recorded.Dir+"/"+version]; ok {
						outOfScope = reason
					}
					switch {
					case outOfScope != "":
						report.Add(version, golden.NotApplicable)
						report.Remark(recorded.Dir, version, "not applicable: "+outOfScope)
					case difference == "":
						report.Add(version, golden.Matched)
					default:
						report.Add(version, golden.Failed)
						report.Remark(recorded.Dir, version, difference)
						t.Error(difference)
					}
				})
			}
		})
	}
	t.Log(report)
}

// compareCase returns what is different from the recording, "" if nothing is, or why there is nothing to compare.
func compareCase(
	t *testing.T, c golden.Corpus, recorded golden.Case, m commandline.Machine, version string,
) (difference, outOfScope string) {
	t.Helper()
	var result golden.Result
	c.Read(t, &result, recorded.Dir, version, "result.json")
	profile, err := ProfileFor(strings.TrimSuffix(version, "-jdk25"))
	if err != nil {
		return err.Error(), ""
	}
	app, id, err := application(recorded.Argv, m, result.SparkVersion)
	if errors.Is(err, commandline.ErrNotSubmission) {
		return "", err.Error()
	}
	var submission Submission
	if err == nil {
		submission, err = Build(app, id, profile)
	}
	requests := c.Requests(t, recorded.Dir, version)
	switch {
	case result.ExitCode != 0 && len(requests) == 0 && err != nil:
		return refusal(err), ""
	case result.ExitCode != 0 && len(requests) == 0:
		reason := strings.Join(result.Errors, "; ")
		return "spark-submit refused: " + reason, clientFailure(reason)
	case err != nil && refusedByServer(t, c, recorded, version, requests):
		return refusal(err), ""
	case err != nil:
		return "spark-submit accepted, Build refused: " + err.Error(), needsUpload(err)
	}
	// A submission that failed half way wrote only some of its objects.
	return compareSubmission(t, c, recorded.Dir, version, submission, app, result.ExitCode == 0, requests), ""
}

// clientFailure recognizes failures of the recording machine, which had neither stores nor repositories.
func clientFailure(reason string) string {
	for _, text := range []string{"Class org.apache.hadoop.fs.", "unresolved dependency"} {
		if strings.Contains(reason, text) {
			return "the recording machine could not reach what the driver can"
		}
	}
	return ""
}

// needsUpload recognizes applications with files on the disk of the client.
func needsUpload(err error) string {
	if conf, ok := errors.AsType[*ConfError](err); ok && conf.Problem == notUploaded {
		return "uploads files of the client's disk"
	}
	return ""
}

// refusedByServer is whether an API server refuses what spark-submit sends, so that it may be refused earlier: it does
// not even decode, or the recording server objected to the pod.
func refusedByServer(
	t *testing.T, c golden.Corpus, recorded golden.Case, version string, requests []golden.Request,
) bool {
	t.Helper()
	if len(recorded.Server.Fail)+len(recorded.Server.Exists) > 0 {
		return false
	}
	return slices.ContainsFunc(requests, func(request golden.Request) bool {
		_, undecodable := c.Object(t, recorded.Dir, version, request)["undecodable"]
		return undecodable || request.Status >= 400
	})
}

// refusal checks that a refusal tells the user what to change.
func refusal(err error) string {
	conf, ok := errors.AsType[*ConfError](err)
	if ok && (conf.Key == "" && conf.Field == "" || conf.Problem == "") {
		return fmt.Sprintf("the refusal %#v names no property or no problem", conf)
	}
	return ""
}

func compareSubmission(
	t *testing.T, c golden.Corpus, dir, version string, s Submission, app Application, complete bool, requests []golden.Request,
) string {
	t.Helper()
	var want, got []string
	var wanted, resources []golden.Object
	for _, request := range requests {
		object := c.Object(t, dir, version, request)
		wanted = append(wanted, object)
		want = append(want, golden.KindOf(object))
	}
	for _, object := range s.Resources {
		resources = append(resources, golden.Stored(t, object))
	}
	ours := golden.Ordered(resources, golden.Stored(t, s.Driver), wanted)
	for _, object := range ours {
		got = append(got, golden.KindOf(object))
	}
	if !complete {
		got = got[:min(len(got), len(want))]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return "kinds of objects (-recorded +built):\n" + diff
	}
	groups := golden.GroupsOf(app.Conf)
	ours = groups.Normalize(ours, version)
	for _, object := range groups.Normalize(wanted, version) {
		key := golden.NameOf(object)
		i := slices.IndexFunc(ours, func(our golden.Object) bool { return key == golden.NameOf(our) })
		if i < 0 {
			return "missing: " + key
		}
		if diff := cmp.Diff(object, ours[i]); diff != "" {
			return key + " (-recorded +built):\n" + diff
		}
	}
	return compareProperties(t, c, dir, version, s)
}

// compareProperties compares the text of spark.properties: its comments, its lines as a set, and what they say.
func compareProperties(t *testing.T, c golden.Corpus, dir, version string, s Submission) string {
	t.Helper()
	recorded, ok := c.Properties(t, dir, version)
	if !ok {
		return "" // the submission failed before
	}
	driverMap, ok := s.Resources[len(s.Resources)-1].(*corev1.ConfigMap)
	if !ok {
		return "the last object is not the driver's ConfigMap"
	}
	lines := strings.Split(strings.TrimSuffix(driverMap.Data[propertiesFile], "\n"), "\n")
	recorded.Comments[1] = "#Tue Nov 14 22:13:20 UTC 2023"
	if diff := cmp.Diff(recorded.Comments, lines[:2]); diff != "" {
		return "comments of spark.properties (-recorded +built):\n" + diff
	}
	ours := slices.Sorted(slices.Values(lines[2:]))
	if diff := cmp.Diff(recorded.Lines, ours); diff != "" {
		return "lines of spark.properties (-recorded +built):\n" + diff
	}
	if diff := cmp.Diff(recorded.Entries, s.Properties); diff != "" {
		return "properties (-recorded +built):\n" + diff
	}
	return ""
}
