// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os/exec"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// plugin runs kubectl spark in the cluster and returns what it prints and its exit code.
func plugin(ctx context.Context, args ...string) (string, int) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, jobWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, clusterCmd, append([]string{"exec", kubectlSpark}, args...)...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		Expect(err).NotTo(HaveOccurred())
	}
	return string(out), cmd.ProcessState.ExitCode()
}

var _ = Describe("kubectl spark", func() {
	ctx := context.Background()

	It("follows a real driver's log, waits for its end by an exit code that is not worth another attempt, and remembers its last words", func() {
		app := script(ctx, newNamespace(ctx, "plugin"), "talker", "import sys, time\nprint('first words', flush=True)\ntime.sleep(2)\nprint('last words', flush=True)\nsys.exit(42)\n")
		app.Spec.RestartPolicy = v1beta2.RestartPolicy{Application: &v1beta2.ApplicationRule{RetryRule: v1beta2.RetryRule{Retries: 5}, FailExitCodes: []int32{42}}}
		Expect(admin.Create(ctx, app)).To(Succeed())

		By("following the log from before there is a driver")
		log, code := plugin(ctx, "logs", app.Name, "-n", app.Namespace, "-f")
		Expect(log).To(And(ContainSubstring("first words"), ContainSubstring("last words")))
		Expect(code).To(BeZero(), log)

		By("waiting")
		text, code := plugin(ctx, "wait", app.Name, "-n", app.Namespace, "--timeout", "2m")
		Expect(code).To(Equal(1), text)
		Expect(text).To(ContainSubstring("driver container failed with ExitCode: 42"))
		s := eventuallyState(ctx, app, v1beta2.ApplicationStateFailed)
		Expect(s.ExecutionAttempts).To(BeEquivalentTo(1))
		Expect(s.Attempts).To(ConsistOf(And(HaveField("ExitCode", HaveValue(BeEquivalentTo(42))), HaveField("LogTail", ContainSubstring("last words")))))
		Expect(meta.FindStatusCondition(s.Conditions, "Succeeded")).To(HaveValue(HaveField("Reason", "DriverFailed")))

		By("asking why")
		text, code = plugin(ctx, "explain", app.Name, "-n", app.Namespace)
		Expect(code).To(BeZero(), text)
		Expect(text).To(ContainSubstring("last words"))

		By("reading the log of a pod that is gone")
		driver := driverOf(ctx, app)
		Expect(admin.Delete(ctx, &driver)).To(Succeed())
		Eventually(func() int { return len(podsOf(ctx, app)) }, time.Minute, poll).Should(BeZero())
		log, _ = plugin(ctx, "logs", app.Name, "-n", app.Namespace)
		Expect(log).To(ContainSubstring("last words"))
	})
})
