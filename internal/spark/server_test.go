// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// serverWith is a server with further properties.
func serverWith(properties map[string]string) Application {
	app := connectServerApp()
	maps.Copy(app.Conf, properties)
	return app
}

func TestServerObjects(t *testing.T) {
	app := connectServerApp()
	app.Submitter.HadoopConfDir = map[string][]byte{"core-site.xml": []byte("<configuration/>")}
	for version, policies := range map[string]int{"3.5": 0, "4.1": 0, "4.3": 1} {
		app.SparkVersion = version
		submission := mustBuild(t, app, version)
		var got []string
		for _, object := range submission.Resources {
			got = append(got, object.GetObjectKind().GroupVersionKind().Kind+" "+object.GetName())
		}
		id := testIdentity()
		want := slices.Concat([]string{"Service sc-" + id.NameID + "-driver-svc"},
			slices.Repeat([]string{"NetworkPolicy sc-" + id.NameID + "-policy"}, policies),
			[]string{"ConfigMap sc-" + id.NameID + "-hadoop-config", "ConfigMap sc-conf", "ConfigMap spark-drv-" + id.ConfigMapID + "-conf-map"})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: objects (-want +got):\n%s", version, diff)
		}
	}
}

func TestServerPorts(t *testing.T) {
	for _, version := range []string{"3.4", "3.5", "4.0", "4.1", "4.2", "4.3"} {
		app := serverWith(map[string]string{ConfConnectPort: "15003", ConfUIPort: "4041", confPublishNotReady: "false"})
		app.SparkVersion = version
		submission := mustBuild(t, app, version)
		container := sparkContainerOf(t, submission.Driver, DriverContainerName)
		service := resourceOf[*corev1.Service](t, submission, "-driver-svc")
		want := map[string]int32{PortDriverRPC: 7078, PortBlockManager: 7079, PortUI: 4041, PortConnect: 15003}
		inPod, inService := map[string]int32{}, map[string]int32{}
		for _, p := range container.Ports {
			inPod[p.Name] = p.ContainerPort
		}
		for _, p := range service.Spec.Ports {
			inService[p.Name] = p.Port
		}
		if diff := cmp.Diff(want, inPod); diff != "" {
			t.Errorf("%s: ports of the pod (-want +got):\n%s", version, diff)
		}
		if diff := cmp.Diff(want, inService); diff != "" {
			t.Errorf("%s: ports of the Service (-want +got):\n%s", version, diff)
		}
		if !service.Spec.PublishNotReadyAddresses || service.Spec.Selector[LabelRole] != RoleServer {
			t.Errorf("%s: executors come before the server is ready: %+v", version, service.Spec)
		}
		if got := container.ReadinessProbe.TCPSocket.Port; got != intstr.FromInt32(15003) {
			t.Errorf("%s: the probe asks port %s", version, got.String())
		}
		if got := submission.Properties[ConfConnectPort]; got != "15003" {
			t.Errorf("%s: Spark listens on %q", version, got)
		}
		if got := UIPort(app); got != 4041 {
			t.Errorf("%s: the UI listens on %d", version, got)
		}
	}
}

func TestServerToken(t *testing.T) {
	app := connectServerApp()
	app.Server.TokenSecret = "sc-token-1"
	submission := mustBuild(t, app, "4.1")
	want := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: "sc-token-1", Namespace: "jobs", Labels: map[string]string{connectName: "sc"}},
		Immutable:  new(true),
	}
	if diff := cmp.Diff(want, submission.TokenSecret); diff != "" {
		t.Errorf("the token is made up by who writes it (-want +got):\n%s", diff)
	}
	env := sparkContainerOf(t, submission.Driver, DriverContainerName).Env
	if !slices.ContainsFunc(env, func(e corev1.EnvVar) bool {
		return e.Name == "SPARK_CONNECT_AUTHENTICATE_TOKEN" && e.ValueFrom.SecretKeyRef.Name == "sc-token-1" && e.ValueFrom.SecretKeyRef.Key == TokenKey
	}) {
		t.Errorf("the server is not given the token: %+v", env)
	}
	if got := mustBuild(t, connectServerApp(), "4.1").TokenSecret; got != nil {
		t.Errorf("a Secret that nobody asked for: %+v", got)
	}
}

