// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func said(app Application, errs []*ConfError) []string {
	var all []string
	for _, e := range errs {
		all = append(all, e.About(app.PathOf(e)))
	}
	return all
}

// Cases 005 and 023: all that cannot be read is named, by the field, with what is wrong with it.
func TestFileErrors(t *testing.T) {
	const uploaded = "a file of the submitting machine cannot be uploaded; write the URI of a store that the pods can read, or local:// and the path for a file in the image"
	const encoded = "; leave it out or encode it, such as %20 for a space"
	for _, tc := range []struct {
		reason string
		change func(*Application)
		want   []string
	}{
		{"a placeholder of a guide", func(a *Application) { a.MainFile = "s3a://<bucket>/a.jar" }, []string{`spec.mainApplicationFile: "s3a://<bucket>/a.jar": the placeholder <bucket> is left; replace it; a URI cannot have '<'`}},
		{"a variable of a shell", func(a *Application) { a.MainFile = "${NAME}/a.jar" }, []string{`spec.mainApplicationFile: "${NAME}/a.jar": the placeholder ${NAME} is left; replace it; a URI cannot have '{'`}},
		{"of Helm", func(a *Application) { a.Deps.Jars = []string{"s3a://{{ .Values.b }}/a.jar"} }, []string{`spec.deps.jars[0]: "s3a://{{ .Values.b }}/a.jar": the placeholder {{ .Values.b }} is left; replace it; a URI cannot have '{'`}},
		{"in braces", func(a *Application) { a.Deps.Files = []string{"local:///a", "hdfs://{host}/a"} }, []string{`spec.deps.files[1]: "hdfs://{host}/a": the placeholder {host} is left; replace it; a URI cannot have '{'`}},
		{"a space", func(a *Application) { a.Deps.PyFiles = []string{"s3a://b/a b.py"} }, []string{`spec.deps.pyFiles[0]: "s3a://b/a b.py": a URI cannot have ' '` + encoded}},
		{"half of an escape", func(a *Application) { a.Deps.Archives = []string{"s3a://b/100%.zip"} }, []string{`spec.deps.archives[0]: "s3a://b/100%.zip": a URI cannot have '%' without two hexadecimal digits` + encoded}},
		{"in a property", func(a *Application) { a.Conf[ConfFiles] = "s3a://b/a|b" }, []string{`spec.sparkConf["spark.files"]: "s3a://b/a|b": a URI cannot have '|'` + encoded}},
		{"a file of the machine, with a space", func(a *Application) { a.MainFile = "/my jobs/a.jar" }, []string{`spec.mainApplicationFile: "/my jobs/a.jar": ` + uploaded}},
		{
			"all of them", func(a *Application) {
				a.MainFile, a.Deps.Jars = "/a.jar", []string{"local:///b.jar", "c.jar", "file:///d.jar"}
			},
			[]string{`spec.deps.jars[1]: "c.jar": ` + uploaded, `spec.deps.jars[2]: "file:///d.jar": ` + uploaded, `spec.mainApplicationFile: "/a.jar": ` + uploaded},
		},
		{
			"both files of Kerberos", func(a *Application) {
				a.Conf[confKeytab], a.Conf[confPrincipal], a.Conf[confKrb5Path] = "/etc/a.keytab", "a", "/etc/krb5.conf"
			},
			[]string{
				`spec.sparkConf["spark.kerberos.keytab"]: "/etc/a.keytab": no such file on the submitting machine; mount a Secret with it and write local:// and its path in the pod, ` +
					`or write the name and the key of a Secret with a delegation token to spark.kubernetes.kerberos.tokenSecret.name and spark.kubernetes.kerberos.tokenSecret.itemKey`,
				`spec.sparkConf["spark.kubernetes.kerberos.krb5.path"]: "/etc/krb5.conf": no such file on the submitting machine; create a ConfigMap with a key krb5.conf, ` +
					`and write its name to spark.kubernetes.kerberos.krb5.configMapName`,
			},
		},
		{"a keytab in the pod", func(a *Application) { a.Conf[confKeytab], a.Conf[confPrincipal] = "local:///etc/a.keytab", "a" }, nil},
		{
			"a certificate", func(a *Application) { a.Conf[confDriverCredentials+"caCertFile"] = "/ca.crt" },
			[]string{`spec.sparkConf["spark.kubernetes.authenticate.driver.caCertFile"]: "/ca.crt": no such file on the submitting machine; mount it, ` +
				`and write its path in the pod to spark.kubernetes.authenticate.driver.mounted.caCertFile`},
		},
		{
			"a template", func(a *Application) { a.Conf[ConfDriverTemplateFile] = "/t.yaml" },
			[]string{`spec.sparkConf["spark.kubernetes.driver.podTemplateFile"]: "/t.yaml": no such file on the submitting machine; write the template to spec.driver.template`},
		},
		{"a template that is there", func(a *Application) { a.Conf[ConfDriverTemplateFile], a.Driver.TemplateText = "/t.yaml", "spec: {}" }, nil},
		{"files of a server are its own", func(a *Application) { a.Server, a.Deps.Jars = &Server{}, []string{"/a.jar"} }, nil},
	} {
		app := sparkPi()
		app.Fields = Fields{"": "spec"}
		tc.change(&app)
		if diff := cmp.Diff(tc.want, said(app, FileErrors(app))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

// A placeholder is named in any value that is refused, unless it is one that is replaced later, or a secret.
func TestPlaceholder(t *testing.T) {
	for value, want := range map[string]string{
		"<account>": "<account>", "a-${NAME}": "${NAME}", "{{ .Values.a }}": "{{ .Values.a }}", "{{name}}.b": "{{name}}", "{name}": "{name}", "$(NAME)": "$(NAME)",
		"${spark.a}": "", "${env:A}": "", "${system:a}": "", "{{$appName}}.b": "", "{{ $appName }}": "", "{{APP_ID}}": "", "{{EXECUTOR_ID}}-{{NAME}}": "{{NAME}}",
		"a<b": "", "a{}": "", "plain": "",
	} {
		if got := Placeholder(value); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
	for key, want := range map[string]string{
		"spark.a": `spark.a: "<b>": the placeholder <b> is left; replace it; wrong`, "spark.password": `spark.password: "(redacted)": wrong`,
	} {
		if got := (&ConfError{Key: key, Value: "<b>", Problem: "wrong"}).Error(); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}
