// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// example is a manifest of a reader, as a page supposes it in app.yaml.
func (w *harness) example() {
	w.Helper()
	text, err := w.reader.Manifest("docs/quick-start.md", "A first application")
	must(w.T, err)
	w.write("app.yaml", text)
}

func fromSparkSubmit(w *harness) {
	w.Helper()
	w.says(w.run("docs/from-spark-submit.md", "Coming from spark-submit"), "sparkapplication.sparkoperator.k8s.io/main created")
	w.do("kubectl delete sparkapplications.sparkoperator.k8s.io main")
}

func migrate(w *harness) {
	w.Helper()
	w.example()
	w.says(w.run("docs/migrate-from-kubeflow.md", "1. Check the manifests"), "errors: 0")
	w.says(w.run("docs/migrate-from-kubeflow.md", "3. Stop the previous operator, and keep its service account"), "POLICY")
}

// migrateFromApache has an application that Apache's operator has left.
func migrateFromApache(w *harness) {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(root, "internal", "cli", "testdata", "apache-pi.yaml"))
	must(w.T, err)
	w.write("app.yaml", string(text))
	w.says(w.run("docs/migrate-from-apache.md", "1. Check the manifests"), "errors: 0")
	w.do("kubectl apply -f app.yaml")
	w.says(w.run("docs/migrate-from-apache.md", "3. Update the definition, and install Firesteel"), "sparkapplications.spark.apache.org serverside-applied", "STATUS: deployed")
	w.says(w.do("kubectl get configmap -n firesteel firesteel-spark-operator-controller-config -o yaml"), "apache:")
	w.says(w.run("docs/migrate-from-apache.md", "4. See that all is well"), "CURRENT STATE", "EXECUTORS", "NEW")
	w.do("helm uninstall firesteel -n firesteel")
}

// schedulers checks the application of each scheduler's page, and reads what a reader would when nothing starts.
func schedulers(w *harness) {
	w.Helper()
	for _, application := range [][2]string{
		{"docs/scheduler-kube.md", "An application"}, {"docs/scheduler-volcano.md", "An application"},
		{"docs/scheduler-yunikorn.md", "An application"}, {"docs/scheduler-coscheduling.md", "An application"},
	} {
		text, err := w.reader.Manifest(application[0], application[1])
		must(w.T, err)
		w.write("app.yaml", text)
		w.says(w.run(application[0], application[1]), "errors: 0")
	}
	w.run("docs/scheduler-kube.md", "When nothing starts")
}

// firstApplication is the one of the README, at its end.
func firstApplication(w *harness) {
	w.Helper()
	text, err := w.reader.Manifest("README.md", "A first application")
	must(w.T, err)
	w.write("app.yaml", text)
	w.do("kubectl apply -f config/samples/spark-pi.yaml")
	w.become("default", "spark-pi", v1beta2.ApplicationStateCompleted, condition(lifecycle.ConditionSucceeded, metav1.ConditionTrue, "Succeeded", "the driver has completed"),
		func(o *v1beta2.SparkApplication) { o.Status.TerminationTime = before(0) })
	w.run("README.md", "A first application")
	w.do("kubectl apply -k config/rbac/spark-driver")
	w.says(w.run("docs/index.md", "Run a first job"), "completed")
	w.says(w.do("kubectl get spark"), "sparkapplication.sparkoperator.k8s.io/spark-pi")
	w.says(w.do("kubectl auth can-i create pods --as system:serviceaccount:default:spark-operator-spark"), "yes")
	questions(w)
	w.do("kubectl delete sparkapplications.sparkoperator.k8s.io spark-pi")
	w.do("kubectl delete -k config/rbac/spark-driver") // the chart makes it, too
}

// questions are what sentences tell the reader to ask a cluster about spark-pi.
func questions(w *harness) {
	w.Helper()
	w.says(w.run("docs/quick-start.md", "kubectl describe sparkapplications.sparkoperator.k8s.io spark-pi"), "Conditions:", "the driver has completed")
	w.says(w.run("README.md", "kubectl describe sparkapplications.sparkoperator.k8s.io spark-pi"), "the driver has completed")
	w.says(w.run("docs/conditions.md", "kubectl wait --for=condition=Succeeded sparkapplications.sparkoperator.k8s.io/NAME"), "condition met")
	w.run("docs/conditions.md", "kubectl get pods -l spark-role=executor")
	w.says(w.run("docs/conditions.md", "kubectl get sparkapplications.sparkoperator.k8s.io -o wide"), "QUEUE", "REASON")
	w.says(w.run("docs/troubleshooting.md", "kubectl describe sparkapplications.sparkoperator.k8s.io NAME"), "the driver has completed")
	w.says(w.run("docs/lifecycle.md", "kubectl describe sparkapplications.sparkoperator.k8s.io NAME"), "Events:")
	w.says(w.run("docs/troubleshooting.md", "kubectl get namespace NAME --show-labels"), "kubernetes.io/metadata.name=default")
	w.says(w.run("docs/troubleshooting.md", "kubectl spark list -o wide"), "MESSAGE", "COMPLETED")
	w.says(w.run("docs/troubleshooting.md", "kubectl spark validate -f app.yaml"), "errors: 0")
}

