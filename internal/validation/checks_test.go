// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

func driver(set func(*spark.PodOverlay)) change {
	return func(a *spark.Application) { set(&a.Driver.Overlay) }
}

func executor(set func(*spark.PodOverlay)) change {
	return func(a *spark.Application) { set(&a.Executor.Overlay) }
}

func all(changes ...change) change {
	return func(a *spark.Application) {
		for _, c := range changes {
			c(a)
		}
	}
}

func emptyDir(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func mounted(volume, path string) func(*spark.PodOverlay) {
	return func(o *spark.PodOverlay) {
		o.Volumes = append(o.Volumes, emptyDir(volume))
		o.VolumeMounts = append(o.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: path})
	}
}

func ports(list ...corev1.ContainerPort) func(*spark.PodOverlay) {
	return func(o *spark.PodOverlay) { o.Ports = append(o.Ports, list...) }
}

func sidecar(c corev1.Container) func(*spark.PodOverlay) {
	return func(o *spark.PodOverlay) { o.Sidecars = append(o.Sidecars, c) }
}

const dynamicKey = "spark.dynamicAllocation."

func scaling(minimum, initial, maximum string) change {
	return all(conf(dynamicKey+"enabled", "true"), conf(dynamicKey+"minExecutors", minimum),
		conf(dynamicKey+"initialExecutors", initial), conf(dynamicKey+"maxExecutors", maximum))
}

func tolerated(all ...corev1.Toleration) change {
	return driver(func(o *spark.PodOverlay) { o.Tolerations = all })
}

// claim mounts a volume claim in a role, as sparkConf does, and claimMade lets Spark make the claim.
func claim(role, volume, name string) change {
	prefix := "spark.kubernetes." + role + ".volumes.persistentVolumeClaim." + volume + "."
	return all(conf(prefix+"options.claimName", name), conf(prefix+"mount.path", "/"+volume))
}

func claimMade(role, volume string) change {
	prefix := "spark.kubernetes." + role + ".volumes.persistentVolumeClaim." + volume + "."
	return all(conf(prefix+"options.storageClass", "fast"), conf(prefix+"options.sizeLimit", "1Gi"))
}

// many makes a change so many times, with other names.
func many(n int, of func(name string) change) change {
	return func(a *spark.Application) {
		for i := range n {
			of(strconv.Itoa(i))(a)
		}
	}
}

func manyPorts(n int) change {
	return many(n, func(name string) change {
		return func(a *spark.Application) {
			a.Exposure.Ports = append(a.Exposure.Ports, spark.ExposedPort{PortName: "p" + name, Port: 9000 + int32(len(a.Exposure.Ports))})
		}
	})
}

func ephemeralVolume(name string) func(*spark.PodOverlay) {
	return func(o *spark.PodOverlay) {
		mounted(name, "/"+name)(o)
		o.Volumes[len(o.Volumes)-1].VolumeSource = corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}}}
	}
}

