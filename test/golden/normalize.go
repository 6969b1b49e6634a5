// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

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

// Object is a Kubernetes object as JSON has it.
type Object = map[string]any

// Stored encodes an object, decodes it into its API type and encodes it again, as the API server would.
func Stored(t *testing.T, object any) Object {
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
			return Object{"kind": kind.Kind, "undecodable": err.Error()}
		}
		content, _ = json.Marshal(into)
	}
	var generic Object
	if err := json.Unmarshal(content, &generic); err != nil {
		t.Fatal(err)
	}
	delete(generic, "status")
	metadata := Child(generic, "metadata")
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

// Object reads a recorded body and adds the namespace that it was sent to.
func (c Corpus) Object(t *testing.T, dir, version string, request Request) Object {
	t.Helper()
	content, err := c.ReadFile(dir, version, request.Body)
	if err != nil {
		t.Fatal(err)
	}
	object := Stored(t, json.RawMessage(bytes.ReplaceAll(content, []byte(xID), []byte(plainID))))
	_, rest, _ := strings.Cut(request.Path, "/namespaces/")
	namespace, _, _ := strings.Cut(rest, "/")
	Child(object, "metadata")["namespace"] = namespace
	return object
}

// Ordered returns the built objects in the order in which Spark sends them, with the pod at its recorded place.
func Ordered(resources []Object, driver Object, recorded []Object) []Object {
	at := slices.IndexFunc(recorded, func(o Object) bool { return KindOf(o) == "Pod" })
	if at < 0 {
		at = len(recorded)
	}
	return slices.Insert(slices.Clone(resources), min(at, len(resources)), driver)
}

// KindOf returns the kind of an object.
func KindOf(object Object) string {
	kind, _ := object["kind"].(string)
	return kind
}

// NameOf returns the kind and the name of an object.
func NameOf(object Object) string {
	return KindOf(object) + " " + Text(Child(object, "metadata")["name"])
}

// Child returns a nested object, empty if it is missing.
func Child(object Object, keys ...string) Object {
	for _, name := range keys {
		next, ok := object[name].(Object)
		if !ok {
			return Object{}
		}
		object = next
	}
	return object
}

// PropertiesFile is the key of Spark's configuration in the driver's ConfigMap.
const PropertiesFile = "spark.properties"

// claimNames maps the name of a claim to the volume that refers to it: the number in the name follows the order of a
// hash map.
type claimNames map[string]string

func claimsOf(objects []Object) claimNames {
	names := claimNames{}
	for _, object := range objects {
		volumes, _ := Child(object, "spec")["volumes"].([]any)
		for _, v := range volumes {
			volume := v.(Object)
			if name, ok := Child(volume, "persistentVolumeClaim")["claimName"].(string); ok &&
				strings.Contains(name, "-driver-pvc-") {
				before, after, _ := strings.Cut(name, "-driver-pvc-")
				names[name] = before + "-driver-pvc-of-" + volume["name"].(string) + strings.TrimLeft(after, "0123456789")
			}
		}
	}
	return names
}

// Groups identifies variables, volumes and mounts of a prefix family, whose order is that of a hash map.
type Groups struct {
	env, volumes map[string]string
}

// GroupsOf finds the families in a configuration.
func GroupsOf(conf map[string]string) Groups {
	g := Groups{map[string]string{}, map[string]string{}}
	for key := range conf {
		if name, ok := strings.CutPrefix(key, "spark.kubernetes.driverEnv."); ok {
			g.env[name] = "driverEnv"
		} else if name, ok := strings.CutPrefix(key, "spark.kubernetes.driver.secretKeyRef."); ok {
			g.env[name] = "secretKeyRef"
		} else if name, ok := strings.CutPrefix(key, "spark.kubernetes.driver.secrets."); ok {
			g.volumes[name+"-volume"] = "secrets"
		} else if rest, ok := strings.CutPrefix(key, "spark.kubernetes.driver.volumes."); ok {
			if parts := strings.Split(rest, "."); len(parts) > 1 {
				g.volumes[parts[1]] = "volumes"
			}
		}
	}
	return g
}

