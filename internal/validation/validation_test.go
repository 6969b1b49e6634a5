// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// check builds the application and checks it.
func check(app spark.Application) []*spark.ConfError {
	profile, err := spark.ProfileFor(app.SparkVersion)
	var built spark.Submission
	if err == nil {
		built, err = spark.Build(app, spark.NewIdentity(app.UID, 1, time.Unix(0, 0)), profile)
	}
	return Check(app, built, err)
}

// said are the sentences of all findings.
func said(app spark.Application) []string {
	var out []string
	for _, p := range check(app) {
		out = append(out, Explain(app, p))
	}
	return out
}

type change func(*spark.Application)

func conf(key, value string) change {
	return func(a *spark.Application) { a.Conf[key] = value }
}

// typed is a property that a field of the user's object became.
func typed(key, value string, origin spark.Field) change {
	return func(a *spark.Application) { a.Conf[key], a.Origins[key] = value, spark.Origin{Field: origin} }
}

func TestCheckAccepts(t *testing.T) {
	cases := map[string]struct {
		reason string
		change change
	}{
		"Nothing":        {reason: "defaults are fine", change: func(*spark.Application) {}},
		"Minor":          {reason: "the patch number is optional", change: func(a *spark.Application) { a.SparkVersion = "3.5" }},
		"Vee":            {reason: "users write a v", change: func(a *spark.Application) { a.SparkVersion = "v3.5.1" }},
		"TypedImage":     {reason: "a denied key is fine when a typed field says it", change: typed(spark.ConfImage, "spark", "image")},
		"TypedAccount":   {reason: "a denied key is fine when a typed field says it", change: typed(spark.ConfDriverServiceAccount, "spark", "driver.serviceAccount")},
		"TypedMaster":    {reason: "a denied key is fine when a typed field says it", change: typed("spark.kubernetes.driver.master", "https://x", "driver.kubernetesMaster")},
		"OwnNamespace":   {reason: "its own namespace takes it nowhere", change: conf(spark.ConfNamespace, "jobs")},
		"CACert":         {reason: "a certificate of the API server is no credential", change: conf("spark.kubernetes.authenticate.caCertFile", "/ca.crt")},
		"OtherToken":     {reason: "a token of another owner", change: conf("spark.hadoop.oauthToken", "x")},
		"HeapM":          {reason: "what a JVM takes", change: conf(spark.ConfDriverMemory, "512m")},
		"HeapG":          {reason: "case does not matter to a JVM", change: conf(spark.ConfDriverMemory, "2G")},
		"ExecutorGB":     {reason: "executors' heaps are written by Spark, which reads more", change: conf(spark.ConfExecutorMemory, "2gb")},
		"MilliCores":     {reason: "a quantity", change: conf(spark.ConfDriverRequestCores, "500m")},
		"FractionCores":  {reason: "a quantity", change: conf(spark.ConfExecutorLimitCores, "1.5")},
		"DottedName":     {reason: "pod names may have dots", change: func(a *spark.Application) { a.OperatorConf[spark.ConfDriverPodName] = "a.b-driver" }},
		"LongDriverName": {reason: "253 characters are a name", change: func(a *spark.Application) { a.OperatorConf[spark.ConfDriverPodName] = strings.Repeat("a", 253) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app := testutil.Model()
			tc.change(&app)
			if got := said(app); len(got) != 0 {
				t.Errorf("%s: refused: %q", tc.reason, got)
			}
		})
	}
}

const finalizersSay = "neither you nor the operator could delete the pod while it has finalizers; remove them"

func finalized(names ...string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Finalizers: names}}
}

func TestCheckRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		change change
		// says is the whole sentence: field, value where there is one, and what would be right.
		says string
	}{
		"Version": {
			reason: "no profile", change: func(a *spark.Application) { a.SparkVersion = "2.4.8" },
			says: `spec.sparkVersion: "2.4.8": not a supported Spark version; supported: ` + strings.Join(spark.SupportedVersions(), ", ") + "; write the version of Spark in the image; leave an older Spark to its present operator",
		},
		"NoVersion": {
			reason: "nothing given (finding 21)", change: func(a *spark.Application) { a.SparkVersion = "" },
			says: `spec.sparkVersion: missing; write the version of Spark in the image, such as 4.1.4; supported: ` + strings.Join(spark.SupportedVersions(), ", "),
		},
		"VersionText": {
			reason: "the version becomes a label", change: func(a *spark.Application) { a.SparkVersion = "4.1.0 x" },
			says: `spec.sparkVersion: "4.1.0 x": not a supported Spark version; supported: ` + strings.Join(spark.SupportedVersions(), ", ") + "; write the version of Spark in the image; leave an older Spark to its present operator",
		},
		"Master":          {reason: "another cluster", change: conf("spark.master", "local"), says: denied("spark.master", "the operator sets it")},
		"DriverMaster":    {reason: "use the field", change: conf("spark.kubernetes.driver.master", "x"), says: denied("spark.kubernetes.driver.master", "use spec.driver.kubernetesMaster")},
		"Image":           {reason: "use the field", change: conf("spark.kubernetes.container.image", "x"), says: denied("spark.kubernetes.container.image", "use spec.image")},
		"DriverImage":     {reason: "use the field", change: conf("spark.kubernetes.driver.container.image", "x"), says: denied("spark.kubernetes.driver.container.image", "use spec.driver.image")},
		"ExecutorImage":   {reason: "use the field", change: conf("spark.kubernetes.executor.container.image", "x"), says: denied("spark.kubernetes.executor.container.image", "use spec.executor.image")},
		"DriverAccount":   {reason: "other rights", change: conf("spark.kubernetes.authenticate.driver.serviceAccountName", "x"), says: denied("spark.kubernetes.authenticate.driver.serviceAccountName", "use spec.driver.serviceAccount")},
		"ExecutorAccount": {reason: "other rights", change: conf("spark.kubernetes.authenticate.executor.serviceAccountName", "x"), says: denied("spark.kubernetes.authenticate.executor.serviceAccountName", "use spec.executor.serviceAccount")},
		"Namespace":       {reason: "another namespace", change: conf("spark.kubernetes.namespace", "kube-system"), says: denied("spark.kubernetes.namespace", "an application runs in its own namespace")},
		"NoNamespace":     {reason: "an empty namespace is not its own", change: conf("spark.kubernetes.namespace", ""), says: denied("spark.kubernetes.namespace", "an application runs in its own namespace")},
		"Token":           {reason: "a credential", change: conf("spark.kubernetes.authenticate.oauthToken", "x"), says: denied("spark.kubernetes.authenticate.oauthToken", "a pod uses its service account")},
		"TokenFile":       {reason: "a credential", change: conf("spark.kubernetes.authenticate.oauthTokenFile", "x"), says: denied("spark.kubernetes.authenticate.oauthTokenFile", "a pod uses its service account")},
		"DriverToken":     {reason: "a credential", change: conf("spark.kubernetes.authenticate.driver.oauthToken", "x"), says: denied("spark.kubernetes.authenticate.driver.oauthToken", "a pod uses its service account")},
		"DriverTokenFile": {reason: "a credential", change: conf("spark.kubernetes.authenticate.driver.oauthTokenFile", "x"), says: denied("spark.kubernetes.authenticate.driver.oauthTokenFile", "a pod uses its service account")},
		"ExecutorToken":   {reason: "a credential", change: conf("spark.kubernetes.authenticate.executor.oauthToken", "x"), says: denied("spark.kubernetes.authenticate.executor.oauthToken", "a pod uses its service account")},
		"ExecTokenFile":   {reason: "a credential", change: conf("spark.kubernetes.authenticate.executor.oauthTokenFile", "x"), says: denied("spark.kubernetes.authenticate.executor.oauthTokenFile", "a pod uses its service account")},
		"SubmitToken":     {reason: "a credential", change: conf("spark.kubernetes.authenticate.submission.oauthToken", "x"), says: denied("spark.kubernetes.authenticate.submission.oauthToken", "a pod uses its service account")},
		"HeapGB":          {reason: "Spark reads it, a JVM does not", change: typed(spark.ConfDriverMemory, "2gb", "driver.memory"), says: `spec.driver.memory: "2gb": ` + heapSays},
		"HeapNumber":      {reason: "a JVM would take bytes", change: conf(spark.ConfDriverMemory, "2048"), says: `spec.sparkConf["spark.driver.memory"]: "2048": ` + heapSays},
		"HeapGi":          {reason: "no Kubernetes quantity", change: typed(spark.ConfDriverMemory, "2Gi", "driver.memory"), says: `spec.driver.memory: "2Gi": ` + heapSays},
		"HeapFraction":    {reason: "whole numbers", change: typed(spark.ConfDriverMemory, "1.5g", "driver.memory"), says: `spec.driver.memory: "1.5g": ` + heapSays},
		"HeapBlank":       {reason: "a blank splits the option", change: typed(spark.ConfDriverMemory, "2g ", "driver.memory"), says: `spec.driver.memory: "2g ": ` + heapSays},
		"HeapLine":        {reason: "the end of a line is no end", change: typed(spark.ConfDriverMemory, "2g\n", "driver.memory"), says: `spec.driver.memory: "2g\n": ` + heapSays},
		"HeapEmpty":       {reason: "an empty value is a value", change: conf(spark.ConfDriverMemory, ""), says: `spec.sparkConf["spark.driver.memory"]: ` + heapSays},
		"DriverRequest":   {reason: "no quantity", change: typed(spark.ConfDriverRequestCores, "one", "driver.coreRequest"), says: `spec.driver.coreRequest: "one": ` + coresSays},
		"DriverLimit":     {reason: "nothing is no limit", change: typed(spark.ConfDriverLimitCores, "0", "driver.coreLimit"), says: `spec.driver.coreLimit: "0": the limit of cpu is lower than the 1 that container spark-kubernetes-driver requests; raise it or request less`},
		"ExecutorRequest": {reason: "less than nothing", change: conf(spark.ConfExecutorRequestCores, "-1"), says: `spec.sparkConf["spark.kubernetes.executor.request.cores"]: "-1": ` + coresSays},
		"ExecutorLimit":   {reason: "no quantity", change: typed(spark.ConfExecutorLimitCores, "2 cores", "executor.coreLimit"), says: `spec.executor.coreLimit: "2 cores": ` + coresSays},
		"DriverName":      {reason: "no pod can be called so", change: func(a *spark.Application) { a.OperatorConf[spark.ConfDriverPodName] = "Pi_Driver" }, says: `spec.driver.podName: "Pi_Driver": ` + nameSays},
		"Finalizers": {
			reason: "nobody removes them from a pod that is over", change: func(a *spark.Application) { a.Driver.Template = finalized("a.example/keep") },
			says: `spec.driver.template.metadata.finalizers: "a.example/keep": ` + finalizersSay,
		},
		"ExecutorFinalizers": {
			reason: "Spark gives its executors what the template has", change: func(a *spark.Application) { a.Executor.Template = finalized("foregroundDeletion", "b") },
			says: `spec.executor.template.metadata.finalizers: "foregroundDeletion, b": ` + finalizersSay,
		},
		"Owner": {
			reason: "the owner may be somebody else's, or nothing", change: func(a *spark.Application) {
				a.Executor.Template = &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Name: "bank"}}}}
			},
			says: `spec.executor.template.metadata.ownerReferences: "bank": the pod would be deleted when its owner is, or at once if there is none; remove them: it has its own owner`,
		},
		"ClaimFinalizers": {
			reason: "Kubernetes makes the claim with the pod", change: driver(func(o *spark.PodOverlay) {
				mounted("d", "/d")(o)
				o.Volumes[0].VolumeSource = corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"a/b"}}}}}
			}),
			says: `spec.driver.volumes: "a/b": finalizers of volume d: neither you nor the operator could delete the claim while it has finalizers; remove them`,
		},
		"LongName": {reason: "254 characters are too many", change: func(a *spark.Application) { a.OperatorConf[spark.ConfDriverPodName] = strings.Repeat("a", 254) }, says: `spec.driver.podName: "` + strings.Repeat("a", 120) + `...": ` + nameSays},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app := testutil.Model()
			tc.change(&app)
			if diff := cmp.Diff([]string{tc.says}, said(app)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

const (
	heapSays  = `not a heap size that a JVM takes; write a whole number and one of k, m, g, t, such as "512m" or "2g"`
	coresSays = `not a number of cores; write a Kubernetes quantity that is not negative, such as "500m" or "2"`
	nameSays  = `not a pod name; write lower-case letters, digits, '-' and '.', such as "my-job-driver"`
)

func denied(key, instead string) string {
	return fmt.Sprintf("spec.sparkConf[%q]: sparkConf key %q is not allowed: %s", key, key, instead)
}

// A user who made five mistakes reads all five at once, in an order that does not change.
func TestCheckReportsEverything(t *testing.T) {
	app := testutil.Model()
	app.SparkVersion = "1.6"
	app.OperatorConf[spark.ConfDriverPodName] = "_"
	for key, value := range map[string]string{
		"spark.master": "x", "spark.kubernetes.container.image": "x", spark.ConfDriverMemory: "x", spark.ConfDriverLimitCores: "x", spark.ConfExecutorLimitCores: "x",
	} {
		app.Conf[key] = value
	}
	first := said(app)
	if len(first) != 7 {
		t.Errorf("%d findings, want 7: %q", len(first), first)
	}
	for range 20 {
		if diff := cmp.Diff(first, said(app)); diff != "" {
			t.Fatalf("the order depends on the run (-first +again):\n%s", diff)
		}
	}
}

func TestCheckDoesNotChangeTheApplication(t *testing.T) {
	app, want := testutil.Model(), testutil.Model()
	app.Conf["spark.master"], want.Conf["spark.master"] = "x", "x"
	check(app)
	if diff := cmp.Diff(want, app); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExplain(t *testing.T) {
	app := testutil.Model()
	app.Origins["spark.driver.memory"] = spark.Origin{Field: "driver.memory"}
	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"Typed":     {reason: "the field that the user wrote", err: &spark.ConfError{Key: "spark.driver.memory", Value: "x", Problem: "not a size"}, want: `spec.driver.memory: "x": not a size`},
		"SparkConf": {reason: "the entry that the user wrote", err: &spark.ConfError{Key: "spark.foo", Value: "x", Problem: "not a size"}, want: `spec.sparkConf["spark.foo"]: "x": not a size`},
		"Model":     {reason: "a field of the model has one of the user's", err: &spark.ConfError{Field: spark.FieldSparkVersion, Value: "x", Problem: "unknown"}, want: `spec.sparkVersion: "x": unknown`},
		"Own":       {reason: "a field of one family alone", err: &spark.ConfError{Field: "mode", Value: "client", Problem: "no"}, want: `spec.mode: "client": no`},
		"Missing":   {reason: "nothing given, nothing quoted", err: &spark.ConfError{Field: spark.FieldMainFile, Problem: "is required"}, want: `spec.mainApplicationFile: is required`},
		"Wrapped":   {reason: "errors are looked through", err: fmt.Errorf("build: %w", &spark.ConfError{Key: "spark.driver.memory", Value: "x", Problem: "not a size"}), want: `spec.driver.memory: "x": not a size`},
		"Other":     {reason: "other errors keep their words", err: errors.New("boom"), want: "boom"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Explain(app, tc.err); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// The status' conditions take 32768 characters, so values are shortened.
func TestExplainShortensValues(t *testing.T) {
	app := testutil.Model()
	app.Conf[spark.ConfDriverMemory] = strings.Repeat("9", 40000)
	for _, text := range said(app) {
		if len(text) > 32768 {
			t.Errorf("a sentence of %d characters: the API server refuses the status", len(text))
		}
	}
}
