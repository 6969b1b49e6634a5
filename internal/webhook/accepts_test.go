// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
)

// change replaces a part of a good manifest, or adds fields to it.
func change(old, replacement string) string { return strings.Replace(good, old, replacement, 1) }

func adding(fields string) string { return change("type:", fields+", type:") }

// What the webhook of Kubeflow's operator takes is taken, with a warning of what the operator will say: it may be gone when the
// application starts.
func TestAcceptsWhatKubeflowAccepts(t *testing.T) {
	const template = "template: {spec: {containers: [{name: spark-kubernetes-driver}]}}"
	cases := map[string]struct{ reason, sent, warned string }{
		"NoImage":       {reason: "a policy or an edit may name one", sent: change(" image: 'spark:4.1.4',", ""), warned: "spec.image: the application has no image"},
		"NoClass":       {reason: "spark-submit would look into the jar", sent: change(" mainClass: Main,", ""), warned: "spec.mainClass: a Java or Scala application needs its main class"},
		"NoFile":        {reason: "it is there and empty", sent: change("'local:///a.jar'", "''"), warned: "spec.mainApplicationFile: the application has no main file"},
		"OldSpark":      {reason: "another operator runs it", sent: change("4.1.4", "2.4.8"), warned: `spec.sparkVersion: "2.4.8": not a supported Spark version`},
		"NewSpark":      {reason: "a release that came after this operator", sent: change("4.1.4", "9.0.0"), warned: `spec.sparkVersion: "9.0.0"`},
		"OddSpark":      {reason: "a build of one's own", sent: change("4.1.4", "ours"), warned: `spec.sparkVersion: "ours"`},
		"Client":        {reason: "a mode that the definition has", sent: adding("mode: client"), warned: `spec.mode: "client"`},
		"Upload":        {reason: "spark-submit uploads it", sent: change("local:///a.jar", "file:///a.jar"), warned: `spec.mainApplicationFile: "file:///a.jar"`},
		"UploadDeps":    {reason: "the same for jars", sent: adding("deps: {jars: ['file:///b.jar']}"), warned: `"file:///b.jar"`},
		"Pattern":       {reason: "spark-submit expands it", sent: adding("deps: {jars: ['s3a://b/*.jar']}"), warned: `"s3a://b/*.jar": patterns are not expanded`},
		"Python2":       {reason: "a value that the definition has", sent: strings.NewReplacer("Scala", "Python", "4.1.4", "3.5.9", "a.jar", "a.py").Replace(adding("pythonVersion: '2'")), warned: `spec.pythonVersion: "2"`},
		"Step":          {reason: "a class in spark-submit's image", sent: adding("sparkConf: {spark.kubernetes.driver.pod.featureSteps: a.B}"), warned: `"a.B"`},
		"Scheduler":     {reason: "it may be enabled", sent: adding("batchScheduler: volcano"), warned: `spec.batchScheduler: "volcano" is not known to this operator`},
		"Volume":        {reason: "it is not named yet", sent: adding("driver: {volumeMounts: [{name: spark-local-dir-1, mountPath: /a}]}"), warned: "volume not found"},
		"VolumeElse":    {reason: "another webhook may add it", sent: adding("driver: {sidecars: [{name: a, image: a, volumeMounts: [{name: x, mountPath: /x}]}]}"), warned: "no volume of the pod has this name"},
		"SidecarImage":  {reason: "another webhook may write it", sent: adding("driver: {sidecars: [{name: a}]}"), warned: "spec.driver.sidecars[0].image: missing"},
		"VolumeOption":  {reason: "missing, not wrong", sent: adding("sparkConf: {spark.kubernetes.driver.volumes.hostPath.a.mount.path: /a}"), warned: "missing; a volume of the type hostPath needs it"},
		"NoVendor":      {reason: "missing, not wrong", sent: adding("sparkConf: {spark.driver.resource.gpu.amount: '1'}"), warned: "missing; write the domain of the resource gpu"},
		"Token":         {reason: "it is for spark-submit", sent: adding("sparkConf: {spark.kubernetes.authenticate.submission.oauthToken: x}"), warned: "is not allowed: a pod uses its service account"},
		"MissingMount":  {reason: "nothing is mounted", sent: adding("driver: {volumeMounts: [{name: a, mountPath: /a}]}"), warned: "no volume of spec.volumes has this name"},
		"Template":      {reason: "Spark 3.0 and 3.1 know templates", sent: strings.Replace(adding("driver: {"+template+"}"), "4.1.4", "3.1.3", 1), warned: `spec.sparkVersion: "3.1.3"`},
		"UnknownSecret": {reason: "it is Generic", sent: adding("driver: {secrets: [{name: a, path: /a, secretType: Vault}]}"), warned: "not a known secretType"},
		"MemoryLimit":   {reason: "it has no effect", sent: adding("executor: {memoryLimit: 4g}"), warned: "spec.executor.memoryLimit"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			response := call(t, validate, admissionv1.Create, "", tc.sent)
			if !response.Allowed {
				t.Fatalf("%s: refused: %s", tc.reason, response.Result.Message)
			}
			if warnings := strings.Join(response.Warnings, "\n"); !strings.Contains(warnings, tc.warned) {
				t.Errorf("%s: no warning says %q:\n%s", tc.reason, tc.warned, warnings)
			}
		})
	}
}

