// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/testutil/bombs"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

// kindOfBombs is a kind of objects, and what is done with one until it is judged.
type kindOfBombs struct {
	spec reflect.Type
	base string
	// decode reads an object; judge decides about it, and forgets it.
	decode func(text []byte) (judge func(), malformed string, err error)
}

const (
	baseApplication = `{"type":"Scala","sparkVersion":"4.1.1","image":"spark:4.1.1","mainApplicationFile":"local:///a.jar","mainClass":"A","driver":{},"executor":{"instances":1}}`
	baseApache      = `{"runtimeVersions":{"sparkVersion":"4.1.1"},"jars":"local:///a.jar","mainClass":"A","sparkConf":{"spark.kubernetes.container.image":"spark:4.1.1"}}`
	baseServer      = `{"sparkVersion":"4.1.1","image":"spark:4.1.1","server":{},"executor":{"instances":1}}`
)

var kindsOfBombs = map[string]kindOfBombs{
	"SparkApplication": {reflect.TypeFor[v1beta2.SparkApplicationSpec](), baseApplication, func(text []byte) (func(), string, error) {
		o := &v1beta2.SparkApplication{}
		err := json.Unmarshal(text, o)
		return func() {
			Validate(resolve.Load(kubeflow.SparkApplications{}, o, lifecycle.Record{}, resolve.Operator{}, start)).Warnings()
		}, o.MalformedSpec, err
	}},
	"SparkConnect": {reflect.TypeFor[v1alpha1.SparkConnectSpec](), baseServer, func(text []byte) (func(), string, error) {
		o := &v1alpha1.SparkConnect{}
		err := json.Unmarshal(text, o)
		return func() {
			Validate(resolve.Load(kubeflow.SparkConnects{}, o, lifecycle.Record{}, resolve.Operator{}, start)).Warnings()
		}, o.MalformedSpec, err
	}},
	"SparkApplication of spark.apache.org": {reflect.TypeFor[v1.SparkApplicationSpec](), baseApache, func(text []byte) (func(), string, error) {
		o := &v1.SparkApplication{}
		err := json.Unmarshal(text, o)
		return func() {
			Validate(resolve.Load(apache.SparkApplications{}, o, lifecycle.Record{}, resolve.Operator{}, start)).Warnings()
		}, o.MalformedSpec, err
	}},
	"ScheduledSparkApplication": {
		reflect.TypeFor[v1beta2.ScheduledSparkApplicationSpec](), `{"schedule":"@daily","template":` + baseApplication + `}`,
		func(text []byte) (func(), string, error) {
			o := &v1beta2.ScheduledSparkApplication{}
			err := json.Unmarshal(text, o)
			return func() { kubeflow.DesiredSchedule(o) }, o.MalformedSpec, err
		},
	},
}

// cost is what an object takes: bytes allocated by its decoder, bytes allocated until it is judged, and the time of both. kept are
// the bytes of the decoded object, if it was measured exactly.
type cost struct {
	bomb                  bombs.Bomb
	decoded, judged, kept uint64
	took                  time.Duration
}

// costOf measures a bomb within a budget. What is collected while it is judged counts, too: the heap never has more.
func costOf(t *testing.T, k kindOfBombs, b bombs.Bomb, budget bombs.Budget, exactly bool) cost {
	t.Helper()
	spec, err := b.Spec(k.base, budget)
	if err != nil {
		t.Fatal(err)
	}
	c := costOfText(t, k, b.Name, spec, exactly)
	c.bomb = b
	return c
}

func costOfText(t *testing.T, k kindOfBombs, name, spec string, exactly bool) cost {
	t.Helper()
	text := []byte(`{"metadata":{"name":"a","namespace":"b","uid":"c"},"spec":` + spec + `}`)
	var before, decoded, judged, kept runtime.MemStats
	if exactly {
		runtime.GC()
	}
	runtime.ReadMemStats(&before)
	began := cpuTime(t)
	judge, malformed, err := k.decode(text)
	if err != nil || strings.Contains(malformed, "the operator reads at most") {
		t.Fatalf("%s: %v, %s", name, err, malformed)
	}
	runtime.ReadMemStats(&decoded)
	judge()
	took := cpuTime(t) - began
	runtime.ReadMemStats(&judged)
	if exactly {
		runtime.GC()
	}
	runtime.ReadMemStats(&kept)
	runtime.KeepAlive(judge)
	return cost{bombs.Bomb{}, decoded.TotalAlloc - before.TotalAlloc, judged.TotalAlloc - before.TotalAlloc, max(kept.HeapAlloc, before.HeapAlloc) - before.HeapAlloc, took}
}

