// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	freeports "github.com/firesteel-dev/firesteel/internal/testutil/ports"
)

// freePort is a port at which nothing listens, and which no connection gets before the product opens it.
func freePort() int {
	GinkgoHelper()
	port, err := freeports.Free(context.Background())
	Expect(err).NotTo(HaveOccurred())
	return port
}

// freeAddress is such a port on the loopback address.
func freeAddress() string {
	GinkgoHelper()
	return fmt.Sprintf("127.0.0.1:%d", freePort())
}
