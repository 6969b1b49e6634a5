// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// everything is an application that makes every kind of object.
func everything() Application {
	const volume = "spark.kubernetes.driver.volumes.persistentVolumeClaim.data."
	app := with(map[string]string{
		"spark.kubernetes.authenticate.driver.oauthToken": "t0ken",
		"spark.kubernetes.driverEnv.A":                    "1",
		"spark.kubernetes.driver.secrets.s1":              "/etc/s1",
		"spark.kubernetes.driver.secretKeyRef.PW":         "db:password",
		"spark.kubernetes.driver.label.team":              "data",
		"spark.kubernetes.driver.annotation.note":         "{{APP_ID}}",
		"spark.kubernetes.node.selector.disk":             "ssd",
		volume + "mount.path":                             "/data",
		volume + "options.claimName":                      "OnDemand",
		volume + "options.storageClass":                   "gp3",
		volume + "options.sizeLimit":                      "10Gi",
		confKrb5Path:                                      "/etc/krb5.conf",
		confKeytab:                                        "file:///etc/user.keytab",
		confPrincipal:                                     "user@EXAMPLE.COM",
		confFeatureSteps:                                  volcanoStep,
		ConfSchedulerName:                                 "volcano",
	})
	app.Driver.Template = &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"from": "template"}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"zone": "a"},
			Volumes:      []corev1.Volume{{Name: "v"}},
			Containers: []corev1.Container{
				{Name: "main", Args: []string{"first"}, Env: []corev1.EnvVar{{Name: "T"}}}, {Name: "side"},
			},
		},
	}
	app.Driver.Overlay, app.Executor.Overlay = fullOverlay(), fullOverlay()
	app.Executor.Template = app.Driver.Template.DeepCopy()
	app.Submitter.HadoopConfDir = map[string][]byte{"core-site.xml": []byte("<configuration/>")}
	app.Submitter.ConfDir = map[string][]byte{"log4j2.properties": []byte("x=y")}
	app.Submitter.Files = map[string][]byte{"/etc/krb5.conf": []byte("[libdefaults]"), "/etc/user.keytab": {1, 2, 0xff}}
	app.Submitter.Env = map[string]string{"SPARK_LOCAL_DIRS": "/a,/b"}
	return app
}

func TestBuildOrder(t *testing.T) {
	submission := mustBuild(t, everything(), "4.3")
	var got []string
	for _, object := range submission.Resources {
		kind := object.GetObjectKind().GroupVersionKind().Kind
		name := strings.ReplaceAll(object.GetName(), testIdentity().NameID, "ID")
		got = append(got, kind+" "+name)
		if object.GetNamespace() != "jobs" {
			t.Errorf("%s is in the namespace %q", name, object.GetNamespace())
		}
	}
	id := testIdentity()
	want := []string{
		"PodGroup " + id.AppID + "-podgroup",
		"Secret spark-pi-ID-kubernetes-credentials",
		"Service spark-pi-ID-driver-svc",
		"NetworkPolicy spark-pi-ID-policy",
		"PersistentVolumeClaim spark-pi-ID-driver-pvc-0",
		"ConfigMap spark-pi-ID-hadoop-config",
		"ConfigMap spark-pi-ID-krb5-file",
		"Secret spark-pi-ID-kerberos-keytab",
		"ConfigMap spark-pi-ID-driver-podspec-conf-map",
		"ConfigMap spark-drv-" + id.ConfigMapID + "-conf-map",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if got := submission.Driver.Annotations["scheduling.k8s.io/group-name"]; got != id.AppID+"-podgroup" {
		t.Errorf("the driver belongs to the group %q", got)
	}
}

func TestBuildContainerOrder(t *testing.T) {
	pod := mustBuild(t, everything(), "4.3").Driver
	var containers []string
	for _, c := range pod.Spec.Containers {
		containers = append(containers, c.Name)
	}
	if diff := cmp.Diff([]string{"side", "main", "sidecar"}, containers); diff != "" {
		t.Errorf("containers: the template's, Spark's, the overlay's (-want +got):\n%s", diff)
	}
	c := sparkContainerOf(t, pod, "main")
	var env, mounts, volumes []string
	for _, e := range c.Env {
		env = append(env, e.Name)
	}
	for _, m := range c.VolumeMounts {
		mounts = append(mounts, m.Name)
	}
	for _, v := range pod.Spec.Volumes {
		volumes = append(volumes, v.Name)
	}
	wantEnv := []string{
		"T", "SPARK_USER", "SPARK_APPLICATION_ID", "A", "SPARK_DRIVER_BIND_ADDRESS", "PW", "HADOOP_CONF_DIR",
		"SPARK_LOCAL_DIRS", "SPARK_CONF_DIR", "OVERLAY",
	}
	if diff := cmp.Diff(wantEnv, env); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	spark := []string{
		"kubernetes-credentials", "s1-volume", "data", "hadoop-properties", "krb5-file", "kerberos-keytab",
		"pod-template-volume", "spark-local-dir-1", "spark-local-dir-2", "spark-conf-volume-driver",
	}
	if diff := cmp.Diff(append(slices.Clone(spark), "mounted"), mounts); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	wantVolumes := append(append([]string{"v"}, spark...), "mounted", "of-sidecar", "of-init")
	if diff := cmp.Diff(wantVolumes, volumes); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"first", "driver"}, c.Args[:2]); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

