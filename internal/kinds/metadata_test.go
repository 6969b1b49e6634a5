// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
)

// Finalizers and owners in the metadata of whatever a tenant may write down, of each kind and role, are refused with their place, or are in no
// object that is made.
func TestFinalizersAndOwnersAreRefused(t *testing.T) {
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	const evil = "evil.example.org/keep"
	refused := 0
	for _, row := range All() {
		spec, _ := reflect.TypeOf(row.Fields()).Elem().FieldByName("Spec")
		w := leaves{seen: map[reflect.Type]bool{}}
		w.walk(spec.Type, nil)
		if len(w.metas) == 0 {
			t.Errorf("%s has no metadata: the test does not see the fields", row.Plural)
		}
		for _, meta := range w.metas {
			for _, field := range [][]string{{"finalizers", "[]"}, {"ownerReferences", "[]", "name"}} {
				t.Run(row.Kind+"."+row.Group+"/"+strings.Join(append(slices.Clone(meta), field[0]), "."), func(t *testing.T) {
					f := forecastWith(t, row, resolve.Operator{Registry: registry}, evil, append(slices.Clone(meta), field...))
					for _, e := range f.Errors {
						if strings.Contains(e.Error(), evil) && (strings.Contains(e.Field, field[0]) || strings.Contains(e.Detail, field[0])) {
							refused++
							return
						}
					}
					objects, err := f.Objects()
					if err != nil {
						t.Fatal(err)
					}
					text, err := json.Marshal(objects)
					if err != nil {
						t.Fatal(err)
					}
					if strings.Contains(string(text), evil) {
						t.Errorf("it is created: %.2000s", text)
					}
				})
			}
		}
	}
	if refused < 20 {
		t.Errorf("only %d places are refused: the test does not reach the templates", refused)
	}
}

// Keys of properties that an option of a JVM reads otherwise, so that a limit on keys does not see what Spark sees, are refused where they become
// options; odd names that Spark takes are not.
func TestKeysAreNamesOfProperties(t *testing.T) {
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{
		`spark.a=x -Dspark.master.rest.enabled`: false, "spark.a spark.b": false, "spark.a\nspark.b": false, "spark.a\u00a0b": false, "spark.a\u200bb": false,
		`spark."a"`: false, `spark.'a'`: false, `spark.a\`: false, "spark.$(NAME)": false, "spark.a=b": false, "": false, "spark.a ": false,
		"spark.hadoop.fs.s3a.bucket.my-bucket_1.endpoint": true, "spark.hadoop.fs.azure.account.key.a.dfs.core.windows.net": true, "spark.metrics.conf.*.sink.a": true,
		"spark.org.example.Outer$Filter.param.x": true, "spark.kubernetes.driver.annotation.example.org/a": true, "spark.a:b@c#d!e%f,g~h+i[j]{k}<l>|m;n?o&p^q": true,
		"spark.sql.catalog.\u00e9t\u00e9": true,
	}
	for _, row := range All() {
		conf := []string{"sparkConf"}
		if row == ScheduledSparkApplication {
			conf = []string{"template", "sparkConf"}
		}
		for key, good := range keys {
			f := forecastWith(t, row, resolve.Operator{Registry: registry}, "x", append(slices.Clone(conf), key))
			said := f.Errors.ToAggregate()
			if good = good || row != ApacheSparkCluster; good && said != nil { // others have them in a file, where each is escaped
				t.Errorf("%s %s: %q is refused: %v", row.Kind, row.Group, key, said)
			}
			if !good && (said == nil || !strings.Contains(said.Error(), ".sparkConf") || !strings.Contains(said.Error(), "not the name of a property")) {
				t.Errorf("%s %s: %q: it says %v", row.Kind, row.Group, key, said)
			}
		}
	}
}

// forecastWith judges an object with a text at a place of its spec.
func forecastWith(t *testing.T, row *Row, operator resolve.Operator, text string, path []string) Forecast {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(`{metadata: {name: a, namespace: b, uid: c}, spec: `+runnable[row]+`}`), &content); err != nil {
		t.Fatal(err)
	}
	content["spec"] = laid(content["spec"], path, text)
	encoded, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	o, malformed, err := row.Decode(encoded)
	if err != nil || malformed != "" {
		t.Fatal(err, malformed)
	}
	return row.DryRun(o, Assumed{Namespace: "b", UID: "c"}, operator)
}
