// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

func checkVersion(app spark.Application) []*spark.ConfError {
	if _, err := spark.ProfileOf(app); err == nil {
		return nil
	}
	problem := "not a supported Spark version; supported: "
	if app.SparkVersion == "" {
		problem = "missing; write the version of Spark in the image, such as 4.1.4; supported: "
	}
	problem += strings.Join(spark.SupportedVersions(), ", ")
	if app.SparkVersion != "" {
		problem += "; write the version of Spark in the image; leave an older Spark to its present operator"
	}
	return []*spark.ConfError{{Field: spark.FieldSparkVersion, Value: app.SparkVersion, Type: versionError(app), Problem: problem}}
}

// versionError is the type of the error about an unsupported version. Pod templates need Spark 3, also with other operators.
func versionError(app spark.Application) field.ErrorType {
	major, _, _ := strings.Cut(strings.TrimPrefix(app.SparkVersion, "v"), ".")
	number, err := strconv.Atoi(major)
	if (err != nil || number < 3) && (app.Driver.Template != nil || app.Executor.Template != nil) {
		return field.ErrorTypeInvalid
	}
	return field.ErrorTypeNotSupported
}

func checkDriverName(app spark.Application) []*spark.ConfError {
	name := cmp.Or(app.OperatorConf[spark.ConfDriverPodName], app.Conf[spark.ConfDriverPodName])
	if name == "" && app.Direct != nil {
		return nil // the operator derives the name from ids, and other checks see the built pod
	}
	if problems := utilvalidation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return []*spark.ConfError{{
			Field: spark.FieldDriverName, Value: name,
			Problem: "not a pod name; write lower-case letters, digits, '-' and '.', such as \"my-job-driver\"",
		}}
	}
	return nil
}

// checkExecutorPrefix refuses a prefix that makes the driver fail. Spark: isValidExecutorPodNamePrefix.
func checkExecutorPrefix(app spark.Application) []*spark.ConfError {
	const longestSuffix = len("-exec-2147483647")
	prefix, set := app.Conf[spark.ConfExecutorPodNamePrefix]
	if !set || app.Server != nil || strings.Contains(prefix, "${") || len(utilvalidation.IsDNS1123Subdomain(prefix)) == 0 &&
		len(prefix) <= utilvalidation.DNS1123SubdomainMaxLength-longestSuffix {
		return nil
	}
	return []*spark.ConfError{{
		Key: spark.ConfExecutorPodNamePrefix, Value: prefix,
		Problem: `not a prefix of pod names; write at most 237 lower-case letters, digits, '-' and '.', such as "nightly-report"`,
	}}
}

// Properties that contain a name: the rest of the key is the name of a label or an annotation, or the value is the name of an object or an image.
var (
	labelFamilies = []string{
		spark.ConfDriverLabelPrefix, spark.ConfExecutorLabelPrefix, spark.ConfServiceLabelPrefix,
		spark.ConfNodeSelectorPrefix, spark.ConfDriverNodeSelectorPrefix, "spark.kubernetes.executor.node.selector.",
	}
	annotationFamilies = []string{
		spark.ConfDriverAnnotationPrefix, spark.ConfExecutorAnnotationPrefix, spark.ConfServiceAnnotationPrefix,
	}
	objectNames = []string{spark.ConfDriverServiceAccount, spark.ConfExecutorServiceAccount}
	imageNames  = []string{spark.ConfImage, spark.ConfDriverImage, spark.ConfExecutorImage}
)

// executorSecretKeys is the prefix of properties that set executors' variables from Secrets.
const executorSecretKeys = "spark.kubernetes.executor.secretKeyRef."

// checkNames checks labels, annotations and names as the API server does.
func checkNames(app spark.Application) []*spark.ConfError {
	var found []*spark.ConfError
	profile, _ := spark.ProfileOf(app)
	for _, key := range slices.Sorted(maps.Keys(app.Conf)) {
		value := app.Conf[key]
		if name, ok := under(key, labelFamilies); ok {
			final := value
			if _, ofPod := under(key, labelFamilies[:2]); ofPod && profile.LabelPlaceholders {
				final = placeholders.Replace(value)
			}
			if problem := labelProblem(name, final); problem != "" {
				found = append(found, &spark.ConfError{Key: key, Value: value, Problem: problem})
			}
		}
		if name, ok := under(key, annotationFamilies); ok && len(utilvalidation.IsQualifiedName(strings.ToLower(name))) > 0 {
			found = append(found, &spark.ConfError{Key: key, Value: name, Problem: `not the name of an annotation; write e.g. "example.org/note"`})
		}
		if _, ok := strings.CutPrefix(key, executorSecretKeys); ok {
			if name, item, _ := strings.Cut(value, ":"); !secretKey(name, item) {
				found = append(found, &spark.ConfError{Key: key, Value: value, Problem: "needs the name of a Secret and one of its keys, joined by ':'"})
			}
		}
		if slices.Contains(imageNames, key) && spark.Placeholder(value) != "" {
			found = append(found, &spark.ConfError{Key: key, Value: value, Problem: notAnImage})
		}
		if slices.Contains(objectNames, key) && len(utilvalidation.IsDNS1123Subdomain(value)) > 0 {
			found = append(found, &spark.ConfError{Key: key, Value: value, Problem: notAnAccount})
		}
	}
	return found
}

// checkOptions refuses keys that a JVM would read differently in its options: a blank, a quote or a '=' ends the key, and Kubernetes expands $(...). A policy
// would check a key other than the one that takes effect. The properties of an application need no check: they are in a file that escapes each key.
func checkOptions(conf map[string]string) []*spark.ConfError {
	var found []*spark.ConfError
	for _, key := range slices.Sorted(maps.Keys(conf)) {
		if key == "" || strings.ContainsFunc(key, func(r rune) bool {
			return !unicode.IsGraphic(r) || unicode.IsSpace(r) || strings.ContainsRune(`="'\()`, r)
		}) {
			problem := `not the name of a property; write it without blanks, line ends, quotes, '=', '\' and parentheses, such as "spark.ui.port"`
			found = append(found, &spark.ConfError{Key: key, Field: spark.FieldSparkConf, Problem: problem})
		}
	}
	return found
}

const notAnImage = `not an image; write its name and tag, such as "registry.example/spark:4.1.4"`

const notAnAccount = `not the name of a ServiceAccount; write lower-case letters, digits, '-' and '.', such as "spark"`

func under(key string, families []string) (rest string, ok bool) {
	for _, prefix := range families {
		if rest, ok = strings.CutPrefix(key, prefix); ok {
			return rest, true
		}
	}
	return "", false
}

// placeholders replaces Spark's placeholders in a label's value by examples: Spark fills them in later.
var placeholders = strings.NewReplacer("{{APP_ID}}", "a", "{{EXECUTOR_ID}}", "1")

func labelProblem(name, value string) string {
	if len(utilvalidation.IsQualifiedName(name)) > 0 {
		return "the name of the label " + strconv.Quote(name) + ` is not valid; write e.g. "team" or "example.org/team"`
	}
	if len(utilvalidation.IsValidLabelValue(value)) > 0 {
		return `not the value of a label; write at most 63 letters, digits, '-', '_' and '.', such as "data-platform"`
	}
	return ""
}
