// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

type connectSpec = v1alpha1.SparkConnectSpec

// server is the smallest server.
func server(changes ...func(*v1alpha1.SparkConnect)) *v1alpha1.SparkConnect {
	o := &v1alpha1.SparkConnect{Spec: connectSpec{SparkVersion: "4.1.4", Image: new("example/spark")}}
	o.Namespace, o.Name, o.UID, o.Generation = "notebooks", "lab", "uid-lab", 1
	for _, change := range changes {
		change(o)
	}
	return o
}

// ofSpec is a server with a change of its spec.
func ofSpec(change func(*connectSpec)) *v1alpha1.SparkConnect {
	return server(func(o *v1alpha1.SparkConnect) { change(&o.Spec) })
}

// modelOf is the model of a server without problems.
func modelOf(t *testing.T, o *v1alpha1.SparkConnect) spark.Application {
	t.Helper()
	app, problems := normalizeConnect(o)
	for _, p := range problems {
		t.Fatalf("unexpected problem: %v", p)
	}
	return app
}

// templateOf is a template with one container.
func templateOf(name, image string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: image}}}}
}

// connectCase sets one field of the API and says what becomes of it in the model.
type connectCase struct {
	reason string
	set    func(*connectSpec)
	conf   props
	origin string
	model  func(spark.Application) any
	want   any
}

