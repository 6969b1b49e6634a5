// SPDX-License-Identifier: Apache-2.0

package docs

// guides are pages by task: what they apply is there, and what they say of it is what the programs say.
func guides(w *harness) {
	w.Helper()
	w.do("kubectl create namespace argocd && kubectl create configmap argocd-cm -n argocd --from-literal=url=https://argocd.example.org")
	w.run("docs/gitops.md", "Health of all kinds")
	w.says(w.do("kubectl get configmap argocd-cm -n argocd -o yaml"), "url:", "health.spark.apache.org_SparkCluster:", "health.sparkoperator.k8s.io_SparkConnect:")
	for _, apply := range [][2]string{
		{"docs/kueue.md", "An application"}, {"docs/dynamic-allocation.md", "Shuffle tracking"}, {"docs/python.md", "One script"},
		{"docs/python.md", "Modules of your own"}, {"docs/notebooks.md", "What you need"},
	} {
		w.says(w.run(apply[0], apply[1]), "created")
	}
	w.do("kubectl delete sparkapplications.sparkoperator.k8s.io,sparkconnects,configmaps --all")
	text, err := w.reader.Manifest("docs/memory.md", "See it before it runs")
	must(w.T, err)
	w.write("app.yaml", text)
	w.says(w.run("docs/memory.md", "See it before it runs"), "limits:\n        memory: 2867Mi\n", "spark.executor.memoryOverhead=3g")
}
