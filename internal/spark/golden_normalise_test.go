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

package spark

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// apiTypes are the kinds that are compared as the API server would store them.
var apiTypes = map[string]func() any{
	"Pod":                   func() any { return &corev1.Pod{} },
	"Service":               func() any { return &corev1.Service{} },
	"Secret":                func() any { return &corev1.Secret{} },
	"ConfigMap":             func() any { return &corev1.ConfigMap{} },
	"PersistentVolumeClaim": func() any { return &corev1.PersistentVolumeClaim{} },
	"NetworkPolicy":         func() any { return &networkingv1.NetworkPolicy{} },
}

// stored encodes an object, decodes it into its API type and encodes it again.
func stored(t *testing.T, object any) map[string]any {
	t.Helper()
	content, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var kind struct{ Kind string }
	_ = json.Unmarshal(content, &kind)
	if typed, ok := apiTypes[kind.Kind]; ok {
		into := typed()
		if err := json.Unmarshal(content, into); err != nil {
			return map[string]any{"kind": kind.Kind, "undecodable": err.Error()}
		}
		content, _ = json.Marshal(into)
	}
	var generic map[string]any
	if err := json.Unmarshal(content, &generic); err != nil {
		t.Fatal(err)
	}
	delete(generic, "status")
	metadata := child(generic, "metadata")
	delete(metadata, "creationTimestamp")
	if kind.Kind != "Pod" {
		delete(metadata, "ownerReferences")
	}
	return generic
}

// xID and plainID are how the recordings spell the id in names that consist of nothing else: it depends on the random id
// whether Spark replaces its first digit.
const (
	xID     = "xbbbbbbbbbbbbbbb"
	plainID = "bbbbbbbbbbbbbbbb"
)

// decodeRecorded reads a recorded body and adds the namespace that it was sent to.
func decodeRecorded(t *testing.T, c corpus, dir, version string, request recordedRequest) map[string]any {
	t.Helper()
	content, err := fs.ReadFile(c.fs, path.Join(dir, version, request.Body))
	if err != nil {
		t.Fatal(err)
	}
	object := stored(t, json.RawMessage(bytes.ReplaceAll(content, []byte(xID), []byte(plainID))))
	_, rest, _ := strings.Cut(request.Path, "/namespaces/")
	namespace, _, _ := strings.Cut(rest, "/")
	child(object, "metadata")["namespace"] = namespace
	return object
}

// ourObjects returns what Build made in the order in which Spark sends it: the pod where the recording has it.
func ourObjects(t *testing.T, s Submission, recorded []string) []map[string]any {
	t.Helper()
	var objects []map[string]any
	for _, object := range s.Resources {
		objects = append(objects, stored(t, object))
	}
	at := slices.Index(recorded, "Pod")
	if at < 0 {
		at = len(recorded)
	}
	return slices.Insert(objects, min(at, len(objects)), stored(t, s.Driver))
}

func kindOfObject(object map[string]any) string {
	kind, _ := object["kind"].(string)
	return kind
}

// child returns a nested object, empty if it is missing.
func child(object map[string]any, keys ...string) map[string]any {
	for _, name := range keys {
		next, ok := object[name].(map[string]any)
		if !ok {
			return map[string]any{}
		}
		object = next
	}
	return object
}

// claimNames maps the name of a claim to the volume that refers to it: the number in the name follows the order of a
// hash map.
type claimNames map[string]string

func claimsOf(objects []map[string]any) claimNames {
	names := claimNames{}
	for _, object := range objects {
		volumes, _ := child(object, "spec")["volumes"].([]any)
		for _, v := range volumes {
			volume := v.(map[string]any)
			if name, ok := child(volume, "persistentVolumeClaim")["claimName"].(string); ok &&
				strings.Contains(name, "-driver-pvc-") {
				before, after, _ := strings.Cut(name, "-driver-pvc-")
				names[name] = before + "-driver-pvc-of-" + volume["name"].(string) + strings.TrimLeft(after, "0123456789")
			}
		}
	}
	return names
}

// groups tells which variables, volumes and mounts come from a prefix family, whose order is that of a hash map.
type groups struct {
	env, volumes map[string]string
}

func groupsOf(app Application) groups {
	g := groups{map[string]string{}, map[string]string{}}
	for key := range app.Conf {
		if name, ok := strings.CutPrefix(key, ConfDriverEnvPrefix); ok {
			g.env[name] = "driverEnv"
		} else if name, ok := strings.CutPrefix(key, ConfDriverSecretKeyRefPrefix); ok {
			g.env[name] = "secretKeyRef"
		} else if name, ok := strings.CutPrefix(key, ConfDriverSecretsPrefix); ok {
			g.volumes[name+"-volume"] = "secrets"
		} else if rest, ok := strings.CutPrefix(key, ConfDriverVolumesPrefix); ok {
			if parts := strings.Split(rest, "."); len(parts) > 1 {
				g.volumes[parts[1]] = "volumes"
			}
		}
	}
	return g
}

