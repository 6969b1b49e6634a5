// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// uriLists are the properties with lists of URIs.
var uriLists = []string{ConfJars, ConfFiles, ConfArchives, ConfPyFiles}

// FileErrors returns the errors about URIs and paths on the disk of the submitting machine.
func FileErrors(app Application) []*ConfError {
	if app.Server != nil {
		return nil // its driver reads them
	}
	values := mergeConf(&app)
	found := uriErrors(&app, values)
	if app.MainFile == "" {
		found = nil // a missing main file is reported elsewhere
	}
	b := builder{app: &app}
	for _, key := range submitterFiles {
		path, set := values[key]
		_, known := b.lookupFile(path)
		inImage := key == confKeytab && strings.HasPrefix(path, "local:")
		template := key == ConfDriverTemplateFile && (app.Driver.Template != nil || app.Driver.TemplateText != "")
		if set && !known && !inImage && !template && !strings.Contains(path, "${") {
			found = append(found, &ConfError{Key: key, Value: path, Problem: app.noFile(key)})
		}
	}
	return found
}

// uriErrors returns the errors about URIs that need access to a file system.
func uriErrors(app *Application, values map[string]string) []*ConfError {
	var found []*ConfError
	for _, key := range uriLists {
		for i, element := range strings.Split(values[key], ",") {
			name, _ := scheme(element)
			var problem *ConfError
			switch {
			case trimJava(element) == "":
				continue
			case OnSubmitter(element):
				problem = uriError(element)
			case app.Direct == nil && !untouched[name] && strings.ContainsAny(element, "*?[]"):
				problem = &ConfError{Value: element,
					Problem: "patterns are not expanded, because this would need access to the file system; list the files", Type: field.ErrorTypeNotSupported}
			default:
				continue
			}
			found = append(found, app.about(problem, key, i))
		}
	}
	unread := app.MainFile == NoResource || languageOf(app) == LanguageR && app.Direct == nil
	if !unread && OnSubmitter(app.MainFile) {
		found = append(found, uriError(app.MainFile).of("", FieldMainFile))
	}
	return found
}

// about attributes an error about an element of a list to a field or a property.
func (a *Application) about(e *ConfError, key string, i int) *ConfError {
	for name, list := range a.Deps.lists() {
		if DependencyProperties[name] == key && len(list) > 0 {
			return e.of("", name.Index(i))
		}
	}
	return e.of(key, "")
}

// submitterFiles are the properties that name a file on the submitting machine.
var submitterFiles = []string{
	confKeytab, confKrb5Path, ConfDriverTemplateFile,
	confDriverCredentials + "caCertFile", confDriverCredentials + "clientCertFile", confDriverCredentials + "clientKeyFile",
}

var insteadOfFile = map[string]string{
	confKrb5Path: "create a ConfigMap with a key krb5.conf, and write its name to " + confKrb5Map,
	confKeytab: "mount a Secret with it and write local:// and its path in the pod, or write the name and the key of a Secret with a delegation token to " +
		confTokenSecretName + " and " + confTokenSecretItemKey,
	ConfDriverTemplateFile: "write the template to {driver.template}",
	ConfExecTemplateFile:   "write the template to {executor.template}",
}

// noFile returns the problem of a path on the submitting machine, which an operator does not have.
func (a *Application) noFile(key string) string {
	instead := insteadOfFile[key]
	if name, is := strings.CutPrefix(key, confDriverCredentials); is {
		instead = "mount it, and write its path in the pod to " + confMountedCredentials + name
	}
	if instead == "" {
		return noSuchFile
	}
	return noSuchFile + "; " + a.Fields.Text(instead)
}

// noSuchFile and notUploaded are the problems of files that spark-submit would read or copy from its own disk.
const (
	noSuchFile  = "no such file on the submitting machine"
	notUploaded = "a file of the submitting machine cannot be uploaded; write the URI of a store that the pods can " +
		"read, or local:// and the path for a file in the image"
)

// uriError returns the problem of a URI that a pod cannot read: a file on the submitting machine, a URI with a placeholder, or an invalid URI. Spark also reads
// a text with a scheme and an invalid character as the name of such a local file.
func uriError(uri string) *ConfError {
	bad := notInURI(uri)
	switch {
	case bad != "" && Placeholder(uri) != "":
		return &ConfError{Value: uri, Problem: "a URI cannot have " + bad}
	case bad != "" && schemed.MatchString(uri):
		return &ConfError{Value: uri, Problem: "a URI cannot have " + bad + "; leave it out or encode it, such as %20 for a space"}
	}
	return &ConfError{Value: uri, Problem: notUploaded, Type: field.ErrorTypeNotSupported}
}

// schemed matches texts that begin with a scheme, such as s3a: or local:.
var schemed = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// notInURI returns the first character that a URI cannot have; "" for none.
func notInURI(uri string) string {
	for i := 0; i < len(uri); i++ {
		switch b := uri[i]; {
		case b <= ' ' || b == 0x7f || strings.IndexByte("\"<>\\^`{|}", b) >= 0:
			return fmt.Sprintf("%q", b)
		case b == '%' && (i+2 >= len(uri) || !isHex(uri[i+1]) || !isHex(uri[i+2])):
			return `'%' without two hexadecimal digits`
		}
	}
	return ""
}

// placeholders match texts that people and programs leave in place of a value: <bucket>, ${BUCKET}, {{ .Values.bucket }}, {bucket}, $(BUCKET).
var placeholders = regexp.MustCompile(`<[\w][^<>]*>|\$\{[^{}]+\}|\{\{[^{}]+\}\}|\{[\w .-]+\}|\$\([\w.-]+\)`)

// references match placeholders that Spark replaces when it reads the value, or that the operator replaces in a URL.
var references = regexp.MustCompile(`^(\$\{(spark\.|env:|system:)|\{\{\s*\$|\{\{(APP_ID|EXECUTOR_ID|SPARK_VERSION)\}\})`)

// Placeholder returns the first placeholder that is left in a value; "" for none.
func Placeholder(value string) string {
	if !strings.ContainsAny(value, "<{(") {
		return "" // as in most
	}
	for _, found := range placeholders.FindAllString(value, -1) {
		if !references.MatchString(found) {
			return found
		}
	}
	return ""
}