// What works must not be refused, however odd it looks.
func TestOddButWorking(t *testing.T) {
	cases := map[string]struct {
		reason string
		change change
	}{
		"ExecutorSizes":     {reason: "Spark reads units with a b, blanks and none", change: all(conf(spark.ConfExecutorMemory, "2048"), conf(spark.ConfExecutorMemoryOverhead, " 1GB "))},
		"Objects":           {reason: "as many as there may be", change: manyPorts(48)},
		"NegativeOverhead":  {reason: "Spark computes with it", change: conf(spark.ConfDriverMemoryOverhead, "-1m")},
		"Reference":         {reason: "it is resolved later", change: all(conf("spark.mine", "1g"), conf(spark.ConfExecutorMemoryOverhead, "${spark.mine}"))},
		"NoFactor":          {reason: "0 adds the minimum", change: conf(spark.ConfMemoryOverheadFactor, "0")},
		"InitialOutOfRange": {reason: "Spark corrects it", change: scaling("2", "1", "3")},
		"InitialAboveMax":   {reason: "Spark falls back", change: scaling("1", "9", "3")},
		"BoundsWhenOff":     {reason: "nobody reads them", change: all(conf(dynamicKey+"minExecutors", "9"), conf(dynamicKey+"maxExecutors", "1"))},
		"Prefix":            {reason: "as long as a pod's name has room", change: conf(spark.ConfExecutorPodNamePrefix, strings.Repeat("a.", 118)+"a")},
		"PrefixReference":   {reason: "it is resolved later", change: conf(spark.ConfExecutorPodNamePrefix, "${spark.app.name}")},
		"Placeholder":       {reason: "Spark fills it in", change: conf(spark.ConfDriverLabelPrefix+"app", "{{APP_ID}}")},
		"EmptyLabel":        {reason: "a label may be empty", change: conf(spark.ConfDriverLabelPrefix+"a", "")},
		"AnnotationCase":    {reason: "names of annotations may have capitals", change: conf(spark.ConfDriverAnnotationPrefix+"Example.org/Note", "x y z")},
		"MountTwice": {reason: "a volume at two paths", change: driver(func(o *spark.PodOverlay) {
			mounted("data", "/a")(o)
			o.VolumeMounts = append(o.VolumeMounts, corev1.VolumeMount{Name: "data", MountPath: "/b"})
		})},
		"SidecarsMount": {reason: "the role mounts it, too", change: driver(func(o *spark.PodOverlay) {
			mounted("data", "/a")(o)
			sidecar(corev1.Container{Name: "log", Image: "log", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/a"}}})(o)
		})},
		"ExecutorsMount": {reason: "Spark will add the volume", change: all(
			conf("spark.kubernetes.executor.volumes.emptyDir.spark-local-dir-1.mount.path", "/tmp/x"),
			executor(sidecar(corev1.Container{Name: "log", Image: "log", VolumeMounts: []corev1.VolumeMount{{Name: "spark-local-dir-1", MountPath: "/a"}}})))},
		"ScratchOfSpark": {reason: "Spark will add the volume", change: executor(sidecar(corev1.Container{Name: "log", Image: "log", VolumeMounts: []corev1.VolumeMount{{Name: "spark-local-dir-2", MountPath: "/a"}}}))},
		"NamedContainer": {reason: "Spark gives its own container the image, wherever it stands", change: all(conf(spark.ConfExecTemplateContainer, "main"), func(a *spark.Application) {
			a.Executor.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "log", Image: "log"}, {Name: "main"}}}}
		})},
		"Tolerations": {reason: "all words that there are", change: tolerated(corev1.Toleration{Operator: "Exists"}, corev1.Toleration{Key: "a"},
			corev1.Toleration{Key: "a", Value: "b", Operator: "Equal", Effect: "NoExecute"}, corev1.Toleration{Key: "a", Operator: "Gt", Value: "3"})},
		"SamePortUDP":     {reason: "another protocol", change: driver(ports(corev1.ContainerPort{Name: "a", ContainerPort: 53}, corev1.ContainerPort{Name: "b", ContainerPort: 53, Protocol: "UDP"}))},
		"GPU":             {reason: "a resource with a domain", change: driver(func(o *spark.PodOverlay) { o.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")} })},
		"RoomyLimit":      {reason: "a limit above the request", change: driver(func(o *spark.PodOverlay) { o.MemoryLimit = new(resource.MustParse("8Gi")) })},
		"PythonByAnyType": {reason: "the suffix decides", change: func(a *spark.Application) { a.MainFile, a.MainClass = "local:///a.py", "" }},
		"ClaimOfExecutor": {reason: "Spark writes the executor's id into it, whether it makes the claim or not", change: all(claim("executor", "a", "c-SPARK_EXECUTOR_ID"),
			claim("executor", "b", "c-SPARK_EXECUTOR_ID"), claimMade("executor", "b"), claim("executor", "c", "x-OnDemand"), claimMade("executor", "c"))},
		"ClaimOfDriver": {reason: "Spark makes up a name wherever the word stands", change: all(claim("driver", "a", "x-OnDemand"), claimMade("driver", "a"), claim("driver", "b", "data"))},
		"RemoteFile":    {reason: "the pods read it", change: func(a *spark.Application) { a.MainFile = "s3a://bucket/a.jar" }},
		"OwnImageName": {reason: "an image by digest", change: func(a *spark.Application) {
			a.OperatorConf[spark.ConfImage] = "r.example:5000/a/b@sha256:" + strings.Repeat("0", 64)
		}},
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

func TestBuiltIsChecked(t *testing.T) {
	long := strings.Repeat("n", 60)
	port := func(name string, number int32) corev1.ContainerPort {
		return corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: corev1.ProtocolTCP}
	}
	cases := map[string]struct {
		reason string
		change change
		// says begins the sentence and names the value; right is what would be right.
		says, right string
	}{
		"ExecutorMemory":   {reason: "no size", change: typed(spark.ConfExecutorMemory, "lots", "executor.memory"), says: `spec.executor.memory: "lots": not a size`, right: `"2g"`},
		"KubernetesMemory": {reason: "the other syntax", change: typed(spark.ConfExecutorMemory, "2Gi", "executor.memory"), says: `spec.executor.memory: "2Gi": a Kubernetes quantity`, right: `"2g"`},
		"Overhead":         {reason: "no size", change: typed(spark.ConfDriverMemoryOverhead, "10%", "driver.memoryOverhead"), says: `spec.driver.memoryOverhead: "10%": not a size`, right: `"512m"`},
		"ExecOverhead":     {reason: "the other syntax", change: typed(spark.ConfExecutorMemoryOverhead, "512Mi", "executor.memoryOverhead"), says: `spec.executor.memoryOverhead: "512Mi": a Kubernetes quantity`, right: `"512m"`},
		"PySpark":          {reason: "no size", change: conf(spark.ConfExecutorPySparkMemory, "x"), says: `spec.sparkConf["spark.executor.pyspark.memory"]: "x": not a size`, right: `"2g"`},
		"Factor":           {reason: "no number", change: typed(spark.ConfMemoryOverheadFactor, "ten", "memoryOverheadFactor"), says: `spec.memoryOverheadFactor: "ten": not a factor`, right: `"0.1"`},
		"NegativeFactor":   {reason: "less than nothing", change: typed(spark.ConfMemoryOverheadFactor, "-0.1", "memoryOverheadFactor"), says: `spec.memoryOverheadFactor: "-0.1": not a factor`, right: `"0.1"`},
		"Cores":            {reason: "nothing", change: typed(spark.ConfDriverCores, "0", "driver.cores"), says: `spec.driver.cores: "0": not a number of cores`, right: `"1"`},
		"CoresText":        {reason: "no number", change: conf(spark.ConfExecutorCores, "two"), says: `spec.sparkConf["spark.executor.cores"]: "two": not a whole number`, right: `"2"`},
		"Instances":        {reason: "nobody works", change: conf(spark.ConfExecutorInstances, "0"), says: `spec.sparkConf["spark.executor.instances"]: "0": not a number of executors`, right: `"2"`},
		"MinAboveMax":      {reason: "Spark refuses it", change: scaling("5", "5", "2"), says: `spec.sparkConf["spark.dynamicAllocation.maxExecutors"]: "2": smaller than the minimum of 5`, right: "lower the minimum"},
		"NegativeMin":      {reason: "Spark refuses it", change: scaling("-1", "0", "2"), says: `spec.sparkConf["spark.dynamicAllocation.minExecutors"]: "-1": must not be negative`, right: `"0"`},
		"NoMax":            {reason: "Spark refuses it", change: scaling("0", "0", "0"), says: `spec.sparkConf["spark.dynamicAllocation.maxExecutors"]: "0": must be positive`, right: `"10"`},
		"Label":            {reason: "no label", change: typed(spark.ConfDriverLabelPrefix+"team", "not a label!", `driver.labels["team"]`), says: `spec.driver.labels["team"]: "not a label!": not the value of a label`, right: "63"},
		"LabelName":        {reason: "no name", change: conf(spark.ConfExecutorLabelPrefix+"a b", "x"), says: `spec.sparkConf["spark.kubernetes.executor.label.a b"]: "x": the name of the label "a b"`, right: `"team"`},
		"Annotation":       {reason: "no name", change: conf(spark.ConfDriverAnnotationPrefix+"a b", "x"), says: `spec.sparkConf["spark.kubernetes.driver.annotation.a b"]: "a b": not the name of an annotation`, right: "example.org/note"},
		"NodeSelector":     {reason: "a selector is of labels", change: typed(spark.ConfNodeSelectorPrefix+"pool", "a b", `nodeSelector["pool"]`), says: `spec.nodeSelector["pool"]: "a b": not the value of a label`, right: "63"},
		"Account":          {reason: "no name", change: typed(spark.ConfDriverServiceAccount, "A_B", "driver.serviceAccount"), says: `spec.driver.serviceAccount: "A_B": not the name of a ServiceAccount`, right: `"spark"`},
		"NoImage":          {reason: "the field to write", change: func(a *spark.Application) { delete(a.OperatorConf, spark.ConfImage) }, says: `spec.image: the application has no image`, right: "write the image"},
		"PullPolicy":       {reason: "not one of three", change: typed(spark.ConfImagePullPolicy, "Sometimes", "imagePullPolicy"), says: `spec.imagePullPolicy: "Sometimes"`, right: `"Always", "Never" or "IfNotPresent"`},
		"LocalFile": {reason: "it would be uploaded", change: func(a *spark.Application) {
			a.MainFile = "/home/me/a.jar"
		}, says: `spec.mainApplicationFile: "/home/me/a.jar": a file of the submitting machine`, right: "local://"},
		"LocalJar":        {reason: "it would be uploaded", change: func(a *spark.Application) { a.Deps.Jars = []string{"file:///a.jar"} }, says: `spec.deps.jars[0]: "file:///a.jar": a file of the submitting machine`, right: "local://"},
		"DuplicateVolume": {reason: "no pod has two", change: driver(func(o *spark.PodOverlay) { mounted("data", "/a")(o); mounted("data", "/b")(o) }), says: `spec.driver.volumes[0].name: "data": present twice`, right: `change one of them`},
		"DuplicatePath":   {reason: "one hides the other", change: executor(func(o *spark.PodOverlay) { mounted("a", "/data")(o); mounted("b", "/data")(o) }), says: `spec.executor.volumeMounts[1]: "/data": a volume is mounted there already, by spec.executor.volumeMounts[0]`, right: "a path of its own"},
		"PathOfSpark":     {reason: "Spark's own ConfigMap is there", change: executor(mounted("a", "/opt/spark/conf")), says: `spec.executor.volumeMounts[0]: "/opt/spark/conf": Spark's own configuration is mounted there`, right: "spec.sparkConfigMap is the field"},
		"PathOfSparkToo":  {reason: "case 011: in the driver, too, of two mounts", change: driver(func(o *spark.PodOverlay) { mounted("a", "/a")(o); mounted("b", "/opt/spark/conf")(o) }), says: `spec.driver.volumeMounts[1]: "/opt/spark/conf": Spark's own configuration is mounted there`, right: "spec.sparkConfigMap is the field"},
		"PathOfSparkIn":   {reason: "case 011: in a template", change: mountedIn("/x", "/opt/spark/conf"), says: `spec.driver.template.spec.containers[0].volumeMounts[1]: "/opt/spark/conf": Spark's own configuration`, right: "spec.sparkConfigMap is the field"},
		"PathOfApache":    {reason: "case 011: that family has no such field", change: all(func(a *spark.Application) { a.Direct = &spark.Direct{Language: spark.LanguageJava} }, mountedIn("/opt/spark/conf")), says: `spec.driver.template.spec.containers[0].volumeMounts[0]: "/opt/spark/conf": Spark's own configuration is mounted there; use another path`},
		"PathOfSecret":    {reason: "case 011: a property and a field", change: all(conf("spark.kubernetes.driver.secrets.keys", "/data"), driver(mounted("a", "/data"))), says: `spec.driver.volumeMounts[0]: "/data": a volume is mounted there already, by spec.sparkConf["spark.kubernetes.driver.secrets.keys"]`, right: "a path of its own"},
		"PathOfExecutors": {reason: "case 011: a property that the driver reads later", change: all(conf("spark.kubernetes.executor.secrets.keys", "/data"), executor(mounted("a", "/data"))), says: `spec.executor.volumeMounts[0]: "/data": a volume is mounted there already, by spec.sparkConf["spark.kubernetes.executor.secrets.keys"]`, right: "a path of its own"},
		"PathOfVolume":    {reason: "case 011: a property and a template", change: all(conf("spark.kubernetes.driver.volumes.emptyDir.d.mount.path", "/x"), mountedIn("/x")), says: `spec.sparkConf["spark.kubernetes.driver.volumes.emptyDir.d.mount.path"]: "/x": a volume is mounted there already, by spec.driver.template.spec.containers[0].volumeMounts[0]`, right: "a path of its own"},
		"PathOfSidecar": {reason: "case 011: in another container", change: driver(func(o *spark.PodOverlay) {
			mounted("a", "/a")(o)
			sidecar(corev1.Container{Name: "log", Image: "log", VolumeMounts: []corev1.VolumeMount{{Name: "a", MountPath: "/b"}, {Name: "a", MountPath: "/b", SubPath: "c"}}})(o)
		}), says: `spec.driver.sidecars[0].volumeMounts[1]: "/b": a volume is mounted there already, by spec.driver.sidecars[0].volumeMounts[0]`, right: "a path of its own"},
		"ImagePlaceholder":   {reason: "nothing can be pulled", change: typed(spark.ConfDriverImage, "registry.example/<team>/spark", "driver.image"), says: `spec.driver.image: "registry.example/<team>/spark": the placeholder <team> is left`, right: "not an image"},
		"SidecarPlaceholder": {reason: "nothing can be pulled", change: driver(sidecar(corev1.Container{Name: "log", Image: "{{ .Values.image }}"})), says: `spec.driver: "{{ .Values.image }}": the placeholder {{ .Values.image }} is left`, right: "not an image"},
		"MissingVolume":      {reason: "nothing to mount", change: driver(sidecar(corev1.Container{Name: "log", Image: "log", VolumeMounts: []corev1.VolumeMount{{Name: "nope", MountPath: "/x"}}})), says: `spec.driver.sidecars[0].volumeMounts[0].name: "nope": no volume of the pod has this name`, right: "volumeMounts"},
		"SubPath":            {reason: "out of the volume", change: driver(func(o *spark.PodOverlay) { mounted("a", "/a")(o); o.VolumeMounts[0].SubPath = "../b" }), says: `spec.driver.volumeMounts[0].subPath: "../b": Kubernetes refuses it`, right: "must not contain '..'"},
		"VolumeName":         {reason: "no name", change: driver(mounted("A_b", "/a")), says: `spec.driver.volumes[0].name: "A_b": Kubernetes refuses it`, right: "lower case"},
		"SecretName":         {reason: "Spark makes a volume of it", change: conf("spark.kubernetes.driver.secrets.my.secret", "/s"), says: `spec.sparkConf["spark.kubernetes.driver.secrets.my.secret"]: "my.secret-volume": Kubernetes refuses it`, right: `must not contain dots`},
		"Container":          {reason: "no name", change: driver(sidecar(corev1.Container{Name: "A b", Image: "x"})), says: `spec.driver.sidecars[0].name: "A b": Kubernetes refuses it`, right: `lower case`},
		"Containers": {reason: "no pod has two", change: driver(func(o *spark.PodOverlay) {
			c := corev1.Container{Name: "x", Image: "x"}
			sidecar(c)(o)
			o.InitContainers = append(o.InitContainers, c)
		}), says: `spec.driver.initContainers[0].name: "x": present twice`, right: `change one of them`},
		"SidecarImage": {reason: "nothing to run", change: executor(sidecar(corev1.Container{Name: "x"})), says: `spec.executor.sidecars[0].image: missing`, right: "requires it"},
		"Variable":     {reason: "no name", change: driver(func(o *spark.PodOverlay) { o.Env = []corev1.EnvVar{{Name: "A=B"}} }), says: `spec.driver.env[0].name: "A=B": Kubernetes refuses it`, right: `other than '='`},
		"TwoValues": {reason: "which one?", change: driver(func(o *spark.PodOverlay) {
			o.Env = []corev1.EnvVar{{Name: "A", Value: "b", ValueFrom: &corev1.EnvVarSource{}}}
		}), says: `spec.driver.env[0].valueFrom: Kubernetes refuses it`, right: `must specify one of`},
		"SecretKey":     {reason: "no key", change: conf(spark.ConfDriverSecretKeyRefPrefix+"A", "s:a b"), says: `spec.sparkConf["spark.kubernetes.driver.secretKeyRef.A"]: "a b": Kubernetes refuses it`, right: `'key.name'`},
		"ExecSecretKey": {reason: "no key", change: typed("spark.kubernetes.executor.secretKeyRef.A", "S:k", `executor.envSecretKeyRefs["A"]`), says: `spec.executor.envSecretKeyRefs["A"]: "S:k": needs the name of a Secret`, right: "':'"},
		"PortNumber":    {reason: "no port", change: driver(ports(port("a", 70000))), says: `spec.driver.ports[0].containerPort: "70000": Kubernetes refuses it`, right: `between 1 and 65535`},
		"PortName":      {reason: "no name", change: executor(ports(port("much-too-long-a-name", 80))), says: `spec.executor.ports[0].name: "much-too-long-a-name": Kubernetes refuses it`, right: `no more than 15`},
		"PortNames":     {reason: "which one?", change: driver(ports(port("spark-ui", 80))), says: `spec.driver.ports[0].name: "spark-ui": present twice`, right: `change one of them`},
		"Protocol":      {reason: "no protocol", change: driver(ports(corev1.ContainerPort{Name: "a", ContainerPort: 80, Protocol: "tcp"})), says: `spec.driver.ports[0].protocol: "tcp": not a value that Kubernetes takes`, right: `"TCP"`},
		"HostPorts":     {reason: "a node has each port once", change: driver(func(o *spark.PodOverlay) { o.HostNetwork = true; ports(port("a", 4040))(o) }), says: `spec.driver.ports[0].hostPort: "TCP//4040": present twice`, right: `change one of them`},
		"ServicePorts":  {reason: "a service has each port once", change: conf(spark.ConfUIPort, "7078"), says: `spec.sparkConf: "7078": both driver-rpc-port and spark-ui`, right: "different"},
		"Prefix":        {reason: "the driver fails at it", change: conf(spark.ConfExecutorPodNamePrefix, "Nightly_Report"), says: `spec.sparkConf["spark.kubernetes.executor.podNamePrefix"]: "Nightly_Report": not a prefix of pod names`, right: `"nightly-report"`},
		"LongPrefix":    {reason: "a pod's name has 253 characters", change: conf(spark.ConfExecutorPodNamePrefix, strings.Repeat("a", 238)), says: `spec.sparkConf["spark.kubernetes.executor.podNamePrefix"]: "aaa`, right: `at most 237`},
		"GPUName":       {reason: "no such resource", change: driver(func(o *spark.PodOverlay) { o.Limits = corev1.ResourceList{"gpu": resource.MustParse("1")} }), says: `spec.driver: "gpu": not the name of a resource`, right: "nvidia.com/gpu"},
		"ManyPorts":     {reason: "a Service and an Ingress each", change: manyPorts(50), says: "spec.driverIngressOptions: an attempt would have 104 objects: 2 for its driver, 102 that expose it", right: "at most 100"},
		"ManyClaims":    {reason: "as many for each executor", change: many(97, func(n string) change { return all(claim("executor", "v"+n, "OnDemand"), claimMade("executor", "v"+n)) }), says: "spec.sparkConf: an attempt would have 101 objects", right: "97 claims of each executor"},
		"ManyVolumes": {reason: "Kubernetes makes the claims", change: many(97, func(n string) change {
			return driver(ephemeralVolume("v" + n))
		}), says: "spec.driver.volumes: an attempt would have 101 objects", right: "97 ephemeral volumes"},
		"ExecutorsClaim": {reason: "Spark replaces the word in executors only, and the API server refuses the claim", change: all(claim("driver", "a", "c-SPARK_EXECUTOR_ID"), claimMade("driver", "a")), says: `spec.sparkConf: "c-SPARK_EXECUTOR_ID": not the name of a claim`, right: "SPARK_EXECUTOR_ID is replaced in claims of executors only"},
		"MemoryLimit":    {reason: "less than is requested", change: driver(func(o *spark.PodOverlay) { o.MemoryLimit = new(resource.MustParse("1Gi")) }), says: `spec.driver.memoryLimit: "1Gi": the limit of memory is lower than the 1408Mi`, right: "raise it"},
		"CoreLimit":      {reason: "less than is requested", change: all(conf(spark.ConfExecutorCores, "2"), conf(spark.ConfExecutorLimitCores, "1")), says: `spec.executor.coreLimit: "1": the limit of cpu is lower than the 2`, right: "raise it"},
		"LongProperties": {reason: "no ConfigMap holds them", change: conf("spark.x", strings.Repeat("x", 1<<20)), says: `spec: the ConfigMap spark-drv-`, right: "shorten"},
		"Operator":       {reason: "an unknown word (finding 17)", change: tolerated(corev1.Toleration{Key: "a", Operator: "Equals"}), says: `spec.driver.tolerations[0].operator: "Equals": not a value that Kubernetes takes`, right: `"Equal"`},
		"Effect":         {reason: "an unknown word (finding 17)", change: tolerated(corev1.Toleration{Key: "a", Effect: "NoSchedul"}), says: `spec.driver.tolerations[0].effect: "NoSchedul": not a value that Kubernetes takes`, right: `"NoSchedule"`},
		"NoKey":          {reason: "Kubernetes refuses it", change: tolerated(corev1.Toleration{Value: "b"}), says: `spec.driver.tolerations[0].operator: Kubernetes refuses it`, right: `must be Exists when`},
		"ExistsValue":    {reason: "Kubernetes refuses it", change: tolerated(corev1.Toleration{Key: "a", Operator: "Exists", Value: "b"}), says: `spec.driver.tolerations[0].operator: "b": Kubernetes refuses it`, right: `must be empty when`},
		"PriorityClass":  {reason: "no name (finding 17)", change: executor(func(o *spark.PodOverlay) { o.PriorityClassName = "High!" }), says: `spec.executor.priorityClassName: "High!": Kubernetes refuses it`, right: `lower case`},
		"ServiceType": {reason: "nobody would reach a server (finding 17)", change: func(a *spark.Application) {
			a.Exposure.Services = []corev1.Service{{Spec: corev1.ServiceSpec{Type: "Nodeport"}}}
		}, says: `spec.services.spec.type: "Nodeport": not a type of Services`, right: `"NodePort"`},
		"LongVolume": {reason: "the suffix makes it too long", change: conf("spark.kubernetes.executor.secrets."+long, "/s"), says: `spec.sparkConf["spark.kubernetes.executor.secrets.` + long + `"]: "` + long + `-volume": Kubernetes refuses it`, right: `63`},
		"Step":       {reason: "code of the user's in the operator", change: conf("spark.kubernetes.driver.pod.featureSteps", "org.example.Mine"), says: `spec.sparkConf["spark.kubernetes.driver.pod.featureSteps"]: "org.example.Mine": unknown step`, right: "Spark's JVM"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app := testutil.Model()
			tc.change(&app)
			got := said(app)
			if len(got) != 1 || !strings.HasPrefix(got[0], tc.says) || !strings.Contains(got[0], tc.right) {
				t.Errorf("%s:\n got %q\nwant one sentence that begins with %q and says %q", tc.reason, got, tc.says, tc.right)
			}
		})
	}
}

func TestErrorList(t *testing.T) {
	app := testutil.Model()
	app.Origins[spark.ConfDriverMemory] = spark.Origin{Field: "driver.memory"}
	list := ErrorList(app, []*spark.ConfError{
		{Key: spark.ConfDriverMemory, Value: "2gb", Problem: "not a heap size"},
		{Key: "spark.hadoop.fs.s3a.secret.key", Value: "hidden", Problem: "not here"},
		{Field: "mode", Problem: "missing"},
	})
	want := []string{
		`spec.driver.memory: "2gb": not a heap size`,
		`spec.sparkConf["spark.hadoop.fs.s3a.secret.key"]: "(redacted)": not here`,
		"spec.mode: missing",
	}
	if diff := cmp.Diff(want, Sentences(list)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, e := range list {
		if e.Type != field.ErrorTypeInvalid || Explain(app, []*spark.ConfError{
			{Key: spark.ConfDriverMemory, Value: "2gb", Problem: "not a heap size"},
			{Key: "spark.hadoop.fs.s3a.secret.key", Value: "hidden", Problem: "not here"},
			{Field: "mode", Problem: "missing"},
		}[i]) != want[i] {
			t.Errorf("%v: the words are those of a status", e)
		}
	}
}

const startedAgain = "a driver that is started again in its pod ends its attempt as failed; remove it, and write retries to the application's restart policy"

// mountedIn mounts an empty directory at paths of Spark's container in the driver's template.
func mountedIn(paths ...string) change {
	return func(a *spark.Application) {
		c := corev1.Container{Name: "main"}
		for _, path := range paths {
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "t", MountPath: path})
		}
		template(c)(a)
		a.Driver.Template.Spec.Volumes = []corev1.Volume{emptyDir("t")}
	}
}

