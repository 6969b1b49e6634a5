// SPDX-License-Identifier: Apache-2.0

// Command coredns is CoreDNS with only the plugins that hack/cluster uses. CoreDNS' own program also has the plugins of all clouds, and takes twice as long to
// build.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() { coremain.Run() }