func connectCases() map[string]connectCase {
	options := func(o v1beta2.BatchSchedulerConfiguration) func(*connectSpec) {
		return func(s *connectSpec) { s.BatchSchedulerOptions = &o }
	}
	token := func(a spark.Application) any { return a.Server.TokenSecret }
	service := func(a spark.Application) any { return a.Exposure.Services[0].Name }
	return map[string]connectCase{
		"sparkVersion":       {reason: "selects the profile", set: func(s *connectSpec) { s.SparkVersion = "3.5.9" }, model: func(a spark.Application) any { return a.SparkVersion }, want: "3.5.9"},
		"image":              {reason: "of both roles", set: func(s *connectSpec) { s.Image = new("other/spark") }, conf: props{spark.ConfImage: "other/spark"}, origin: "spec.image"},
		"sparkConf":          {reason: "as it is", set: func(s *connectSpec) { s.SparkConf = props{"spark.a": "b"} }, conf: props{"spark.a": "b"}, origin: `spec.sparkConf["spark.a"]`},
		"hadoopConf":         {reason: "with Spark's prefix", set: func(s *connectSpec) { s.HadoopConf = props{"fs.a": "b"} }, conf: props{"spark.hadoop.fs.a": "b"}, origin: `spec.hadoopConf["fs.a"]`},
		"hadoopConf.full":    {reason: "the prefix is not added twice", set: func(s *connectSpec) { s.HadoopConf = props{"spark.hadoop.fs.a": "b"} }, conf: props{"spark.hadoop.fs.a": "b"}, origin: `spec.hadoopConf["spark.hadoop.fs.a"]`},
		"server.cores":       {reason: "of the driver", set: func(s *connectSpec) { s.Server.Cores = new(int32(3)) }, conf: props{spark.ConfDriverCores: "3"}, origin: "spec.server.cores"},
		"server.coreRequest": {reason: "of the driver", set: func(s *connectSpec) { s.Server.CoreRequest = new("500m") }, conf: props{spark.ConfDriverRequestCores: "500m"}, origin: "spec.server.coreRequest"},
		"server.coreLimit":   {reason: "of the driver", set: func(s *connectSpec) { s.Server.CoreLimit = new("2") }, conf: props{spark.ConfDriverLimitCores: "2"}, origin: "spec.server.coreLimit"},
		"server.gpu": {
			reason: "a limit of Spark's container", set: func(s *connectSpec) { s.Server.GPU = &v1beta2.GPUSpec{Name: "nvidia.com/gpu", Quantity: 2} },
			model: func(a spark.Application) any { return a.Driver.Overlay.Limits }, want: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")},
		},
		"server.memory": {reason: "of the driver", set: func(s *connectSpec) { s.Server.Memory = new("3g") }, conf: props{spark.ConfDriverMemory: "3g"}, origin: "spec.server.memory"},
		"server.template": {
			reason: "the pod that Spark starts from", set: func(s *connectSpec) { s.Server.Template = templateOf("spark-kubernetes-driver", "") },
			conf: props{spark.ConfDriverTemplateContainer: "spark-kubernetes-driver"}, origin: "spec.server.template",
			model: func(a spark.Application) any { return a.Driver.Template }, want: templateOf("spark-kubernetes-driver", ""),
		},
		"server.service": {
			reason: "the user's name", set: func(s *connectSpec) {
				s.Server.Service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "books"}}
			},
			model: service, want: "books",
		},
		"executor.cores":       {reason: "as it is", set: func(s *connectSpec) { s.Executor.Cores = new(int32(2)) }, conf: props{spark.ConfExecutorCores: "2"}, origin: "spec.executor.cores"},
		"executor.coreRequest": {reason: "as it is", set: func(s *connectSpec) { s.Executor.CoreRequest = new("1500m") }, conf: props{spark.ConfExecutorRequestCores: "1500m"}, origin: "spec.executor.coreRequest"},
		"executor.coreLimit":   {reason: "as it is", set: func(s *connectSpec) { s.Executor.CoreLimit = new("2") }, conf: props{spark.ConfExecutorLimitCores: "2"}, origin: "spec.executor.coreLimit"},
		"executor.gpu": {
			reason: "a limit of Spark's container", set: func(s *connectSpec) { s.Executor.GPU = &v1beta2.GPUSpec{Name: "nvidia.com/gpu", Quantity: 1} },
			model: func(a spark.Application) any { return a.Executor.Overlay.Limits }, want: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")},
		},
		"executor.memory":    {reason: "as it is", set: func(s *connectSpec) { s.Executor.Memory = new("2g") }, conf: props{spark.ConfExecutorMemory: "2g"}, origin: "spec.executor.memory"},
		"executor.instances": {reason: "as it is", set: func(s *connectSpec) { s.Executor.Instances = new(int32(5)) }, conf: props{spark.ConfExecutorInstances: "5"}, origin: "spec.executor.instances"},
		"executor.template": {
			reason: "the pod that executors start from", set: func(s *connectSpec) { s.Executor.Template = templateOf("spark-kubernetes-executor", "") },
			conf: props{spark.ConfExecTemplateContainer: "spark-kubernetes-executor"}, origin: "spec.executor.template",
			model: func(a spark.Application) any { return a.Executor.Template }, want: templateOf("spark-kubernetes-executor", ""),
		},
		"dynamicAllocation.enabled": {
			reason: "with shuffle tracking: there is no shuffle service", set: func(s *connectSpec) { s.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true} },
			conf: props{spark.ConfDynamicAllocation: "true", "spark.dynamicAllocation.shuffleTracking.enabled": "true"},
		},
		"dynamicAllocation.minExecutors": {
			reason: "none while nobody asks", set: func(s *connectSpec) {
				s.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true, MinExecutors: new(int32(0)), InitialExecutors: new(int32(1)), MaxExecutors: new(int32(9))}
			},
			conf: props{spark.ConfMinExecutors: "0", spark.ConfInitialExecutors: "1", spark.ConfMaxExecutors: "9"},
		},
		"suspend":              {reason: "a policy of the model", set: func(s *connectSpec) { s.Suspend = new(true) }, model: func(a spark.Application) any { return a.Suspend }, want: true},
		"authentication.token": {reason: "the name is new, and begins like this", set: func(s *connectSpec) { s.Authentication = &v1alpha1.AuthenticationSpec{Token: true} }, model: token, want: "lab-token"},
		"batchScheduler":       {reason: "the plugin's name", set: func(s *connectSpec) { s.BatchScheduler = new("kube") }, model: func(a spark.Application) any { return a.Scheduling.Scheduler }, want: "kube"},
		"batchSchedulerOptions.queue": {
			reason: "for the plugin", set: options(v1beta2.BatchSchedulerConfiguration{Queue: new("root.a")}),
			model: func(a spark.Application) any { return a.Scheduling.Queue }, want: "root.a",
		},
		"batchSchedulerOptions.priorityClassName": {
			reason: "for the plugin", set: options(v1beta2.BatchSchedulerConfiguration{PriorityClassName: new("high")}),
			model: func(a spark.Application) any { return a.Scheduling.PriorityClassName }, want: "high",
		},
		"batchSchedulerOptions.resources": {
			reason: "for the plugin", set: options(v1beta2.BatchSchedulerConfiguration{Resources: corev1.ResourceList{"cpu": resource.MustParse("3")}}),
			model: func(a spark.Application) any { return a.Scheduling.Resources }, want: corev1.ResourceList{"cpu": resource.MustParse("3")},
		},
	}
}

