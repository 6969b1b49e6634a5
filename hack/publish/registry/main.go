// SPDX-License-Identifier: Apache-2.0

// Command registry serves a registry in memory, and the files of a folder, for hack/try-release.sh.
//
//	registry ADDRESS FOLDER
package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: registry ADDRESS FOLDER")
	}
	routes := http.NewServeMux()
	routes.Handle("/v2/", registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	routes.Handle("/", http.FileServer(http.Dir(os.Args[2])))
	server := &http.Server{Addr: os.Args[1], Handler: routes, ReadHeaderTimeout: time.Minute}
	log.Fatal(server.ListenAndServe())
}
