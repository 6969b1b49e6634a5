// SPDX-License-Identifier: Apache-2.0

package ports

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// asAnother makes the test's binary another process that wants a port.
const asAnother = "FIRESTEEL_TEST_PORTS_AS_ANOTHER"

func TestFree(t *testing.T) {
	if os.Getenv(asAnother) != "" {
		t.Logf("port=%d", ForTest(t))
		return
	}
	one := ForTest(t)
	busy, err := listen(t.Context(), "127.0.0.1", one+1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	if two := ForTest(t); two != one+2 {
		t.Errorf("behind %d comes %d, want the next one on which nobody listens", one, two)
	}
	for range block - 4 {
		ForTest(t)
	}
	if again := ForTest(t); again != one {
		t.Errorf("behind the last one comes %d, want %d again", again, one)
	}
	another := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFree$", "-test.v")
	another.Env = append(os.Environ(), asAnother+"=1")
	out, err := another.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, text, _ := strings.Cut(string(out), "port=")
	digits, _, _ := strings.Cut(text, "\n")
	theirs, err := strconv.Atoi(digits)
	if mine := taken.guard.Addr().(*net.TCPAddr).Port; err != nil || theirs >= mine && theirs < mine+block {
		t.Errorf("another process gets port %d of the block at %d, %v", theirs, mine, err)
	}
}
