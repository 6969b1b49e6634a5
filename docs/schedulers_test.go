// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/test/docs/markdown"
)

// schedulerPages are the pages of one scheduler each, by the plugin's name.
var schedulerPages = map[string]string{
	"kube": "docs/scheduler-kube.md", "volcano": "docs/scheduler-volcano.md", "yunikorn": "docs/scheduler-yunikorn.md", "coscheduling": "docs/scheduler-coscheduling.md",
}

// fromMark begins the mark of a block that is copied from a file: "from: FILE", or "from: FILE: PROGRAM" for the command that a test starts.
const fromMark = "from: "

// queuesOf is what a mark names instead of a program for the queues that YuniKorn's test writes.
const queuesOf = "queues"

// The set-up on a scheduler's page is that of the tests.
func TestSchedulerPagesShowTheTests(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range schedulerPages {
		for _, b := range markdown.Blocks(read(t, name)) {
			mark, copied := strings.CutPrefix(b.Mark, fromMark)
			if !copied {
				continue
			}
			seen[mark] = true
			file, part, inside := strings.Cut(mark, ": ")
			switch {
			case !inside:
				if want := withoutLicense(read(t, file)); strings.TrimSpace(b.Text) != want {
					t.Errorf("%s:%d: the block is not %s, which is\n%s", name, b.Line, file, want)
				}
			case part == queuesOf:
				sameQueues(t, fmt.Sprintf("%s:%d", name, b.Line), b.Text)
			default:
				sameWords(t, fmt.Sprintf("%s:%d: %s of %s", name, b.Line, part, file), strings.Fields(b.Text), started(t, file, part))
			}
		}
	}
	for _, mark := range []string{
		"test/schedulers/testdata/volcano.yaml", "test/schedulers/volcano_test.go: volcano-scheduler", "test/schedulers/volcano_test.go: volcano-controllers",
		"test/schedulers/testdata/scheduler-plugins.yaml", "test/schedulers/schedulerplugins_test.go: coscheduling-scheduler", "test/schedulers/schedulerplugins_test.go: coscheduling-controller",
		"test/e2e/testdata/yunikorn.yaml", "test/schedulers/yunikorn_test.go: yunikorn", "test/schedulers/yunikorn_controller_test.go: yunikorn-admission-controller", "test/schedulers/yunikorn_test.go: " + queuesOf,
		"test/schedulers/kube_test.go: kube-scheduler", "test/schedulers/cluster_test.go: kube-controller-manager",
	} {
		if !seen[mark] {
			t.Errorf("no page has a block marked %q", fromMark+mark)
		}
	}
}

// The flags in test/e2e are those of test/schedulers, but for ports and for what the pages say.
func TestSchedulersOfBothTestsAreTheSame(t *testing.T) {
	const e2e = "test/e2e/schedulers_harness_test.go"
	only := []string{"--kube-api-qps", "--kube-api-burst"}
	for program, file := range map[string]string{
		"volcano-scheduler": "test/schedulers/volcano_test.go", "volcano-controllers": "test/schedulers/volcano_test.go",
		"coscheduling-scheduler": "test/schedulers/schedulerplugins_test.go", "coscheduling-controller": "test/schedulers/schedulerplugins_test.go",
	} {
		names := func(words []string) []string {
			out := []string{}
			for _, word := range words {
				flag, _, _ := strings.Cut(word, "=")
				if strings.HasPrefix(flag, "--") && !slices.Contains(only, flag) && flag != "--kubeconfig" { // a variable in test/e2e
					out = append(out, flag)
				}
			}
			slices.Sort(out)
			return out
		}
		if a, b := names(started(t, file, program)), names(started(t, e2e, program)); !slices.Equal(a, b) {
			t.Errorf("%s: %s has %q, %s has %q", program, file, a, e2e, b)
		}
	}
}

func withoutLicense(text string) string {
	text, _ = strings.CutPrefix(text, "# SPDX-License-Identifier: Apache-2.0\n")
	text, _ = strings.CutPrefix(text, "#\n")
	return strings.TrimSpace(text)
}

// sameWords compares a command line with what a test starts. A word of the test that ends with = has a value there that is not constant.
func sameWords(t *testing.T, at string, got, want []string) {
	t.Helper()
	same := func(got, want string) bool {
		return got == want || strings.HasSuffix(want, "=") && strings.HasPrefix(got, want) || strings.HasSuffix(want, ":") && strings.HasPrefix(got, want)
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !same(got[i], want[i]) {
			t.Errorf("%s: got %q, the test starts %q", at, got, want)
			return
		}
	}
}

