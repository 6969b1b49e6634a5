// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// amounts reads "cpu=2,memory=1Gi".
func amounts(t *testing.T, text string) corev1.ResourceList {
	t.Helper()
	list := corev1.ResourceList{}
	for _, pair := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			continue
		}
		quantity, err := resource.ParseQuantity(value)
		if err != nil {
			t.Fatal(err)
		}
		list[corev1.ResourceName(name)] = quantity
	}
	return list
}

func TestTotal(t *testing.T) {
	shapes := spark.PodSets{
		Driver:   spark.PodResources{Requests: amounts(t, "cpu=500m,memory=1Gi")},
		Executor: spark.PodResources{Requests: amounts(t, "cpu=2,memory=4Gi,nvidia.com/gpu=1")}, Initial: 3,
	}
	cases := map[string]struct {
		reason  string
		attempt Attempt
		want    string
	}{
		"Sum":     {reason: "driver and initial executors", attempt: Attempt{PodSets: shapes}, want: "cpu=6500m,memory=13Gi,nvidia.com/gpu=3"},
		"More":    {reason: "the user's own number, and the pods' where there is none", attempt: Attempt{PodSets: shapes, Resources: amounts(t, "cpu=9")}, want: "cpu=9,memory=13Gi,nvidia.com/gpu=3"},
		"Less":    {reason: "one field let an application pass those ahead of it in a full queue (finding 7)", attempt: Attempt{PodSets: shapes, Resources: amounts(t, "cpu=1m,memory=1Mi")}, want: "cpu=6500m,memory=13Gi,nvidia.com/gpu=3"},
		"Others":  {reason: "a resource that the pods do not request", attempt: Attempt{PodSets: shapes, Resources: amounts(t, "example.com/fpga=1")}, want: "cpu=6500m,memory=13Gi,nvidia.com/gpu=3,example.com/fpga=1"},
		"Nothing": {reason: "no shapes", want: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(amounts(t, tc.want), tc.attempt.Total()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if got := shapes.Executor.Requests.Cpu().String(); got != "2" {
		t.Errorf("the shapes were changed: %s", got)
	}
}

func TestShortages(t *testing.T) {
	cases := map[string]struct{ reason, asked, used, reserved, limit, waiting, exceeding string }{
		"Room":     {reason: "it fits exactly", asked: "cpu=4", used: "cpu=36", limit: "cpu=40"},
		"Full":     {reason: "what is missing, with numbers", asked: "cpu=12", used: "cpu=36", limit: "cpu=40", waiting: "cpu asked 12, free 4 of 40", exceeding: "cpu asked 12, limit 40"},
		"Overrun":  {reason: "less than nothing is nothing", asked: "cpu=1", used: "cpu=50", limit: "cpu=40", waiting: "cpu asked 1, free 0 of 40", exceeding: "cpu asked 1, limit 40"},
		"Unused":   {reason: "nothing is reported as used", asked: "cpu=41", limit: "cpu=40", waiting: "cpu asked 41, free 40 of 40", exceeding: "cpu asked 41, limit 40"},
		"Several":  {reason: "in the order of their names", asked: "memory=8Gi,cpu=2", used: "memory=63Gi,cpu=1", limit: "memory=64Gi,cpu=2", waiting: "cpu asked 2, free 1 of 2; memory asked 8Gi, free 1Gi of 64Gi", exceeding: "cpu asked 2, limit 2; memory asked 8Gi, limit 64Gi"},
		"Unlimit":  {reason: "what is not limited is never short", asked: "cpu=100", limit: "memory=1"},
		"NotAsked": {reason: "a full resource that no one asks for", asked: "cpu=1", used: "memory=2", limit: "cpu=1,memory=1"},
		"Fraction": {reason: "halves are no whole cores", asked: "cpu=1500m", used: "cpu=1", limit: "cpu=2", waiting: "cpu asked 1500m, free 1 of 2", exceeding: "cpu asked 1500m, limit 2"},
		"Bytes":    {reason: "bytes are said in binary units", asked: "memory=1476395008", used: "memory=0", limit: "memory=1Gi", waiting: "memory asked 1408Mi, free 1Gi of 1Gi", exceeding: "memory asked 1408Mi, limit 1Gi"},
		"Promised": {reason: "it is reserved for others", asked: "cpu=4", used: "cpu=33", reserved: "cpu=4,memory=1Gi", limit: "cpu=40", waiting: "cpu asked 4, free 7 of 40, reserved 4 for others", exceeding: "cpu asked 4, limit 40"},
		"Beside":   {reason: "there is enough beside what is reserved for others", asked: "cpu=4", used: "cpu=30", reserved: "cpu=6", limit: "cpu=40"},
		"Twice":    {reason: "short already by what is used, which may count what was reserved", asked: "cpu=4", used: "cpu=37", reserved: "cpu=4", limit: "cpu=40", waiting: "cpu asked 4, free 3 of 40", exceeding: "cpu asked 4, limit 40"},
		"Zero":     {reason: "nothing asked", asked: "cpu=0", used: "cpu=2", limit: "cpu=1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ShortagesWithReserved(amounts(t, tc.asked), amounts(t, tc.used), amounts(t, tc.reserved), amounts(t, tc.limit))
			if words := Waiting(got); words != tc.waiting {
				t.Errorf("%s: %q, want %q", tc.reason, words, tc.waiting)
			}
			if words := Exceeding(got); words != tc.exceeding {
				t.Errorf("%s: %q, want %q", tc.reason, words, tc.exceeding)
			}
		})
	}
}

func TestDecodeParameters(t *testing.T) {
	type options struct {
		Gang    bool   `json:"gang"`
		Style   string `json:"style"`
		Seconds int64  `json:"seconds"`
		Limit   *int32 `json:"limit"`
	}
	path := func(name string) string { return "batchScheduler.parameters" + name }
	cases := map[string]struct {
		reason, text string
		want         options
		findings     field.ErrorList
	}{
		"Absent":    {reason: "nothing was said", want: options{Style: "preset"}},
		"Null":      {reason: "nothing was said", text: " null ", want: options{Style: "preset"}},
		"Empty":     {reason: "nothing was said", text: "{}", want: options{Style: "preset"}},
		"Some":      {reason: "the rest keeps its default", text: `{"gang":true,"limit":3}`, want: options{Gang: true, Style: "preset", Limit: new(int32(3))}},
		"Unknown":   {reason: "a misspelled name", text: `{"gan":true}`, findings: field.ErrorList{Invalid(path(".gan"), "is not a parameter of x; must be one of gang, limit, seconds, style")}},
		"Case":      {reason: "names are exact", text: `{"Gang":true}`, findings: field.ErrorList{Invalid(path(".Gang"), "is not a parameter of x; must be one of gang, limit, seconds, style")}},
		"Bool":      {reason: "text is no bool", text: `{"gang":"yes"}`, findings: field.ErrorList{Invalid(path(".gang"), `"yes": must be true or false`)}},
		"Number":    {reason: "a word is no number", text: `{"seconds":"1m"}`, findings: field.ErrorList{Invalid(path(".seconds"), `"1m": must be a whole number`)}},
		"Fraction":  {reason: "half a second", text: `{"seconds":0.5}`, findings: field.ErrorList{Invalid(path(".seconds"), `0.5: must be a whole number`)}},
		"Text":      {reason: "a number is no text", text: `{"style":1}`, findings: field.ErrorList{Invalid(path(".style"), `1: must be text`)}},
		"Several":   {reason: "all mistakes at once, in order", text: `{"x":1,"gang":2,"style":"a"}`, findings: field.ErrorList{Invalid(path(".gang"), "2: must be true or false"), Invalid(path(".x"), "is not a parameter of x; must be one of gang, limit, seconds, style")}},
		"List":      {reason: "parameters have names", text: `[1]`, findings: field.ErrorList{Invalid(path(""), "must be an object of parameters and their values")}},
		"NotJSON":   {reason: "nothing to read", text: `{`, findings: field.ErrorList{Invalid(path(""), "must be an object of parameters and their values")}},
		"GivenNull": {reason: "null is nothing said", text: `{"limit":null}`, want: options{Style: "preset"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := options{Style: "preset"}
			findings := DecodeParameters(Attempt{Choice: Choice{Scheduler: "x"}, Parameters: json.RawMessage(tc.text)}, &got)
			if diff := cmp.Diff(tc.findings, findings); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if len(tc.findings) > 0 {
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	twice := DecodeParameters(Attempt{Parameters: json.RawMessage(`{"gang":true,"gang":false}`)}, &options{})
	if len(twice) == 0 || !strings.Contains(twice[0].Detail, "gang") {
		t.Errorf("a parameter that is given twice: %v", twice)
	}
}

func TestSnapshot(t *testing.T) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	object := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}}
	}
	list, one, none := Read{GroupVersionKind: kind, Namespace: "a"}, Read{GroupVersionKind: kind, Name: "x"}, Read{GroupVersionKind: kind, Name: "y"}
	s := Snapshot{list: NewList(object("b"), object("a")), one: object("x"), none: nil}
	var names []string
	for _, item := range s.List(list) {
		names = append(names, item.GetName())
	}
	if diff := cmp.Diff([]string{"b", "a"}, names); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	if !s.Exists(Ref{GroupVersionKind: kind, Name: "x"}) || s.Exists(Ref{GroupVersionKind: kind, Name: "y"}) || s.Exists(Ref{Name: "unread"}) {
		t.Error("exists is what was found, not what was looked for")
	}
	if got := s.List(Read{Name: "unread"}); len(got) != 0 {
		t.Errorf("a list that no one read has items: %v", got)
	}
	for name, tc := range map[string]struct {
		list *unstructured.Unstructured
		want bool
	}{
		"read": {NewList(object("a")), true}, "empty": {NewList(), true}, "in part": {NewPartialList(object("a")), false},
		"forbidden": {&unstructured.Unstructured{}, false}, "not installed": {nil, false},
	} {
		if got := (Snapshot{list: tc.list}).Complete(list); got != tc.want {
			t.Errorf("a list %s: complete %t", name, got)
		}
	}
	if got := (Snapshot{list: NewPartialList(object("a"))}).List(list); len(got) != 1 {
		t.Errorf("part of a list is lost: %v", got)
	}
	if got := (Snapshot{list: {Object: map[string]any{"items": []any{"text"}}}}).List(list); len(got) != 0 {
		t.Errorf("what is no object is no item: %v", got)
	}
}

func TestAsAndApplied(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Status: corev1.PodStatus{Phase: "Running"}}
	ref := Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespace: "n", Name: "x"}
	u, err := Applied(ref, pod)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{"containers": nil},
		"metadata": map[string]any{"name": "x", "namespace": "n", "labels": map[string]any{"a": "b"}},
	}
	if diff := cmp.Diff(want, u.Object); diff != "" {
		t.Errorf("no status, no creation time (-want +got):\n%s", diff)
	}
	back, err := As[corev1.Pod](u)
	if err != nil || back.Name != "x" || back.Labels["a"] != "b" {
		t.Errorf("decoded %+v, %v", back, err)
	}
	if nothing, err := As[corev1.Pod](nil); nothing != nil || err != nil {
		t.Errorf("nothing is decoded to %v, %v", nothing, err)
	}
	u.Object["spec"] = "text"
	if _, err := As[corev1.Pod](u); err == nil || !strings.Contains(err.Error(), "decode Pod x") {
		t.Errorf("a spoilt object: %v", err)
	}
}

