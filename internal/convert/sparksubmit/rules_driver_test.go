// SPDX-License-Identifier: Apache-2.0

package sparksubmit_test

import (
	"slices"

	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/test/golden"
)

// driverRules are the differences between a recorded driver and what is made of it, beside those of a command line. They come first.
var driverRules = []rule{
	{"pod-name", "the application names the pod that it follows, so that nothing else gets the name", podName},
	{"submit-time", "the next driver is submitted at another time", func(r *run) bool {
		return r.swap(spark.ConfSubmitTime, r.conf[spark.ConfSubmitTime], "1700000000000")
	}},
	{"lost-driver-template", "its text is not in the cluster; it is named as lost", lostTemplate},
	{"lost-pod-group", "the template's text is not in the cluster; it is named as lost", lostPodGroup},
	{"lost-hadoop-conf", "its ConfigMap goes with the driver that runs; it is named as lost", lostHadoop},
	{"lost-krb5", "its ConfigMap goes with the driver that runs; it is named as lost", lostKrb5},
}

// podName is what both have in common, and what the rule of long names would change in one of them.
func podName(r *run) bool {
	want, got := properties(r.want), properties(r.got)
	recorded := golden.Text(golden.Child(pod(r.want), "metadata")["name"])
	if r.driverName != recorded || want[spark.ConfDriverPodName] != recorded || got[spark.ConfDriverPodName] != recorded {
		return false
	}
	delete(want, spark.ConfDriverPodName)
	delete(got, spark.ConfDriverPodName)
	return true
}

// lostTemplate leaves out the pods: all of a pod may come from a template.
func lostTemplate(r *run) bool {
	if !r.named(spark.ConfDriverTemplateFile) || !r.swap(spark.ConfDriverTemplateFile, r.conf[spark.ConfDriverTemplateFile], nil) {
		return false
	}
	r.without("Pod")
	return true
}

func lostPodGroup(r *run) bool {
	const file = "spark.kubernetes.scheduler.volcano.podGroupTemplateFile"
	if !r.named(file) || !r.swap(file, r.conf[file], nil) {
		return false
	}
	r.without("PodGroup")
	return true
}

// without leaves out the objects of a kind.
func (r *run) without(kind string) {
	is := func(o golden.Object) bool { return golden.KindOf(o) == kind }
	r.want, r.got = slices.DeleteFunc(r.want, is), slices.DeleteFunc(r.got, is)
}

func lostHadoop(r *run) bool {
	const dir, key = "/opt/hadoop/conf", "spark.kubernetes.executor.hadoopConfigMapName"
	if !r.named("HADOOP_CONF_DIR") || volume(r.want, "hadoop-properties", dir) == nil {
		return false
	}
	r.drop("ConfigMap", "hadoop-config")
	r.swap(key, r.wanted(key), nil)
	containers, _ := golden.Child(pod(r.want), "spec")["containers"].([]any)
	for _, c := range containers {
		env, _ := c.(golden.Object)["env"].([]any)
		c.(golden.Object)["env"] = slices.DeleteFunc(env, func(e any) bool {
			return e.(golden.Object)["name"] == "HADOOP_CONF_DIR" && e.(golden.Object)["value"] == dir
		})
	}
	return true
}

func lostKrb5(r *run) bool {
	const key = "spark.kubernetes.kerberos.krb5.path"
	return r.named(key) && r.drop("ConfigMap", "krb5-file") != nil && volume(r.want, "krb5-file", "/etc/krb5.conf") != nil &&
		r.swap(key, r.conf[key], nil)
}