// started are environment, program and flags that a test's call of run or start has, which names the program.
func started(t *testing.T, file, program string) []string {
	t.Helper()
	source := read(t, file)
	tree, err := parser.ParseFile(token.NewFileSet(), file, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(tree, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 4 || literal(call.Args[1]) != program {
			return true
		}
		var env []string
		if list, ok := call.Args[3].(*ast.CompositeLit); ok {
			for _, e := range list.Elts {
				env = append(env, beginning(source, e))
			}
		}
		var binary string
		if path, ok := call.Args[2].(*ast.CallExpr); ok {
			binary = literal(path.Args[len(path.Args)-1])
		}
		out = append(env, binary)
		for _, arg := range call.Args[4:] {
			out = append(out, beginning(source, arg))
		}
		return false
	})
	if len(out) == 0 {
		t.Fatalf("%s starts no %s", file, program)
	}
	return out
}

func literal(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		text, _ := strconv.Unquote(l.Value)
		return text
	}
	return ""
}

// address is how the tests write one whose port is free on their machine.
const address = "127.0.0.1:"

// beginning is a constant word, or what it begins with.
func beginning(source string, e ast.Expr) string {
	for {
		sum, ok := e.(*ast.BinaryExpr)
		if !ok {
			break
		}
		e = sum.X
	}
	text := literal(e)
	if strings.HasSuffix(text, "-address=") && strings.Contains(source, strconv.Quote(address)) {
		return text + address
	}
	return text
}

// sameQueues compares a block with what YuniKorn's test writes for a place of one namespace.
func sameQueues(t *testing.T, at, block string) {
	t.Helper()
	const file = "test/schedulers/yunikorn_test.go"
	tree, err := parser.ParseFile(token.NewFileSet(), file, read(t, file), 0)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "configure" {
			ast.Inspect(f, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					texts = append(texts, literal(l))
				}
				return true
			})
		}
	}
	if len(texts) < 6 {
		t.Fatalf("%s: configure has the texts %q", file, texts)
	}
	all := fmt.Sprintf(texts[2], "4", "16Gi")
	written := texts[0] + texts[1] + fmt.Sprintf(texts[3], "team-a", all, texts[4], texts[5], all)
	var got, want any
	if err := yaml.UnmarshalStrict([]byte(block), &got); err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if err := yaml.UnmarshalStrict([]byte(written), &want); err != nil {
		t.Fatalf("%s: %v", written, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: the test writes\n%s", at, written)
	}
}

// What a page has from a Go source in another form stands there.
func TestSchedulerPagesQuoteTheTests(t *testing.T) {
	for _, tc := range []struct{ page, text, source, code string }{
		{"volcano", "name: team-v\nspec:\n  weight: 1\n  capability:\n    cpu: 300m\n", "test/e2e/schedulers_test.go", `object(ctx, volcanoQueue, "", "team-v", map[string]any{"weight": int64(1), "capability": map[string]any{"cpu": "300m"}})`},
		{"coscheduling", "min:\n    cpu: 300m\n    memory: 8Gi\n  max:\n    cpu: 300m\n    memory: 8Gi\n", "test/e2e/schedulers_test.go", `limits := map[string]any{"cpu": "300m", "memory": "8Gi"}`},
		{"coscheduling", "name: team-c\n", "test/e2e/schedulers_test.go", `object(ctx, elasticQuota, ns, "team-c", map[string]any{"min": limits, "max": limits})`},
		{"kube", "name: place\n", "test/schedulers/kube_test.go", `Name: "place"`},
		{"kube", "requests.cpu: \"4\"\n    requests.memory: 16Gi\n", "test/schedulers/kube_test.go", `corev1.ResourceRequestsCPU: room[corev1.ResourceCPU], corev1.ResourceRequestsMemory: room[corev1.ResourceMemory],`},
		{"yunikorn", "`service.schedulingInterval: 100ms`, `service.placeholderImage: pause`, `kubernetes.qps: 500` and `kubernetes.burst: 1000`", "test/schedulers/yunikorn_test.go", `"service.schedulingInterval": "100ms", "service.placeholderImage": "pause",
		"kubernetes.qps": "500", "kubernetes.burst": "1000",`},
		{"yunikorn", "admissionController.accessControl.externalUsers: ^system:serviceaccount:spark-operator:spark-operator-controller$\n", "test/schedulers/yunikorn_controller_test.go", `"admissionController.accessControl.externalUsers":     "^" + conformance.OperatorUser + "$",`},
	} {
		page := strings.ReplaceAll(read(t, schedulerPages[tc.page]), "\n    ", "\n")
		if !strings.Contains(page, tc.text) {
			t.Errorf("%s does not have %q", schedulerPages[tc.page], tc.text)
		}
		if !strings.Contains(read(t, tc.source), tc.code) {
			t.Errorf("%s does not have %q, of which %s says %q", tc.source, tc.code, schedulerPages[tc.page], tc.text)
		}
	}
}

