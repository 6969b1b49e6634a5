// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

const authenticate = "spark.kubernetes.authenticate.driver."

func TestCredentials(t *testing.T) {
	const dir = "/mnt/secrets/spark-kubernetes-credentials/"
	files := map[string][]byte{"/ca": []byte("CA"), "/key": []byte("KEY"), "/cert": []byte("CERT")}
	tests := []struct {
		name    string
		conf    map[string]string
		account string
		secret  map[string][]byte
		mounted map[string]string
		reason  string
	}{
		{"nothing", nil, "", nil, nil, "the namespace's default account"},
		{"account", map[string]string{ConfDriverServiceAccount: "spark"}, "spark", nil, nil, "an account"},
		{"account twice", map[string]string{ConfDriverServiceAccount: "spark", authenticate + "mounted.caCertFile": "/x"},
			"spark", nil, map[string]string{"caCertFile": "/x"}, "paths in the pod do not need a Secret"},
		{"all", map[string]string{
			ConfDriverServiceAccount: "spark", authenticate + "oauthToken": "TOKEN", authenticate + "caCertFile": "/ca",
			authenticate + "clientKeyFile": "file:///key", authenticate + "clientCertFile": "/cert",
		}, "", map[string][]byte{
			"ca-cert": []byte("CA"), "client-key": []byte("KEY"), "client-cert": []byte("CERT"), "oauth-token": []byte("TOKEN"),
		}, map[string]string{
			"caCertFile": dir + "ca-cert", "clientKeyFile": dir + "client-key", "clientCertFile": dir + "client-cert",
			"oauthTokenFile": dir + "oauth-token",
		}, "credentials replace the account"},
		{"mounted wins", map[string]string{authenticate + "caCertFile": "/ca", authenticate + "mounted.caCertFile": "/mine"},
			"", map[string][]byte{"ca-cert": []byte("CA")}, map[string]string{"caCertFile": "/mine"}, "the user's path"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			app := with(test.conf)
			app.Submitter.Files = files
			submission := mustBuild(t, app, "4.1")
			spec := submission.Driver.Spec
			if spec.ServiceAccountName != test.account || spec.DeprecatedServiceAccount != test.account {
				t.Errorf("accounts %q and %q, want %q: %s",
					spec.ServiceAccountName, spec.DeprecatedServiceAccount, test.account, test.reason)
			}
			var data map[string][]byte
			for _, object := range submission.Resources {
				if secret, ok := object.(*corev1.Secret); ok {
					data = secret.Data
				}
			}
			if diff := cmp.Diff(test.secret, data); diff != "" {
				t.Errorf("Secret, %s (-want +got):\n%s", test.reason, diff)
			}
			for _, kind := range []string{"caCertFile", "clientKeyFile", "clientCertFile", "oauthTokenFile"} {
				if got := submission.Properties[authenticate+"mounted."+kind]; got != test.mounted[kind] {
					t.Errorf("%s is %q, want %q: %s", kind, got, test.mounted[kind], test.reason)
				}
			}
		})
	}
}

func TestKerberos(t *testing.T) {
	tests := []struct {
		name    string
		conf    map[string]string
		volumes map[string]string
		token   string
		reason  string
	}{
		{"map", map[string]string{confKrb5Map: "krb"}, map[string]string{"krb5-file": "krb"}, "", "a ConfigMap of the user's"},
		{"file", map[string]string{confKrb5Path: "/k/krb5.conf"}, map[string]string{"krb5-file": "P-krb5-file"}, "", "one of ours"},
		{"keytab", map[string]string{confKeytab: "/k/a.keytab", confPrincipal: "a"},
			map[string]string{"kerberos-keytab": "P-kerberos-keytab"}, "", "a Secret of ours"},
		{"keytab of YARN", map[string]string{"spark.yarn.keytab": "/k/a.keytab", "spark.yarn.principal": "a"},
			map[string]string{"kerberos-keytab": "P-kerberos-keytab"}, "", "by its older name"},
		{"keytab in the image", map[string]string{confKeytab: "local:///k/a.keytab", confPrincipal: "a"}, nil, "", "nothing to do"},
		{"token", map[string]string{confTokenSecretName: "s", confTokenSecretItemKey: "k"},
			map[string]string{"hadoop-secret": "s"}, "/mnt/secrets/hadoop-credentials/k", "a Secret of the user's"},
		{"keytab in the image and token", map[string]string{
			confKeytab: "local:///k/a.keytab", confPrincipal: "a", confTokenSecretName: "s", confTokenSecretItemKey: "k",
		}, map[string]string{"hadoop-secret": "s"}, "/mnt/secrets/hadoop-credentials/k", "the token"},
		{"keytab and token", map[string]string{
			confKeytab: "/k/a.keytab", confPrincipal: "a", confTokenSecretName: "s", confTokenSecretItemKey: "k",
		}, map[string]string{"kerberos-keytab": "P-kerberos-keytab"}, "", "the keytab"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			app := with(test.conf)
			app.Submitter.Files = map[string][]byte{"/k/krb5.conf": []byte("[libdefaults]"), "/k/a.keytab": {5, 2}}
			submission := mustBuild(t, app, "4.1")
			prefix := "spark-pi-" + testIdentity().NameID
			got := map[string]string{}
			for _, volume := range submission.Driver.Spec.Volumes {
				switch {
				case volume.Name == driverConfVolume:
				case volume.ConfigMap != nil:
					got[volume.Name] = volume.ConfigMap.Name
				case volume.Secret != nil:
					got[volume.Name] = volume.Secret.SecretName
				}
			}
			want := map[string]string{}
			for name, source := range test.volumes {
				if source[0] == 'P' {
					source = prefix + source[1:]
				}
				want[name] = source
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("volumes, %s (-want +got):\n%s", test.reason, diff)
			}
			token := ""
			for _, e := range sparkContainerOf(t, submission.Driver, DriverContainerName).Env {
				if e.Name == "HADOOP_TOKEN_FILE_LOCATION" {
					token = e.Value
				}
			}
			if token != test.token {
				t.Errorf("token %q, want %q: %s", token, test.token, test.reason)
			}
		})
	}
}

