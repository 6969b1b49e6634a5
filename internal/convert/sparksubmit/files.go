// SPDX-License-Identifier: Apache-2.0

package sparksubmit

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

const (
	confHadoopMap = "spark.kubernetes.hadoop.configMapName"
	confKrb5Path  = "spark.kubernetes.kerberos.krb5.path"
	confKrb5Map   = "spark.kubernetes.kerberos.krb5.configMapName"
	confKeytab    = "spark.kerberos.keytab"
	confPrincipal = "spark.kerberos.principal"
	// confExecutorHadoopMap names the ConfigMap with the Hadoop configuration of executors.
	confExecutorHadoopMap = "spark.kubernetes.executor.hadoopConfigMapName"
	confCredentials       = "spark.kubernetes.authenticate.driver."
	confPodGroupFile      = "spark.kubernetes.scheduler.volcano.podGroupTemplateFile"
	confPodGroupJSON      = "spark.kubernetes.scheduler.volcano.podGroupTemplateJson"
	keytabDirInPod        = "/mnt/secrets/kerberos-keytab"
	credentialsDirInPod   = "/mnt/secrets/spark-kubernetes-credentials"
	adviceCredentials     = "not carried over: the driver authenticates with its service account; grant spec.driver.serviceAccount the permissions that it needs"
)

// credentialFiles are the suffixes of properties that name files with the driver's credentials.
var credentialFiles = []string{"caCertFile", "clientKeyFile", "clientCertFile"}

// fileKeys are properties that name files of the submitting machine.
var fileKeys = []string{
	spark.ConfDriverTemplateFile, spark.ConfExecTemplateFile, confKrb5Path, confKeytab, confPodGroupFile,
	confCredentials + credentialFiles[0], confCredentials + credentialFiles[1], confCredentials + credentialFiles[2],
}

// file returns the file that a property names.
func (c *converter) file(key string) (name string, content []byte, err error) {
	name = expand(c.conf[key], c.conf, c.machine.Env)
	content, ok := c.machine.File(name)
	if !ok {
		return "", nil, fmt.Errorf("%s: %q: no such file on this machine", key, name)
	}
	return name, content, nil
}

// hadoopConfDir replaces the directory that spark-submit ships with a ConfigMap that the user creates.
func (c *converter) hadoopConfDir() error {
	dir, ok := c.machine.Env["HADOOP_CONF_DIR"]
	if !ok {
		return nil
	}
	if name, both := c.conf[confHadoopMap]; both {
		return fmt.Errorf("%s: %q: cannot be combined with the variable HADOOP_CONF_DIR; unset one of them", confHadoopMap, name)
	}
	files := c.machine.FilesIn(dir)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if c.profile.StrictHadoopText && !utf8.Valid(files[name]) {
			return fmt.Errorf("HADOOP_CONF_DIR: %s: the file is not UTF-8 text, which Spark %s refuses", path.Join(dir, name), c.profile.Minor)
		}
	}
	name := c.app.Name + "-hadoop-conf"
	c.conf[confHadoopMap] = name
	c.lost("HADOOP_CONF_DIR", "the operator cannot read this directory; create the ConfigMap that the manifest names: "+
		"kubectl create configmap %s --namespace %s --from-file=%s", name, c.app.Namespace, dir)
	return nil
}

