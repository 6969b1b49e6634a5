// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
)

func TestCheck(t *testing.T) {
	cases := map[string]struct {
		reason string
		limits string
		spec   string
		want   []string
	}{
		"NoLimits": {reason: "nothing is limited", limits: `{}`, spec: "  image: any\n  executor: {memory: 900g}\n"},
		"Image": {
			reason: "the field of both roles", limits: `{images: [registry.example/*]}`, spec: "  image: docker.io/spark\n",
			want: []string{`spec.image: "docker.io/spark": namespace team-a allows the images registry.example/* (operator policy "small")`},
		},
		"RoleImages": {
			reason: "the field of one role", limits: `{images: [good*, better*]}`, spec: "  image: good\n  driver: {image: bad}\n  executor: {image: better:1}\n",
			want: []string{`spec.driver.image: "bad": namespace team-a allows the images good*, better* (operator policy "small")`},
		},
		"MemoryLimit": {
			reason: "an admission policy raises the limit to what is asked for", limits: `{executor: {memory: 4Gi}}`,
			spec: "  image: a\n  executor: {memory: 1g, memoryLimit: 3g, sidecars: [{name: s, image: s, resources: {limits: {memory: 2Gi}}}]}\n",
			want: []string{`spec.executor.memoryLimit: the executor pod requests 5Gi of memory in total; namespace team-a allows at most 4Gi (operator policy "small")`},
		},
		"MemoryLimitWritten": {
			reason: "the annotation says it, whoever writes it", limits: `{executor: {memory: 4Gi}}`,
			spec: "  image: a\n  executor: {annotations: {firesteel.dev/memory-limit: 900Gi}}\n",
			want: []string{`spec.executor.memoryLimit: the executor pod requests 900Gi of memory in total; namespace team-a allows at most 4Gi (operator policy "small")`},
		},
		"URLs": {
			reason: "wherever a dependency is written", limits: `{urls: ["s3a://team-a/*"]}`,
			spec: `
  image: a
  mainApplicationFile: https://evil.example/main.jar
  deps: {jars: ["s3a://team-a/a.jar", "https://me:pw@evil.example/b.jar"], packages: ["org.evil:lib:1"], repositories: ["https://evil.example/m2"]}
  sparkConf: {spark.jars.ivySettings: "${spark.mine}", spark.mine: "https://evil.example/c", spark.sql.hive.metastore.jars.path: "s3a://team-a/${env:X}", spark.sql.hive.metastore.jars: maven}
`,
			want: []string{
				`spec.mainApplicationFile: "https://evil.example/main.jar": namespace team-a allows the URLs s3a://team-a/* (operator policy "small")`,
				`spec.deps.jars: "https://...@evil.example/b.jar": namespace team-a allows the URLs s3a://team-a/* (operator policy "small")`,
				`spec.deps.repositories: "https://evil.example/m2": namespace team-a allows the URLs s3a://team-a/* (operator policy "small")`,
				`spec.deps.packages: "org.evil:lib:1": namespace team-a allows the URLs s3a://team-a/* (operator policy "small")`,
				`spec.sparkConf["spark.jars.ivySettings"]: "https://evil.example/c": namespace team-a allows the URLs s3a://team-a/* (operator policy "small")`,
				`spec.sparkConf["spark.sql.hive.metastore.jars.path"]: "s3a://team-a/${env:X}": has a reference that only the driver resolves; namespace team-a allows only URLs that can be checked (operator policy "small")`,
				`spec.sparkConf["spark.sql.hive.metastore.jars"]: "maven": namespace team-a allows the URLs s3a://team-a/* (operator policy "small")`,
			},
		},
		"DefaultURL": {
			reason: "a path without a scheme is in the default file system", limits: `{urls: ["s3a://team-a/*"]}`,
			spec: "  image: a\n  hadoopConf: {fs.defaultFS: \"s3a://team-b\"}\n  sparkConf: {spark.sql.hive.metastore.jars.path: /hive}\n",
			want: []string{`spec.sparkConf["spark.sql.hive.metastore.jars.path"]: "/hive": namespace team-a allows the URLs s3a://team-a/* (operator policy "small")`},
		},
		"OwnURLs": {
			reason: "from the place that is allowed, and of the image", limits: `{urls: ["s3a://team-a/*", "maven:org.good:*"]}`,
			spec: "  image: a\n  mainApplicationFile: local:///opt/a.jar\n  deps: {jars: [s3a://team-a/a.jar, local:///b.jar], packages: [org.good:lib:1]}\n",
		},
		"OtherContainers": {
			reason: "sidecars, init containers and templates run images, too", limits: `{images: [good*]}`,
			spec: `
  image: good
  driver:
    initContainers: [{name: init, image: bad-init}]
    template: {spec: {containers: [{name: log, image: bad-log}, {name: spark-kubernetes-driver, image: nobody-reads-it}]}}
  executor:
    sidecars: [{name: side, image: bad-side}]
    template: {spec: {containers: [{name: spark-kubernetes-executor, image: nobody-reads-it}]}}
`,
			want: []string{
				`spec.driver: "bad-init": the image of container init; namespace team-a allows the images good* (operator policy "small")`,
				`spec.executor: "bad-side": the image of container side; namespace team-a allows the images good* (operator policy "small")`,
			},
		},
		"BorrowedName": {
			reason: "Spark's container is the one that Spark takes, whatever others are called", limits: `{images: [good*]}`,
			spec: `
  image: good
  sparkConf: {spark.kubernetes.executor.podTemplateContainerName: main}
  executor:
    sidecars: [{name: spark-kubernetes-executor, image: bad-side}]
`,
			want: []string{
				`spec.executor: "bad-side": the image of container spark-kubernetes-executor; namespace team-a allows the images good* (operator policy "small")`,
			},
		},
		"BorrowedInit": {
			reason: "an init container is never Spark's", limits: `{images: [good*]}`,
			spec: "  image: good\n  sparkConf: {spark.kubernetes.executor.podTemplateContainerName: main}\n  executor: {initContainers: [{name: spark-kubernetes-executor, image: bad-init}]}\n",
			want: []string{
				`spec.executor: "bad-init": the image of container spark-kubernetes-executor; namespace team-a allows the images good* (operator policy "small")`,
			},
		},
		"NoAccount": {
			reason: "nobody names one", limits: `{serviceAccounts: [spark]}`, spec: "  image: a\n",
			want: []string{`spec.driver.serviceAccount: "default": namespace team-a allows the service accounts spark (operator policy "small")`},
		},
		"Accounts": {
			reason: "each role's", limits: `{serviceAccounts: [spark]}`, spec: "  image: a\n  driver: {serviceAccount: spark}\n  executor: {serviceAccount: admin}\n",
			want: []string{`spec.executor.serviceAccount: "admin": namespace team-a allows the service accounts spark (operator policy "small")`},
		},
		"TemplateAccount": {
			reason: "the template's", limits: `{serviceAccounts: [spark]}`, spec: "  image: a\n  driver: {serviceAccount: spark}\n  executor: {template: {spec: {serviceAccountName: admin, containers: []}}}\n",
			want: []string{`spec.executor.serviceAccount: "admin": namespace team-a allows the service accounts spark (operator policy "small")`},
		},
		"TemplateAlias": {
			reason: "the old name of the field", limits: `{serviceAccounts: [spark]}`, spec: "  image: a\n  driver: {serviceAccount: spark}\n  executor: {template: {spec: {serviceAccount: admin, containers: []}}}\n",
			want: []string{`spec.executor.serviceAccount: "admin": namespace team-a allows the service accounts spark (operator policy "small")`},
		},
		"DriverAlias": {
			reason: "the old name of the field", limits: `{serviceAccounts: [default]}`, spec: "  image: a\n  driver: {template: {spec: {serviceAccount: admin, containers: []}}}\n",
			want: []string{`spec.driver.serviceAccount: "admin": namespace team-a allows the service accounts default (operator policy "small")`},
		},
		"EitherAccount": {
			reason: "the newest Spark takes the template's, older ones the field's", limits: `{serviceAccounts: [spark]}`, spec: "  image: a\n  driver: {serviceAccount: spark}\n  executor: {serviceAccount: spark, template: {spec: {serviceAccountName: admin, containers: []}}}\n",
			want: []string{`spec.executor.serviceAccount: "admin": namespace team-a allows the service accounts spark (operator policy "small")`},
		},
		"DriversTemplate": {
			reason: "the account of a driver's template is not its executors'", limits: `{serviceAccounts: [spark]}`, spec: "  image: a\n  driver: {template: {spec: {serviceAccountName: spark, containers: []}}}\n",
			want: []string{`spec.executor.serviceAccount: "default": namespace team-a allows the service accounts spark (operator policy "small")`},
		},
		"Memory": {
			reason: "with what Spark adds", limits: `{executor: {memory: 16Gi}}`, spec: "  image: a\n  executor: {memory: 64g}\n",
			want: []string{`spec.executor.memory: "64g": the executor pod requests 72089Mi of memory in total; namespace team-a allows at most 16Gi (operator policy "small")`},
		},
		"MemoryInConf": {
			reason: "where the user wrote it", limits: `{driver: {memory: 1Gi}}`, spec: "  image: a\n  sparkConf: {spark.driver.memory: 1g}\n",
			want: []string{`spec.sparkConf["spark.driver.memory"]: "1g": the driver pod requests 1408Mi of memory in total; namespace team-a allows at most 1Gi (operator policy "small")`},
		},
		"MemoryByDefault": {
			reason: "nobody wrote it", limits: `{driver: {memory: 1Gi}}`, spec: "  image: a\n",
			want: []string{`spec.driver.memory: the driver pod requests 1408Mi of memory in total; namespace team-a allows at most 1Gi (operator policy "small")`},
		},
		"Sidecars": {
			reason: "they take room, too", limits: `{driver: {cores: 2}}`, spec: "  image: a\n  driver: {cores: 1, sidecars: [{name: s, image: s, resources: {limits: {cpu: 3}}}]}\n",
			want: []string{`spec.driver.cores: "1": the driver pod requests 4 of cpu in total; namespace team-a allows at most 2 (operator policy "small")`},
		},
		"CoreLimit": {
			reason: "a limit counts as what it is", limits: `{executor: {cores: 2}}`, spec: "  image: a\n  executor: {cores: 1, coreLimit: \"8\"}\n",
			want: []string{`spec.executor.cores: "1": the executor pod requests 8 of cpu in total; namespace team-a allows at most 2 (operator policy "small")`},
		},
		"JustRight": {reason: "at most is not less than", limits: `{driver: {cores: 1, memory: 1408Mi}, executors: 3}`, spec: "  image: a\n  executor: {instances: 3}\n"},
		"Instances": {
			reason: "the field", limits: `{executors: 3}`, spec: "  image: a\n  executor: {instances: 4}\n",
			want: []string{`spec.executor.instances: "4": namespace team-a allows at most 3 executors at a time (operator policy "small")`},
		},
		"Dynamic": {
			reason: "the most there may be", limits: `{executors: 3}`, spec: "  image: a\n  dynamicAllocation: {enabled: true, maxExecutors: 30}\n",
			want: []string{`spec.dynamicAllocation.maxExecutors: "30": namespace team-a allows at most 3 executors at a time (operator policy "small")`},
		},
		"DynamicWithoutEnd": {
			reason: "no maximum is no limit", limits: `{executors: 3}`, spec: "  image: a\n  sparkConf: {spark.dynamicAllocation.enabled: \"true\"}\n",
			want: []string{`spec.dynamicAllocation.maxExecutors: missing, so the number of executors is unlimited; namespace team-a allows at most 3 executors at a time (operator policy "small")`},
		},
		"Group": {
			reason: "more than its pods ask for keeps a queue idle (finding 7)", limits: `{group: {cores: 10, resources: {"*": 0}}}`,
			spec: "  image: a\n  batchSchedulerOptions: {resources: {cpu: 11, memory: 1Ti, nvidia.com/gpu: 1}}\n",
			want: []string{
				`spec.batchSchedulerOptions.resources["cpu"]: "11": namespace team-a allows at most 10 of cpu for the group (operator policy "small")`,
				`spec.batchSchedulerOptions.resources["nvidia.com/gpu"]: "1": namespace team-a allows at most 0 of nvidia.com/gpu for the group (operator policy "small")`,
			},
		},
		"Conf": {
			reason: "what stands in sparkConf and hadoopConf, and no field", limits: `{forbiddenConf: ["spark.hadoop.fs.*", "spark.*.extraJavaOptions", spark.plugins]}`,
			spec: "  image: a\n  hadoopConf: {fs.s3a.secret.key: x}\n  driver: {javaOptions: -Dx=y}\n  sparkConf: {spark.plugins: a.B, spark.executor.extraJavaOptions: -Dx=y, spark.ui.port: \"1\"}\n",
			want: []string{
				`spec.sparkConf["spark.executor.extraJavaOptions"]: namespace team-a allows no such property (operator policy "small")`,
				`spec.hadoopConf["fs.s3a.secret.key"]: namespace team-a allows no such property (operator policy "small")`,
				`spec.sparkConf["spark.plugins"]: namespace team-a allows no such property (operator policy "small")`,
			},
		},
		"Labels": {
			reason: "on every pod", limits: `{requiredLabels: [team, cost]}`, spec: "  image: a\n  driver: {labels: {team: a, cost: c}}\n  executor: {labels: {cost: c}}\n",
			want: []string{`metadata.labels["team"]: missing on the executor pod; add it to the application; its pods inherit it; namespace team-a allows only applications with this label (operator policy "small")`},
		},
		"Host": {
			reason: "every way to the node", limits: `{forbidHostAccess: true}`,
			spec: `
  image: a
  volumes: [{name: logs, hostPath: {path: /var/log}}]
  driver: {hostNetwork: true, volumeMounts: [{name: logs, mountPath: /logs}]}
  executor: {template: {spec: {hostPID: true, containers: [{name: x, image: x, ports: [{containerPort: 80, hostPort: 80}]}]}}}
  sparkConf: {spark.kubernetes.executor.volumes.hostPath.d.mount.path: /d, spark.kubernetes.executor.volumes.hostPath.d.options.path: /}
`,
			want: []string{
				`spec.driver.hostNetwork: the pod shares its node's network or processes; namespace team-a allows no access to nodes (operator policy "small")`,
				`spec.volumes: "logs": is a directory of the node (hostPath); namespace team-a allows no access to nodes (operator policy "small")`,
				`spec.executor.hostNetwork: the pod shares its node's network or processes; namespace team-a allows no access to nodes (operator policy "small")`,
				`spec.executor.template: "x": the container uses a port of the node; namespace team-a allows no access to nodes (operator policy "small")`,
				`spec.sparkConf["spark.kubernetes.executor.volumes.hostPath.d.mount.path"]: is a directory of the node; namespace team-a allows no access to nodes (operator policy "small")`,
				`spec.sparkConf["spark.kubernetes.executor.volumes.hostPath.d.options.path"]: is a directory of the node; namespace team-a allows no access to nodes (operator policy "small")`,
			},
		},
		"DriverHostPathInConf": {
			reason: "the driver's volumes are built from properties", limits: `{forbidHostAccess: true}`,
			spec: "  image: a\n  sparkConf: {spark.kubernetes.driver.volumes.hostPath.d.mount.path: /d, spark.kubernetes.driver.volumes.hostPath.d.options.path: /}\n",
			want: []string{`spec.volumes: "d": is a directory of the node (hostPath); namespace team-a allows no access to nodes (operator policy "small")`},
		},
		"ServiceTypes": {
			reason: "of the UI and of every port", limits: `{serviceTypes: [ClusterIP]}`,
			spec: "  image: a\n  sparkUIOptions: {serviceType: LoadBalancer}\n  driverIngressOptions: [{servicePort: 8080, ingressURLFormat: a.b, serviceType: ClusterIP}, {servicePort: 8081, ingressURLFormat: b.b, serviceType: NodePort}, {servicePort: 8082, ingressURLFormat: c.b}]\n",
			want: []string{
				`spec.sparkUIOptions.serviceType: "LoadBalancer": namespace team-a allows Services of type ClusterIP (operator policy "small")`,
				`spec.driverIngressOptions[1].serviceType: "NodePort": namespace team-a allows Services of type ClusterIP (operator policy "small")`,
			},
		},
		"Hosts": {
			reason: "of rules and certificates", limits: `{hosts: ["*.team-a.example.org"]}`,
			spec: `
  image: a
  sparkUIOptions: {ingressTLS: [{hosts: [ui.team-a.example.org, login.example.org]}]}
  driverIngressOptions:
  - {servicePort: 8080, ingressURLFormat: "https://{{$appName}}.team-a.example.org/{{$appId}}"}
  - {servicePort: 8081, ingressURLFormat: other.example.org/team-a.example.org}
`,
			want: []string{
				`spec.sparkUIOptions.ingressTLS: "login.example.org": namespace team-a allows the hosts *.team-a.example.org (operator policy "small")`,
				`spec.driverIngressOptions[1].ingressURLFormat: "other.example.org/team-a.example.org": namespace team-a allows the hosts *.team-a.example.org (operator policy "small")`,
			},
		},
		"Annotations": {
			reason: "ingress controllers do what they say", limits: `{forbiddenAnnotations: ["*-snippet", "service.*"]}`,
			spec: `
  image: a
  sparkUIOptions: {serviceAnnotations: {service.example.org/public: "true"}, ingressAnnotations: {a: b, example.org/server-snippet: x}}
  driverIngressOptions: [{servicePort: 8080, ingressURLFormat: a.b, ingressAnnotations: {example.org/configuration-snippet: x}}]
`,
			want: []string{
				`spec.sparkUIOptions.serviceAnnotations["service.example.org/public"]: namespace team-a allows no such annotation (operator policy "small")`,
				`spec.sparkUIOptions.ingressAnnotations["example.org/server-snippet"]: namespace team-a allows no such annotation (operator policy "small")`,
				`spec.driverIngressOptions[0].ingressAnnotations["example.org/configuration-snippet"]: namespace team-a allows no such annotation (operator policy "small")`,
			},
		},
		"CannotBeBuilt": {reason: "other checks say why", limits: `{images: [good]}`, spec: "  image: bad\n  sparkConf: {spark.driver.memory: lots}\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := set(t, `[{name: small, namespaces: [team-a], limits: `+tc.limits+`}, {name: other, namespaces: [team-b], limits: {executors: 0, images: [none]}}]`)
			for range 3 { // the order is always the same
				_, got := governed(t, s, application(t, tc.spec))
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			}
		})
	}
}