// The same application and attempt give the same objects, to the byte.
func TestBuildIsDeterministic(t *testing.T) {
	for _, version := range SupportedVersions() {
		app := everything()
		if !profileOf(t, version).VolcanoFeatureStep {
			delete(app.Conf, confFeatureSteps)
		}
		first := encode(t, mustBuild(t, app, version))
		for range 5 {
			if diff := cmp.Diff(first, encode(t, mustBuild(t, app, version))); diff != "" {
				t.Fatalf("%s: the second submission differs (-first +second):\n%s", version, diff)
			}
		}
	}
}

func encode(tb testing.TB, submission Submission) string {
	tb.Helper()
	content, err := json.Marshal(submission)
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}

// Neither Build nor whoever changes its result may change the application.
func TestBuildSharesNothing(t *testing.T) {
	app, untouched := everything(), everything()
	submission := mustBuild(t, app, "4.3")
	scribble(submission.Driver)
	for key := range submission.Properties {
		submission.Properties[key] = "scribbled"
	}
	for _, object := range submission.Resources {
		object.SetLabels(map[string]string{"scribbled": "yes"})
		switch o := object.(type) {
		case *corev1.ConfigMap:
			for key := range o.Data {
				o.Data[key] = "scribbled"
			}
		case *corev1.Secret:
			for _, content := range o.Data {
				content[0] = 'X'
			}
		case *corev1.Service:
			for key := range o.Spec.Selector {
				o.Spec.Selector[key] = "scribbled"
			}
		}
	}
	if _, err := podSets(app, profileOf(t, "4.3")); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(untouched, app); diff != "" {
		t.Errorf("application (-before +after):\n%s", diff)
	}
}

// The service finds the driver by its labels, which an overlay may not take away, and must not share a map with the pod.
func TestServiceSelectsDriver(t *testing.T) {
	submission := mustBuild(t, everything(), "4.3")
	service := resourceOf[*corev1.Service](t, submission, "-svc")
	for label, value := range service.Spec.Selector {
		if label != "team" && submission.Driver.Labels[label] != value {
			t.Errorf("the driver's label %s is %q, the service looks for %q", label, submission.Driver.Labels[label], value)
		}
	}
	submission.Driver.Labels["new"] = "label"
	if _, ok := service.Spec.Selector["new"]; ok {
		t.Error("pod and service share their labels")
	}
	policy := resourceOf[*networkingv1.NetworkPolicy](t, submission, "-policy")
	if policy.Spec.PodSelector.MatchLabels[LabelRole] != RoleExecutor {
		t.Error("the policy is not about executors")
	}
}

