// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// builder has the state that the steps of one submission share. It owns all values that it refers to, except the application, which is read-only.
type builder struct {
	app      *Application
	id       Identity
	profile  Profile
	conf     *conf
	language Language
	mode     mode

	namespace string
	// prefix begins the names of most objects.
	prefix string
	// driverLabels are the labels of the driver pod that its Service selects.
	driverLabels map[string]string
	volumes      []volume

	pod       *corev1.Pod
	container corev1.Container
	resources []Object
	token     *corev1.Secret
	// executor is the pod that executors start from, and executorContainer the index of Spark's container in it.
	executor          *corev1.Pod
	executorContainer int
	template          *corev1.ConfigMap
	shapes            PodSets
	// properties are the driver's configuration: the set properties, and those that the steps add.
	properties map[string]string
}

// step is one of the feature steps of Spark's Kubernetes client.
type step struct {
	// class is the name of the step in spark.kubernetes.driver.pod.excludedFeatureSteps.
	class string
	run   func(*builder)
}

const featurePackage = "org.apache.spark.deploy.k8s.features."

// steps are in Spark's order, which determines the order of ports, variables, mounts, volumes and objects.
var steps = []step{
	{"BasicDriverFeatureStep", (*builder).basic},
	{"DriverKubernetesCredentialsFeatureStep", (*builder).credentials},
	{"DriverServiceFeatureStep", (*builder).service},
	{"NetworkPolicyFeatureStep", (*builder).networkPolicy},
	{"MountSecretsFeatureStep", (*builder).mountSecrets},
	{"EnvSecretsFeatureStep", (*builder).envSecrets},
	{"MountVolumesFeatureStep", (*builder).mountVolumes},
	{"DriverCommandFeatureStep", (*builder).command},
	{"HadoopConfDriverFeatureStep", (*builder).hadoop},
	{"KerberosConfDriverFeatureStep", (*builder).kerberos},
	{"PodTemplateConfigMapStep", (*builder).executorTemplate},
	{"LocalDirsFeatureStep", (*builder).localDirs},
}

// Build returns the objects that spark-submit of the profile's release creates for one attempt of an application. It also returns the executors that the driver
// will create. It changes neither app nor the values that app refers to.
//
// The configuration is merged in this order, later ones override: app.Conf, app.Deps, app.OperatorConf, and Spark's own properties. Every error that the
// application's author can correct is a *ConfError.
func Build(app Application, id Identity, profile Profile) (Submission, error) {
	mode := modeOf(&app)
	conf, err := submitConf(&app, id, profile, mode)
	if err != nil {
		return Submission{}, err
	}
	b := &builder{app: &app, id: id, profile: profile, conf: conf, language: languageOf(&app), mode: mode}
	for _, run := range []func(*builder){
		(*builder).prepare, (*builder).startPod, (*builder).check, (*builder).runSteps, (*builder).finish, (*builder).measure,
	} {
		if run(b); conf.err != nil {
			return Submission{}, conf.err
		}
	}
	return Submission{
		Resources: b.resources, Driver: b.pod, TokenSecret: b.token, TokenMade: app.Server != nil && app.Server.TokenMade, Properties: b.properties,
		Executor: b.executor, ExecutorContainer: b.executorContainer, ExecutorTemplate: b.template, PodSets: b.shapes,
	}, nil
}

// prepare computes the values that all steps need.
func (b *builder) prepare() {
	b.namespace, _ = b.conf.text(ConfNamespace)
	if b.app.Namespace != "" && b.namespace != b.app.Namespace {
		// The operator sets the namespace in OperatorConf. An application must not use another namespace.
		b.conf.fail(ConfNamespace, b.namespace, "the application is in the namespace "+b.app.Namespace)
	}
	appName, named := b.conf.raw(ConfAppName)
	if b.mode.direct && !named {
		appName = defaultDirectName
	}
	b.prefix = b.resourcePrefix(appName)
	b.properties = make(map[string]string, len(b.conf.values)+16)
	maps.Copy(b.properties, b.conf.values)
	b.driverLabels = b.labels(appName)
	b.volumes = parseVolumes(b.conf, ConfDriverVolumesPrefix, b.profile)
	// Spark reads the executors' volumes only to find errors before anything runs.
	parseVolumes(b.conf, ConfExecutorVolumesPrefix, b.profile)
}

