// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

func attempt(change ...func(*spark.Application)) Attempt {
	app := testutil.Model(change...)
	owner := kubeflow.SparkApplications{}.Family().Owner(&metav1.ObjectMeta{Name: app.Name, UID: app.UID}, "s-1")
	return Attempt{App: app, Owner: owner, SparkAppID: "spark-1", DriverName: "pi-driver"}
}

func conf(keysAndValues ...string) func(*spark.Application) {
	return func(a *spark.Application) {
		for i := 0; i < len(keysAndValues); i += 2 {
			a.Conf[keysAndValues[i]] = keysAndValues[i+1]
		}
	}
}

func options(e spark.Exposure) func(*spark.Application) {
	return func(a *spark.Application) { a.Exposure = e }
}

// situations are configurations and applications; the objects of each are in testdata.
var situations = map[string]struct {
	reason  string
	config  Config
	attempt Attempt
}{
	"plain":    {reason: "a Service, and nothing else by default", config: Config{Service: true}, attempt: attempt()},
	"off":      {reason: "the administrator wants none", config: Config{}, attempt: attempt()},
	"no-ui":    {reason: "there is nothing to look at", config: Config{Service: true, Ingress: Ingress{Enabled: true, URLFormat: "x.example.org"}}, attempt: attempt(conf("spark.ui.enabled", "false"))},
	"any-port": {reason: "a port that is not known cannot be exposed", config: Config{Service: true}, attempt: attempt(conf("spark.ui.port", "0"))},
	"ui-port":  {reason: "the Service follows the UI", config: Config{Service: true}, attempt: attempt(conf("spark.ui.port", "5050"))},
	"options": {reason: "the user's wishes", config: Config{Service: true}, attempt: attempt(conf("spark.ui.port", "5050"), options(spark.Exposure{UI: spark.ExposedPort{
		Port: 80, PortName: "http", ServiceType: corev1.ServiceTypeNodePort, Annotations: map[string]string{"team": "a"},
		Labels: map[string]string{"tier": "ui", v1beta2.LabelAppName: "another", v1beta2.LabelExposes: "nothing"},
	}}))},
	"host-ingress": {reason: "a host for each application needs no rewriting", config: Config{Service: true, Ingress: Ingress{
		Enabled: true, URLFormat: "https://{{$appName}}.{{ $appNamespace }}.example.org/", ClassName: "nginx", Annotations: map[string]string{"a": "operator"},
		TLS: []networkingv1.IngressTLS{{Hosts: []string{"*.example.org"}, SecretName: "operator"}},
	}}, attempt: attempt()},
	"path-ingress": {reason: "the path is taken away; the application's own annotations and TLS count", config: Config{Service: true, Ingress: Ingress{
		Enabled: true, URLFormat: "ui.example.org/{{$appNamespace}}/{{$appId}}", Annotations: map[string]string{"a": "operator"},
	}}, attempt: attempt(options(spark.Exposure{UI: spark.ExposedPort{
		IngressAnnotations: map[string]string{"a": "user"}, TLS: []networkingv1.IngressTLS{{SecretName: "user"}},
	}}))},
	"route": {reason: "the Gateway API rewrites by itself", config: Config{Service: true, Route: Route{
		URLFormat: "ui.example.org/{{$appName}}", Annotations: map[string]string{"a": "b"},
		ParentRefs: []ParentRef{{Name: "public", Namespace: "gateways", SectionName: "https", Port: 443}, {Name: "inner"}},
	}}, attempt: attempt()},
	"host-route": {reason: "without a path all is the UI's", config: Config{Service: true, Route: Route{URLFormat: "{{$appName}}.example.org", ParentRefs: []ParentRef{{Name: "public"}}}}, attempt: attempt()},
	"ports": {reason: "each port has its Service and its Ingress", config: Config{Ingress: Ingress{Enabled: true, ClassName: "nginx"}}, attempt: attempt(options(spark.Exposure{Ports: []spark.ExposedPort{
		{Port: 8000, PortName: "rest", URLFormat: "{{$appName}}-rest.example.org"}, {Port: 9000},
	}}))},
	"quoted": {reason: "what is not a regular expression is none; what is encoded is read as what it is", config: Config{Ingress: Ingress{Enabled: true}}, attempt: attempt(options(spark.Exposure{Ports: []spark.ExposedPort{
		{Port: 8000, URLFormat: "ui.example.org/team%2da/v1.0/{{$appName}}~x/"},
	}}))},
	"budget": {reason: "both have to want it", config: Config{DisruptionBudget: true}, attempt: attempt(options(spark.Exposure{DisruptionBudget: true}))},
}