// files handles properties that name a single file each.
func (c *converter) files() error {
	for _, step := range []func() error{c.krb5, c.keytab, c.credentials, c.podGroup} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (c *converter) krb5() error {
	if _, ok := c.conf[confKrb5Path]; !ok {
		return nil
	}
	if name, both := c.conf[confKrb5Map]; both {
		return fmt.Errorf("%s: %q: cannot be combined with %s; write one of them", confKrb5Map, name, confKrb5Path)
	}
	file, _, err := c.file(confKrb5Path)
	if err != nil {
		return err
	}
	delete(c.conf, confKrb5Path)
	name := c.app.Name + "-krb5"
	c.conf[confKrb5Map] = name
	c.lost(confKrb5Path, "the operator cannot read this file; create the ConfigMap that the manifest names: "+
		"kubectl create configmap %s --namespace %s --from-file=krb5.conf=%s", name, c.app.Namespace, file)
	return nil
}

func (c *converter) keytab() error {
	if value, ok := c.conf[confKeytab]; !ok || strings.HasPrefix(value, "local:") {
		return nil
	}
	file, _, err := c.file(confKeytab)
	if err != nil {
		return err
	}
	name := c.app.Name + "-keytab"
	c.conf[confKeytab] = "local://" + keytabDirInPod + "/" + path.Base(file)
	c.app.Spec.Driver.Secrets = append(c.app.Spec.Driver.Secrets,
		v1beta2.SecretInfo{Name: name, Path: keytabDirInPod, SecretType: v1beta2.SecretTypeGeneric})
	c.lost(confKeytab, "the operator cannot read this file; create the Secret that the manifest names: "+
		"kubectl create secret generic %s --namespace %s --from-file=%s", name, c.app.Namespace, file)
	return nil
}

// credentials drops credentials for the API server, which must not be in a manifest.
func (c *converter) credentials() error {
	for _, end := range credentialFiles {
		if _, ok := c.conf[confCredentials+end]; !ok {
			continue
		}
		if _, _, err := c.file(confCredentials + end); err != nil {
			return err
		}
		delete(c.conf, confCredentials+end)
		c.lost(confCredentials+end, adviceCredentials)
	}
	for _, role := range []string{"driver.", "executor."} {
		for _, end := range []string{"oauthToken", "oauthTokenFile"} {
			key := "spark.kubernetes.authenticate." + role + end
			if _, ok := c.take(key); ok {
				c.lost(key, adviceCredentials)
			}
		}
	}
	return nil
}

// podGroup moves the text of a Volcano template into a property.
func (c *converter) podGroup() error {
	if _, ok := c.conf[confPodGroupFile]; !ok || !c.profile.PodGroupJSON {
		return nil
	}
	_, content, err := c.file(confPodGroupFile)
	if err != nil {
		return err
	}
	text, err := yaml.YAMLToJSON(content)
	if err != nil {
		return fmt.Errorf("%s: %q: not YAML: %w", confPodGroupFile, c.conf[confPodGroupFile], err)
	}
	delete(c.conf, confPodGroupFile)
	c.conf[confPodGroupJSON] = string(text)
	c.note(confPodGroupFile, "its text is in %s", confPodGroupJSON)
	return nil
}

// templates reads the pod templates into the manifest.
func (c *converter) templates() error {
	for key, target := range map[string]**corev1.PodTemplateSpec{
		spark.ConfDriverTemplateFile: &c.app.Spec.Driver.Template,
		spark.ConfExecTemplateFile:   &c.app.Spec.Executor.Template,
	} {
		if _, ok := c.conf[key]; !ok {
			continue
		}
		name, content, err := c.file(key)
		if err != nil {
			return err
		}
		template, err := spark.ParseTemplate(string(content))
		if err != nil {
			return fmt.Errorf("%s: %q: %w", key, name, err)
		}
		delete(c.conf, key)
		*target = template
	}
	return nil
}

// confDir reports the files of SPARK_CONF_DIR, which spark-submit ships to the driver.
func (c *converter) confDir() {
	dir := c.machine.ConfDir()
	if dir == "" {
		return
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(c.machine.FilesIn(dir))), func(name string) bool {
		return !spark.ShipsConfFile(name)
	})
	if len(names) > 0 {
		c.lost("SPARK_CONF_DIR", "the operator cannot read this directory, so the driver lacks %s; if it needs them, create a "+
			"ConfigMap from them and name it in spec.sparkConfigMap", strings.Join(names, ", "))
	}
}

// uploads reports the files that spark-submit would upload, or has uploaded.
func (c *converter) uploads() {
	if c.running {
		c.uploaded()
		return
	}
	deps := &c.app.Spec.Deps
	for _, list := range []struct {
		key   string
		files []string
	}{
		{spark.ConfJars, deps.Jars}, {spark.ConfFiles, deps.Files}, {spark.ConfArchives, deps.Archives}, {spark.ConfPyFiles, deps.PyFiles},
	} {
		for _, file := range list.files {
			if spark.OnSubmitter(file) {
				c.upload(list.key, file)
			}
		}
	}
	main := *c.app.Spec.MainApplicationFile
	if main != spark.NoResource && c.app.Spec.Type != v1beta2.ApplicationTypeR && spark.OnSubmitter(main) {
		c.upload("main file", main)
	}
}

func (c *converter) upload(subject, file string) {
	text, _ := json.Marshal(file)
	c.lost(subject, "%s is on this machine, and the operator uploads nothing: copy it to a store that the pods can read and write its "+
		"URI, or put it into the image and write local:// and its path", text)
}
