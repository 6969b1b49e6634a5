// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The longest label value and the longest name of an object, both from RFC 1123.
const (
	labelValueMaxLength = 63
	objectNameMaxLength = 253
)

// resourcePrefix returns what the names of most objects start with.
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

// driverSuffix ends the name of a driver pod that no property names.
const driverSuffix = "-driver"

// driverMapName returns the name of the driver's ConfigMap.
func (b *builder) driverMapName() string {
	if !b.mode.direct {
		return "spark-drv-" + b.id.ConfigMapID + configMapSuffix
	}
	const suffix = "-spark-drv" + configMapSuffix
	return b.prefix[:min(len(b.prefix), objectNameMaxLength-len(suffix))] + suffix
}

// resourcePrefix returns the text that the names of most objects of an attempt start with: the application's name and
// the attempt's id, in characters that Kubernetes accepts. It has no limit on its length, as in Spark.
func resourcePrefix(appName, nameID string) string {
	prefix := strings.TrimPrefix(sanitize(appName+"-"+nameID), "-")
	if prefix != "" && prefix[0] >= '0' && prefix[0] <= '9' {
		// Services may not start with a digit. Spark replaces this one digit only.
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

// driverServiceName returns the name of the driver's headless service. A prefix is replaced as a whole, and only here, if it leaves no room for
// the suffix or if some API server refuses it.
func driverServiceName(prefix, serviceID string) string {
	const suffix = "-driver-svc"
	if len(validation.IsDNS1035Label(prefix+suffix)) == 0 {
		return prefix + suffix
	}
	return "spark-" + serviceID + suffix
}

// NewServiceName says which Kubernetes takes the name of a Service that begins with a digit (feature RelaxedServiceNameValidation). It returns
// "" if all supported ones take the name, or none.
func NewServiceName(name string) string {
	if len(validation.IsDNS1035Label(name)) == 0 || len(validation.IsDNS1123Label(name)) > 0 {
		return ""
	}
	return "Kubernetes before 1.36 refuses the Service " + name + ", whose name begins with a digit; begin with a letter"
}

// sanitize lower-cases text and turns each run of characters other than a-z, 0-9 and - into a single -.
func sanitize(text string) string {
	text = trimJava(text)
	var b strings.Builder
	b.Grow(len(text))
	dash := false
	for _, r := range text {
		switch {
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		case r == '\u212A': // the Kelvin sign is the only other letter whose lower case is plain ASCII
			r = 'k'
		case r == '\u0130': // İ becomes i and a combining dot, which in turn becomes a dash
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

// trimJava cuts what Java's String.trim cuts: control characters and blanks, but no other Unicode space.
func trimJava(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}
