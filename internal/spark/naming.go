// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The maximum lengths of a label value and of an object's name, both from RFC 1123.
const (
	labelValueMaxLength = 63
	objectNameMaxLength = 253
)

// resourcePrefix returns the prefix of most objects' names.
func (b *builder) resourcePrefix(appName string) string {
	if b.mode.direct {
		return b.id.AppID
	}
	return resourcePrefix(appName, b.id.NameID)
}

// DriverName returns the name of the driver pod of an attempt.
func DriverName(app Application, id Identity) string {
	name := cmp.Or(app.OperatorConf[ConfDriverPodName], app.Conf[ConfDriverPodName])
	if name == "" && app.Direct != nil {
		return id.AppID + driverSuffix
	}
	return name
}

// driverSuffix is the suffix of a driver pod's name that no property sets.
const driverSuffix = "-driver"

// driverMapName returns the name of the driver's ConfigMap.
func (b *builder) driverMapName() string {
	if !b.mode.direct {
		return "spark-drv-" + b.id.ConfigMapID + configMapSuffix
	}
	const suffix = "-spark-drv" + configMapSuffix
	return b.prefix[:min(len(b.prefix), objectNameMaxLength-len(suffix))] + suffix
}

// resourcePrefix returns the prefix of most names of an attempt: the application's name and the attempt's ID, in characters that Kubernetes accepts. Its length
// is unlimited, as in Spark.
func resourcePrefix(appName, nameID string) string {
	prefix := strings.TrimPrefix(sanitize(appName+"-"+nameID), "-")
	if prefix != "" && prefix[0] >= '0' && prefix[0] <= '9' {
		// The name of a Service must not begin with a digit. Spark replaces only this digit.
		return "x" + prefix[1:]
	}
	return prefix
}

// AppNameLabel returns the value of the label spark-app-name, which may be empty.
func AppNameLabel(appName string) string {
	label := sanitize(appName)
	if len(label) > labelValueMaxLength {
		label = label[:labelValueMaxLength]
	}
	return strings.TrimSuffix(strings.TrimPrefix(label, "-"), "-")
}

// driverServiceName returns the name of the driver's headless Service. The prefix is replaced, only here, if it leaves no room for the suffix or if some API
// server refuses it.
func driverServiceName(prefix, serviceID string) string {
	const suffix = "-driver-svc"
	if len(validation.IsDNS1035Label(prefix+suffix)) == 0 {
		return prefix + suffix
	}
	return "spark-" + serviceID + suffix
}

// NewServiceName says which versions of Kubernetes accept a Service name that begins with a digit (feature RelaxedServiceNameValidation). It returns "" if all
// supported versions accept the name, or none.
func NewServiceName(name string) string {
	if len(validation.IsDNS1035Label(name)) == 0 || len(validation.IsDNS1123Label(name)) > 0 {
		return ""
	}
	return "Kubernetes before 1.36 refuses the Service " + name + ", whose name begins with a digit; begin with a letter"
}

// sanitize converts a text to lower case, and replaces each run of other characters than a-z, 0-9 and - by a single dash.
func sanitize(text string) string {
	text = trimJava(text)
	var b strings.Builder
	b.Grow(len(text))
	dash := false
	for _, r := range text {
		switch {
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		case r == '\u212A': // the Kelvin sign is the only other letter with an ASCII lower case
			r = 'k'
		case r == '\u0130': // İ becomes i and a combining dot, and the dot becomes a dash
			b.WriteByte('i')
			r = '-'
			dash = false
		}
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
			dash = false
		} else if !dash {
			b.WriteByte('-')
			dash = true
		}
	}
	return b.String()
}

// trimJava trims as Java's String.trim does: control characters and spaces, and no other Unicode spaces.
func trimJava(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}