// labels returns the user's labels of the driver, and the four that Spark sets.
func (b *builder) labels(appName string) map[string]string {
	keys := b.conf.under(ConfDriverLabelPrefix)
	labels := make(map[string]string, len(keys)+len(reservedLabels))
	for _, key := range keys {
		label := key[len(ConfDriverLabelPrefix):]
		value := b.conf.values[key]
		if reservedLabels[label] {
			b.conf.fail(key, value, "the label "+label+" is reserved for Spark")
		}
		if b.profile.LabelPlaceholders {
			value = b.placeholders(value)
		}
		labels[label] = value
	}
	labels[LabelVersion] = releaseOf(b.app.SparkVersion)
	if b.mode.direct {
		labels[LabelVersion] = b.app.SparkVersion
	}
	labels[LabelAppSelector] = b.id.AppID
	labels[LabelAppName] = AppNameLabel(appName)
	labels[LabelRole] = b.mode.role
	return labels
}

// placeholders replaces the IDs. A driver has no executor ID.
func (b *builder) placeholders(text string) string {
	text = strings.ReplaceAll(text, "{{APP_ID}}", b.id.AppID)
	return strings.ReplaceAll(text, "{{EXECUTOR_ID}}", "")
}

// check refuses combinations that the steps cannot handle. It runs before all steps, and includes excluded steps.
func (b *builder) check() {
	if value, ok := b.conf.raw(confBindAddress); ok && !b.mode.inPod {
		b.conf.fail(confBindAddress, value, "must not be set: the driver listens on the address of its pod")
	}
	if value, ok := b.conf.raw(ConfDriverHost); ok {
		b.conf.fail(ConfDriverHost, value, "must not be set: executors reach the driver by its Service")
	}
	b.checkHadoop()
	b.checkKerberos()
	b.checkServer()
	b.checkExecutorTemplate()
	for _, class := range b.conf.list(confFeatureSteps) {
		if class != volcanoStep || !b.profile.VolcanoFeatureStep {
			b.conf.failAs(field.ErrorTypeNotSupported, confFeatureSteps, class, "unknown step; custom steps would need Spark's JVM in the operator")
		}
	}
}

// runSteps runs the steps that are not excluded, until the first error.
func (b *builder) runSteps() {
	excluded := b.excluded()
	for _, step := range b.mode.steps {
		if slices.Contains(excluded, featurePackage+step.class) {
			continue
		}
		if step.run(b); b.conf.err != nil {
			return
		}
	}
	if slices.Contains(b.conf.list(confFeatureSteps), volcanoStep) {
		b.volcano()
	}
}

func (b *builder) excluded() []string {
	if !b.profile.ExcludedFeatureSteps {
		return nil
	}
	excluded := b.conf.list(confExcludedSteps)
	if basic := featurePackage + b.mode.steps[0].class; slices.Contains(excluded, basic) {
		b.conf.fail(confExcludedSteps, basic, "without this step the driver pod has no name, and cannot be created")
	}
	return excluded
}

// finish adds the parts that Spark's client adds after all steps, and the user's overlay.
func (b *builder) finish() {
	for _, m := range b.app.ConfigMaps {
		own := b.configMap(m.Name, maps.Clone(m.Data))
		own.Labels, own.Annotations, own.Immutable = maps.Clone(m.Labels), maps.Clone(m.Annotations), nil
		b.addResource(own)
	}
	b.mountDriverConf()
	b.pod.Spec.Containers = append(b.pod.Spec.Containers, b.container)
	if b.mode.direct {
		b.finishDirect()
	}
	applyOverlay(b.pod, len(b.pod.Spec.Containers)-1, &b.app.Driver.Overlay)
}

// meta returns the metadata of an object of this submission.
func (b *builder) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: b.namespace}
}

func (b *builder) addResource(object Object) {
	b.resources = append(b.resources, object)
}

func (b *builder) addEnv(name, value string) {
	b.container.Env = append(b.container.Env, corev1.EnvVar{Name: name, Value: value})
}

// mount adds a volume to the pod and mounts it into the Spark container.
func (b *builder) mount(name, path string, source corev1.VolumeSource) {
	b.pod.Spec.Volumes = append(b.pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	b.container.VolumeMounts = append(b.container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
}

// secretSource and mapSource return volumes from a Secret and from a ConfigMap, with all keys or some.
func secretSource(name string) corev1.VolumeSource {
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}
}

func mapSource(name string, items ...corev1.KeyToPath) corev1.VolumeSource {
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name},
		Items:                items,
	}}
}

// configMap returns an immutable ConfigMap, as all of Spark's ConfigMaps are.
func (b *builder) configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: b.meta(name),
		Immutable:  new(true),
		Data:       data,
	}
}

func (b *builder) secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: b.meta(name),
		Immutable:  new(true),
		Data:       data,
	}
}
