// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	_ "embed" // the default texts
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

var (
	//go:embed monitoring/metrics.properties
	defaultMetricsProperties string
	//go:embed monitoring/prometheus.yaml
	defaultExporterConfig string
)

// The mount path of the ConfigMap for metrics, and its keys.
const (
	metricsDir      = "/etc/metrics/conf"
	metricsFile     = "metrics.properties"
	exporterFile    = "prometheus.yaml"
	metricsMapTail  = "-prom-conf"
	exporterPort    = 8090
	exporterName    = "jmx-exporter"
	monitoringField = "monitoring"
)

// Spark's own metrics endpoint for Prometheus, on the port of the UI.
const (
	confMetricsFile      = "spark.metrics.conf"
	confMetricsNamespace = "spark.metrics.namespace"
	confUIPrometheus     = "spark.ui.prometheus.enabled"
	confServletClass     = "spark.metrics.conf.*.sink.prometheusServlet.class"
	confServletPath      = "spark.metrics.conf.*.sink.prometheusServlet.path"
	servletPath          = "/metrics/prometheus"
	executorsPath        = "/metrics/executors/prometheus"
	annotationScrape     = "prometheus.io/scrape"
	annotationPort       = "prometheus.io/port"
	annotationPath       = "prometheus.io/path"
)

// metrics has the settings that follow from spec.monitoring.
type metrics struct {
	name string // of the ConfigMap
	data map[string]string
	// properties is the path of metrics.properties in the pods; "" for Spark's defaults.
	properties string
	// agent is the JVM option that loads the JMX exporter; "" without it.
	agent string
	port  int32
	// portName is "" if the image contains all files: the author of the image has then declared the port, too.
	portName         string
	driver, executor bool
}

// metricsOf returns nil if the spec neither exposes metrics nor configures the exporter.
func metricsOf(o *v1beta2.SparkApplication) *metrics {
	spec := o.Spec.Monitoring
	if spec == nil || spec.Prometheus == nil && !spec.ExposeDriverMetrics && !spec.ExposeExecutorMetrics {
		return nil
	}
	m := &metrics{
		name: o.Name + metricsMapTail, data: map[string]string{},
		driver: spec.ExposeDriverMetrics, executor: spec.ExposeExecutorMetrics,
	}
	text := ptr.Deref(spec.MetricsProperties, "")
	if text == "" && spec.Prometheus != nil {
		text = defaultMetricsProperties
	}
	if m.properties = ptr.Deref(spec.MetricsPropertiesFile, ""); m.properties == "" && text != "" {
		m.properties, m.data[metricsFile] = metricsDir+"/"+metricsFile, text
	}
	if spec.Prometheus != nil {
		m.exporter(spec.Prometheus)
	}
	return m
}

func (m *metrics) exporter(p *v1beta2.PrometheusSpec) {
	config := ptr.Deref(p.ConfigFile, "")
	if config == "" {
		config, m.data[exporterFile] = metricsDir+"/"+exporterFile, ptr.Deref(p.Configuration, defaultExporterConfig)
	}
	m.port = ptr.Deref(p.Port, exporterPort)
	if len(m.data) > 0 {
		m.portName = ptr.Deref(p.PortName, exporterName)
	}
	m.agent = "-javaagent:" + p.JmxExporterJar + "=" + strconv.Itoa(int(m.port)) + ":" + config
}

// configMaps returns the additional ConfigMaps of the application.
func (m *metrics) configMaps() []spark.ConfigMap {
	if m == nil || len(m.data) == 0 {
		return nil
	}
	return []spark.ConfigMap{{Name: m.name, Labels: map[string]string{v1beta2.LabelCreatedBy: "true"}, Data: m.data}}
}

// mount adds the files and the port to an exposed role.
func (m *metrics) mount(overlay *spark.PodOverlay) {
	if len(m.data) > 0 {
		files := mounts{volumes: overlay.Volumes, mounts: overlay.VolumeMounts}
		files.configMap(monitoringField, configMapVolume(m.name), m.name, metricsDir, "")
		overlay.Volumes, overlay.VolumeMounts = files.volumes, files.mounts
	}
	if m.agent != "" && m.portName != "" {
		overlay.Ports = append(overlay.Ports, corev1.ContainerPort{Name: m.portName, Protocol: corev1.ProtocolTCP, ContainerPort: m.port})
	}
}

// conf sets Spark's properties. With the exporter they override the user's properties, because the exporter's rules depend on them. The properties for
// Spark's own endpoint are only defaults.
func (m *metrics) conf(c conf, o *v1beta2.SparkApplication) {
	if m == nil {
		return
	}
	if m.properties != "" {
		c.set(confMetricsFile, m.properties, monitoringField)
	}
	namespace := o.Namespace + "." + o.Name
	if m.agent == "" {
		c.setDefault(confMetricsNamespace, namespace, monitoringField)
		m.servlet(c)
		return
	}
	c.set(confMetricsNamespace, namespace, monitoringField)
	for _, role := range []struct {
		exposed bool
		keys    roleKeys
	}{{m.driver, driverKeys}, {m.executor, executorKeys}} {
		if !role.exposed {
			continue
		}
		options := m.agent
		if before := c.user[role.keys.options]; before != "" {
			options = before + " " + m.agent
		}
		c.set(role.keys.options, options, c.originOf(role.keys.options, monitoringField+".prometheus"))
		for name, value := range scrape(strconv.Itoa(int(m.port)), "/metrics") {
			c.set(role.keys.annotation+name, value, monitoringField)
		}
	}
}

// servlet enables Spark's own endpoint on the driver. It also serves the metrics of executors, which have no endpoint.
func (m *metrics) servlet(c conf) {
	path := executorsPath
	if m.driver {
		c.setDefault(confServletClass, "org.apache.spark.metrics.sink.PrometheusServlet", monitoringField)
		c.setDefault(confServletPath, servletPath, monitoringField)
		// Without the slash, Spark redirects to a URL below the UI's base path, which does not exist inside the pod.
		path = strings.TrimSuffix(c.user[confServletPath], "/") + "/"
	}
	if m.executor {
		c.setDefault(confUIPrometheus, "true", monitoringField)
	}
	port := c.user[spark.ConfUIPort]
	if port == "" {
		port = "4040"
	}
	for name, value := range scrape(port, path) {
		c.setDefault(driverKeys.annotation+name, value, monitoringField)
	}
}

// scrape returns the annotations with which Prometheus finds a pod.
func scrape(port, path string) map[string]string {
	return map[string]string{annotationScrape: "true", annotationPort: port, annotationPath: path}
}
