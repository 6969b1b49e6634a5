// SPDX-License-Identifier: Apache-2.0

// Package release tests what is published: the same sources give the same image, what is signed cannot be changed unseen, and no look for
// known vulnerabilities is left out silently.
package release

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const root = "../.."

// run runs a command in a folder, with what is added to the environment, and returns what it says.
func run(t *testing.T, folder string, env []string, command ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = folder, append(os.Environ(), env...), &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, errs.String())
	}
	return out.String(), nil
}

func must(t *testing.T, folder string, env []string, command ...string) string {
	t.Helper()
	out, err := run(t, folder, env, command...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Two people who build one version of one time get the same bytes: in other folders, with other settings of Go, umask, time zone and language. One
// platform is enough to see that, and what is compiled for it is compiled for other tests, too.
func TestImageIsReproducible(t *testing.T) {
	var sums []string
	for _, build := range []struct {
		folder, umask string
		env           []string
	}{
		{"a", "022", []string{"TZ=UTC", "LANG=C", "SOURCE_DATE_EPOCH=1"}},
		{"another/and longer", "077", []string{"TZ=Asia/Tokyo", "LANG=C.UTF-8", "GOFLAGS=-v", "GOAMD64=v3", "SOURCE_DATE_EPOCH=1"}},
	} {
		folder := filepath.Join(t.TempDir(), build.folder)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		must(t, root, nil, "bash", "-c", `git ls-files -z --cached --others --exclude-standard -- go.mod go.sum api cmd config internal hack |
			tar --null --ignore-failed-read -T - -cf - | tar -C "$1" --touch -xf -`, "copy", folder)
		env := append(build.env, "FIRESTEEL_VERSION=v0.0.1-test", "FIRESTEEL_CACHE="+t.TempDir())
		archive := filepath.Join(folder, "image.tar")
		must(t, folder, env, "bash", "-c", "umask "+build.umask+`; hack/image/build.sh operator "$@"`, "build", archive, runtime.GOARCH)
		sums = append(sums, fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, archive)))))
	}
	if sums[0] != sums[1] {
		t.Errorf("the same sources gave the images %s and %s", sums[0], sums[1])
	}
}

// A release is signed with a key in a file, without asking anyone, and what was changed afterwards is found.
func TestSignatures(t *testing.T) {
	sign := func(folder string, args ...string) error {
		_, err := run(t, root, []string{"COSIGN_PASSWORD=test", "COSIGN_KEY=" + filepath.Join(folder, "cosign.key")}, append([]string{"hack/sign.sh"}, args...)...)
		return err
	}
	keys, others := t.TempDir(), t.TempDir()
	for _, folder := range []string{keys, others} {
		if err := sign(folder, "key", folder); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		reason  string
		key     string
		changed string
		good    bool
	}{
		"AsSigned":         {reason: "nothing has changed", key: keys, good: true},
		"OtherKey":         {reason: "it was not signed with this key", key: others},
		"Artifact":         {reason: "a byte of what was released", key: keys, changed: "spark-operator.tgz"},
		"Sums":             {reason: "the checksums themselves", key: keys, changed: "SHA256SUMS"},
		"Provenance":       {reason: "what it was made of", key: keys, changed: "provenance.json"},
		"Signature":        {reason: "the signature", key: keys, changed: "SHA256SUMS.sig"},
		"OtherSignature":   {reason: "the signature of the statement", key: keys, changed: "provenance.json.sig"},
		"WithoutSignature": {reason: "there is none", key: keys, changed: "-SHA256SUMS.sig"},
	} {
		t.Run(name, func(t *testing.T) {
			dist := t.TempDir()
			write(t, filepath.Join(dist, "spark-operator.tgz"), "a chart")
			write(t, filepath.Join(dist, "SHA256SUMS"), fmt.Sprintf("%x  spark-operator.tgz\n", sha256.Sum256([]byte("a chart"))))
			write(t, filepath.Join(dist, "provenance.json"), "{}\n")
			if err := sign(keys, "sign", dist); err != nil {
				t.Fatal(err)
			}
			change(t, dist, tc.changed)
			err := sign(keys, "verify", dist, filepath.Join(tc.key, "cosign.pub"))
			if tc.good != (err == nil) {
				t.Errorf("%s: it is said to be good: %v: %v", tc.reason, err == nil, err)
			}
		})
	}
}

// change changes a byte of a file, or removes the file if its name has a minus before it.
func change(t *testing.T, folder, name string) {
	t.Helper()
	if removed, ok := strings.CutPrefix(name, "-"); ok {
		if err := os.Remove(filepath.Join(folder, removed)); err != nil {
			t.Fatal(err)
		}
		return
	}
	if name == "" {
		return
	}
	text := []byte(read(t, filepath.Join(folder, name)))
	text[len(text)/2] ^= 1
	write(t, filepath.Join(folder, name), string(text))
}

// Where the database of vulnerabilities cannot be reached, that is an error, unless somebody has said that it is known.
func TestVulncheckFailsWhenItCannotLook(t *testing.T) {
	nowhere := []string{"GOVULNDB=", "HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=", "no_proxy="}
	if out, err := run(t, root, append(nowhere, "VULNCHECK_OFFLINE="), "hack/vulncheck.sh"); err == nil || !strings.Contains(err.Error(), "VULNCHECK_OFFLINE=1") {
		t.Errorf("it did not look, and says: %s %v", out, err)
	}
	if out := must(t, root, append(nowhere, "VULNCHECK_OFFLINE=1"), "hack/vulncheck.sh"); !strings.Contains(out, "left out") {
		t.Errorf("it does not say that it did not look: %q", out)
	}
}