func TestServerRefusals(t *testing.T) {
	cases := map[string]struct {
		reason, version string
		change          func(*Application)
		want            string
	}{
		"NoConnect": {
			reason: "the class does not exist", version: "3.3", change: func(*Application) {},
			want: `sparkVersion: "3.3": this release has no Spark Connect; write 3.4 or newer`,
		},
		"NoTokens": {
			reason: "everybody would be let in", version: "3.5", change: func(a *Application) { a.Server.TokenSecret = "s" },
			want: "authentication.token: the server of Spark 3.5 asks for no token; use Spark 4.0 or newer, or remove the token",
		},
		"TwoTokens": {
			reason: "Spark prefers the property", version: "4.0",
			change: func(a *Application) { a.Server.TokenSecret, a.Conf[confConnectToken] = "s", "hidden" },
			want:   "spark.connect.authenticate.token: the server would ask for this token instead of the one in the Secret s; remove one of them",
		},
		"TemplateInPod": {
			reason: "a file of the image cannot be read here", version: "4.1",
			change: func(a *Application) {
				a.Conf[ConfExecTemplateFile], a.Executor.Overlay.Labels = "/opt/e.yaml", map[string]string{"a": "b"}
			},
			want: `spark.kubernetes.executor.podTemplateFile: "/opt/e.yaml": the operator cannot read a file of the driver's pod, ` +
				"but must add to this template; write the template into the application",
		},
		"Cluster": {
			reason: "an application of this class cannot be submitted", version: "4.1",
			change: func(a *Application) { a.Server, a.OperatorConf[ConfDeployMode] = nil, "cluster" },
			want:   `mainClass: "org.apache.spark.sql.connect.service.SparkConnectServer": the Spark Connect server cannot run in cluster mode`,
		},
		"Heap": {
			reason: "spark-submit refuses it in client mode, too", version: "4.1", change: func(a *Application) { a.Conf[confJavaOptions] = "-Xmx1g" },
			want: "spark.driver.extraJavaOptions: the heap is set by spark.driver.memory, not by -Xmx",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app := connectServerApp()
			app.SparkVersion = tc.version
			tc.change(&app)
			if diff := cmp.Diff(tc.want, refused(t, app, tc.version).Error()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// In client mode, paths are those of the server's own pod. Nothing that works there is refused or rewritten.
func TestServerPathsAreInItsPod(t *testing.T) {
	conf := map[string]string{
		ConfJars: "/opt/extra/*.jar,file:///opt/a.jar", ConfFiles: "/etc/passwd", ConfPyFiles: "lib.py",
		confKeytab: "/etc/user.keytab", confPrincipal: "user@EXAMPLE.COM", confKrb5Path: "/etc/krb5.conf",
		ConfExecTemplateFile: "/opt/e.yaml", ConfDriverTemplateFile: "/opt/d.yaml",
		"spark.kubernetes.authenticate.caCertFile": "/opt/ca", "spark.kubernetes.authenticate.driver.caCertFile": "/opt/ca",
		"spark.kubernetes.authenticate.oauthToken": "mine",
	}
	submission := mustBuild(t, serverWith(conf), "4.1")
	for key, value := range conf {
		if got := submission.Properties[key]; got != value {
			t.Errorf("%s is %q, want %q", key, got, value)
		}
	}
	for _, object := range submission.Resources {
		if _, ok := object.(*corev1.Secret); ok || strings.Contains(object.GetName(), "krb5") {
			t.Errorf("%s: nothing can be read from a path here", object.GetName())
		}
	}
	dropped := mustBuild(t, serverWith(map[string]string{ConfDriverHost: "x", confBindAddress: "0.0.0.0", confSubmitInDriver: "true"}), "4.1")
	for _, key := range []string{confBindAddress, confSubmitInDriver} {
		if got, ok := dropped.Properties[key]; ok {
			t.Errorf("%s is %q, and the driver would follow it", key, got)
		}
	}
}

func TestServerExecutorTemplate(t *testing.T) {
	app := connectServerApp()
	app.Conf[ConfExecTemplateContainer] = ExecutorContainerName
	app.Executor.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "side"}, {Name: ExecutorContainerName}}}}
	app.Executor.Overlay.Labels = map[string]string{"queue": "of-a-scheduler"}
	submission := mustBuild(t, app, "4.1")
	text := resourceOf[*corev1.ConfigMap](t, submission, "sc-conf").Data["executor-pod-template.yaml"]
	template, err := ParseTemplate(text)
	if err != nil {
		t.Fatal(err)
	}
	if template.Labels["queue"] != "of-a-scheduler" || len(template.Spec.Containers) != 2 || submission.ExecutorContainer != 1 {
		t.Errorf("template and overlay together:\n%s", text)
	}
	for key, want := range map[string]string{
		ConfExecTemplateFile: "/tmp/spark/executor-pod-template.yaml", ConfExecTemplateContainer: ExecutorContainerName,
	} {
		if got := submission.Properties[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// Each attempt has names of its own, but the pod and the two objects that clients and people look for.
func TestServerAttempts(t *testing.T) {
	app := connectServerApp()
	names := func(attempt int32) map[string]bool {
		s, err := Build(app, NewIdentity(app.UID, attempt, metav1.Time{}.Time), profileOf(t, "4.1"))
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{"prefix " + s.Properties[ConfExecutorPodNamePrefix]: true, s.Driver.Name: true}
		for _, object := range s.Resources {
			out[object.GetName()] = true
		}
		return out
	}
	first, second := names(1), names(2)
	maps.DeleteFunc(first, func(name string, _ bool) bool { return !second[name] })
	if diff := cmp.Diff(map[string]bool{"sc-server": true, "sc-conf": true}, first); diff != "" {
		t.Errorf("names of both attempts (-want +got):\n%s", diff)
	}
}

func TestServerSizes(t *testing.T) {
	app := serverWith(map[string]string{ConfDriverMemory: "4g", ConfDriverCores: "2", ConfMemoryOverheadFactor: "0.25", ConfExecutorMemory: "8g"})
	sets := mustBuild(t, app, "4.1").PodSets
	initial, _ := InitialExecutors(app)
	for what, pair := range map[string][2]resource.Quantity{
		"server's memory":    {resource.MustParse("5Gi"), sets.Driver.Limits[corev1.ResourceMemory]},
		"server's cores":     {resource.MustParse("2"), sets.Driver.Requests[corev1.ResourceCPU]},
		"executors' memory":  {resource.MustParse("10Gi"), sets.Executor.Requests[corev1.ResourceMemory]},
		"number of them":     {resource.MustParse("2"), *resource.NewQuantity(int64(sets.Initial), resource.DecimalSI)},
		"InitialExecutors()": {resource.MustParse("2"), *resource.NewQuantity(int64(initial), resource.DecimalSI)},
	} {
		if pair[0].Cmp(pair[1]) != 0 {
			t.Errorf("%s: %s, want %s", what, pair[1].String(), pair[0].String())
		}
	}
	if heap, overhead := DriverMemory(app); heap != 4<<30 || overhead != 1<<30 {
		t.Errorf("heap %d, overhead %d", heap, overhead)
	}
	if got := sets.DriverAttributes.Labels[LabelRole]; got != RoleServer {
		t.Errorf("schedulers see the role %q", got)
	}
	app = serverWith(map[string]string{ConfDynamicAllocation: "true", ConfMinExecutors: "1", ConfInitialExecutors: "3"})
	if sets = mustBuild(t, app, "4.1").PodSets; sets.Initial != 3 || sets.Min != 1 || sets.Max != math.MaxInt32 {
		t.Errorf("dynamic allocation: %d, %d to %d executors", sets.Initial, sets.Min, sets.Max)
	}
}