func TestObjects(t *testing.T) {
	for name, tc := range situations {
		t.Run(name, func(t *testing.T) {
			got := Of(tc.attempt, tc.config)
			if len(got.Problems) > 0 {
				t.Errorf("%s: problems %v", tc.reason, got.Problems)
			}
			var text strings.Builder
			for _, o := range got.Objects {
				encoded, err := yaml.Marshal(o.Object)
				if err != nil {
					t.Fatal(err)
				}
				text.WriteString("---\n" + string(encoded))
			}
			encoded, err := yaml.Marshal(got.Status)
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString("--- # status\n" + string(encoded))
			t.Log(tc.reason)
			testutil.Golden(t, "testdata/"+name+".yaml", text.String())
		})
	}
}

// Every object is found again by its labels, and none can be treated as another application's.
func TestObjectsAreMarked(t *testing.T) {
	for name, tc := range situations {
		for _, o := range Of(tc.attempt, tc.config).Objects {
			labels := o.GetLabels()
			if labels[v1beta2.LabelAppName] != "pi" || labels[v1beta2.LabelSubmissionID] != "s-1" || labels[v1beta2.LabelCreatedBy] != "true" || labels[v1beta2.LabelExposes] == "" || labels[v1beta2.LabelExposes] == "nothing" {
				t.Errorf("%s: %s is marked %v", name, o.Ref, labels)
			}
			if o.GetNamespace() != "jobs" || o.GetAnnotations()[v1beta2.AnnotationApplied] == "" || o.Name != o.GetName() || o.Kind != o.GroupVersionKind() {
				t.Errorf("%s: %s is incomplete: %v", name, o.Ref, o.Object)
			}
		}
	}
}

func TestProblems(t *testing.T) {
	ports := func(format string) Attempt {
		return attempt(options(spark.Exposure{Ports: []spark.ExposedPort{{Port: 8000, URLFormat: format}}}))
	}
	on := Config{Ingress: Ingress{Enabled: true}}
	cases := map[string]struct {
		reason  string
		config  Config
		attempt Attempt
		want    string
	}{
		"off":         {"the administrator has to allow Ingresses", Config{}, ports("x.example.org"), "Ingress pi-ing-8000 is not created: Ingresses are disabled"},
		"placeholder": {"a typing error", on, ports("{{$app}}.example.org"), "{{$app}} is not a placeholder; use {{$appName}}"},
		"brace":       {"another one", on, ports("{$appName}.example.org"), "unmatched brace"},
		"scheme":      {"not for browsers", on, ports("ftp://x.example.org"), `the scheme "ftp" is not http or https`},
		"host":        {"a rule needs one", on, ports("/path"), "there is no host"},
		"DNS":         {"the API server would refuse it", on, ports("my_app.example.org"), `the host "my_app.example.org" is not a DNS name`},
		"query":       {"a rule has none", on, ports("x.example.org/?a=b"), "without user, query or fragment"},
		"URL":         {"no URL at all", on, ports("http://x.example.org:port"), "not a URL"},
		"label":       {"DNS knows no such name", on, ports(strings.Repeat("x", 64) + ".example.org"), "is not a DNS name"},
		"wildcard":    {"a host for many", on, ports("*.example.org"), "is not a DNS name"},
		"injection":   {"what is decoded into the configuration of a proxy", on, ports("ok.host/%0a%7breturn%20200%3b%7d"), `the path "/\n{return 200;}" has a character other than`},
		"newline":     {"alone", on, ports("ok.host/a%0ab"), "has a character other than"},
		"quote":       {"it would end a text", on, ports("ok.host/a%22b"), "has a character other than"},
		"regex":       {"every path of the host", on, ports("ok.host/.*"), "has a character other than"},
		"choice":      {"two paths", on, ports("ok.host/a|/b"), "has a character other than"},
		"group":       {"the rewriting counts groups", on, ports("ok.host/(a)"), "has a character other than"},
		"escape":      {"a class of characters", on, ports("ok.host/%5cw"), "has a character other than"},
		"parent":      {"proxies take it away", on, ports("ok.host/team-a/../team-b"), "has an empty segment, or . or .."},
		"encoded":     {"and so they do then", on, ports("ok.host/team-a/%2e%2e/team-b"), "has an empty segment, or . or .."},
		"dot":         {"proxies take it away", on, ports("ok.host/./team-b"), "has an empty segment, or . or .."},
		"double":      {"proxies merge slashes", on, ports("ok.host//team-b"), "has an empty segment, or . or .."},
		"slash":       {"decoded it is one", on, ports("ok.host/%2fteam-b"), "has an empty segment, or . or .."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Of(tc.attempt, tc.config)
			if len(got.Problems) != 1 || got.Problems[0].Reason != lifecycle.ReasonExposureInvalid || !strings.Contains(got.Problems[0].Message, tc.want) {
				t.Errorf("%s: %v, want %q", tc.reason, got.Problems, tc.want)
			}
			if len(got.Objects) != 1 || got.Objects[0].String() != "service/pi-driver-8000" {
				t.Errorf("%s: the rest is made all the same, got %v", tc.reason, got.Status.Objects)
			}
		})
	}
}