// cpuTime is what the process has used: other processes do not count.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// most is what may be allocated until an object is judged, and mostTime how long that may take.
const most, mostTime = 64 << 20, 2 * time.Second

// budget is what the decoder takes at most.
var budget = bombs.Budget{Bytes: 512 << 10, Values: 7_000, Nodes: 1_500}

// Whatever a spec is filled with, what it costs until it is judged is bounded. All fields are filled with a part of what is decoded at
// most, and the most expensive of them whole. The worst is executor.template.spec.initContainers.resources.limits with 6,950 quantities:
// it allocates 41 MB and takes 0.1 s of CPU; what is decoded allocates 3 MB of that and keeps 1 MB. With 20,000 values and as many
// objects the worst allocated 250 MB, took 1.8 s and kept 10 MB.
func TestSpecsAreJudgedWithinBudgets(t *testing.T) {
	const worst, part = 8, 16
	small := bombs.Budget{Bytes: budget.Bytes / part, Values: budget.Values / part, Nodes: budget.Nodes / part}
	for name, k := range kindsOfBombs {
		t.Run(name, func(t *testing.T) {
			var all []cost
			for _, b := range bombs.Of(k.spec) {
				all = append(all, costOf(t, k, b, small, false))
			}
			chosen := map[string]bombs.Bomb{}
			for _, of := range []func(c cost) uint64{
				func(c cost) uint64 { return c.decoded }, func(c cost) uint64 { return c.judged }, func(c cost) uint64 { return uint64(c.took) },
			} {
				slices.SortFunc(all, func(a, b cost) int { return cmp.Compare(of(b), of(a)) })
				for _, c := range all[:worst] {
					chosen[c.bomb.Name] = c.bomb
				}
			}
			for _, b := range chosen {
				c := costOf(t, k, b, budget, true)
				t.Logf("%s: decoded with %d KiB, kept in %d KiB, judged with %d KiB within %s", b.Name, c.decoded>>10, c.kept>>10, c.judged>>10, c.took)
				if c.judged > most || c.took > mostTime {
					t.Errorf("%s: judged with %d MiB within %s, want %d MiB and %s at most", b.Name, c.judged>>20, c.took, most>>20, mostTime)
				}
			}
		})
	}
}