// All policies hold, and one field is complained about once.
func TestCheckAll(t *testing.T) {
	s := set(t, `[
  {name: roomy, namespaces: ["*"], limits: {executor: {memory: 8Gi}, forbidHostAccess: true}},
  {name: tight, namespaces: [team-a], limits: {executor: {memory: 4Gi}, executors: 1}}]`)
	_, got := governed(t, s, application(t, "  image: a\n  executor: {memory: 10g, instances: 2}\n"))
	want := []string{
		`spec.executor.memory: "10g": the executor pod requests 11Gi of memory in total; namespace team-a allows at most 8Gi (operator policy "roomy")`,
		`spec.executor.instances: "2": namespace team-a allows at most 1 executors at a time (operator policy "tight")`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, got := governed(t, s, application(t, "  image: a\n  executor: {memory: 5g}\n")); len(got) != 1 {
		t.Errorf("the second policy does not hold: %v", got)
	}
}

// A default that breaks a limit is told as what it is: the user did not write it.
func TestDefaultBeyondLimit(t *testing.T) {
	s := set(t, `[{name: odd, namespaces: ["*"], defaults: {image: theirs}, limits: {images: [ours]}}]`)
	_, got := governed(t, s, application(t, ""))
	want := []string{`defaults.image of the operator's policy "odd": "theirs": namespace team-a allows the images ours (operator policy "odd")`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func BenchmarkCheck(b *testing.B) {
	s := Set{{Name: "x", Namespaces: []string{"*"}, Limits: Limits{Images: []string{"*"}, Executor: RoleLimits{Memory: "64Gi"}}}}
	t := &testing.T{}
	app, _ := kubeflow.Normalize(application(t, "  image: a\n"))
	app = s.Apply(app)
	built, err := build(app)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if got := s.For(app.Namespace).Check(app, built); len(got) > 0 {
			b.Fatal(got)
		}
	}
}