func TestConfigure(t *testing.T) {
	path := Config{Service: true, Ingress: Ingress{Enabled: true, URLFormat: "ui.example.org/{{$appNamespace}}/{{$appId}}/"}}
	route := Config{Service: true, Route: Route{URLFormat: "ui.example.org/{{$appName}}"}}
	cases := map[string]struct {
		reason         string
		config         Config
		attempt        Attempt
		base, redirect string
	}{
		"path":     {"the readers' path, with the id that the Ingress has", path, attempt(), "/jobs/spark-1", "/"},
		"route":    {"a route's path", route, attempt(), "/pi", "/"},
		"host":     {"the root is below nothing", Config{Service: true, Ingress: Ingress{URLFormat: "{{$appName}}.example.org"}}, attempt(), "", ""},
		"none":     {"nobody but a tunnel reads it", Config{Service: true}, attempt(), "", ""},
		"off":      {"there is no UI", path, attempt(conf("spark.ui.enabled", "false")), "", ""},
		"user":     {"the user knows better", path, attempt(conf("spark.ui.proxyBase", "/mine")), "/mine", "/"},
		"redirect": {"and here", path, attempt(conf("spark.ui.proxyRedirectUri", "https://x/")), "/jobs/spark-1", "https://x/"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := len(tc.attempt.App.Conf)
			got := Configure(tc.attempt.App, tc.attempt.SparkAppID, tc.config).Conf
			if got[spark.ConfUIProxyBase] != tc.base || got[spark.ConfUIProxyRedirect] != tc.redirect {
				t.Errorf("%s: %v", tc.reason, got)
			}
			if len(tc.attempt.App.Conf) != before {
				t.Errorf("%s: the application given was changed", tc.reason)
			}
		})
	}
}

func TestHistory(t *testing.T) {
	c := Config{HistoryURLFormat: "https://history/history/{{ $appId }}/jobs/?ns={{$appNamespace}}&app={{$appName}}"}
	logs := conf("spark.eventLog.enabled", " TRUE ")
	cases := map[string]struct {
		reason  string
		config  Config
		attempt Attempt
		id      string
		want    string
	}{
		"link":       {"what there will be to see", c, attempt(logs), "spark-1", "https://history/history/spark-1/jobs/?ns=jobs&app=pi"},
		"no log":     {"there will be nothing", c, attempt(), "spark-1", ""},
		"no server":  {"none is known", Config{}, attempt(logs), "spark-1", ""},
		"no attempt": {"it has no id yet", c, attempt(logs), "", ""},
		"nonsense":   {"Spark will refuse it", c, attempt(conf("spark.eventLog.enabled", "perhaps")), "spark-1", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := History(tc.attempt.App, tc.id, tc.config); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("a", 60)
	cases := map[string]struct{ reason, got, want string }{
		"service":       {"tools look for it", ServiceName("pi"), "pi-ui-svc"},
		"ingress":       {"tools look for it", ingressName("pi"), "pi-ui-ingress"},
		"port":          {"tools look for it", portServiceName("pi", 80), "pi-driver-80"},
		"port ingress":  {"tools look for it", portIngressName("pi", 80), "pi-ing-80"},
		"longest":       {"63 characters are not too many", ServiceName(strings.Repeat("a", 56)), strings.Repeat("a", 56) + "-ui-svc"},
		"long":          {"the Kubeflow operator's rule, whose objects are to be found", ServiceName(long), strings.Repeat("a", 47) + "-9df9eea7-ui-svc"},
		"long and port": {"each port has its own", portServiceName(long, 65535), strings.Repeat("a", 41) + "-8443f8aa-driver-65535"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.got != tc.want || len(tc.got) > 63 {
				t.Errorf("%s: %q, want %q", tc.reason, tc.got, tc.want)
			}
		})
	}
}

// What is cut away still counts.
func TestLongNamesDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, app := range []string{strings.Repeat("a", 60), strings.Repeat("a", 61), strings.Repeat("a", 60) + "b", strings.Repeat("a", 63)} {
		for _, name := range []string{ServiceName(app), ingressName(app), routeName(app), portServiceName(app, 1), portServiceName(app, 11), portIngressName(app, 1)} {
			if other, taken := seen[name]; taken || len(name) > 63 {
				t.Errorf("%s is that of %s and of %s", name, app, other)
			}
			seen[name] = app
		}
	}
}