// What no one could ever run, and what Kubeflow's rules forbid, is refused.
func TestRefusesWhatNoOneCouldRun(t *testing.T) {
	cases := map[string]struct{ reason, sent, says string }{
		"Size":        {reason: "not a size", sent: adding("executor: {memory: 2giga}"), says: `spec.executor.memory: "2giga"`},
		"Cores":       {reason: "not a quantity", sent: adding("driver: {coreLimit: many}"), says: `spec.driver.coreLimit: "many"`},
		"Limit":       {reason: "not a quantity", sent: adding("driver: {memoryLimit: much}"), says: `spec.driver.memoryLimit: "much"`},
		"PullPolicy":  {reason: "an unknown value of an enumeration", sent: adding("imagePullPolicy: Sometimes"), says: `"Sometimes"`},
		"Protocol":    {reason: "an unknown value of an enumeration", sent: adding("driver: {ports: [{name: a, protocol: FTP, containerPort: 1}]}"), says: `"FTP"`},
		"Boolean":     {reason: "Spark reads true and false", sent: adding("sparkConf: {spark.kubernetes.driver.volumes.emptyDir.a.mount.path: /a, spark.kubernetes.driver.volumes.emptyDir.a.mount.readOnly: 'yes'}"), says: `"yes"`},
		"PodName":     {reason: "no pod has such a name", sent: adding("driver: {podName: My_Driver}"), says: `spec.driver.podName: "My_Driver"`},
		"Undecodable": {reason: "text for a map", sent: "spec: {driver: {template: text}}", says: "spec: cannot be decoded"},
		"Name":        {reason: "their rule", sent: strings.Replace(with("", good), "name: pi", "name: pi.1", 1), says: "invalid SparkApplication name"},
		"Denied":      {reason: "their rule", sent: adding("sparkConf: {spark.kubernetes.authenticate.oauthToken: x}"), says: "is not allowed"},
		"Namespace":   {reason: "their rule", sent: adding("sparkConf: {spark.kubernetes.namespace: other}"), says: "is not allowed"},
		"Selectors":   {reason: "their rule", sent: adding("nodeSelector: {a: b}, driver: {nodeSelector: {a: b}}"), says: "node selector cannot be defined at both"},
		"Ports":       {reason: "their rule", sent: adding("driverIngressOptions: [{servicePort: 1, ingressURLFormat: a.b}, {servicePort: 1, ingressURLFormat: a.c}]"), says: "DriverIngressOptions has a duplicate servicePort"},
		"OldTemplate": {reason: "their rule", sent: strings.Replace(adding("driver: {template: {spec: {containers: [{name: a}]}}}"), "4.1.4", "2.4.8", 1), says: `spec.sparkVersion: "2.4.8"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			response := call(t, validate, admissionv1.Create, "", tc.sent)
			if response.Allowed || !strings.Contains(response.Result.Message, tc.says) {
				t.Errorf("%s: allowed: %t, %+v; want %q", tc.reason, response.Allowed, response.Result, tc.says)
			}
		})
	}
}
