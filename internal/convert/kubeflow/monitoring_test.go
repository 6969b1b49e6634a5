// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

const (
	agentOption  = "-javaagent:/jmx.jar=8090:/etc/metrics/conf/prometheus.yaml"
	driverNote   = "spark.kubernetes.driver.annotation.prometheus.io/"
	executorNote = "spark.kubernetes.executor.annotation.prometheus.io/"
)

func TestMonitoring(t *testing.T) {
	prometheus := func(change func(*v1beta2.MonitoringSpec)) func(*spec) {
		return func(s *spec) {
			s.Monitoring = &v1beta2.MonitoringSpec{
				ExposeDriverMetrics: true, ExposeExecutorMetrics: true, Prometheus: &v1beta2.PrometheusSpec{JmxExporterJar: "/jmx.jar"},
			}
			change(s.Monitoring)
		}
	}
	cases := map[string]struct {
		reason string
		set    func(*spec)
		// conf are properties that must be there, or must not be if "".
		conf map[string]string
		keys []string // of the ConfigMap
		// pod lists volume, mount and port of driver and executor.
		driver, executor string
	}{
		"Exporter": {
			reason: "both roles get agent, annotations, files and port", set: prometheus(func(*v1beta2.MonitoringSpec) {}),
			conf: props{
				"spark.metrics.namespace": "jobs.pi", "spark.metrics.conf": "/etc/metrics/conf/metrics.properties",
				"spark.driver.extraJavaOptions": agentOption, "spark.executor.extraJavaOptions": agentOption,
				driverNote + "scrape": "true", driverNote + "port": "8090", driverNote + "path": "/metrics", executorNote + "port": "8090",
			},
			keys: []string{"metrics.properties", "prometheus.yaml"}, driver: "pi-prom-conf-vol /etc/metrics/conf jmx-exporter:8090", executor: "pi-prom-conf-vol /etc/metrics/conf jmx-exporter:8090",
		},
		"DriverOnly": {
			reason: "a role that is not exposed is left alone", set: prometheus(func(m *v1beta2.MonitoringSpec) { m.ExposeExecutorMetrics = false }),
			conf: props{"spark.executor.extraJavaOptions": "", executorNote + "scrape": "", driverNote + "scrape": "true"},
			keys: []string{"metrics.properties", "prometheus.yaml"}, driver: "pi-prom-conf-vol /etc/metrics/conf jmx-exporter:8090",
		},
		"Port": {
			reason: "port and name are the user's", set: prometheus(func(m *v1beta2.MonitoringSpec) {
				m.Prometheus.Port, m.Prometheus.PortName = new(int32(9100)), new("prom")
			}),
			conf: props{driverNote + "port": "9100", "spark.driver.extraJavaOptions": "-javaagent:/jmx.jar=9100:/etc/metrics/conf/prometheus.yaml"},
			keys: []string{"metrics.properties", "prometheus.yaml"}, driver: "pi-prom-conf-vol /etc/metrics/conf prom:9100", executor: "pi-prom-conf-vol /etc/metrics/conf prom:9100",
		},
		"OneFile": {
			reason: "a file in the image needs no key", set: prometheus(func(m *v1beta2.MonitoringSpec) { m.MetricsPropertiesFile = new("/m.properties") }),
			conf: props{"spark.metrics.conf": "/m.properties"},
			keys: []string{"prometheus.yaml"}, driver: "pi-prom-conf-vol /etc/metrics/conf jmx-exporter:8090", executor: "pi-prom-conf-vol /etc/metrics/conf jmx-exporter:8090",
		},
		"BothFiles": {
			reason: "with both files in the image nothing is mounted, and the image's maker declares the port", set: prometheus(func(m *v1beta2.MonitoringSpec) {
				m.MetricsPropertiesFile, m.Prometheus.ConfigFile = new("/m.properties"), new("/jmx.yaml")
			}),
			conf: props{"spark.metrics.conf": "/m.properties", "spark.driver.extraJavaOptions": "-javaagent:/jmx.jar=8090:/jmx.yaml", driverNote + "scrape": "true"},
		},
		"JavaOptions": {
			reason: "the agent is appended to the user's options", set: func(s *spec) {
				prometheus(func(*v1beta2.MonitoringSpec) {})(s)
				s.Driver.JavaOptions, s.SparkConf = new("-Da=b"), props{"spark.executor.extraJavaOptions": "-Dc=d"}
			},
			conf: props{"spark.driver.extraJavaOptions": "-Da=b " + agentOption, "spark.executor.extraJavaOptions": "-Dc=d " + agentOption},
			keys: []string{"metrics.properties", "prometheus.yaml"}, driver: "pi-prom-conf-vol /etc/metrics/conf jmx-exporter:8090", executor: "pi-prom-conf-vol /etc/metrics/conf jmx-exporter:8090",
		},
		"Forced": {
			reason: "the exporter's rules depend on the namespace of the metrics", set: func(s *spec) {
				prometheus(func(m *v1beta2.MonitoringSpec) { m.ExposeDriverMetrics, m.ExposeExecutorMetrics = false, false })(s)
				s.SparkConf = props{"spark.metrics.namespace": "mine", "spark.metrics.conf": "/mine"}
			},
			conf: props{"spark.metrics.namespace": "jobs.pi", "spark.metrics.conf": "/etc/metrics/conf/metrics.properties", driverNote + "scrape": ""},
			keys: []string{"metrics.properties", "prometheus.yaml"},
		},
		"Servlet": {
			reason: "without an exporter Spark's own endpoint serves", set: func(s *spec) {
				s.Monitoring = &v1beta2.MonitoringSpec{ExposeDriverMetrics: true, ExposeExecutorMetrics: true}
			},
			conf: props{
				"spark.ui.prometheus.enabled": "true", "spark.metrics.namespace": "jobs.pi", "spark.metrics.conf": "",
				"spark.metrics.conf.*.sink.prometheusServlet.class": "org.apache.spark.metrics.sink.PrometheusServlet",
				"spark.metrics.conf.*.sink.prometheusServlet.path":  "/metrics/prometheus",
				driverNote + "scrape":                               "true", driverNote + "port": "4040", driverNote + "path": "/metrics/prometheus/", executorNote + "scrape": "",
			},
		},
		"ServletExecutors": {
			reason: "executors' metrics are shown by the driver", set: func(s *spec) {
				s.Monitoring = &v1beta2.MonitoringSpec{ExposeExecutorMetrics: true}
				s.SparkConf = props{"spark.ui.port": "4141"}
			},
			conf: props{"spark.ui.prometheus.enabled": "true", driverNote + "path": "/metrics/executors/prometheus", driverNote + "port": "4141", executorNote + "scrape": ""},
		},
		"ServletDefaults": {
			reason: "who has set it up by sparkConf keeps that", set: func(s *spec) {
				s.Monitoring = &v1beta2.MonitoringSpec{ExposeDriverMetrics: true}
				s.SparkConf = props{"spark.metrics.conf.*.sink.prometheusServlet.path": "/own", "spark.metrics.namespace": "mine"}
				s.Driver.Annotations = props{"prometheus.io/port": "1"}
			},
			conf: props{"spark.metrics.namespace": "mine", driverNote + "path": "/own/", driverNote + "port": "1"},
		},
		"ServletProperties": {
			reason: "the properties are mounted also without an exporter", set: func(s *spec) {
				s.Monitoring = &v1beta2.MonitoringSpec{ExposeDriverMetrics: true, MetricsProperties: new("a=b")}
			},
			conf: props{"spark.metrics.conf": "/etc/metrics/conf/metrics.properties"}, keys: []string{"metrics.properties"}, driver: "pi-prom-conf-vol /etc/metrics/conf",
		},
		"Nothing": {
			reason: "nothing is exposed", set: func(s *spec) { s.Monitoring = &v1beta2.MonitoringSpec{MetricsProperties: new("a=b")} },
			conf: props{"spark.metrics.conf": "", "spark.metrics.namespace": ""},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			tc.set(&o.Spec)
			app := normalize(t, o)
			for key, want := range tc.conf {
				if got := app.Conf[key]; got != want {
					t.Errorf("%s: %s=%q, want %q", tc.reason, key, got, want)
				}
			}
			var keys []string
			for _, m := range app.ConfigMaps {
				keys = append(keys, slices.Sorted(maps.Keys(m.Data))...)
			}
			if diff := cmp.Diff(tc.keys, keys); diff != "" {
				t.Errorf("%s: keys of the ConfigMap (-want +got):\n%s", tc.reason, diff)
			}
			got := [2]string{podOf(app.Driver.Overlay), podOf(app.Executor.Overlay)}
			if diff := cmp.Diff([2]string{tc.driver, tc.executor}, got); diff != "" {
				t.Errorf("%s: driver and executor (-want +got):\n%s", tc.reason, diff)
			}
			build(t, o)
		})
	}
}