func TestSparkUser(t *testing.T) {
	tests := []struct {
		version, proxy string
		env            map[string]string
		want, reason   string
	}{
		{"4.1", "", nil, "spark", "whoever submits"},
		{"4.1", "bob", nil, "bob", "the proxy user"},
		{"4.2", "bob", map[string]string{"SPARK_USER": "alice"}, "alice", "the variable wins up to 4.2"},
		{"4.3", "bob", map[string]string{"SPARK_USER": "alice"}, "bob", "and loses from 4.3 on"},
		{"4.3", "", map[string]string{"SPARK_USER": "alice"}, "alice", "the variable"},
	}
	for _, test := range tests {
		app := sparkPi()
		app.ProxyUser, app.Submitter.Env = test.proxy, test.env
		c := sparkContainerOf(t, mustBuild(t, app, test.version).Driver, DriverContainerName)
		if got := c.Env[0]; got.Name != "SPARK_USER" || got.Value != test.want {
			t.Errorf("%s: %v, want %q: %s", test.version, got, test.want, test.reason)
		}
		if hasProxy := slices.Contains(c.Args, "--proxy-user"); hasProxy != (test.proxy != "") {
			t.Errorf("arguments %v: %s", c.Args, test.reason)
		}
	}
}

func TestPythonInterpreters(t *testing.T) {
	tests := []struct {
		conf, env map[string]string
		want      map[string]string
		reason    string
	}{
		{nil, nil, map[string]string{}, "the image decides"},
		{map[string]string{confPython: "a"}, map[string]string{"PYSPARK_DRIVER_PYTHON": "b"},
			map[string]string{"PYSPARK_PYTHON": "a", "PYSPARK_DRIVER_PYTHON": "a"}, "properties win over variables"},
		{map[string]string{confPython: "a", confDriverPython: "b"}, nil,
			map[string]string{"PYSPARK_PYTHON": "a", "PYSPARK_DRIVER_PYTHON": "b"}, "one for each"},
		{nil, map[string]string{"PYSPARK_PYTHON": "a"},
			map[string]string{"PYSPARK_PYTHON": "a", "PYSPARK_DRIVER_PYTHON": "a"}, "one variable for both"},
		{nil, map[string]string{"PYSPARK_DRIVER_PYTHON": "b"}, map[string]string{"PYSPARK_DRIVER_PYTHON": "b"}, "the driver's only"},
	}
	for _, test := range tests {
		app := with(test.conf)
		app.MainFile, app.Submitter.Env = "local:///app/job.py", test.env
		got := map[string]string{}
		for _, e := range sparkContainerOf(t, mustBuild(t, app, "4.1").Driver, DriverContainerName).Env {
			if strings.HasPrefix(e.Name, "PYSPARK") {
				got[e.Name] = e.Value
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// R files are never uploaded, so a bare path is one in the image.
func TestRResource(t *testing.T) {
	for file, want := range map[string]string{
		"local:///app/job.R": "local:///app/job.R", "/app/../app/job.R": "file:/app/job.R", "file:///job.r": "file:///job.r",
	} {
		app := sparkPi()
		app.MainFile = file
		args := sparkContainerOf(t, mustBuild(t, app, "4.1").Driver, DriverContainerName).Args
		if !slices.Contains(args, want) || !slices.Contains(args, rRunner) {
			t.Errorf("arguments %q, want %q", args, want)
		}
	}
}

// Excluded steps leave nothing behind, not even their properties.
func TestExcludedSteps(t *testing.T) {
	app := with(map[string]string{confExcludedSteps: featurePackage + "DriverServiceFeatureStep, " + featurePackage + "LocalDirsFeatureStep"})
	submission := mustBuild(t, app, "4.1")
	if len(submission.Resources) != 1 || submission.Properties[ConfDriverHost] != "" {
		t.Errorf("objects %v and driver host %q, want the ConfigMap only", submission.Resources, submission.Properties[ConfDriverHost])
	}
	if older := mustBuild(t, app, "4.0"); len(older.Resources) != 2 {
		t.Errorf("%d objects, want 2: 4.0 does not know the property", len(older.Resources))
	}
}

// What is expanded in the objects stays as it was written in the properties.
func TestSubstitution(t *testing.T) {
	app := with(map[string]string{
		ConfDriverImage: "repo/${env:TEAM}:${spark.tag}", "spark.tag": "7", ConfSchedulerName: "${spark.app.name}",
		"spark.kubernetes.driver.label.l": "${spark.tag}", "spark.kubernetes.driverEnv.E": "${spark.tag}",
		ConfDriverMemoryOverhead: "${spark.over}", "spark.over": "300m",
	})
	app.Submitter.Env = map[string]string{"TEAM": "data"}
	submission := mustBuild(t, app, "4.1")
	c := sparkContainerOf(t, submission.Driver, DriverContainerName)
	for _, check := range []struct{ got, want, reason string }{
		{c.Image, "repo/data:7", "image"},
		{submission.Driver.Spec.SchedulerName, "spark-pi", "scheduler"},
		{c.Resources.Limits.Memory().String(), "2348Mi", "memory"},
		{submission.Driver.Labels["l"], "${spark.tag}", "labels are not expanded"},
		{submission.Properties[ConfDriverImage], "repo/${env:TEAM}:${spark.tag}", "properties are not expanded"},
	} {
		if check.got != check.want {
			t.Errorf("%s: %q, want %q", check.reason, check.got, check.want)
		}
	}
}

func TestTokensAreRedacted(t *testing.T) {
	app := with(map[string]string{
		"spark.kubernetes.authenticate.driver.oauthToken":             "s3cret",
		"spark.kubernetes.authenticate.submission.oauthToken":         "s3cret",
		"spark.kubernetes.authenticate.driver.mounted.oauthTokenFile": "/mine",
	})
	submission := mustBuild(t, app, "4.1")
	if slices.Contains(slices.Collect(maps.Values(submission.Properties)), "s3cret") {
		t.Error("a token is in the driver's configuration")
	}
	if got := submission.Properties["spark.kubernetes.authenticate.driver.mounted.oauthTokenFile"]; got != "/mine" {
		t.Errorf("token file %q, want the user's", got)
	}
	if got := string(resourceOf[*corev1.Secret](t, submission, "-credentials").Data["oauth-token"]); got != "s3cret" {
		t.Errorf("the Secret holds %q", got)
	}
}

func TestVolcanoTemplate(t *testing.T) {
	const key = "spark.kubernetes.scheduler.volcano.podGroupTemplate"
	app := with(map[string]string{
		confFeatureSteps: volcanoStep, key + "File": "/pg.yaml", key + "Json": `{"spec": {"minMember": 9}}`,
	})
	app.Submitter.Files = map[string][]byte{"/pg.yaml": []byte("metadata: {labels: {l: v}}\nspec: {minMember: 3, queue: q}")}
	group := resourceOf[*unstructured.Unstructured](t, mustBuild(t, app, "4.2"), "-podgroup")
	want := map[string]any{"minMember": int64(3), "queue": "q"}
	if diff := cmp.Diff(want, group.Object["spec"]); diff != "" {
		t.Errorf("the file wins (-want +got):\n%s", diff)
	}
	for _, text := range []string{"[", "1", "metadata: x", "metadata: {finalizers: [a.example/keep]}"} {
		app.Submitter.Files["/pg.yaml"] = []byte(text)
		if err := refused(t, app, "4.2"); err.Key != key+"File" {
			t.Errorf("%q: %v, want a refusal of the file", text, err)
		}
	}
}