func TestHadoopConf(t *testing.T) {
	files := map[string][]byte{"core-site.xml": []byte("<c/>"), "hdfs-site.xml": []byte("<h/>")}
	tests := []struct {
		name, version string
		files         map[string][]byte
		conf          map[string]string
		config        string
		items         int
		property      bool
		reason        string
	}{
		{"unset", "4.1", nil, nil, "", 0, false, "no HADOOP_CONF_DIR"},
		{"files", "4.1", files, nil, "P-hadoop-config", 2, true, "each file is an item"},
		{"files 3.4", "3.4", files, nil, "P-hadoop-config", 2, false, "executors do not mount it yet"},
		{"empty", "4.1", map[string][]byte{}, nil, "P-hadoop-config", 0, true, "a directory without files is one nevertheless"},
		{"map", "4.1", nil, map[string]string{confHadoopMap: "hc"}, "hc", 0, true, "a ConfigMap of the user's, whole"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			app := with(test.conf)
			app.Submitter.HadoopConfDir = test.files
			submission := mustBuild(t, app, test.version)
			want := test.config
			if want != "" && want[0] == 'P' {
				want = "spark-pi-" + testIdentity().NameID + want[1:]
			}
			var source corev1.ConfigMapVolumeSource
			for _, volume := range submission.Driver.Spec.Volumes {
				if volume.Name == "hadoop-properties" {
					source = *volume.ConfigMap
				}
			}
			if source.Name != want || len(source.Items) != test.items {
				t.Errorf("ConfigMap %q with %d items, want %q with %d: %s", source.Name, len(source.Items), want, test.items, test.reason)
			}
			property := submission.Properties["spark.kubernetes.executor.hadoopConfigMapName"]
			if (property == want) != test.property && want != "" {
				t.Errorf("executors are told of %q: %s", property, test.reason)
			}
		})
	}
}

func TestPrivilegeEscalation(t *testing.T) {
	tests := []struct {
		version  string
		conf     map[string]string
		template *bool
		want     *bool
		reason   string
	}{
		{"4.2", nil, nil, nil, "not written before 4.3"},
		{"4.2", nil, new(true), new(true), "the template's"},
		{"4.3", nil, nil, new(false), "forbidden by default"},
		{"4.3", nil, new(true), new(false), "whatever the template says"},
		{"4.3", map[string]string{confPrivilege: "true"}, nil, new(true), "for both roles"},
		{"4.3", map[string]string{confPrivilege: "true", confDriverPrivilege: "false"}, nil, new(false), "for the driver"},
	}
	for _, test := range tests {
		app := with(test.conf)
		app.Driver.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(5)), AllowPrivilegeEscalation: test.template},
		}}}}
		got := sparkContainerOf(t, mustBuild(t, app, test.version).Driver, DriverContainerName).SecurityContext
		want := &corev1.SecurityContext{RunAsUser: new(int64(5)), AllowPrivilegeEscalation: test.want}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.version, test.reason, diff)
		}
	}
}

func TestLabelsByRelease(t *testing.T) {
	app := with(map[string]string{
		"spark.kubernetes.driver.label.id":            "{{APP_ID}}-{{EXECUTOR_ID}}",
		"spark.kubernetes.driver.annotation.id":       "{{APP_ID}}-{{EXECUTOR_ID}}",
		"spark.kubernetes.driver.label.example.com/a": "b",
		ConfImage: "spark:{{SPARK_VERSION}}",
	})
	app.SparkVersion = "v9.9.9"
	expanded := testIdentity().AppID + "-"
	for version, want := range map[string][2]string{
		"3.5": {"{{APP_ID}}-{{EXECUTOR_ID}}", "spark:{{SPARK_VERSION}}"},
		"4.0": {expanded, "spark:{{SPARK_VERSION}}"},
		"4.1": {expanded, "spark:9.9.9"},
	} {
		pod := mustBuild(t, app, version).Driver
		labels := map[string]string{
			LabelAppName: "spark-pi", LabelAppSelector: testIdentity().AppID, LabelRole: RoleDriver, LabelVersion: "9.9.9",
			"id": want[0], "example.com/a": "b",
		}
		if diff := cmp.Diff(labels, pod.Labels); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", version, diff)
		}
		if got := pod.Annotations["id"]; got != expanded {
			t.Errorf("%s: annotation %q, want %q", version, got, expanded)
		}
		if got := sparkContainerOf(t, pod, DriverContainerName).Image; got != want[1] {
			t.Errorf("%s: image %q, want %q", version, got, want[1])
		}
	}
}