func podOf(o spark.PodOverlay) string {
	var words []string
	for i, m := range o.VolumeMounts {
		if o.Volumes[i].Name == m.Name {
			words = append(words, m.Name, m.MountPath)
		}
	}
	for _, p := range o.Ports {
		words = append(words, p.Name+":"+strconv.Itoa(int(p.ContainerPort)))
	}
	return strings.Join(words, " ")
}

// The map is created before the driver that mounts it, and belongs to the submission.
func TestMonitoringConfigMapIsCreatedFirst(t *testing.T) {
	o := testutil.Pi()
	o.Name = strings.Repeat("n", 63)
	o.Spec.Monitoring = &v1beta2.MonitoringSpec{ExposeDriverMetrics: true, Prometheus: &v1beta2.PrometheusSpec{JmxExporterJar: "/jmx.jar", Configuration: new("x: y")}}
	s := build(t, o)
	var found *corev1.ConfigMap
	for _, r := range s.Resources {
		if m, ok := r.(*corev1.ConfigMap); ok && m.Name == o.Name+"-prom-conf" {
			found = m
		}
	}
	if found == nil || found.Data["prometheus.yaml"] != "x: y" || found.Labels[v1beta2.LabelCreatedBy] != "true" || found.Namespace != "jobs" {
		t.Fatalf("the ConfigMap is %+v", found)
	}
	for _, v := range s.Driver.Spec.Volumes {
		if v.ConfigMap != nil && v.ConfigMap.Name == found.Name && len(v.Name) > 63 {
			t.Errorf("the volume's name %q is longer than 63", v.Name)
		}
	}
}