func TestPriorityClass(t *testing.T) {
	read := Read{GroupVersionKind: PriorityClassKind, Name: "high", Optional: true}
	named := Attempt{PriorityClass: "high"}
	if got := ReadPriorityClass(named); len(got) != 1 || got[0] != read {
		t.Errorf("reads %v", got)
	}
	if got := ReadPriorityClass(Attempt{}); got != nil {
		t.Errorf("nothing to look at, yet it reads %v", got)
	}
	if _, missing := MissingPriorityClass(named, Snapshot{read: {}}); missing {
		t.Error("the class exists")
	}
	if _, missing := MissingPriorityClass(Attempt{}, nil); missing {
		t.Error("no class is named")
	}
	got, missing := MissingPriorityClass(named, Snapshot{read: nil})
	if !missing || got.Verdict != Wait || got.RetryAfter <= 0 || !strings.Contains(got.Message, `"high"`) {
		t.Errorf("%+v: want a wait with a timer, since classes are not watched", got)
	}
}

// Tenants may write groups of their own: no text of one keeps a worker busy. What only looks like a quantity is none.
func TestEndlessQuantitiesOfObjects(t *testing.T) {
	for cpu, refused := range map[string]bool{"1e-100000000": true, "\u00a01E2147483648": true, "1e99999999": true, "-1E+0012345678": true, "e99999999": true, "1e-3": false, "1e24": false, "1500m": false} {
		u := &unstructured.Unstructured{Object: map[string]any{
			"kind": "LimitRange", "metadata": map[string]any{"name": "a", "labels": map[string]any{"commit": "12e45678"}},
			"spec": map[string]any{"limits": []any{map[string]any{"max": map[string]any{"cpu": cpu}}}},
		}}
		if _, err := As[corev1.LimitRange](u); (err != nil) != refused || refused && !strings.Contains(err.Error(), "LimitRange a") {
			t.Errorf("%q: %v", cpu, err)
		}
	}
}

