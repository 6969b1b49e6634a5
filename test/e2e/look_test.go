// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// otherSparkImage has the oldest Spark that the jobs run on: the image is pulled by name, so it must match hack/test.sh.
const otherSparkImage = "apache/spark:3.5.9"

var (
	onSpark4 = Entry("Spark 4.1", "4.1.4", sparkImage)
	onSpark3 = Entry("Spark 3.5", "3.5.9", otherSparkImage)
)

// request names what testdata/look.py looks at, in both roles.
type request struct {
	Files    []string `json:"files,omitempty"`
	Writes   []string `json:"writes,omitempty"`
	Arrivals []string `json:"arrivals,omitempty"`
	Env      []string `json:"env,omitempty"`
	Trees    []string `json:"trees,omitempty"`
	Mounts   []string `json:"mounts,omitempty"`
	Modules  []string `json:"modules,omitempty"`
	Conf     []string `json:"conf,omitempty"`
}

// sight is what one role saw.
type sight struct {
	Files    map[string]string
	Writes   map[string]string // the error of each attempt
	Arrivals map[string]string // files that were waited for
	Env      map[string]string
	Trees    map[string][]string // the names of everything below a folder
	Mounts   map[string]string   // file system and options
	Modules  map[string]string
	Process  map[string]string
	Java     []string
}

type sights struct {
	Driver, Executor sight
	Conf             map[string]string
	Arguments        []string
}

// roles is for what must hold in the driver and in the executors alike.
func (s sights) roles() map[string]sight {
	return map[string]sight{"driver": s.Driver, "executor": s.Executor}
}

// pythonJob is a job whose code is in a ConfigMap that both roles mount at /opt/jobs.
func pythonJob(ctx context.Context, namespace, version, image, script string, arguments ...string) *v1beta2.SparkApplication {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("testdata", script))
	Expect(err).NotTo(HaveOccurred())
	Expect(admin.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "jobs"},
		Data:       map[string]string{script: string(text), "greet.py": "WORD = 'hello from a file'\n"},
		BinaryData: map[string][]byte{"words.zip": zipped(map[string]string{"words/__init__.py": "WORD = 'hello from a zip'\n"})},
	})).To(Succeed())
	app := sparkPi(namespace, "job", arguments...)
	app.Spec.Type, app.Spec.MainClass = v1beta2.ApplicationTypePython, nil
	app.Spec.SparkVersion, app.Spec.Image = version, ptr.To(image)
	app.Spec.MainApplicationFile = ptr.To("local:///opt/jobs/" + script)
	for _, pod := range podsIn(app) {
		pod.ConfigMaps = []v1beta2.NamePath{{Name: "jobs", Path: "/opt/jobs"}}
	}
	return app
}

// podsIn gives both roles of an application, for what is set on either.
func podsIn(app *v1beta2.SparkApplication) []*v1beta2.SparkPodSpec {
	return []*v1beta2.SparkPodSpec{&app.Spec.Driver.SparkPodSpec, &app.Spec.Executor.SparkPodSpec}
}

func zipped(files map[string]string) []byte {
	GinkgoHelper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for name, text := range files {
		w, err := archive.Create(name)
		Expect(err).NotTo(HaveOccurred())
		_, err = w.Write([]byte(text))
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(archive.Close()).To(Succeed())
	return out.Bytes()
}

func asJSON(v any) string {
	GinkgoHelper()
	text, err := json.Marshal(v)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// seen runs a job of testdata/look.py to its end and returns what it printed.
func seen(ctx context.Context, app *v1beta2.SparkApplication) sights {
	GinkgoHelper()
	Expect(admin.Create(ctx, app)).To(Succeed())
	eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
	log := driverLog(ctx, app)
	var text strings.Builder
	for line := range strings.Lines(log) {
		if part, found := strings.CutPrefix(line, "SEEN "); found {
			text.WriteString(strings.TrimSuffix(part, "\n"))
		}
	}
	var s sights
	Expect(json.Unmarshal([]byte(text.String()), &s)).To(Succeed(), "the driver did not say what it saw:\n"+log)
	return s
}
