// SPDX-License-Identifier: Apache-2.0

// Package sparksubmit converts a command line of spark-submit to a SparkApplication and reports what the manifest cannot
// express. It is pure: the files and variables of the machine are arguments.
package sparksubmit

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit/commandline"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/text"
)

// Input is the input of Convert.
type Input struct {
	// Argv are the arguments after "spark-submit".
	Argv []string
	// Machine holds the variables and the files that the arguments refer to.
	Machine commandline.Machine
	// SparkVersion is the version of the image; "" means the version in the image's tag.
	SparkVersion string
}

// Finding is a difference between the manifest and the command line.
type Finding struct {
	// Subject is the flag, property or variable that differs.
	Subject string
	// Message describes the difference, and what to do about it.
	Message string
	// Lost marks a setting that spark-submit would apply and that is not in the manifest.
	Lost bool
}

// String formats the finding as one line.
func (f Finding) String() string { return f.Subject + ": " + f.Message }

// converter moves properties from conf into the application. The properties that remain become sparkConf.
type converter struct {
	command  commandline.Command
	machine  commandline.Machine
	profile  spark.Profile
	conf     map[string]string
	app      *v1beta2.SparkApplication
	findings []Finding
	// name is the requested name of the application; "" for Spark's name.
	name string
	// running is set for a running driver: the findings then concern the application's next driver.
	running bool
}

// Convert returns the application for the command line. An error means that spark-submit would fail, too, or that a file is missing.
func Convert(in Input) (v1beta2.SparkApplication, []Finding, error) {
	command, err := parse(in.Argv)
	if err != nil {
		return v1beta2.SparkApplication{}, nil, err
	}
	c := &converter{command: command, machine: in.Machine, app: &v1beta2.SparkApplication{}}
	if err := c.convert(in.SparkVersion); err != nil {
		return v1beta2.SparkApplication{}, nil, err
	}
	return *c.app, c.findings, nil
}

// parse parses the arguments. The error for an unknown flag suggests a similar flag.
func parse(argv []string) (commandline.Command, error) {
	command, err := commandline.Parse(argv)
	if unknown, is := errors.AsType[*commandline.UnknownFlagError](err); is {
		if hint := text.DidYouMean(unknown.Flag, unknown.Known()); hint != "" {
			err = fmt.Errorf("%s: spark-submit has no such flag: %s", unknown.Flag, hint)
		}
	}
	return command, err
}

