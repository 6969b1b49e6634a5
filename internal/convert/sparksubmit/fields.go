// SPDX-License-Identifier: Apache-2.0

package sparksubmit

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// A typed field is used only if it means exactly the same as the property. Otherwise the property stays in sparkConf, and the operator reads or refuses it
// there.

// text moves a property to a text field. An empty property sets no field.
func (c *converter) text(field **string, key string) {
	if value := c.conf[key]; value != "" {
		*field = &value
		delete(c.conf, key)
	}
}

// number moves a whole number of at least min to a field.
func (c *converter) number(field **int32, key string, min int64) {
	if n, ok := canonical(c.conf[key], 32); ok && n >= min {
		small := int32(n)
		*field = &small
		delete(c.conf, key)
	}
}

// canonical parses a number that is written as Go would format it.
func canonical(text string, bits int) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, bits)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

// family moves all properties with a prefix to a map.
func (c *converter) family(field *map[string]string, prefix string) {
	for _, key := range slices.Sorted(maps.Keys(c.conf)) {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok || name == "" {
			continue
		}
		if *field == nil {
			*field = map[string]string{}
		}
		(*field)[name], _ = c.take(key)
	}
}

// list moves a list to a field, if the joined field gives the same property.
func (c *converter) list(field *[]string, key string) {
	value, ok := c.conf[key]
	if !ok || value == "" {
		return
	}
	elements := strings.Split(value, ",")
	if slices.Contains(elements, "") {
		return
	}
	*field = elements
	delete(c.conf, key)
}

// uris moves a list of files to a field. Spark ignores empty elements.
func (c *converter) uris(field *[]string, key string) {
	value, ok := c.take(key)
	if !ok {
		return
	}
	*field = slices.DeleteFunc(strings.Split(value, ","), func(element string) bool {
		return strings.TrimFunc(element, func(r rune) bool { return r <= ' ' }) == ""
	})
}

// common sets the fields that both roles share.
func (c *converter) common() {
	s := &c.app.Spec
	s.Type, s.Mode = typeOf(c.command.Resource), v1beta2.DeployModeCluster
	main := c.command.Resource
	if s.Type == v1beta2.ApplicationTypeR && !strings.Contains(main, ":") {
		main = c.machine.Path(main) // Spark does not upload the main file, but it writes the full path
	}
	s.MainApplicationFile = &main
	s.Arguments = c.command.Arguments
	if c.command.MainClass != "" {
		s.MainClass = &c.command.MainClass
	}
	if c.command.ProxyUser != "" {
		s.ProxyUser = &c.command.ProxyUser
	}
	c.text(&s.Image, spark.ConfImage)
	c.text(&s.ImagePullPolicy, spark.ConfImagePullPolicy)
	c.list(&s.ImagePullSecrets, spark.ConfImagePullSecrets)
	c.text(&s.MemoryOverheadFactor, spark.ConfMemoryOverheadFactor)
	c.family(&s.NodeSelector, spark.ConfNodeSelectorPrefix)
	c.family(&s.HadoopConf, "spark.hadoop.")
	c.uris(&s.Deps.Jars, spark.ConfJars)
	c.uris(&s.Deps.Files, spark.ConfFiles)
	c.uris(&s.Deps.Archives, spark.ConfArchives)
	c.uris(&s.Deps.PyFiles, spark.ConfPyFiles)
	c.list(&s.Deps.Packages, spark.ConfPackages)
	c.list(&s.Deps.ExcludePackages, spark.ConfExcludePackages)
	c.list(&s.Deps.Repositories, spark.ConfRepositories)
}

// typeOf returns the language by the suffix of the main file, as Spark does. It does not distinguish Java and Scala.
func typeOf(main string) v1beta2.ApplicationType {
	switch {
	case strings.HasSuffix(main, ".py"):
		return v1beta2.ApplicationTypePython
	case strings.HasSuffix(main, ".R"), strings.HasSuffix(main, ".r"):
		return v1beta2.ApplicationTypeR
	}
	return v1beta2.ApplicationTypeScala
}

func (c *converter) driver() {
	d := &c.app.Spec.Driver
	c.heap()
	c.number(&d.Cores, spark.ConfDriverCores, 1)
	c.text(&d.Memory, spark.ConfDriverMemory)
	c.text(&d.MemoryOverhead, spark.ConfDriverMemoryOverhead)
	c.text(&d.CoreRequest, spark.ConfDriverRequestCores)
	c.text(&d.CoreLimit, spark.ConfDriverLimitCores)
	c.text(&d.Image, spark.ConfDriverImage)
	c.text(&d.ServiceAccount, spark.ConfDriverServiceAccount)
	c.text(&d.PodName, spark.ConfDriverPodName)
	c.text(&d.JavaOptions, "spark.driver.extraJavaOptions")
	c.text(&d.KubernetesMaster, "spark.kubernetes.driver.master")
	c.family(&d.Labels, spark.ConfDriverLabelPrefix)
	c.family(&d.Annotations, spark.ConfDriverAnnotationPrefix)
	c.family(&d.EnvVars, spark.ConfDriverEnvPrefix)
	c.family(&d.ServiceLabels, spark.ConfServiceLabelPrefix)
	c.family(&d.ServiceAnnotations, spark.ConfServiceAnnotationPrefix)
	c.secrets(&d.SparkPodSpec, spark.ConfDriverSecretsPrefix, spark.ConfDriverSecretKeyRefPrefix)
}

