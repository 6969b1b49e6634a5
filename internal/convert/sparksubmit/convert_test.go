// SPDX-License-Identifier: Apache-2.0

package sparksubmit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit"
	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit/commandline"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

// input is a small command line that converts, with more flags.
func input(flags ...string) sparksubmit.Input {
	argv := slices.Concat([]string{
		"--master", "k8s://h", "--deploy-mode", "cluster", "--class", "Main",
		"--conf", "spark.kubernetes.container.image=spark:3.5.9", "--conf", "spark.executor.instances=1",
	}, flags, []string{"local:///a.jar"})
	return sparksubmit.Input{Argv: argv, Machine: commandline.Machine{Env: map[string]string{}, Files: map[string][]byte{}, Dir: "/case"}}
}

func confs(properties ...string) []string {
	var flags []string
	for _, property := range properties {
		flags = append(flags, "--conf", property)
	}
	return flags
}

func convert(t *testing.T, in sparksubmit.Input) (v1beta2.SparkApplication, []sparksubmit.Finding) {
	t.Helper()
	app, findings, err := sparksubmit.Convert(in)
	if err != nil {
		t.Fatal(err)
	}
	return app, findings
}

// base is what input alone becomes.
func base() v1beta2.SparkApplicationSpec {
	return v1beta2.SparkApplicationSpec{
		Type: v1beta2.ApplicationTypeScala, Mode: v1beta2.DeployModeCluster, SparkVersion: "3.5.9", Image: new("spark:3.5.9"),
		MainClass: new("Main"), MainApplicationFile: new("local:///a.jar"), Arguments: []string{}, SparkConf: map[string]string{},
		Executor: v1beta2.ExecutorSpec{Instances: new(int32(1))},
	}
}