// convert builds the application from the command and its files.
func (c *converter) convert(version string) error {
	steps := []func() error{
		func() error { return c.read(version) },
		c.resolveVariables, c.metadata, c.hadoopConfDir, c.files, c.templates,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	c.confDir()
	c.submissionOnly()
	c.interpreters()
	c.common()
	c.driver()
	c.executor()
	c.dynamicAllocation()
	c.uploads()
	c.app.Spec.SparkConf = c.conf
	return nil
}

// Wanted returns the paths of the files that Convert reads, as far as the files already in Machine name them. A properties file may name more files.
func Wanted(in Input) ([]string, error) {
	command, err := parse(in.Argv)
	if err != nil {
		return nil, err
	}
	var wanted []string
	for _, file := range command.PropertiesFiles(in.Machine, newestMajor) {
		wanted = append(wanted, in.Machine.Path(file))
	}
	conf, err := command.Configuration(in.Machine, newestMajor)
	if err != nil {
		return wanted, nil //nolint:nilerr // Convert reports the error
	}
	for _, key := range fileKeys {
		if file, ok := conf[key]; ok {
			wanted = append(wanted, in.Machine.Path(expand(file, conf, in.Machine.Env)))
		}
	}
	return wanted, nil
}

// Directories returns the directories whose files Convert reads.
func Directories(m commandline.Machine) []string {
	var dirs []string
	for _, dir := range []string{m.ConfDir(), m.Env["HADOOP_CONF_DIR"]} {
		if dir != "" {
			dirs = append(dirs, m.Path(dir))
		}
	}
	return dirs
}

func (c *converter) note(subject, format string, args ...any) {
	c.findings = append(c.findings, Finding{Subject: subject, Message: fmt.Sprintf(format, args...)})
}

func (c *converter) lost(subject, format string, args ...any) {
	c.findings = append(c.findings, Finding{Subject: subject, Message: fmt.Sprintf(format, args...), Lost: true})
}

// newestMajor is the release that reads all files that any release reads.
const newestMajor = 4

// tagVersion matches the Spark version in an image's tag.
var tagVersion = regexp.MustCompile(`:v?([0-9]+\.[0-9]+\.[0-9]+)[^/]*$`)

// read merges the configuration and determines the Spark version. If version is "", the image's tag decides.
func (c *converter) read(version string) error {
	conf, err := c.command.Configuration(c.machine, newestMajor)
	if err != nil {
		return err
	}
	c.app.Spec.SparkVersion = version
	if err := c.checkTarget(conf); err != nil {
		return err
	}
	version = c.app.Spec.SparkVersion
	for _, key := range []string{spark.ConfDriverImage, spark.ConfImage} {
		if match := tagVersion.FindStringSubmatch(conf[key]); match != nil && version == "" {
			version = match[1]
			c.note("spec.sparkVersion", "%s, from the tag of the image %s", version, conf[key])
		}
	}
	if version == "" {
		return fmt.Errorf("--spark-version: the image's tag does not contain the Spark version; write one of %s, or, better, the exact release",
			strings.Join(spark.SupportedVersions(), ", "))
	}
	if c.profile, err = spark.ProfileFor(version); err != nil {
		return err
	}
	c.app.Spec.SparkVersion = version
	major := newestMajor
	if strings.HasPrefix(c.profile.Minor, "3.") {
		major = 3
	}
	if c.conf, err = c.command.Configuration(c.machine, major); err != nil {
		return err
	}
	delete(c.conf, spark.ConfMaster)
	delete(c.conf, spark.ConfDeployMode)
	for _, flag := range c.command.Ignored {
		c.note(flag, "ignored on Kubernetes, as with spark-submit")
	}
	for _, key := range slices.Sorted(maps.Keys(c.conf)) {
		if !strings.HasPrefix(key, "spark.") {
			delete(c.conf, key)
			c.note(key, "dropped, as spark-submit does: not a Spark property, because it does not begin with \"spark.\"")
		}
	}
	return nil
}

// otherMaster matches the masters of spark-submit other than Kubernetes.
var otherMaster = regexp.MustCompile(`^($|yarn$|spark|mesos|local)`)

// checkTarget checks the cluster that spark-submit would use. The manifest does not name a cluster.
func (c *converter) checkTarget(conf map[string]string) error {
	master := conf[spark.ConfMaster]
	address, ok := strings.CutPrefix(master, "k8s://")
	if !ok && !otherMaster.MatchString(master) {
		return fmt.Errorf("--master: %q: unknown to spark-submit; write k8s://URL, spark://HOST, yarn or local, or leave it out: a manifest needs none", master)
	}
	if !ok {
		c.note("--master", "%q is not carried over: a manifest has no master, and the operator runs the driver on its own cluster", cmp.Or(master, "local[*]"))
		c.withoutImage(conf)
	}
	if scheme, _, found := strings.Cut(address, "://"); ok && found && !strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "http") {
		return fmt.Errorf("--master: %q: the API server is reached by https or http only", master)
	}
	switch mode := conf[spark.ConfDeployMode]; mode {
	case "cluster":
	case "client", "":
		c.note("--deploy-mode", "the driver ran on the submitting machine; the operator runs it in a pod (cluster)")
	default:
		return fmt.Errorf("--deploy-mode: %q: unknown; write \"cluster\"", mode)
	}
	if c.command.Resource == "" {
		return fmt.Errorf("the main file is missing; write its URI after the flags, or %q if its classes are in the image", spark.NoResource)
	}
	return nil
}

// withoutImage handles a command line for another type of cluster, which needs no image. The Spark version is then unknown.
func (c *converter) withoutImage(conf map[string]string) {
	if conf[spark.ConfDriverImage]+conf[spark.ConfImage] != "" {
		return
	}
	c.note("spec.image", "the command line names no image: write one with Spark and the application's libraries")
	if c.app.Spec.SparkVersion == "" {
		versions := spark.SupportedVersions()
		c.app.Spec.SparkVersion = versions[len(versions)-1]
		c.note("spec.sparkVersion", "%s is assumed, the newest supported version: write the version in the image, or pass --spark-version",
			c.app.Spec.SparkVersion)
	}
}

// metadata sets the name and the metadata of the application.
func (c *converter) metadata() error {
	c.app.TypeMeta = metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: "SparkApplication"}
	c.app.Namespace = "default"
	if namespace, ok := c.conf[spark.ConfNamespace]; ok {
		c.app.Namespace = expand(namespace, c.conf, c.machine.Env)
		delete(c.conf, spark.ConfNamespace)
	}
	appName, given := c.take(spark.ConfAppName)
	if !given {
		appName = c.command.MainClass
		if appName == "" {
			appName = c.command.Resource[strings.LastIndexByte(c.command.Resource, '/')+1:]
		}
	}
	c.app.Name = cmp.Or(c.name, objectName(appName))
	if given && c.app.Name != appName {
		c.note(spark.ConfAppName, "%q becomes %q: the application has the name of its object", appName, c.app.Name)
	}
	return nil
}

// objectName converts the name of an application to a DNS label as Spark does for its own objects. A digit at the start becomes an x.
func objectName(appName string) string {
	name := spark.AppNameLabel(appName)
	switch {
	case name == "":
		return "spark"
	case name[0] >= '0' && name[0] <= '9':
		return "x" + name[1:]
	}
	return name
}

// take removes and returns a property.
func (c *converter) take(key string) (string, bool) {
	value, ok := c.conf[key]
	delete(c.conf, key)
	return value, ok
}