func template(all ...corev1.Container) change {
	return func(a *spark.Application) {
		a.Driver.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: all}}
	}
}

func TestWarnings(t *testing.T) {
	preStop := &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{}}
	cases := map[string]struct {
		reason string
		change change
		want   string
	}{
		"None":         {reason: "nothing to say", change: func(*spark.Application) {}},
		"Converted":    {reason: "conversion saw it", change: func(a *spark.Application) { a.Warnings = []*spark.ConfError{{Field: "type", Problem: "odd"}} }, want: "spec.type: odd"},
		"ID":           {reason: "spark-submit replaces it, too", change: conf(spark.ConfAppID, "Fixed_ID"), want: `spec.sparkConf["spark.app.id"]: "Fixed_ID": has no effect: each attempt gets an id of its own`},
		"IDOfDirect":   {reason: "attempts are named after it", change: all(conf(spark.ConfAppID, "fixed"), func(a *spark.Application) { a.Direct = &spark.Direct{} })},
		"Owned":        {reason: "the operator's word wins", change: conf(spark.ConfDriverPodName, "mine"), want: `spec.sparkConf["spark.kubernetes.driver.pod.name"]: "mine": has no effect: the operator sets it to "pi-driver"`},
		"OwnedAlike":   {reason: "both say the same", change: conf(spark.ConfDriverPodName, "pi-driver")},
		"ServerPrefix": {reason: "executors of an earlier server may be there", change: all(conf(spark.ConfExecutorPodNamePrefix, "mine"), func(a *spark.Application) { a.Server = &spark.Server{} }), want: `spec.sparkConf["spark.kubernetes.executor.podNamePrefix"]: "mine": has no effect: the executors of each server pod get a prefix of their own`},
		"InitialLow":   {reason: "Spark starts with the minimum", change: scaling("2", "1", "3"), want: `spec.sparkConf["spark.dynamicAllocation.initialExecutors"]: "1": smaller than the minimum of 2 executors, with which Spark starts instead`},
		"InitialHigh":  {reason: "Spark falls back", change: scaling("1", "9", "3"), want: `spec.sparkConf["spark.dynamicAllocation.initialExecutors"]: "9": greater than the maximum of 3 executors, to which Spark scales down when it can`},
		"InitialIn":    {reason: "within the bounds", change: scaling("1", "2", "3")},
		"Service33":    {reason: "an old release", change: all(func(a *spark.Application) { a.SparkVersion = "3.3.4" }, conf(spark.ConfServiceLabelPrefix+"a", "b")), want: `spec.sparkConf["spark.kubernetes.driver.service.label.a"]: has no effect before Spark 3.4`},
		"Expression35": {reason: "an old release", change: all(func(a *spark.Application) { a.SparkVersion = "3.5.7" }, conf("spark.kubernetes.executor.volumes.emptyDir.a.mount.subPathExpr", "$(X)")), want: `spec.sparkConf["spark.kubernetes.executor.volumes.emptyDir.a.mount.subPathExpr"]: subPathExpr has no effect before Spark 4.0, which mounts the whole volume; write a subPath`},
		"Expression40": {reason: "it knows it", change: all(func(a *spark.Application) { a.SparkVersion = "4.0.1" }, conf("spark.kubernetes.executor.volumes.emptyDir.a.mount.subPathExpr", "$(X)"))},
		"Ports33":      {reason: "an old release", change: all(func(a *spark.Application) { a.SparkVersion = "3.3" }, executor(ports(corev1.ContainerPort{Name: "a", ContainerPort: 1}))), want: "spec.executor.ports: has no effect before Spark 3.4, which replaces the ports of a template"},
		"Python41":     {reason: "a new release", change: typed("spark.kubernetes.pyspark.pythonVersion", "3", "pythonVersion"), want: "spec.pythonVersion: has no effect since Spark 4.1: the image decides"},
		"Hook":         {reason: "Spark's own hook", change: all(conf("spark.decommission.enabled", "true"), executor(func(o *spark.PodOverlay) { o.Lifecycle = preStop })), want: "spec.executor.lifecycle: preStop has no effect with spark.decommission.enabled: Spark sets a hook of its own"},
		"HookWithout":  {reason: "nobody replaces it", change: executor(func(o *spark.PodOverlay) { o.Lifecycle = preStop })},
		"Restarts": {reason: "on by default since Kubernetes 1.35", change: template(corev1.Container{RestartPolicy: new(corev1.ContainerRestartPolicyOnFailure)}),
			want: `spec.driver.template.spec.containers[0].restartPolicy: "OnFailure": ` + startedAgain},
		"RestartRules": {reason: "of the container that is Spark's", change: all(conf(spark.ConfDriverTemplateContainer, "main"), template(corev1.Container{Name: "log"},
			corev1.Container{Name: "main", RestartPolicy: new(corev1.ContainerRestartPolicyNever), RestartPolicyRules: []corev1.ContainerRestartRule{{}}})),
			want: `spec.driver.template.spec.containers[1].restartPolicyRules: ` + startedAgain},
		"RestartText": {reason: "a template as text", change: func(a *spark.Application) {
			a.Driver.TemplateText = "spec: {containers: [{name: a, restartPolicy: Always}]}"
		}, want: `spec.driver.template.spec.containers[0].restartPolicy: "Always": ` + startedAgain},
		"RestartsBeside": {reason: "other containers do not count", change: template(corev1.Container{}, corev1.Container{Name: "log", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)})},
		"RestartsNever":  {reason: "what pods say anyway", change: template(corev1.Container{RestartPolicy: new(corev1.ContainerRestartPolicyNever)})},
		"UIType": {reason: "the driver runs without (finding 17)", change: func(a *spark.Application) { a.Exposure.UI.ServiceType = "Loadbalancer" },
			want: `spec.sparkUIOptions.serviceType: "Loadbalancer": not a type of Services; write "ClusterIP", "NodePort" or "LoadBalancer"; nothing would lead to the driver's port`},
		"ExposedPort": {reason: "the driver runs without (finding 17)", change: func(a *spark.Application) {
			a.Exposure.Ports = []spark.ExposedPort{{Port: 80}, {Port: 70000}}
		}, want: `spec.driverIngressOptions[1].servicePort: "70000": not a port; write a number from 1 to 65535; nothing would lead to the driver's port`},
		"UnknownSpark": {reason: "refused anyway", change: func(a *spark.Application) { a.SparkVersion = "9" }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app := testutil.Model()
			tc.change(&app)
			if got := Notes(app); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
	app := testutil.Model()
	for range 50 {
		app.Warnings = append(app.Warnings, &spark.ConfError{Field: spark.FieldSpec, Problem: "x"})
	}
	if got := Notes(app); strings.Count(got, "; ") != maxNotes {
		t.Errorf("a condition has room for %d sentences: %q", maxNotes, got)
	}
}

// A value that is wrong at two places is said twice, and once where a check of ours knows the role alone.
func TestSameValueAtTwoPlaces(t *testing.T) {
	app := testutil.Model()
	driver(func(o *spark.PodOverlay) {
		sidecar(corev1.Container{Name: "Bad_One", Image: "i"})(o)
		mounted("Bad_One", "/a")(o)
	})(&app)
	driver(func(o *spark.PodOverlay) { o.Limits = corev1.ResourceList{"gpu": resource.MustParse("1")} })(&app)
	var got []string
	for _, sentence := range said(app) {
		at, _, _ := strings.Cut(sentence, ": ")
		got = append(got, at)
	}
	want := []string{"spec.driver", "spec.driver.volumes[0].name", "spec.driver.sidecars[0].name"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