// The versions are those of the tools that the tests build.
func TestSchedulerVersions(t *testing.T) {
	for plugin, module := range map[string][2]string{
		"volcano": {"volcano", "volcano.sh/volcano"}, "yunikorn": {"yunikorn", "github.com/apache/yunikorn-k8shim"},
		"coscheduling": {"scheduler-plugins", "sigs.k8s.io/scheduler-plugins"}, "kube": {"kubernetes", "k8s.io/kubernetes"},
	} {
		page := read(t, schedulerPages[plugin])
		version := func(tool, module string) string {
			found := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(module) + ` v(\S+)`).FindStringSubmatch(read(t, "hack/tools/"+tool+"/go.mod"))
			if found == nil {
				t.Fatalf("hack/tools/%s/go.mod does not require %s", tool, module)
			}
			return found[1]
		}
		for _, want := range []string{" " + version(module[0], module[1]) + " (`hack/tools/" + module[0] + "/go.mod`)", version("kubernetes", "k8s.io/kubernetes")} {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not name the version%s", schedulerPages[plugin], want)
			}
		}
	}
}

var (
	parameterRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]*) \\|")
	// parameterTag is a field of a plugin's parameters.
	parameterTag = regexp.MustCompile("(?s)\ntype parameters struct \\{\n(.*?)\n\\}")
	jsonTag      = regexp.MustCompile("`json:\"(\\w+)\"`")
)

// The parameters are those of the plugins, and so are the values that a page names.
func TestSchedulerParameters(t *testing.T) {
	for plugin, name := range schedulerPages {
		want := []string{}
		if code := parameterTag.FindStringSubmatch(read(t, filepath.Join("internal/scheduler", plugin, plugin+".go"))); code != nil {
			for _, m := range jsonTag.FindAllStringSubmatch(code[1], -1) {
				want = append(want, m[1])
			}
		}
		_, section, _ := strings.Cut(read(t, name), "\n## Parameters\n")
		section, _, _ = strings.Cut(section, "\n## ")
		got := []string{}
		try := func(parameter string, value any) error {
			return application(tree{"spec": tree{"batchScheduler": plugin, "batchSchedulerOptions": tree{"parameters": tree{parameter: value}}}})
		}
		for _, m := range parameterRow.FindAllStringSubmatch(section, -1) {
			got = append(got, m[1])
			values := markdown.Inline(m[2])
			for _, text := range values {
				var value any
				if err := yaml.Unmarshal([]byte(text), &value); err != nil {
					t.Fatal(err)
				}
				if text == "permitWaitingTimeSeconds" { // what the scheduler's own is called
					continue
				}
				if err := try(m[1], value); err != nil {
					t.Errorf("%s: %s: %s: %v", name, m[1], text, err)
				}
				if least, isNumber := value.(float64); isNumber && try(m[1], least-1) == nil {
					t.Errorf("%s: %s: less than %s is accepted", name, m[1], text)
				}
			}
			if try(m[1], "nonsense") == nil {
				t.Errorf("%s: %s: nonsense is accepted", name, m[1])
			}
		}
		if try("nonsense", 1) == nil {
			t.Errorf("%s: any parameter is accepted", plugin)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has the parameters %q, the plugin %q", name, got, want)
		}
		for _, parameter := range want {
			for _, list := range []string{"docs/choose-a-scheduler.md", "docs/schedulers-admin.md"} {
				if !strings.Contains(read(t, list), "`"+parameter+"`") {
					t.Errorf("%s does not name the parameter %s of %s", list, parameter, plugin)
				}
			}
		}
	}
}
