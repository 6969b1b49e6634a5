// SPDX-License-Identifier: Apache-2.0

package sparksubmit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit/commandline"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/test/golden"
)

// notApplicable says why there is nothing to compare, "" if there is.
func (r *run) notApplicable(err error) string {
	if errors.Is(err, commandline.ErrNotSubmission) {
		return "spark-submit's own client side: " + err.Error()
	}
	for _, text := range r.result.Errors {
		switch {
		case strings.Contains(text, "Class org.apache.hadoop.fs."), strings.Contains(text, "unresolved dependency"):
			return "the recording machine had neither stores nor repositories, which the driver can reach"
		case r.recorded.Dir == "master-https" && r.version == "3.3":
			return "the recorder's certificate was not accepted"
		}
	}
	if err != nil && r.result.ExitCode == 0 && strings.Contains(err.Error(), "cannot be uploaded") {
		return "uploads files of the client's disk"
	}
	return ""
}

// refusals are what spark-submit sends and we refuse on purpose.
var refusals = []struct {
	reason string
	is     func(t *testing.T, r *run, err error) bool
}{
	{"the API server would not even decode the driver", func(t *testing.T, r *run, err error) bool {
		t.Helper()
		return strings.HasPrefix(err.Error(), "spec.") && r.undecodable(t)
	}},
	{"the API server would refuse the driver or its executors", func(t *testing.T, r *run, err error) bool {
		t.Helper()
		return strings.HasPrefix(err.Error(), "spec.") && r.invalid(t)
	}},
}

// rule is a deliberate difference. It removes exactly what it names, and only if it is as expected: what it does not
// recognize stays and fails the comparison.
type rule struct {
	id, reason string
	apply      func(*run) bool
}

// everywhere are the rules that hold for every application.
var everywhere = map[string]bool{
	"operator-labels": true, "driver-name": true, "master": true, "namespace": true, "spark-user": true, "no-waiting": true,
	"two-executors": true, "pod-name": true,
}

var rules = []rule{
	{"operator-labels", "the operator finds its pods by three labels, which the driver hands on to its executors", operatorLabels},
	{"driver-name", "tools look for the application's name with -driver, on every attempt", driverName},
	{"master", "spark-submit ran outside of the cluster; the operator does not", func(r *run) bool {
		return r.swap(spark.ConfMaster, r.wanted(spark.ConfMaster), "k8s://https://kubernetes.default.svc:443")
	}},
	{"namespace", "the namespace is the object's, and always written, so that nothing can redirect it", func(r *run) bool {
		return r.swap(spark.ConfNamespace, r.wanted(spark.ConfNamespace), r.app.Namespace)
	}},
	{"spark-user", "who submits is the operator, as the user of Spark's own images", sparkUser},
	{"no-waiting", "the operator follows the application by itself", func(r *run) bool {
		return r.swap("spark.kubernetes.submission.waitAppCompletion", r.wanted("spark.kubernetes.submission.waitAppCompletion"), "false")
	}},
	{"two-executors", "the manifest says what Spark takes by default, because the operator's default is 1", func(r *run) bool {
		return r.swap(spark.ConfExecutorInstances, nil, "2")
	}},
	{"app-name", "the application has the name of its object, whose name has the characters that Kubernetes allows", appName},
	{"digit-name", "an object's name starts with a letter; Spark replaces a digit in the names of its own objects, too", digitName},
	{"long-name", "an object's name is a label of its pods, so it ends after 63 characters", longName},
	{"no-name", "an object needs a name, so an application whose name has no letter or digit is called spark", noName},
	{"references", "variables of the submitting machine are resolved when the manifest is made", references},
	{"heap", "a JVM does not start with a heap size that only Spark understands", heap},
	{"interpreters", "variables of the submitting machine become properties", variables},
	{"own-connection", "credentials for the submitting machine's connection have no use in a cluster", ownConnection},
	{"credentials", "the driver authenticates with its service account; credentials do not belong into a manifest", credentials},
	{"conf-dir", "the operator does not see SPARK_CONF_DIR; the files are named as lost", confDir},
	{"hadoop-conf-dir", "the operator does not see HADOOP_CONF_DIR; the user makes the ConfigMap", hadoopConfDir},
	{"krb5", "the operator does not see the file; the user makes the ConfigMap", krb5},
	{"keytab", "the operator does not see the file; the user makes the Secret", keytab},
	{"driver-template", "the template is in the manifest", driverTemplate},
	{"executor-template", "the template is in the manifest; the executors get its meaning, not its letters", executorTemplate},
	{"pod-group", "the template's text is in the manifest", podGroup},
}

func operatorLabels(r *run) bool {
	labels := map[string]string{
		v1beta2.LabelAppName: r.app.Name, v1beta2.LabelLaunchedBy: "true", v1beta2.LabelSubmissionID: identity.SubmissionID,
		v1beta2.LabelSpecHash: kubeflow.SpecHash(&r.app),
	}
	found := false
	for name, value := range labels {
		for _, prefix := range []string{spark.ConfDriverLabelPrefix, spark.ConfExecutorLabelPrefix} {
			found = r.swap(prefix+name, nil, value) || found
		}
		for _, object := range r.got {
			for _, holder := range []golden.Object{
				golden.Child(object, "metadata", "labels"), golden.Child(object, "spec", "selector"),
			} {
				if holder[name] == value {
					delete(holder, name)
					found = true
				}
			}
		}
	}
	return found
}

func driverName(r *run) bool {
	recorded := ""
	for _, object := range r.want {
		if golden.KindOf(object) == "Pod" {
			recorded = golden.Text(golden.Child(object, "metadata")["name"])
		}
	}
	if recorded == r.driverName || r.driverName != r.app.Name+"-driver" {
		return false
	}
	for _, object := range r.got {
		if metadata := golden.Child(object, "metadata"); golden.KindOf(object) == "Pod" && metadata["name"] == r.driverName {
			metadata["name"] = recorded
		}
	}
	return r.swap(spark.ConfDriverPodName, recorded, r.driverName)
}

func sparkUser(r *run) bool {
	got := r.env(r.got, "SPARK_USER")
	want := r.env(r.want, "SPARK_USER")
	expected := "spark"
	if r.command.ProxyUser != "" {
		expected = r.command.ProxyUser
	}
	if got == nil || want == nil || got["value"] == want["value"] || got["value"] != expected {
		return false
	}
	got["value"] = want["value"]
	return true
}

// env returns a variable of the Spark container of the driver.
func (r *run) env(objects []golden.Object, name string) golden.Object {
	var found golden.Object
	for _, object := range objects {
		containers, _ := golden.Child(object, "spec")["containers"].([]any)
		for _, c := range containers {
			list, _ := c.(golden.Object)["env"].([]any)
			for _, e := range list {
				if variable := e.(golden.Object); variable["name"] == name {
					found = variable
				}
			}
		}
	}
	return found
}

// properties returns spark.properties of the recorded or the built objects.
func properties(objects []golden.Object) golden.Object {
	for _, object := range objects {
		if entries, ok := golden.Child(object, "data")[golden.PropertiesFile].(golden.Object); ok {
			return entries
		}
	}
	return nil
}

// wanted is the recorded value of a property, nil if it has none.
func (r *run) wanted(key string) any { return properties(r.want)[key] }

// swap removes a property whose recorded and built values are those given; nil stands for none.
func (r *run) swap(key string, want, got any) bool {
	w, g := properties(r.want), properties(r.got)
	if g == nil || w[key] != want || g[key] != got || want == got {
		return false
	}
	delete(w, key)
	delete(g, key)
	return true
}