// install goes through the ways to install, each after the one before was taken away. Definitions stay, as the page says.
func install(w *harness) {
	w.Helper()
	w.run("docs/install.md", "kubectl delete crd sparkapplications.sparkoperator.k8s.io scheduledsparkapplications.sparkoperator.k8s.io sparkconnects.sparkoperator.k8s.io")
	w.says(w.run("docs/install.md", "Helm"), "STATUS: deployed", "kind: SparkApplication")
	w.says(w.run("docs/upgrade.md", "Upgrade"), "STATUS: deployed", "REVISION: 2")
	w.says(w.run("docs/troubleshooting.md", "helm get notes RELEASE -n NAMESPACE"), "default")
	configuration(w)
	w.uninstall()
	w.run("docs/install.md", "kubectl delete crd sparkapplications.sparkoperator.k8s.io scheduledsparkapplications.sparkoperator.k8s.io sparkconnects.sparkoperator.k8s.io")

	w.do("kubectl apply --server-side -k config/crd")
	w.says(w.do("helm install spark-operator charts/spark-operator -n spark-operator"), "exists already and is not of this release")
	w.run("docs/install.md", "Custom resource definitions")
	w.says(w.do("helm upgrade spark-operator charts/spark-operator -n spark-operator --force-conflicts"), "STATUS: deployed")
	w.says(w.do("helm get manifest spark-operator -n spark-operator"), "kind: CustomResourceDefinition")
	w.run("README.md", "Install", func(line string) {
		w.uninstall()
		if strings.HasSuffix(line, "config/default") {
			w.says(w.do("! "+line), `conflicts with "helm"`)
			w.do("kubectl apply --server-side --force-conflicts -k config/default")
			w.run("docs/install.md", "kubectl delete crd sparkapplications.sparkoperator.k8s.io scheduledsparkapplications.sparkoperator.k8s.io sparkconnects.sparkoperator.k8s.io")
		}
	})
	w.run("docs/install.md", "kustomize")
	w.says(w.do("kubectl get deployment -n spark-operator -o name"), "deployment.apps/spark-operator-controller")
	w.run("docs/metrics.md", "kubectl get pods -n spark-operator")
	w.run("docs/metrics.md", "kubectl get lease -n spark-operator")
}

// configuration looks at that of an operator that is installed. There is no pod here that could report it.
func configuration(w *harness) {
	w.Helper()
	w.run("docs/tenants.md", "Changing it")
	w.run("docs/metrics.md", "kubectl describe pod -n spark-operator -l app.kubernetes.io/component=controller")
	w.run("docs/troubleshooting.md", "kubectl describe pod -n spark-operator -l app.kubernetes.io/component=controller")
	w.run("docs/troubleshooting.md", "Conditions, history or retries are missing")
	w.says(w.run("docs/metrics.md", "kubectl rollout restart -n spark-operator deployment spark-operator-controller"), "restarted")
	w.do("kubectl get configmap -n spark-operator spark-operator-controller-config -o jsonpath='{.data.config\\.yaml}' > operator.yaml")
	w.says(w.run("docs/kubectl-spark.md", "The operator's configuration"), "errors: 0")
	w.says(w.do("cat operator.yaml"), "kind: OperatorConfiguration")
}

func (w *harness) uninstall() {
	w.Helper()
	w.do("helm uninstall spark-operator -n spark-operator --ignore-not-found")
}

func webhooks(w *harness) {
	w.Helper()
	w.run("docs/webhooks.md", "Install it")
	w.says(w.run("docs/webhooks.md", "kubectl get validatingwebhookconfiguration spark-operator-webhook -o yaml"), "failurePolicy: Ignore")
	w.run("docs/webhooks.md", "kubectl -n spark-operator scale deployment spark-operator-webhook --replicas=1")
	w.run("docs/webhooks.md", "kubectl delete -k config/webhook")
	w.says(w.do("kubectl get validatingwebhookconfigurations"), "No resources found")
}