// The texts are our own; the rules are tried on beans as Spark calls them.
func TestExporterRules(t *testing.T) {
	var config struct {
		Rules []struct {
			Pattern, Name string
			Labels        map[string]string
		} `json:"rules"`
	}
	if err := yaml.Unmarshal([]byte(defaultExporterConfig), &config); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ reason, bean, want string }{
		"Driver":    {reason: "a gauge", bean: "metrics<name=jobs.pi.driver.BlockManager.memory.maxMem_MB, type=gauges><>Value", want: "spark_driver_BlockManager_memory.maxMem_MB jobs pi"},
		"Untyped":   {reason: "older releases name no type", bean: "metrics<name=jobs.pi.driver.jvm.heap.used><>Value", want: "spark_driver_jvm_heap.used jobs pi"},
		"Counter":   {reason: "a counter", bean: "metrics<name=jobs.pi.driver.HiveExternalCatalog.fileCacheHits, type=counters><>Count", want: "spark_driver_HiveExternalCatalog_fileCacheHits_count jobs pi"},
		"Timer":     {reason: "a timer", bean: "metrics<name=jobs.pi.driver.DAGScheduler.messageProcessingTime, type=timers><>Mean", want: "spark_driver_DAGScheduler_messageProcessingTime_Mean jobs pi"},
		"Executor":  {reason: "an executor", bean: "metrics<name=jobs.pi.12.executor.threadpool.activeTasks, type=gauges><>Value", want: "spark_executor_threadpool.activeTasks jobs pi 12"},
		"JVM":       {reason: "another source of an executor", bean: "metrics<name=jobs.pi.3.jvm.total.used, type=gauges><>Value", want: "spark_executor_jvm_total.used jobs pi 3"},
		"Streaming": {reason: "DStreams", bean: "metrics<name=jobs.pi.driver.Word Count.StreamingMetrics.streaming.runningBatches, type=gauges><>Value", want: "spark_streaming_driver_runningBatches jobs pi"},
		"Query":     {reason: "structured streaming", bean: "metrics<name=jobs.pi.driver.spark.streaming.clicks.inputRate-total, type=gauges><>Value", want: "spark_structured_streaming_driver_inputRate-total jobs pi clicks"},
		"Foreign":   {reason: "a bean of the JVM is the exporter's own business", bean: "java.lang<type=Memory><HeapMemoryUsage>used"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, rule := range config.Rules {
				pattern := regexp.MustCompile("^.*(?:" + rule.Pattern + ").*$") // as the exporter does it
				match := pattern.FindStringSubmatchIndex(tc.bean)
				if match == nil {
					continue
				}
				fill := func(text string) string {
					text = regexp.MustCompile(`\$(\d)`).ReplaceAllString(text, "$${$1}")
					return string(pattern.ExpandString(nil, text, tc.bean, match))
				}
				got = fill(rule.Name)
				for _, label := range []string{"app_namespace", "app_id", "executor_id", "query_name"} {
					if text, ok := rule.Labels[label]; ok {
						got += " " + fill(text)
					}
				}
				break
			}
			if got != tc.want {
				t.Errorf("%s: %q becomes %q, want %q", tc.reason, tc.bean, got, tc.want)
			}
		})
	}
}