// Normalize brings what has no order in Spark into one, within its group.
func (g Groups) Normalize(objects []Object, version string) []Object {
	claims := claimsOf(objects)
	for _, object := range objects {
		metadata := Child(object, "metadata")
		if name, ok := claims[Text(metadata["name"])]; ok {
			metadata["name"] = name
		}
		data := Child(object, "data")
		if text, ok := data[PropertiesFile].(string); ok && strings.HasPrefix(text, "#Java properties built") {
			data[PropertiesFile] = normalizeText(text, version)
		}
		if strings.HasSuffix(Text(metadata["name"]), "-driver-podspec-conf-map") {
			delete(object, "immutable") // Firesteel's can be changed, so that an edit reaches a running driver
		}
		if object["kind"] == "Pod" {
			g.normalizePod(Child(object, "spec"), claims, version)
		}
	}
	return objects
}

func (g Groups) normalizePod(spec Object, claims claimNames, version string) {
	sortRuns(spec["volumes"], g.volumes)
	volumes, _ := spec["volumes"].([]any)
	for _, v := range volumes {
		volume := v.(Object)
		claim := Child(volume, "persistentVolumeClaim")
		if name, ok := claims[Text(claim["claimName"])]; ok {
			claim["claimName"] = name
		}
		if items, ok := Child(volume, "configMap")["items"].([]any); ok && volume["name"] == "hadoop-properties" {
			// The order is that of the directory on the recording machine.
			slices.SortFunc(items, func(x, y any) int {
				return cmp.Compare(Text(x.(Object)["key"]), Text(y.(Object)["key"]))
			})
		}
	}
	containers, _ := spec["containers"].([]any)
	for _, c := range containers {
		container := c.(Object)
		sortRuns(container["env"], g.env)
		sortRuns(container["volumeMounts"], g.volumes)
		if version >= "3.4" {
			g.sortScratch(container)
		}
	}
}

// normalizeText drops the date, and the order where it is that of a hash map (JDK 17).
func normalizeText(text, version string) string {
	lines := strings.Split(text, "\n")
	lines = slices.Delete(lines, 1, 2)
	if !strings.HasSuffix(version, "-jdk25") {
		slices.Sort(lines)
	}
	return strings.Join(lines, "\n")
}

// sortScratch sorts the directories of SPARK_LOCAL_DIRS, which Spark shuffles since 3.4.
func (g Groups) sortScratch(container Object) {
	env, _ := container["env"].([]any)
	for _, e := range env {
		if variable := e.(Object); variable["name"] == "SPARK_LOCAL_DIRS" {
			dirs := strings.Split(Text(variable["value"]), ",")
			slices.Sort(dirs)
			variable["value"] = strings.Join(dirs, ",")
		}
	}
	var scratch []Object
	var paths []string
	mounts, _ := container["volumeMounts"].([]any)
	for _, m := range mounts {
		mount := m.(Object)
		name := Text(mount["name"])
		if strings.HasPrefix(name, "spark-local-dir-") && g.volumes[name] == "" {
			scratch = append(scratch, mount)
			paths = append(paths, Text(mount["mountPath"]))
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
	name := func(i int) string { return Text(items[i].(Object)["name"]) }
	for from := 0; from < len(items); {
		to := from + 1
		for to < len(items) && groups[name(from)] != "" && groups[name(to)] == groups[name(from)] {
			to++
		}
		slices.SortStableFunc(items[from:to], func(x, y any) int {
			return cmp.Compare(Text(x.(Object)["name"]), Text(y.(Object)["name"]))
		})
		from = to
	}
}

// Text returns a value that should be a text, "" if it is none.
func Text(value any) string {
	text, _ := value.(string)
	return text
}

// Properties are the recorded spark.properties.
type Properties struct {
	Comments []string          `json:"comments"`
	Entries  map[string]string `json:"entries"`
	Lines    []string          `json:"lines"`
}

// Properties reads properties-driver.json; false if the submission failed before they were written.
func (c Corpus) Properties(t *testing.T, dir, version string) (Properties, bool) {
	t.Helper()
	var recorded Properties
	if _, err := c.ReadFile(dir, version, "properties-driver.json"); err != nil {
		return recorded, false
	}
	c.Read(t, &recorded, dir, version, "properties-driver.json")
	for i, line := range recorded.Lines {
		recorded.Lines[i] = strings.ReplaceAll(line, xID, plainID)
	}
	for key, value := range recorded.Entries {
		recorded.Entries[key] = strings.ReplaceAll(value, xID, plainID)
	}
	return recorded, true
}
