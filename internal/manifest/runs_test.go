// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
)

const plainSpec = "spec: {type: Scala, sparkVersion: 4.1.4, image: a/b:c, mainClass: M, mainApplicationFile: 'local:///a.jar', driver: {DRIVER}, executor: {EXECUTOR}}\n"

// What runs is no error (cases 002 to 004).
func TestWhatRunsIsNoError(t *testing.T) {
	const kind = "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\n"
	spec := strings.NewReplacer("DRIVER", "", "EXECUTOR", "").Replace(plainSpec)
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason, text string
		want         []Finding
	}{
		"Generated": {
			"case 004: the API server makes a name of it", kind + "metadata: {generateName: hourly-}\n" + spec,
			[]Finding{{3, Note, "metadata.generateName: the API server chooses the name at kubectl create; checked as hourly-bcdfg. kubectl apply needs metadata.name"}},
		},
		"GeneratedBadly": {
			"case 004: no name can come of it", kind + "metadata: {generateName: Hourly_}\n" + spec,
			[]Finding{
				{3, Note, "metadata.generateName: the API server chooses the name at kubectl create; checked as Hourly_bcdfg. kubectl apply needs metadata.name"},
				{3, Error, `metadata.generateName: invalid SparkApplication name "Hourly_bcdfg": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ` +
					`and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`},
			},
		},
		"NoName": {"nothing to call pods after", kind + "metadata: {}\n" + spec, []Finding{{3, Error, "metadata.name: missing; an application needs a name"}}},
		"NoCPU":  {"case 003: Kubernetes takes 0", head + strings.NewReplacer("DRIVER", `coreRequest: "0"`, "EXECUTOR", `coreRequest: "0", coreLimit: "1"`).Replace(plainSpec), nil},
		"Negative": {
			"case 003: and nothing below", head + strings.NewReplacer("DRIVER", `coreRequest: "-1"`, "EXECUTOR", "").Replace(plainSpec),
			[]Finding{{4, Error, `spec.driver.coreRequest: "-1": not a number of cores; write a Kubernetes quantity that is not negative, such as "500m" or "2"`}},
		},
		"Packages": {
			"case 022: images without a home", head + strings.NewReplacer("DRIVER", "", "EXECUTOR", "", "spec: {", "spec: {deps: {packages: ['o:a:1']}, ").Replace(plainSpec),
			[]Finding{{4, Note, "spec.deps.packages: the driver resolves them into the home of the image's user, which the official images lack; write spark.jars.ivy: /tmp/ivy to spec.sparkConf"}},
		},
		"Ivy":   {"case 022: the place is written", head + strings.NewReplacer("DRIVER", "", "EXECUTOR", "", "spec: {", "spec: {deps: {packages: ['o:a:1']}, sparkConf: {spark.jars.ivy: /tmp/ivy}, ").Replace(plainSpec), nil},
		"Twice": {"case 002: the last counts", head + spec + "metadata: {name: second}\n", []Finding{{5, Warning, "metadata: written twice, in lines 3 and 5; the last one counts"}}},
		"Unserved": {
			"case 014: an early version of Apache's", "apiVersion: spark.apache.org/v1alpha1\nkind: SparkApplication\nmetadata: {name: early}\n",
			[]Finding{{1, Error, "SparkApplication early (spark.apache.org/v1alpha1): spark.apache.org has no such kind; write kind: SparkApplication or SparkCluster, apiVersion: spark.apache.org/v1"}},
		},
	} {
		got := Check(documents(t, tc.text), kinds.Assumed{Namespace: "data", Now: time.Unix(0, 0)}, resolve.Operator{Registry: registry})
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// The API server has 63 characters for a name that it makes, and so has validate.
func TestGeneratedNamesAreBounded(t *testing.T) {
	text := "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {generateName: " + strings.Repeat("a", 70) + "}\n"
	if got, want := documents(t, text)[0].Name, strings.Repeat("a", 58)+madeUp; got != want {
		t.Errorf("the name is %q, want %q", got, want)
	}
}

// What only some versions of Kubernetes refuse is a warning, for each kind that makes a Service of its name.
func TestNamesThatBeginWithADigit(t *testing.T) {
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	const refused = ": Kubernetes before 1.36 refuses the Service "
	const spark4 = "sparkVersion: 4.1.4, image: a"
	app := "{" + spark4 + ", type: Scala, mainClass: A, mainApplicationFile: 'local:///a.jar', driver: {serviceAccount: spark}, executor: {}}"
	for _, tc := range []struct{ kind, version, spec, service string }{
		{"SparkApplication", "sparkoperator.k8s.io/v1beta2", app, "2026-ui-svc"},
		{"ScheduledSparkApplication", "sparkoperator.k8s.io/v1beta2", "{schedule: '@daily', template: " + app + "}", "-ui-svc"},
		{"SparkConnect", "sparkoperator.k8s.io/v1alpha1", "{" + spark4 + ", server: {}, executor: {}}", "2026-server"},
		{"SparkCluster", "spark.apache.org/v1", "{runtimeVersions: {sparkVersion: 4.1.4}, clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 1}}}", "2026-master-svc"},
		{"SparkApplication", "spark.apache.org/v1", "{runtimeVersions: {sparkVersion: 4.1.4}, mainClass: A, jars: 'local:///a.jar', sparkConf: {spark.kubernetes.container.image: a}}", ""},
	} {
		text := "apiVersion: " + tc.version + "\nkind: " + tc.kind + "\nmetadata: {name: '2026'}\nspec: " + tc.spec + "\n"
		found := 0
		for _, f := range Check(documents(t, text), kinds.Assumed{}, resolve.Operator{Registry: registry}) {
			switch {
			case f.Severity == Error:
				t.Errorf("%s of %s: %s", tc.kind, tc.version, f.Message)
			case strings.HasPrefix(f.Message, "metadata.name: ") && strings.Contains(f.Message, refused) && strings.Contains(f.Message, tc.service) && f.Line == 3:
				found++
			case f.Severity == Warning:
				t.Errorf("%s of %s, line %d: %s", tc.kind, tc.version, f.Line, f.Message)
			}
		}
		if want := min(1, len(tc.service)); found != want {
			t.Errorf("%s of %s: %d warnings, want %d", tc.kind, tc.version, found, want)
		}
	}
}

// Case 012, for what Apache's kind attaches to a driver, and for the Service of a server: what the API server refuses is said by path.
func TestAttachedObjectsThatCannotBe(t *testing.T) {
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	const apache = "apiVersion: spark.apache.org/v1\nkind: SparkApplication\nmetadata: {name: report}\nspec:\n  runtimeVersions: {sparkVersion: 4.1.4}\n" +
		"  mainClass: A\n  jars: local:///a.jar\n  sparkConf: {spark.kubernetes.container.image: a}\n  driverServiceIngressList:\n  - "
	const entry = "driverServiceIngressList[0]."
	service := "serviceMetadata: {name: NAME}\n    serviceSpec: {ports: [{port: 4040, name: ui}]}\n    "
	named := func(name string) string { return strings.Replace(service, "NAME", name, 1) }
	ingress := func(spec string) string {
		return named("report-ui") + "ingressMetadata: {name: report-ui}\n    ingressSpec: {" + spec + "}\n"
	}
	rule := func(host string) string {
		return "rules: [{host: '" + host + "', http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: report-ui, port: {number: 4040}}}}]}}]"
	}
	for _, tc := range []struct {
		reason, text string
		want         []string
	}{
		{"right", apache + ingress("tls: [{hosts: [ui.example.org], secretName: ui-certificate}], "+rule("ui.example.org")), nil},
		{"without rules, the operator adds one", apache + ingress(""), nil},
		{"a Secret's name", apache + ingress("tls: [{hosts: [ui.example.org], secretName: UI_Certificate}], "+rule("ui.example.org")), []string{"spec." + entry + `ingressSpec.tls[0].secretName: "UI_Certificate"`}},
		{"a host", apache + ingress(rule("job.<cluster domain>")), []string{"spec." + entry + `ingressSpec.rules[0].host: "job.<cluster domain>"`}},
		{"the name of a Service", apache + named("Report_UI") + "ingressMetadata: {name: report-ui}\n    ingressSpec: {" + rule("ui.example.org") + "}\n", []string{"spec." + entry + `serviceMetadata.name: "Report_UI"`}},
		{"the name of a port", apache + strings.Replace(ingress(rule("a.org")), "name: ui}", "name: UI}", 1), []string{"spec." + entry + `serviceSpec.ports[0].name: "UI"`}},
		{"a server's Service", lab("  server: {service: {spec: {externalTrafficPolicy: Local}}}\n"), []string{"spec.server.service.spec.externalTrafficPolicy"}},
		{"a server's Service is right", lab("  server: {service: {spec: {type: NodePort, externalTrafficPolicy: Local}}}\n"), nil},
	} {
		var got []string
		for _, f := range Check(documents(t, tc.text), kinds.Assumed{}, resolve.Operator{Registry: registry}) {
			if f.Severity == Error || f.Severity == Warning {
				got = append(got, f.Message)
			}
		}
		if len(got) != len(tc.want) || len(got) > 0 && !strings.HasPrefix(got[0], tc.want[0]) {
			t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
		}
	}
}

// Cases 013 and 017 in the other kinds: what has no effect is said by the field of each.
func TestWhatHasNoEffectInOtherKinds(t *testing.T) {
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	const (
		apache = "apiVersion: spark.apache.org/v1\nkind: SparkApplication\nmetadata: {name: pi}\nspec:\n  mainClass: M\n  jars: local:///a.jar\n" +
			"  runtimeVersions: {sparkVersion: 4.1.4}\n  sparkConf: {spark.kubernetes.container.image: a/b:c CONF}\n"
		cluster = "apiVersion: spark.apache.org/v1\nkind: SparkCluster\nmetadata: {name: pool}\nspec:\n  runtimeVersions: {sparkVersion: 4.1.4}\n" +
			"  clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 1}}\n  sparkConf: {CONF}\n"
		sized = "{spec: {containers: [{name: NAME, resources: {requests: {cpu: '3', memory: 6Gi, ephemeral-storage: 5Gi}}}]}}\n"
		unset = "has no effect: Spark has no property of this name; did you mean "
	)
	template := func(name string) string { return strings.Replace(sized, "NAME", name, 1) }
	conf := func(text, more string) string { return strings.Replace(text, "CONF", more, 1) }
	for _, tc := range []struct {
		reason, text string
		want         []string
	}{
		{"Apache's driver", conf(apache, "") + "  driverSpec: {podTemplateSpec: " + strings.TrimSuffix(template("spark-kubernetes-driver"), "\n") + "}\n", []string{
			`spec.driverSpec.podTemplateSpec.spec.containers[0].resources.requests.cpu: "3": has no effect: Spark's container gets 1; write it to spec.sparkConf["spark.driver.cores"]`,
			`spec.driverSpec.podTemplateSpec.spec.containers[0].resources.requests.memory: "6Gi": has no effect: Spark's container gets 1408Mi; write it to spec.sparkConf["spark.driver.memory"], to which an overhead is added`}},
		{"a server's executors", lab("  executor:\n    template: " + template("spark-kubernetes-executor")), []string{
			`spec.executor.template.spec.containers[0].resources.requests.cpu: "3": has no effect: Spark's container gets 1; write it to spec.executor.cores`,
			`spec.executor.template.spec.containers[0].resources.requests.memory: "6Gi": has no effect: Spark's container gets 1408Mi; write it to spec.executor.memory, to which an overhead is added`}},
		{"a server, whose template wins", lab("  server:\n    template: " + template("spark-kubernetes-driver")), nil},
		{"a property in Apache's kind", conf(apache, ", spark.executor.instance: '4'"), []string{`spec.sparkConf["spark.executor.instance"]: ` + unset + `"spark.executor.instances"?`}},
		{"a property that other kinds have a field for", conf(apache, ", spark.kubernetes.image: a"), []string{`spec.sparkConf["spark.kubernetes.image"]: ` + unset + `"spark.kubernetes.container.image"?`}},
		{"a property of a cluster", conf(cluster, "spark.executor.memry: 2g"), []string{`spec.sparkConf["spark.executor.memry"]: ` + unset + `"spark.executor.memory"?`}},
		{"a property of a server", lab("  sparkConf: {spark.executor.instance: '4'}\n"), []string{`spec.sparkConf["spark.executor.instance"]: ` + unset + `"spark.executor.instances"?`}},
	} {
		var got []string
		for _, f := range Check(documents(t, tc.text), kinds.Assumed{}, resolve.Operator{Registry: registry}) {
			if f.Severity == Error || f.Severity == Warning {
				got = append(got, f.Message)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

// Of an id that no object can be named after nothing more is said: nobody has written what is made of it.
func TestIDIsRefusedOnce(t *testing.T) {
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"Fixed_ID", strings.Repeat("a", 64), strings.Repeat("a", 300)} {
		text := "apiVersion: spark.apache.org/v1\nkind: SparkApplication\nmetadata: {name: pi}\nspec:\n  mainClass: M\n  jars: local:///a.jar\n" +
			"  runtimeVersions: {sparkVersion: 4.1.4}\n  sparkConf: {spark.kubernetes.container.image: a, spark.app.id: " + id + "}\n"
		got := Check(documents(t, text), kinds.Assumed{}, resolve.Operator{Registry: registry})
		if len(got) != 1 || !strings.HasPrefix(got[0].Message, `spec.sparkConf["spark.app.id"]`) {
			t.Errorf("%s: %v", id, got)
		}
	}
}
