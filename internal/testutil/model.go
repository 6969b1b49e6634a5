// SPDX-License-Identifier: Apache-2.0

package testutil

import "github.com/firesteel-dev/firesteel/internal/spark"

// Model returns what a conversion makes of the usual application, after some changes. The tests of internal/spark have
// one of their own, because they cannot import what imports internal/spark.
func Model(changes ...func(*spark.Application)) spark.Application {
	app := spark.Application{
		Namespace: "jobs", Name: "pi", UID: UID, SparkVersion: SparkVersion,
		MainFile: "local:///opt/spark/examples/jars/spark-examples.jar", MainClass: "org.apache.spark.examples.SparkPi",
		Conf:   map[string]string{},
		Fields: spark.Fields{"": "spec", "ui": "spec.sparkUIOptions", "ports": "spec.driverIngressOptions"},
		OperatorConf: map[string]string{
			spark.ConfDriverPodName: "pi-driver", spark.ConfNamespace: "jobs", spark.ConfMaster: "k8s://https://x", spark.ConfImage: "spark:" + SparkVersion,
		},
		Origins: map[string]string{"SparkVersion": "spec.sparkVersion", "DriverName": "spec.driver.podName"},
	}
	for _, change := range changes {
		change(&app)
	}
	return app
}
