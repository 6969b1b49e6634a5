// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// The ports on which specs let the product listen. Linux gives none of them to a connection (those are from 32768 on), nor
// Kubernetes to a Service (from 30000 on).
const firstPort, portCount = 16000, 1000

// lent is the number of the port that was lent last. Two runs on one machine begin at different ones.
var lent = os.Getpid()

// freePort lends a port at which nothing listens. The product knows ports by their numbers only, and opens this one later:
// nobody takes it meanwhile by chance, and no spec gets it twice.
func freePort() int {
	GinkgoHelper()
	for range portCount {
		lent++
		port := firstPort + lent%portCount
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue // somebody listens there
		}
		Expect(l.Close()).To(Succeed())
		return port
	}
	Fail(fmt.Sprintf("no port is free from %d to %d", firstPort, firstPort+portCount-1))
	return 0
}

// freeAddress is such a port on the loopback address.
func freeAddress() string {
	GinkgoHelper()
	return fmt.Sprintf("127.0.0.1:%d", freePort())
}
