# Firesteel: make help lists the targets. Everything that is built is cached outside the tree, by version.
SHELL := /usr/bin/env bash -euo pipefail
.DEFAULT_GOAL := help

VERSION ?= dev
TOOLS := hack/tools/build.sh
LDFLAGS := -s -w -X github.com/firesteel-dev/firesteel/internal/version.version=$(VERSION)

##@ Start here

.PHONY: demo
demo: ## From nothing to a finished SparkPi: cluster, images, operator, two jobs
	hack/demo.sh

.PHONY: test
test: ## What a landing must pass, as far as this machine can run it; with CI=true nothing may be left out
	hack/test.sh

.PHONY: check
check: lint ## The inner loop: lint, generated files, units, a short simulation, the rendered chart and the first specs of the integration; Go caches what has passed
	hack/verify.sh generated
	FIRESTEEL_TESTS=check hack/test.sh check

.PHONY: test-all
test-all: ## Once a day and before a release: all specs, attacks, kills and real schedulers, 150,000 histories, mutations, fuzzing
	hack/test-all.sh

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Build

.PHONY: build
build: ## The operator and the kubectl plugin, for this machine, into dist/
	CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)" -o dist/ ./cmd/spark-operator ./cmd/kubectl-spark

.PHONY: image
image: ## The operator's image as an OCI archive for amd64 and arm64: dist/spark-operator.tar
	FIRESTEEL_VERSION=$(VERSION) hack/image/build.sh operator

.PHONY: spark-image
spark-image: ## A Spark image from the pyspark package, as the demo and the tests use it
	hack/image/build.sh spark

.PHONY: release
release: ## Image, chart, plugin for five platforms, SBOMs, checksums, provenance, into dist/release: VERSION=v1.2.3 REGISTRY=registry.example.com/team
	hack/release.sh "$(VERSION)" "$(REGISTRY)"

.PHONY: publish
publish: ## Push that release to its registry: image, chart, SBOM, signatures; FORCE=1 overwrites tags
	hack/publish.sh "$(VERSION)" "$(REGISTRY)" $(if $(FORCE),-force)

.PHONY: docs docs-check
docs: ## The documentation site from docs/, into dist/site; needs Python 3
	hack/docs.sh
docs-check: ## Each page of it in Chromium: scroll, contrast, accessibility, links, script errors; needs Node 20, takes 90 seconds
	hack/site/check.sh

##@ Local cluster

.PHONY: cluster-up cluster-down cluster-status
cluster-up: ## Start a real one-node Kubernetes in its own network namespace
	hack/cluster/cluster.sh up
cluster-down: ## Stop it and remove every trace
	hack/cluster/cluster.sh down
cluster-status: ## Show its processes, node and pods
	hack/cluster/cluster.sh status

##@ Tests

.PHONY: test-unit
test-unit: ## Pure packages: tables, goldens, enumeration. Seconds
	hack/test.sh units

.PHONY: test-simulation
test-simulation: ## Histories in a simulated cluster: 26,000 of them, half with seeds that are new in each run; FIRESTEEL_TESTS=all lives 150,000
	hack/test.sh simulation

.PHONY: mutation
mutation: ## What is broken on purpose must be found: operators by the simulations, each line of the pure core by its tests; not part of make test
	go test -count=1 -v -tags mutation -run '^TestMutations.*AreFound$$' ./test/simulation/...
	hack/mutation/findings.sh
	go run ./hack/mutation internal/standalone internal/schedule internal/convert/apache internal/lifecycle
	go run ./hack/mutation -match '^(ledger|line)\.go ' internal/scheduler

.PHONY: test-integration
test-integration: ## A real kube-apiserver and etcd
	hack/test.sh integration

.PHONY: test-hostile
test-hostile: ## Attacks by tenants and by drivers on the operator under the chart's memory limit (Linux, root); each by itself with FIRESTEEL_TESTS=all
	hack/test.sh hostile

.PHONY: test-schedulers
test-schedulers: ## Every scheduler plugin: 46 cases with a stand-in, and with real schedulers: one in turn and those that have changed, or all with FIRESTEEL_TESTS=all
	hack/test.sh schedulers

.PHONY: test-e2e
test-e2e: ## Real kubelet, containerd and Spark (Linux, root)
	hack/test.sh e2e