// What is compared with each other is no more expensive: two lists that refer to each other, and properties that Spark reads by the
// dozen.
func TestComparisonsAreWithinBudgets(t *testing.T) {
	named := func(n int, element string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(element, i))
		}
		return strings.Join(all, ",")
	}
	volumes, mounts := `[`+named(700, `{"name":"v%d"}`)+`]`, `[`+named(700, `{"name":"v%[1]d","mountPath":"/m%[1]d"}`)+`]`
	specs := map[string]string{}
	for _, role := range []string{"driver", "executor"} {
		specs[role+" volumes"] = `"volumes":` + volumes + `,"` + role + `":{"volumeMounts":` + mounts + `}`
		specs[role+" template"] = `"` + role + `":{"template":{"spec":{"volumes":` + volumes + `,"containers":[{"name":"a","volumeMounts":` + mounts + `}]}}}`
		specs[role+" containers"] = `"` + role + `":{"sidecars":[` + named(700, `{"name":"c%d"}`) + `],"initContainers":[` + named(700, `{"name":"c%d"}`) + `]}`
		specs[role+" env"] = `"` + role + `":{"env":[` + named(700, `{"name":"E%d"}`) + `],"envVars":{` + named(3000, `"E%d":"x"`) + `},"envSecretKeyRefs":{` + named(500, `"E%d":{}`) + `}}`
		specs[role+" mounts"] = `"` + role + `":{"configMaps":[` + named(700, `{"name":"c%[1]d","path":"/c%[1]d"}`) + `],"secrets":[` + named(700, `{"name":"c%[1]d","path":"/c%[1]d"}`) + `]}`
		specs[role+" ports"] = `"` + role + `":{"ports":[` + named(1400, `{"name":"p%[1]d","protocol":"TCP","containerPort":%[1]d}`) + `]}`
		for _, pattern := range []string{
			"volumes.persistentVolumeClaim.v%d.mount.path", "volumes.hostPath.v%d.options.path", "label.l%d", "annotation.a%d", "secrets.s%d", "node.selector.n%d",
			"secretKeyRef.E%d", "service.annotation.a%d",
		} {
			n := 6900
			if strings.HasPrefix(pattern, "volumes.") {
				n = 6000 // the keys are long
			}
			specs[role+" "+pattern] = `"sparkConf":{` + named(n, `"spark.kubernetes.`+role+`.`+pattern+`":"/x"`) + `}`
		}
	}
	specs["driver env properties"] = `"sparkConf":{` + named(6900, `"spark.kubernetes.driverEnv.E%d":"x"`) + `}`
	specs["executor env properties"] = `"sparkConf":{` + named(6900, `"spark.executorEnv.E%d":"x"`) + `}`
	specs["executor resources"] = `"sparkConf":{` + named(6900, `"spark.executor.resource.r%d.amount":"1"`) + `}`
	specs["references"] = `"sparkConf":{` + named(6900, `"spark.a%[1]d":"${spark.b%[1]d}"`) + `}`
	specs["ports"] = `"driverIngressOptions":[` + named(1400, `{"servicePort":%[1]d,"servicePortName":"p%[1]d","ingressURLFormat":"a.b/c%[1]d"}`) + `]`
	specs["tolerations"] = `"executor":{"tolerations":[` + named(1400, `{"key":"k%d"}`) + `]}`
	specs["dependencies"] = `"deps":{"jars":[` + named(3400, `"j%d"`) + `],"files":[` + named(3400, `"j%d"`) + `]}`
	k := kindsOfBombs["SparkApplication"]
	for name, part := range specs {
		t.Run(name, func(t *testing.T) {
			rest := strings.TrimSuffix(strings.NewReplacer(`"driver":{},`, "", `"executor":{"instances":1}`, "").Replace(k.base), "}")
			for _, role := range []string{"driver", "executor"} {
				if !strings.Contains(part, `"`+role+`":{`) {
					rest += `"` + role + `":{},`
				}
			}
			c := costOfText(t, k, name, rest+part+"}", true)
			t.Logf("decoded with %d KiB, kept in %d KiB, judged with %d KiB within %s", c.decoded>>10, c.kept>>10, c.judged>>10, c.took)
			if c.judged > most || c.took > mostTime {
				t.Errorf("judged with %d MiB within %s, want %d MiB and %s at most", c.judged>>20, c.took, most>>20, mostTime)
			}
		})
	}
}

// No text of a spec takes more than others of its size, or is refused as a whole.
func FuzzSpec(f *testing.F) {
	for _, k := range kindsOfBombs {
		f.Add(k.base)
		for i, b := range bombs.Of(k.spec) {
			if i%100 != 0 {
				continue
			}
			spec, err := b.Spec(k.base, bombs.Budget{Bytes: 4 << 10, Values: 400, Nodes: 100})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(spec)
		}
	}
	f.Fuzz(func(t *testing.T, spec string) {
		defer heaptest.Bound(t, len(spec))()
		if !json.Valid([]byte(spec)) || !strings.HasPrefix(strings.TrimSpace(spec), "{") {
			return
		}
		for name, k := range kindsOfBombs {
			judge, malformed, err := k.decode([]byte(`{"metadata":{"name":"a","namespace":"b","uid":"c"},"spec":` + spec + `}`))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if judge(); len(malformed) > len(spec)+1000 {
				t.Errorf("%s: %d bytes say what is wrong with %d", name, len(malformed), len(spec))
			}
		}
	})
}