func TestNormalizeConnectFields(t *testing.T) {
	bare := modelOf(t, server())
	for path, tc := range connectCases() {
		t.Run(path, func(t *testing.T) {
			app := modelOf(t, ofSpec(tc.set))
			for key, value := range tc.conf {
				if got, set := app.Conf[key]; !set || got != value {
					t.Errorf("%s: property %s is %q, want %q", tc.reason, key, got, value)
				}
				if tc.origin != "" && app.Field(key) != tc.origin {
					t.Errorf("%s: property %s is said to come from %s, want %s", tc.reason, key, app.Field(key), tc.origin)
				}
				if bare.Conf[key] == value {
					t.Errorf("property %s has the value %q also without the field", key, value)
				}
			}
			if tc.model == nil {
				return
			}
			if diff := cmp.Diff(tc.want, tc.model(app)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if cmp.Equal(tc.want, tc.model(bare)) {
				t.Error("the model looks the same also without the field")
			}
		})
	}
}

// What every server has, whatever its fields.
func TestConnectModel(t *testing.T) {
	app := modelOf(t, server(func(o *v1alpha1.SparkConnect) {
		o.Labels = props{"team": "a", "kueue.x-k8s.io/queue-name": "q", "spark-role": "x"}
		o.Spec.SparkConf = props{"spark.master": "local", "spark.kubernetes.namespace": "kube-system", "spark.submit.deployMode": "cluster", "spark.app.name": "x", "spark.kubernetes.driver.pod.name": "x"}
	}))
	want := spark.Application{
		Namespace: "notebooks", Name: "lab", UID: "uid-lab", Generation: 1, SparkVersion: "4.1.4",
		Labels:   props{"team": "a", "kueue.x-k8s.io/queue-name": "q", "spark-role": "x"},
		MainFile: "spark-internal", MainClass: "org.apache.spark.sql.connect.service.SparkConnectServer",
		Submitter: spark.Submitter{User: "spark"}, Server: &spark.Server{
			TemplateMap: "lab-conf", Labels: props{"sparkoperator.k8s.io/created-by-spark-operator": "true", "sparkoperator.k8s.io/connect-name": "lab"},
		},
		OperatorConf: props{
			"spark.master": "k8s://https://kubernetes.default.svc:443", "spark.submit.deployMode": "client", "spark.app.name": "lab",
			"spark.kubernetes.namespace": "notebooks", "spark.kubernetes.driver.pod.name": "lab-server",
			"spark.kubernetes.driver.label.sparkoperator.k8s.io/connect-name":                 "lab",
			"spark.kubernetes.driver.label.sparkoperator.k8s.io/launched-by-spark-operator":   "true",
			"spark.kubernetes.executor.label.sparkoperator.k8s.io/connect-name":               "lab",
			"spark.kubernetes.executor.label.sparkoperator.k8s.io/launched-by-spark-operator": "true",
		},
	}
	user := app.Conf
	app.Conf, app.Origins, app.Fields, app.Exposure = nil, nil, nil, spark.Exposure{}
	if diff := cmp.Diff(want, app); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for key, value := range (props{"spark.kubernetes.driver.label.team": "a", "spark.kubernetes.executor.label.team": "a", spark.ConfImage: "example/spark"}) {
		if user[key] != value {
			t.Errorf("property %s is %q, want %q", key, user[key], value)
		}
	}
	for _, key := range []string{spark.ConfExecutorInstances, spark.ConfDriverImage, "spark.kubernetes.driver.label.spark-role", "spark.kubernetes.driver.label.kueue.x-k8s.io/queue-name"} {
		if value, set := user[key]; set {
			t.Errorf("property %s is %q, want it unset", key, value)
		}
	}
}

// The image of a template's container is closer than that of the spec, and both are closer than sparkConf's.
func TestConnectImages(t *testing.T) {
	cases := map[string]struct {
		reason           string
		set              func(*connectSpec)
		server, executor string
	}{
		"Spec": {reason: "of both", set: func(*connectSpec) {}, server: "example/spark", executor: "example/spark"},
		"Template": {reason: "each its own", set: func(s *connectSpec) {
			s.Server.Template = templateOf("spark-kubernetes-driver", "a")
			s.Executor.Template = templateOf("x", "b")
		}, server: "a", executor: "b"},
		"OnlyTemplates": {reason: "the spec names none", set: func(s *connectSpec) {
			s.Image, s.Server.Template, s.Executor.Template = nil, templateOf("spark-kubernetes-driver", "a"), templateOf("x", "b")
		}, server: "a", executor: "b"},
		"Named": {reason: "Spark's container, wherever it is", set: func(s *connectSpec) {
			s.Server.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "proxy", Image: "p"}, {Name: "spark-kubernetes-driver", Image: "a"}}}}
		}, server: "a", executor: "example/spark"},
		"First": {reason: "there is none of Spark's name", set: func(s *connectSpec) { s.Server.Template = templateOf("main", "a") }, server: "a", executor: "example/spark"},
		"Empty": {reason: "a template without containers", set: func(s *connectSpec) { s.Server.Template = &corev1.PodTemplateSpec{} }, server: "example/spark", executor: "example/spark"},
		"SparkConf": {reason: "the field is closer", set: func(s *connectSpec) {
			s.SparkConf = props{spark.ConfDriverImage: "x", spark.ConfImage: "y", spark.ConfExecutorImage: "z"}
		}, server: "example/spark", executor: "example/spark"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app := modelOf(t, ofSpec(tc.set))
			for key, want := range map[string]string{spark.ConfDriverImage: tc.server, spark.ConfExecutorImage: tc.executor} {
				got, set := app.Conf[key]
				if !set {
					got = app.Conf[spark.ConfImage]
				}
				if got != want {
					t.Errorf("%s: %s is %q, want %q", tc.reason, key, got, want)
				}
			}
		})
	}
}