func (c *converter) executor() {
	e := &c.app.Spec.Executor
	c.number(&e.Cores, spark.ConfExecutorCores, 1)
	c.text(&e.Memory, spark.ConfExecutorMemory)
	c.text(&e.MemoryOverhead, spark.ConfExecutorMemoryOverhead)
	c.text(&e.CoreRequest, spark.ConfExecutorRequestCores)
	c.text(&e.CoreLimit, spark.ConfExecutorLimitCores)
	c.text(&e.Image, spark.ConfExecutorImage)
	c.text(&e.ServiceAccount, spark.ConfExecutorServiceAccount)
	c.text(&e.JavaOptions, "spark.executor.extraJavaOptions")
	c.family(&e.Labels, spark.ConfExecutorLabelPrefix)
	c.family(&e.Annotations, spark.ConfExecutorAnnotationPrefix)
	c.family(&e.EnvVars, spark.ConfExecutorEnvPrefix)
	c.secrets(&e.SparkPodSpec, "spark.kubernetes.executor.secrets.", "spark.kubernetes.executor.secretKeyRef.")
	if value := c.conf[confDeleteExecutors]; value == "true" || value == "false" {
		del := value == "true"
		e.DeleteOnTermination = &del
		delete(c.conf, confDeleteExecutors)
	}
	if _, given := c.conf[spark.ConfExecutorInstances]; !given && !strings.EqualFold(c.conf[spark.ConfDynamicAllocation], "true") {
		c.conf[spark.ConfExecutorInstances] = "2"
		c.note("spec.executor.instances", "2, Spark's own default; the operator's is 1")
	}
	c.number(&e.Instances, spark.ConfExecutorInstances, 1)
}

const confDeleteExecutors = "spark.kubernetes.executor.deleteOnTermination"

// secrets moves mounted Secrets, and variables with values from Secrets.
func (c *converter) secrets(p *v1beta2.SparkPodSpec, mounts, refs string) {
	for _, key := range slices.Sorted(maps.Keys(c.conf)) {
		if name, ok := strings.CutPrefix(key, mounts); ok && name != "" && c.conf[key] != "" {
			path, _ := c.take(key)
			p.Secrets = append(p.Secrets, v1beta2.SecretInfo{Name: name, Path: path, SecretType: v1beta2.SecretTypeGeneric})
		}
		variable, ok := strings.CutPrefix(key, refs)
		secret, item, two := strings.Cut(c.conf[key], ":")
		if !ok || !two || variable == "" || secret == "" || item == "" || strings.Contains(item, ":") {
			continue
		}
		if p.EnvSecretKeyRefs == nil {
			p.EnvSecretKeyRefs = map[string]v1beta2.NameKey{}
		}
		p.EnvSecretKeyRefs[variable] = v1beta2.NameKey{Name: secret, Key: item}
		delete(c.conf, key)
	}
}

// size matches a size as Spark writes it.
var size = regexp.MustCompile(`^([0-9]+)([kmgt]?)b?$`)

// heap rewrites the driver's memory in the JVM's notation. spark-submit accepts more forms, but a driver does not start with them.
func (c *converter) heap() {
	value := c.conf[spark.ConfDriverMemory]
	match := size.FindStringSubmatch(strings.ToLower(strings.Trim(value, " \t")))
	if match == nil || strings.HasSuffix(strings.ToLower(value), match[1]+match[2]) && match[2] != "" {
		return
	}
	spelled := match[1] + match[2]
	if match[2] == "" {
		if strings.HasSuffix(strings.ToLower(value), "b") {
			return
		}
		spelled += "m"
	}
	if spelled != value {
		c.conf[spark.ConfDriverMemory] = spelled
		c.note(spark.ConfDriverMemory, "%q becomes %q: a driver does not start with the original value", value, spelled)
	}
}

// dynamicAllocation uses the typed field only if shuffle tracking is set, because the typed field enables shuffle tracking by default.
func (c *converter) dynamicAllocation() {
	const prefix = "spark.dynamicAllocation."
	tracking := c.conf[prefix+"shuffleTracking.enabled"]
	if c.conf[spark.ConfDynamicAllocation] != "true" || tracking != "true" && tracking != "false" {
		return
	}
	on := tracking == "true"
	d := &v1beta2.DynamicAllocation{Enabled: true, ShuffleTrackingEnabled: &on}
	delete(c.conf, spark.ConfDynamicAllocation)
	delete(c.conf, prefix+"shuffleTracking.enabled")
	c.number(&d.InitialExecutors, spark.ConfInitialExecutors, 0)
	c.number(&d.MinExecutors, spark.ConfMinExecutors, 0)
	c.number(&d.MaxExecutors, spark.ConfMaxExecutors, 0)
	if timeout, ok := canonical(c.conf[prefix+"shuffleTracking.timeout"], 64); ok {
		d.ShuffleTrackingTimeout = &timeout
		delete(c.conf, prefix+"shuffleTracking.timeout")
	}
	c.app.Spec.DynamicAllocation = d
}