func TestRefs(t *testing.T) {
	for _, kind := range Kinds(Config{Ingress: Ingress{Enabled: true}, Route: Route{URLFormat: "x"}, DisruptionBudget: true}) {
		ref := Ref{kind, "pi"}
		if back, err := ParseRef(ref.String()); err != nil || back != ref {
			t.Errorf("%s is read back as %v: %v", ref, back, err)
		}
	}
	for _, text := range []string{"", "service", "service/", "secret/pi", "/pi"} {
		if ref, err := ParseRef(text); err == nil {
			t.Errorf("%q is read as %v", text, ref)
		}
	}
}

func TestDiff(t *testing.T) {
	a := attempt(options(spark.Exposure{DisruptionBudget: true}))
	w := Of(a, Config{Service: true, DisruptionBudget: true})
	service, budget := w.Objects[0], w.Objects[1]
	like := func(o Object, change func(*metav1.PartialObjectMetadata)) metav1.Object {
		m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: o.GetName(), Labels: o.GetLabels(), Annotations: o.GetAnnotations()}}
		if change != nil {
			change(m)
		}
		return m
	}
	stray := Ref{IngressKind, "pi-ui-ingress"}
	cases := map[string]struct {
		reason        string
		wanted        Wanted
		seen          Seen
		write, remove []string
	}{
		"nothing there": {"both are made", w, Seen{}, []string{"service/pi-ui-svc", "poddisruptionbudget/pi-driver"}, nil},
		"all there":     {"nothing is done", w, Seen{service.Ref: like(service, nil), budget.Ref: like(budget, nil)}, nil, nil},
		"more labels":   {"somebody's label is somebody's business", w, Seen{service.Ref: like(service, func(m *metav1.PartialObjectMetadata) { m.Labels["x"] = "y" }), budget.Ref: like(budget, nil)}, nil, nil},
		"edited":        {"what was applied is out of date", w, Seen{service.Ref: like(service, func(m *metav1.PartialObjectMetadata) { m.Annotations[v1beta2.AnnotationApplied] = "old" }), budget.Ref: like(budget, nil)}, []string{"service/pi-ui-svc"}, nil},
		"unlabelled":    {"our mark was taken away", w, Seen{service.Ref: like(service, func(m *metav1.PartialObjectMetadata) { delete(m.Labels, v1beta2.LabelExposes) }), budget.Ref: like(budget, nil)}, []string{"service/pi-ui-svc"}, nil},
		"too much":      {"an option was taken back", w, Seen{service.Ref: like(service, nil), budget.Ref: like(budget, nil), stray: like(service, nil)}, nil, []string{"ingress/pi-ui-ingress"}},
		"over":          {"everything goes", Wanted{}, Seen{service.Ref: like(service, nil), budget.Ref: like(budget, nil), stray: nil}, nil, []string{"poddisruptionbudget/pi-driver", "service/pi-ui-svc"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			write, remove := diff(tc.wanted, tc.seen)
			var wrote, removed []string
			for _, o := range write {
				wrote = append(wrote, o.String())
			}
			for _, r := range remove {
				removed = append(removed, r.String())
			}
			if diff := cmp.Diff([][]string{tc.write, tc.remove}, [][]string{wrote, removed}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAbout(t *testing.T) {
	w := Of(attempt(), Config{Service: true})
	recorded := lifecycle.Exposure{Objects: []string{"service/pi-ui-svc", "ingress/old", "nonsense"}, Service: "pi-ui-svc", Ingress: "theirs"}
	var got []string
	for _, r := range About(w, recorded) {
		got = append(got, r.String())
	}
	if diff := cmp.Diff([]string{"service/pi-ui-svc", "ingress/old", "ingress/theirs"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A right for each kind that is off until a configuration turns it on.
func TestFragments(t *testing.T) {
	granted := map[string]bool{}
	for _, f := range Fragments() {
		for _, rule := range f.Rules {
			granted[rule.APIGroups[0]+"/"+strings.TrimSuffix(rule.Resources[0], "s")] = true
			granted[rule.APIGroups[0]+"/"+strings.TrimSuffix(rule.Resources[0], "es")] = true
		}
	}
	for _, kind := range Kinds(Config{Route: Route{URLFormat: "x"}, DisruptionBudget: true})[1:] {
		if !granted[kind.Group+"/"+strings.ToLower(kind.Kind)] {
			t.Errorf("there is no fragment for %s", kind)
		}
	}
}