.PHONY: bench bench-build
bench: ## The operator on a real API server, by the numbers: ARGS="--run latency:40,burst:100 --limit", ARGS=--help
	go build -o dist/bench/bench ./test/bench
	dist/bench/bench $(ARGS)
bench-build: ## Time and allocations of the native submission
	go test -run '^$$' -bench . -benchmem ./internal/...

##@ Upkeep

.PHONY: generate
generate: ## DeepCopy methods, the field reference and the lifecycle's transitions in docs/, the values in the chart's README
	"$$($(TOOLS) controller-gen)/controller-gen" object:headerFile=hack/boilerplate.go.txt paths=./api/... paths=./test/family
	go run ./hack/fields api docs/fields.md
	go run ./hack/lifecycle docs/lifecycle-transitions.md
	go run ./hack/values charts/spark-operator/values.yaml charts/spark-operator/README.md

.PHONY: manifests
manifests: ## CRDs, RBAC and webhook configurations, also in the chart
	"$$($(TOOLS) controller-gen)/controller-gen" crd:maxDescLen=160 paths=./api/... output:crd:dir=config/crd/bases
	"$$($(TOOLS) controller-gen)/controller-gen" crd:maxDescLen=160 paths=./test/family output:crd:dir=test/family/testdata
	go run ./hack/crd config/crd/bases/*.yaml
	"$$($(TOOLS) controller-gen)/controller-gen" rbac:roleName=controller paths=./internal/controller/... output:rbac:dir=config/rbac
	"$$($(TOOLS) controller-gen)/controller-gen" webhook paths=./internal/webhook/... output:webhook:dir=config/webhook
	"$$($(TOOLS) controller-gen)/controller-gen" rbac:roleName=spark-operator-namespace-selector paths=./internal/namespaced/... output:rbac:dir=config/rbac/namespaces
	go run ./hack/rbac config/rbac charts/spark-operator/files config/rbac/role.yaml config/rbac/job-namespace/role.yaml
	cp config/crd/bases/sparkoperator.k8s.io_*.yaml charts/spark-operator/files/crds/
	cp config/crd/bases/spark.apache.org_*.yaml charts/spark-operator/files/apache/
	cp config/crd/bases/spark.apache.org_*.yaml config/apache/
	cp config/rbac/role.yaml config/rbac/leader_election_role.yaml charts/spark-operator/files/
	cp config/rbac/namespaces/role.yaml charts/spark-operator/files/namespace_selector_role.yaml
	cp config/rbac/spark-driver/role.yaml charts/spark-operator/files/spark_driver_role.yaml
	cp config/rbac/spark-driver-statefulsets/role.yaml charts/spark-operator/files/spark_driver_statefulsets_role.yaml
	cp {config/rbac,config/apache/roles}/*_{admin,editor,viewer}_role.yaml charts/spark-operator/files/user-roles/
	cp config/admission-policy/executors.yaml charts/spark-operator/files/executor_admission_policy.yaml
	cp config/executor-memory/policy.yaml charts/spark-operator/files/executor_memory_policy.yaml
	cp config/submitter/policy.yaml charts/spark-operator/files/submitter_policy.yaml

.PHONY: fmt
fmt: ## gofmt and import order
	"$$($(TOOLS) golangci-lint)/golangci-lint" fmt

.PHONY: lint
lint: ## The import law, the budgets and the usual suspects
	@# its cache remembers paths, so that checkouts that share one are told each other's findings; a new clone in the same place finds it
	GOGC=200 GOLANGCI_LINT_CACHE=$${FIRESTEEL_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/firesteel}/lint$(subst /,-,$(CURDIR)) "$$($(TOOLS) golangci-lint)/golangci-lint" run --allow-serial-runners
	@without=$$(git grep -L --untracked '^// SPDX-License-Identifier: Apache-2.0$$' -- '*.go') || true; [ -z "$$without" ] || { echo "$$without: the line // SPDX-License-Identifier: Apache-2.0 is missing" >&2; exit 1; }

.PHONY: vulncheck
vulncheck: ## Known vulnerabilities in what the programs call; needs their database (GOVULNDB=URL for a copy; VULNCHECK_OFFLINE=1 leaves it out)
	hack/vulncheck.sh

.PHONY: verify
verify: ## Regenerate everything; fails if the tree changes, a file is misformatted, or lint finds something
	hack/verify.sh