// normalise brings what has no order in Spark into one, within its group.
func (g groups) normalise(objects []map[string]any, version string) []map[string]any {
	claims := claimsOf(objects)
	for _, object := range objects {
		metadata := child(object, "metadata")
		if name, ok := claims[asText(metadata["name"])]; ok {
			metadata["name"] = name
		}
		data := child(object, "data")
		if text, ok := data[propertiesFile].(string); ok && strings.HasPrefix(text, propertiesComment) {
			data[propertiesFile] = normaliseText(text, version)
		}
		if object["kind"] == "Pod" {
			g.normalisePod(child(object, "spec"), claims, version)
		}
	}
	return objects
}

func (g groups) normalisePod(spec map[string]any, claims claimNames, version string) {
	sortRuns(spec["volumes"], g.volumes)
	volumes, _ := spec["volumes"].([]any)
	for _, v := range volumes {
		volume := v.(map[string]any)
		claim := child(volume, "persistentVolumeClaim")
		if name, ok := claims[asText(claim["claimName"])]; ok {
			claim["claimName"] = name
		}
		if items, ok := child(volume, "configMap")["items"].([]any); ok && volume["name"] == "hadoop-properties" {
			// The order is that of the directory on the recording machine.
			slices.SortFunc(items, func(x, y any) int {
				return cmp.Compare(asText(x.(map[string]any)["key"]), asText(y.(map[string]any)["key"]))
			})
		}
	}
	containers, _ := spec["containers"].([]any)
	for _, c := range containers {
		container := c.(map[string]any)
		sortRuns(container["env"], g.env)
		sortRuns(container["volumeMounts"], g.volumes)
		if version >= "3.4" {
			g.sortScratch(container)
		}
	}
}

// normaliseText drops the date, and the order where it is that of a hash map (JDK 17).
func normaliseText(text, version string) string {
	lines := strings.Split(text, "\n")
	lines = slices.Delete(lines, 1, 2)
	if !strings.HasSuffix(version, "-jdk25") {
		slices.Sort(lines)
	}
	return strings.Join(lines, "\n")
}

// sortScratch sorts the directories of SPARK_LOCAL_DIRS, which Spark shuffles since 3.4.
func (g groups) sortScratch(container map[string]any) {
	env, _ := container["env"].([]any)
	for _, e := range env {
		if variable := e.(map[string]any); variable["name"] == "SPARK_LOCAL_DIRS" {
			dirs := strings.Split(asText(variable["value"]), ",")
			slices.Sort(dirs)
			variable["value"] = strings.Join(dirs, ",")
		}
	}
	var scratch []map[string]any
	var paths []string
	mounts, _ := container["volumeMounts"].([]any)
	for _, m := range mounts {
		mount := m.(map[string]any)
		name := asText(mount["name"])
		if strings.HasPrefix(name, localDirVolumePrefix) && g.volumes[name] == "" {
			scratch = append(scratch, mount)
			paths = append(paths, asText(mount["mountPath"]))
		}
	}
	slices.Sort(paths)
	for i := range scratch {
		scratch[i]["mountPath"] = paths[i]
	}
}

// sortRuns sorts neighbours of the same group by name.
func sortRuns(list any, groups map[string]string) {
	items, _ := list.([]any)
	name := func(i int) string { return asText(items[i].(map[string]any)["name"]) }
	for from := 0; from < len(items); {
		to := from + 1
		for to < len(items) && groups[name(from)] != "" && groups[name(to)] == groups[name(from)] {
			to++
		}
		slices.SortStableFunc(items[from:to], func(x, y any) int {
			return cmp.Compare(asText(x.(map[string]any)["name"]), asText(y.(map[string]any)["name"]))
		})
		from = to
	}
}

func asText(value any) string {
	text, _ := value.(string)
	return text
}

// compareProperties compares the text of spark.properties: its comments, its lines as a set, and what they say.
func compareProperties(t *testing.T, c corpus, dir, version string, s Submission) string {
	t.Helper()
	var recorded struct {
		Comments []string
		Entries  map[string]string
		Lines    []string
	}
	if _, err := fs.Stat(c.fs, path.Join(dir, version, "properties-driver.json")); err != nil {
		return "" // the submission failed before
	}
	c.read(t, &recorded, dir, version, "properties-driver.json")
	driverMap, ok := s.Resources[len(s.Resources)-1].(*corev1.ConfigMap)
	if !ok {
		return "the last object is not the driver's ConfigMap"
	}
	text := driverMap.Data[propertiesFile]
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range recorded.Lines {
		recorded.Lines[i] = strings.ReplaceAll(line, xID, plainID)
	}
	for key, value := range recorded.Entries {
		recorded.Entries[key] = strings.ReplaceAll(value, xID, plainID)
	}
	recorded.Comments[1] = "#Tue Nov 14 22:13:20 UTC 2023"
	if diff := gocmp.Diff(recorded.Comments, lines[:2]); diff != "" {
		return "comments of spark.properties (-recorded +built):\n" + diff
	}
	ours := slices.Sorted(slices.Values(lines[2:]))
	if diff := gocmp.Diff(recorded.Lines, ours); diff != "" {
		return "lines of spark.properties (-recorded +built):\n" + diff
	}
	if diff := gocmp.Diff(recorded.Entries, s.Properties); diff != "" {
		return "properties (-recorded +built):\n" + diff
	}
	return ""
}