// connectPorts are the ports of a Service as name, number and protocol of the application.
func connectPorts(driver, blockManager, ui, connect int32) []corev1.ServicePort {
	port := func(name string, number int32, protocol string) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: number, Protocol: corev1.ProtocolTCP, AppProtocol: &protocol}
	}
	return []corev1.ServicePort{port("driver-rpc", driver, "tcp"), port("blockmanager", blockManager, "tcp"), port("web-ui", ui, "http"), port("spark-connect-server", connect, "grpc")}
}

func TestConnectService(t *testing.T) {
	selector := func(version string) props {
		return props{"sparkoperator.k8s.io/launched-by-spark-operator": "true", "sparkoperator.k8s.io/connect-name": "lab", "spark-role": "connect-server", "spark-version": version}
	}
	labels := props{"sparkoperator.k8s.io/created-by-spark-operator": "true", "sparkoperator.k8s.io/connect-name": "lab"}
	own := corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: "lab-server", Namespace: "notebooks", Labels: labels},
		Spec: corev1.ServiceSpec{Selector: selector("4.1.4"), Ports: connectPorts(7078, 7079, 4040, 15002)},
	}
	cases := map[string]struct {
		reason string
		set    func(*connectSpec)
		want   func(*corev1.Service)
	}{
		"Default": {reason: "a ClusterIP for the server", set: func(*connectSpec) {}, want: func(*corev1.Service) {}},
		"User": {
			reason: "name, labels, annotations and spec are the user's, but what leads to the server is not",
			set: func(s *connectSpec) {
				s.Server.Service = &corev1.Service{
					ObjectMeta: metav1.ObjectMeta{Name: "books", Namespace: "other", Labels: props{"a": "b"}, Annotations: props{"c": "d"}, Finalizers: []string{"x/y"}},
					Spec: corev1.ServiceSpec{
						Type: corev1.ServiceTypeLoadBalancer, Selector: props{"x": "y"}, Ports: []corev1.ServicePort{{Name: "x", Port: 1}}, LoadBalancerSourceRanges: []string{"10.0.0.0/8"},
					},
				}
			},
			want: func(s *corev1.Service) {
				s.Name, s.Annotations, s.Labels = "books", props{"c": "d"}, props{"a": "b", "sparkoperator.k8s.io/created-by-spark-operator": "true", "sparkoperator.k8s.io/connect-name": "lab"}
				s.Spec.Type, s.Spec.LoadBalancerSourceRanges = corev1.ServiceTypeLoadBalancer, []string{"10.0.0.0/8"}
			},
		},
		"NoName": {reason: "an empty name is no name", set: func(s *connectSpec) {
			s.Server.Service = &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}}
		}, want: func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }},
		"Ports": {
			reason: "they follow the properties", set: func(s *connectSpec) {
				s.SparkConf = props{"spark.driver.port": "17078", "spark.driver.blockManager.port": "17079", "spark.ui.port": "14040", "spark.connect.grpc.binding.port": "25002"}
			}, want: func(s *corev1.Service) { s.Spec.Ports = connectPorts(17078, 17079, 14040, 25002) },
		},
		"NoPorts": {
			reason: "what is no port is refused elsewhere", set: func(s *connectSpec) {
				s.SparkConf = props{"spark.driver.port": "x", "spark.driver.blockManager.port": "-1", "spark.ui.port": "0", "spark.connect.grpc.binding.port": "70000"}
			}, want: func(*corev1.Service) {},
		},
		"NoUI":    {reason: "a port has a number, even if nobody listens", set: func(s *connectSpec) { s.SparkConf = props{"spark.ui.enabled": "false"} }, want: func(*corev1.Service) {}},
		"Version": {reason: "as Spark writes it", set: func(s *connectSpec) { s.SparkVersion = "v3.5.1" }, want: func(s *corev1.Service) { s.Spec.Selector = selector("3.5.1") }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, want := ofSpec(tc.set), own.DeepCopy()
			tc.want(want)
			before := o.DeepCopy()
			app, _ := normalizeConnect(o)
			if diff := cmp.Diff([]corev1.Service{*want}, app.Exposure.Services); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			app.Exposure.Services[0].Labels["x"] = "y"
			if diff := cmp.Diff(before, o); diff != "" {
				t.Errorf("the user's object was changed (-before +after):\n%s", diff)
			}
		})
	}
}
