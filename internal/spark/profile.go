// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Profile has the differences between minor releases of Spark in submitting an application. Each field is one difference, recorded from real runs of
// spark-submit. The builders check the difference, never the version.
type Profile struct {
	// Minor is the minor release, such as "4.1".
	Minor string

	// TemplateNamespaceMustMatch refuses a driver template with another namespace, instead of replacing the namespace.
	TemplateNamespaceMustMatch bool
	// ServiceLabels honors spark.kubernetes.driver.service.label.*.
	ServiceLabels bool
	// ServiceIPFamilies writes ipFamilyPolicy and ipFamilies to the driver service.
	ServiceIPFamilies bool
	// Connect is set if the release has Spark Connect. It then refuses the Connect server as main class in cluster mode.
	Connect bool
	// ConnectPage is set if the UI of a Spark Connect server has a page with its sessions.
	ConnectPage bool
	// ConnectTokens is set if the Spark Connect server can require a token of its clients.
	ConnectTokens bool
	// KeepSubmitTime keeps the user's spark.app.submitTime.
	KeepSubmitTime bool
	// HadoopConfigMapProperty passes the Hadoop ConfigMap to the executors.
	HadoopConfigMapProperty bool
	// ReadWriteOnceConf is set if the release reads spark.kubernetes.legacy.useReadWriteOnceAccessMode.
	ReadWriteOnceConf bool
	// ReadWriteOnce is the default of that property: access mode ReadWriteOnce if true, ReadWriteOncePod if false.
	ReadWriteOnce bool
	// PythonVersionConf is set if the release reads spark.kubernetes.pyspark.pythonVersion. The only valid value is 3.
	PythonVersionConf bool
	// MinOverheadConf makes the minimum memory overhead configurable (384 MiB otherwise).
	MinOverheadConf bool
	// LabelPlaceholders replaces {{APP_ID}} and {{EXECUTOR_ID}} in labels, as in annotations.
	LabelPlaceholders bool
	// VolumeExtras adds hostPath types, subPathExpr, labels and annotations of claims, and the check of sizes.
	VolumeExtras bool
	// ImagePlaceholder replaces {{SPARK_VERSION}} in the image.
	ImagePlaceholder bool
	// ConnectPort adds the port of Spark Connect to the driver pod and its Service.
	ConnectPort bool
	// ExcludedFeatureSteps honors spark.kubernetes.driver.pod.excludedFeatureSteps.
	ExcludedFeatureSteps bool
	// ExecutorGraceConf makes a property override the grace period of the executors' template.
	ExecutorGraceConf bool
	// StrictHadoopText refuses files of HADOOP_CONF_DIR that are not UTF-8, instead of replacing bytes.
	StrictHadoopText bool
	// GRPCAppProtocol marks the Spark Connect port of the service as gRPC.
	GRPCAppProtocol bool
	// NetworkPolicy admits only traffic of their own application to the executors.
	NetworkPolicy bool
	// VolcanoFeatureStep is set if the release has the step that creates a Volcano PodGroup.
	VolcanoFeatureStep bool
	// PodGroupJSON reads spark.kubernetes.scheduler.volcano.podGroupTemplateJson.
	PodGroupJSON bool
	// PrivilegeEscalation writes allowPrivilegeEscalation to the containers.
	PrivilegeEscalation bool
	// PublishNotReadyAddresses writes the field of that name to the driver Service.
	PublishNotReadyAddresses bool
	// ProxyUserWins makes the proxy user SPARK_USER even if the submitter sets SPARK_USER.
	ProxyUserWins bool
}

// profiles has one row for each supported minor release. A new row starts as a copy of the previous one.
var profiles = func() map[string]Profile {
	v33 := Profile{Minor: "3.3", TemplateNamespaceMustMatch: true, ReadWriteOnce: true, PythonVersionConf: true}

	v34 := v33
	v34.Minor = "3.4"
	v34.TemplateNamespaceMustMatch = false
	v34.ServiceLabels = true
	v34.ServiceIPFamilies = true
	v34.Connect = true
	v34.ReadWriteOnceConf = true

	v35 := v34
	v35.Minor = "3.5"
	v35.KeepSubmitTime = true
	v35.ConnectPage = true
	v35.HadoopConfigMapProperty = true

	v40 := v35
	v40.Minor = "4.0"
	v40.ConnectTokens = true
	v40.ReadWriteOnce = false
	v40.MinOverheadConf = true
	v40.LabelPlaceholders = true
	v40.VolumeExtras = true

	v41 := v40
	v41.Minor = "4.1"
	v41.PythonVersionConf = false
	v41.ImagePlaceholder = true
	v41.ConnectPort = true
	v41.ExcludedFeatureSteps = true
	v41.ExecutorGraceConf = true
	v41.StrictHadoopText = true

	v42 := v41
	v42.Minor = "4.2"
	v42.GRPCAppProtocol = true
	v42.NetworkPolicy = true
	v42.VolcanoFeatureStep = true
	v42.PodGroupJSON = true

	v43 := v42
	v43.Minor = "4.3"
	v43.PrivilegeEscalation = true
	v43.PublishNotReadyAddresses = true
	v43.ProxyUserWins = true

	table := map[string]Profile{}
	for _, p := range []Profile{v33, v34, v35, v40, v41, v42, v43} {
		table[p.Minor] = p
	}
	return table
}()

// versionPattern accepts "3.5", "3.5.9", "v3.5.1", "4.1.0-preview1" and vendors' fourth numbers. It accepts nothing else, because the version becomes a label
// value.
var versionPattern = regexp.MustCompile(`^v?([0-9]+\.[0-9]+)(?:\.[0-9]+)?(?:[-._][0-9A-Za-z._-]{0,30}[0-9A-Za-z])?$`)

// ProfileFor returns the profile of the minor release in sparkVersion. The patch number is optional and ignored. The error is an *UnsupportedVersionError with
// the supported minor versions.
func ProfileFor(sparkVersion string) (Profile, error) {
	if match := versionPattern.FindStringSubmatch(sparkVersion); match != nil {
		if profile, ok := profiles[match[1]]; ok {
			return profile, nil
		}
	}
	return Profile{}, &UnsupportedVersionError{Version: sparkVersion, Supported: SupportedVersions()}
}

// ProfileOf returns the profile for submitting an application. It does not describe the executors, because the image's release creates them.
func ProfileOf(app Application) (Profile, error) {
	if app.Direct != nil {
		return directProfile, nil
	}
	return ProfileFor(app.SparkVersion)
}

// SupportedVersions returns the minor versions with a profile, the oldest first.
func SupportedVersions() []string {
	return slices.Sorted(maps.Keys(profiles))
}

// releaseOf returns the version in Spark's own spelling, for labels and image names.
func releaseOf(sparkVersion string) string {
	return strings.TrimPrefix(sparkVersion, "v")
}