func TestConvertFields(t *testing.T) {
	type spec = v1beta2.SparkApplicationSpec
	cases := map[string]struct {
		reason string
		flags  []string
		want   func(*spec)
	}{
		"nothing more": {reason: "the least that a command line says", want: func(*spec) {}},
		"sizes": {
			reason: "flags and properties become the same fields",
			flags: append(confs("spark.driver.memoryOverhead=100m", "spark.kubernetes.driver.request.cores=500m", "spark.kubernetes.executor.limit.cores=2"),
				"--driver-memory", "2g", "--driver-cores", "2", "--executor-memory", "3g", "--executor-cores", "4", "--num-executors", "7"),
			want: func(s *spec) {
				s.Driver.Memory, s.Driver.Cores, s.Driver.MemoryOverhead, s.Driver.CoreRequest = new("2g"), new(int32(2)), new("100m"), new("500m")
				s.Executor.Memory, s.Executor.Cores, s.Executor.CoreLimit, s.Executor.Instances = new("3g"), new(int32(4)), new("2"), new(int32(7))
			},
		},
		"dependencies": {
			reason: "lists, without their empty elements",
			flags: []string{
				"--jars", "local:///a.jar,,https://x/b.jar", "--files", "local:///f", "--py-files", "local:///p.py", "--archives", "local:///e.tgz#env",
				"--packages", "g:a:1,g:b:2", "--exclude-packages", "g:c", "--repositories", "https://r",
			},
			want: func(s *spec) {
				s.Deps = v1beta2.Dependencies{
					Jars: []string{"local:///a.jar", "https://x/b.jar"}, Files: []string{"local:///f"}, PyFiles: []string{"local:///p.py"},
					Archives: []string{"local:///e.tgz#env"}, Packages: []string{"g:a:1", "g:b:2"}, ExcludePackages: []string{"g:c"},
					Repositories: []string{"https://r"},
				}
			},
		},
		"pods": {
			reason: "what a pod carries",
			flags: confs("spark.kubernetes.driver.label.a=1", "spark.kubernetes.executor.annotation.b=2", "spark.kubernetes.driverEnv.C=3",
				"spark.executorEnv.D=4", "spark.kubernetes.node.selector.e=5", "spark.kubernetes.driver.secrets.s=/s",
				"spark.kubernetes.executor.secretKeyRef.K=n:k", "spark.kubernetes.authenticate.driver.serviceAccountName=sa",
				"spark.kubernetes.container.image.pullSecrets=x,y", "spark.kubernetes.container.image.pullPolicy=Always",
				"spark.kubernetes.driver.pod.name=d", "spark.kubernetes.driver.service.label.l=6", "spark.kubernetes.driver.master=https://m",
				"spark.kubernetes.executor.deleteOnTermination=false", "spark.hadoop.fs.x=y"),
			want: func(s *spec) {
				s.Driver.Labels, s.Executor.Annotations = map[string]string{"a": "1"}, map[string]string{"b": "2"}
				s.Driver.EnvVars, s.Executor.EnvVars = map[string]string{"C": "3"}, map[string]string{"D": "4"}
				s.NodeSelector, s.HadoopConf = map[string]string{"e": "5"}, map[string]string{"fs.x": "y"}
				s.Driver.Secrets = []v1beta2.SecretInfo{{Name: "s", Path: "/s", SecretType: v1beta2.SecretTypeGeneric}}
				s.Executor.EnvSecretKeyRefs = map[string]v1beta2.NameKey{"K": {Name: "n", Key: "k"}}
				s.Driver.ServiceAccount, s.ImagePullSecrets, s.ImagePullPolicy = new("sa"), []string{"x", "y"}, new("Always")
				s.Driver.PodName, s.Driver.ServiceLabels, s.Driver.KubernetesMaster = new("d"), map[string]string{"l": "6"}, new("https://m")
				s.Executor.DeleteOnTermination = new(false)
			},
		},
		"not exactly": {
			reason: "what a field cannot say stays a property, so that nobody's words change",
			flags: confs("spark.driver.cores=02", "spark.kubernetes.container.image.pullSecrets=x,,y", "spark.kubernetes.driver.secretKeyRef.K=a:",
				"spark.executor.instances=0", "spark.dynamicAllocation.enabled=true", "spark.executor.memory=", "spark.x =1"),
			want: func(s *spec) {
				s.Executor.Instances = nil
				s.SparkConf = map[string]string{
					"spark.driver.cores": "02", "spark.kubernetes.container.image.pullSecrets": "x,,y", "spark.kubernetes.driver.secretKeyRef.K": "a:",
					"spark.executor.instances": "0", "spark.dynamicAllocation.enabled": "true", "spark.executor.memory": "", "spark.x ": "1",
				}
			},
		},
		"dynamic allocation": {
			reason: "the field turns shuffle tracking on, so it must be explicit",
			flags: confs("spark.dynamicAllocation.enabled=true", "spark.dynamicAllocation.shuffleTracking.enabled=false",
				"spark.dynamicAllocation.minExecutors=0", "spark.dynamicAllocation.maxExecutors=x", "spark.dynamicAllocation.shuffleTracking.timeout=30"),
			want: func(s *spec) {
				s.DynamicAllocation = &v1beta2.DynamicAllocation{
					Enabled: true, MinExecutors: new(int32(0)), ShuffleTrackingEnabled: new(false), ShuffleTrackingTimeout: new(int64(30)),
				}
				s.SparkConf = map[string]string{"spark.dynamicAllocation.maxExecutors": "x"}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app, _ := convert(t, input(tc.flags...))
			want := base()
			tc.want(&want)
			if diff := cmp.Diff(want, app.Spec); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestConvertHeap(t *testing.T) {
	for given, want := range map[string]string{
		"2g": "2g", "2G": "2G", "2048": "2048m", "2gb": "2g", " 512m ": "512m", "1.5g": "1.5g", "much": "much", "1073741824b": "1073741824b",
	} {
		app, _ := convert(t, input(confs("spark.driver.memory="+given)...))
		if diff := cmp.Diff(new(want), app.Spec.Driver.Memory); diff != "" {
			t.Errorf("%q (-want +got):\n%s", given, diff)
		}
	}
}

func TestConvertNames(t *testing.T) {
	cases := map[string]struct {
		reason          string
		flags           []string
		name, namespace string
	}{
		"default":   {reason: "the main class", name: "main", namespace: "default"},
		"given":     {reason: "in the characters of Kubernetes", flags: []string{"--name", "My_App!"}, name: "my-app", namespace: "default"},
		"digit":     {reason: "a name starts with a letter", flags: []string{"--name", "2024 run"}, name: "x024-run", namespace: "default"},
		"nothing":   {reason: "no letter and no digit", flags: []string{"--name", "日本"}, name: "spark", namespace: "default"},
		"long":      {reason: "it is a label, too", flags: []string{"--name", strings.Repeat("a", 70)}, name: strings.Repeat("a", 63), namespace: "default"},
		"namespace": {reason: "with references", flags: confs("spark.kubernetes.namespace=${spark.x}-${env:Y}-${env:N}", "spark.x=a"), name: "main", namespace: "a-b-${env:N}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(tc.flags...)
			in.Machine.Env["Y"] = "b"
			app, _ := convert(t, in)
			if app.Name != tc.name || app.Namespace != tc.namespace {
				t.Errorf("%s: %s/%s, want %s/%s", tc.reason, app.Namespace, app.Name, tc.namespace, tc.name)
			}
		})
	}
}

// Whatever the manifest does not carry is named, with what to do about it.
func TestConvertFindings(t *testing.T) {
	cases := map[string]struct {
		reason  string
		flags   []string
		env     map[string]string
		subject string
		message string
		lost    bool
	}{
		"upload":         {"a file of this machine", []string{"--jars", "a.jar"}, nil, "spark.jars", `"a.jar" is on this machine`, true},
		"wait":           {"nothing waits", confs("spark.kubernetes.submission.waitAppCompletion=true"), nil, "spark.kubernetes.submission.waitAppCompletion", "kubectl wait", false},
		"own connection": {"a token", confs("spark.kubernetes.authenticate.submission.oauthToken=t"), nil, "spark.kubernetes.authenticate.submission.oauthToken", "connection", false},
		"driver token":   {"a token", confs("spark.kubernetes.authenticate.driver.oauthToken=t"), nil, "spark.kubernetes.authenticate.driver.oauthToken", "service account", true},
		"reserved label": {"ours", confs("spark.kubernetes.driver.label.sparkoperator.k8s.io/app-name=x"), nil, "spark.kubernetes.driver.label.sparkoperator.k8s.io/app-name", "the operator sets", true},
		"not spark":      {"a typo", confs("Spark.x=1"), nil, "Spark.x", "dropped", false},
		"app id":         {"generated again", confs("spark.app.id=x"), nil, "spark.app.id", "its own id", false},
		"keytab":         {"a Secret to make", confs("spark.kerberos.keytab=/case/k.tab", "spark.kerberos.principal=p"), nil, "spark.kerberos.keytab", "kubectl create secret generic main-keytab", true},
		"krb5":           {"a ConfigMap to make", confs("spark.kubernetes.kerberos.krb5.path=krb.ini"), nil, "spark.kubernetes.kerberos.krb5.path", "--from-file=krb5.conf=krb.ini", true},
		"hadoop":         {"a ConfigMap to make", nil, map[string]string{"HADOOP_CONF_DIR": "/hc"}, "HADOOP_CONF_DIR", "kubectl create configmap main-hadoop-conf", true},
		"conf dir":       {"files that stay", nil, map[string]string{"SPARK_CONF_DIR": "/conf"}, "SPARK_CONF_DIR", "log4j2.properties", true},
		"user":           {"another user", nil, map[string]string{"SPARK_USER": "alice"}, "SPARK_USER", "--proxy-user", true},
		"scratch":        {"a variable", nil, map[string]string{"SPARK_LOCAL_DIRS": "/a"}, "SPARK_LOCAL_DIRS", "spark.local.dir", false},
		"upload path":    {"nothing is uploaded", confs("spark.kubernetes.file.upload.path=s3a://x"), nil, "spark.kubernetes.file.upload.path", "ignored", false},
		"client mode":    {"the driver moves", []string{"--deploy-mode", "client"}, nil, "--deploy-mode", "in a pod", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(tc.flags...)
			for variable, value := range tc.env {
				in.Machine.Env[variable] = value
			}
			for _, file := range []string{"/case/k.tab", "/case/krb.ini", "/hc/core-site.xml", "/conf/log4j2.properties", "/conf/spark-env.sh.template"} {
				in.Machine.Files[file] = []byte("x")
			}
			_, findings := convert(t, in)
			i := slices.IndexFunc(findings, func(f sparksubmit.Finding) bool { return f.Subject == tc.subject })
			if i < 0 || !strings.Contains(findings[i].String(), tc.message) || findings[i].Lost != tc.lost {
				t.Errorf("%s: %q, want one about %s that says %q, lost: %t", tc.reason, findings, tc.subject, tc.message, tc.lost)
			}
		})
	}
}

// What was submitted elsewhere is what a migration begins with.
func TestConvertFromElsewhere(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, version string
		argv            []string
		want            string
		subjects        []string
	}{
		"None":  {"local is Spark's default, and the image is not known", "", []string{"app.py"}, "4.3", []string{"--master", "spec.image", "spec.sparkVersion", "--deploy-mode"}},
		"Local": {"the version is known", "3.5.9", []string{"--master", "local[4]", "app.py"}, "3.5.9", []string{"--master", "spec.image", "--deploy-mode"}},
		"Yarn": {
			"an image may be there", "", []string{"--master", "yarn", "--deploy-mode", "cluster", "--conf", "spark.kubernetes.container.image=spark:4.1.0", "local:///app.py"},
			"4.1.0", []string{"--master", "spec.sparkVersion"},
		},
		"Standalone": {"the URL has a scheme", "4.1.0", []string{"--master", "spark://h:7077", "app.py"}, "4.1.0", []string{"--master", "spec.image", "--deploy-mode"}},
	} {
		t.Run(name, func(t *testing.T) {
			app, findings, err := sparksubmit.Convert(sparksubmit.Input{Argv: tc.argv, SparkVersion: tc.version})
			if err != nil {
				t.Fatal(tc.reason, err)
			}
			var subjects []string
			for _, f := range findings[:len(tc.subjects)] {
				subjects = append(subjects, f.Subject)
			}
			if diff := cmp.Diff(tc.subjects, subjects); diff != "" || app.Spec.SparkVersion != tc.want {
				t.Errorf("%s: version %s, findings (-want +got):\n%s", tc.reason, app.Spec.SparkVersion, diff)
			}
		})
	}
}

func TestConvertRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*sparksubmit.Input)
		want   string
	}{
		"master":       {"spark-submit would refuse it", func(in *sparksubmit.Input) { in.Argv[1] = "ks8://h" }, `--master: "ks8://h"`},
		"typo":         {"a flag that there is not", func(in *sparksubmit.Input) { in.Argv[0] = "--mastr" }, "did you mean --master?"},
		"scheme":       {"not HTTP", func(in *sparksubmit.Input) { in.Argv[1] = "k8s://ftp://h" }, "https or http"},
		"mode":         {"unknown", func(in *sparksubmit.Input) { in.Argv[3] = "sideways" }, "--deploy-mode"},
		"no main file": {"nothing to run", func(in *sparksubmit.Input) { in.Argv = in.Argv[:len(in.Argv)-1] }, "the main file is missing"},
		"version":      {"the tag says nothing", func(in *sparksubmit.Input) { in.Argv[7] = "spark.kubernetes.container.image=spark" }, "--spark-version"},
		"old version":  {"no profile", func(in *sparksubmit.Input) { in.SparkVersion = "2.4.8" }, "not supported"},
		"template":     {"a file that is not there", with("spark.kubernetes.driver.podTemplateFile=/none"), `"/none": no such file`},
		"bad template": {"a file that is no pod", with("spark.kubernetes.executor.podTemplateFile=bad.yaml"), "not a pod"},
		"krb5":         {"a file that is not there", with("spark.kubernetes.kerberos.krb5.path=/none"), "no such file"},
		"krb5 twice":   {"two sources", with("spark.kubernetes.kerberos.krb5.path=bad.yaml", "spark.kubernetes.kerberos.krb5.configMapName=x"), "cannot be combined"},
		"keytab":       {"a file that is not there", with("spark.kerberos.keytab=/none"), "no such file"},
		"credentials":  {"a file that is not there", with("spark.kubernetes.authenticate.driver.caCertFile=/none"), "no such file"},
		"hadoop twice": {"two sources", func(in *sparksubmit.Input) {
			with("spark.kubernetes.hadoop.configMapName=x")(in)
			in.Machine.Env["HADOOP_CONF_DIR"] = "/"
		}, "cannot be combined"},
		"hadoop binary": {"newer releases want text", func(in *sparksubmit.Input) { in.SparkVersion = "4.1.4"; in.Machine.Env["HADOOP_CONF_DIR"] = "/bin" }, "not UTF-8"},
		"properties":    {"a file that is not there", func(in *sparksubmit.Input) { in.Argv = append([]string{"--properties-file", "/none"}, in.Argv...) }, "no such file"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input()
			in.Machine.Files["/case/bad.yaml"], in.Machine.Files["/bin/x"] = []byte("kind: Service"), []byte{0xff}
			tc.change(&in)
			if _, _, err := sparksubmit.Convert(in); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func with(properties ...string) func(*sparksubmit.Input) {
	return func(in *sparksubmit.Input) { in.Argv = append(confs(properties...), in.Argv...) }
}

func TestConvertTemplates(t *testing.T) {
	in := input(confs("spark.kubernetes.driver.podTemplateFile=t.yaml", "spark.kubernetes.executor.podTemplateFile=file:///case/t.yaml")...)
	in.Machine.Files["/case/t.yaml"] = []byte("kind: Pod\nspec: {containers: [{name: yes}]}\n")
	app, _ := convert(t, in)
	want := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "yes"}}}}
	for _, got := range []*corev1.PodTemplateSpec{app.Spec.Driver.Template, app.Spec.Executor.Template} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestConvertInterpreters(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    map[string]string
		flags  []string
		want   map[string]string
	}{
		"both":        {"variables become properties", map[string]string{"PYSPARK_PYTHON": "a", "PYSPARK_DRIVER_PYTHON": "b"}, nil, map[string]string{"spark.pyspark.python": "a", "spark.pyspark.driver.python": "b"}},
		"property":    {"a property wins over both variables", map[string]string{"PYSPARK_DRIVER_PYTHON": "b"}, confs("spark.pyspark.python=c"), map[string]string{"spark.pyspark.python": "c"}},
		"driver only": {"the other variable still counts", map[string]string{"PYSPARK_PYTHON": "a"}, confs("spark.pyspark.driver.python=c"), map[string]string{"spark.pyspark.python": "a", "spark.pyspark.driver.python": "c"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(tc.flags...)
			in.Argv[len(in.Argv)-1] = "local:///job.py"
			in.Machine.Env = tc.env
			app, _ := convert(t, in)
			if diff := cmp.Diff(tc.want, app.Spec.SparkConf); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWanted(t *testing.T) {
	in := input("--properties-file", "p.conf")
	in.Machine.Env["SPARK_CONF_DIR"], in.Machine.Env["HADOOP_CONF_DIR"] = "conf", "/hc"
	first, err := sparksubmit.Wanted(in)
	if diff := cmp.Diff([]string{"/case/p.conf"}, first); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	in.Machine.Files["/case/p.conf"] = []byte("spark.kubernetes.driver.podTemplateFile=${spark.dir}/t.yaml\nspark.dir=/x\n")
	second, err := sparksubmit.Wanted(in)
	if diff := cmp.Diff([]string{"/case/p.conf", "/x/t.yaml"}, second); err != nil || diff != "" {
		t.Errorf("a properties file names more (%v) (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"/case/conf", "/hc"}, sparksubmit.Directories(in.Machine)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const templateFile = "spark.kubernetes.driver.podTemplateFile"

// What references stand for is not built before it is refused.
func TestConvertIsBounded(t *testing.T) {
	big := strings.Repeat("a", 100_000)
	cases := map[string]struct {
		reason, property, want string
	}{
		"File":      {"the name of a file", templateFile + "=" + strings.Repeat("${env:BIG}", 5000), templateFile + ": "},
		"Property":  {"a property that refers to itself", templateFile + "=" + strings.Repeat("${"+templateFile+"}", 3000), templateFile + ": "},
		"Namespace": {"the namespace", "spark.kubernetes.namespace=" + strings.Repeat("${env:BIG}", 5000), "spark.kubernetes.namespace: longer than 65536 bytes"},
		"Variables": {
			"what the operator could not resolve", "spark.ui.port=" + strings.Repeat("${env:BIG}", 5000),
			"spark.ui.port: longer than 65536 bytes with the variables of this machine; write a shorter value",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input("--conf", tc.property)
			in.Machine.Env["BIG"] = big
			defer heaptest.Bound(t, len(tc.property))()
			if _, _, err := sparksubmit.Convert(in); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("%s: %.300v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func FuzzConvert(f *testing.F) {
	f.Add("--conf", "spark.a=${spark.a}", "a.py")
	f.Add("--name", "日本", "spark-internal")
	f.Add("--driver-memory", "99999999999999999999", "x.R")
	f.Add("--conf", templateFile+"="+strings.Repeat("${"+templateFile+"}", 3000), "a.py")
	f.Fuzz(func(t *testing.T, flag, value, resource string) {
		defer heaptest.Bound(t, len(flag)+len(value)+len(resource))()
		in := input(flag, value)
		in.Argv[len(in.Argv)-1] = resource
		_, _, _ = sparksubmit.Convert(in)
	})
}