func TestPriorityOf(t *testing.T) {
	named := Attempt{PriorityClass: "high"}
	read := ReadPriorityClass(named)[0]
	object := func(value any) Snapshot {
		return Snapshot{read: {Object: map[string]any{"kind": "PriorityClass", "value": value}}}
	}
	cases := map[string]struct {
		reason string
		a      Attempt
		s      Snapshot
		want   int32
	}{
		"None":      {reason: "it names no class", s: object(int64(9))},
		"Lowest":    {reason: "the pods of a role have no class: the driver's alone would pass others (finding 10)", a: Attempt{PriorityClass: "high", PodClasses: []string{"", "high"}}, s: object(int64(1000))},
		"Pods":      {reason: "the pods name it, and the application names none", a: Attempt{PodClasses: []string{"high"}}, s: object(int64(1000)), want: 1000},
		"Value":     {reason: "the class's", a: named, s: object(int64(1000)), want: 1000},
		"Negative":  {reason: "the class's", a: named, s: object(int64(-5)), want: -5},
		"Missing":   {reason: "the class does not exist", a: named, s: Snapshot{read: nil}},
		"Forbidden": {reason: "the operator may not read it", a: named, s: Snapshot{read: {}}},
		"Spoilt":    {reason: "an object that is no PriorityClass", a: named, s: object("high")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := PriorityOf(tc.a, tc.s); got != tc.want {
				t.Errorf("%s: %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

// A wait without a comparison still has numbers, always in the same order.
func TestAmountsInWords(t *testing.T) {
	cases := map[string]struct {
		reason string
		got    string
		want   string
	}{
		"Asked":     {reason: "in the order of the names, bytes as people write them", got: Asking(amounts(t, "memory=8589934592,cpu=12")), want: "asked cpu 12, memory 8Gi"},
		"Fraction":  {reason: "less than a core", got: Asking(amounts(t, "cpu=1500m")), want: "asked cpu 1500m"},
		"Allocated": {reason: "what the limit does not name is not limited", got: Allocated(amounts(t, "cpu=4,memory=1Gi,pods=3"), amounts(t, "memory=64Gi,cpu=40")), want: "allocated cpu 4 of 40, memory 1Gi of 64Gi"},
		"Unused":    {reason: "nothing is given away yet", got: Allocated(nil, amounts(t, "cpu=40")), want: "allocated cpu 0 of 40"},
	}
	for name, tc := range cases {
		if tc.got != tc.want {
			t.Errorf("%s, %s: %q, want %q", name, tc.reason, tc.got, tc.want)
		}
	}
}
