// SPDX-License-Identifier: Apache-2.0

// Command oci writes one image as an OCI archive: a tar file that containerd, Docker and others import, made without a
// container engine. Its layers are tar files given on the command line.
//
// It uses go-containerregistry rather than ko's library. ko builds Go programs onto a base image and brings the clients
// of several clouds' registries with it; here images of three origins (Go, Debian packages, Spark) are put on an empty
// base and nothing is ever pulled or pushed.
//
// The same input always gives the same bytes: all times are the epoch.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "oci:", err)
		os.Exit(1)
	}
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func run(args []string) error {
	flags := flag.NewFlagSet("oci", flag.ExitOnError)
	var layers, env, entrypoint list
	out := flags.String("out", "", "archive to write")
	name := flags.String("name", "", "image name with tag, as pods write it")
	user := flags.String("user", "", "user or user:group of the process")
	workdir := flags.String("workdir", "", "working directory of the process")
	compress := flags.Bool("gzip", false, "compress the layers")
	flags.Var(&layers, "layer", "OS/ARCH=FILE.tar, lowest layer first; several platforms make an image for several platforms")
	flags.Var(&env, "env", "NAME=VALUE of the process")
	flags.Var(&entrypoint, "entrypoint", "the command and, given again, its arguments")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || *name == "" || len(layers) == 0 {
		return fmt.Errorf("-out, -name and -layer are required")
	}
	byPlatform, err := parseLayers(layers)
	if err != nil {
		return err
	}
	index, err := buildIndex(byPlatform, v1.Config{
		User: *user, WorkingDir: *workdir, Env: env, Entrypoint: entrypoint,
	}, *compress)
	if err != nil {
		return err
	}
	return writeArchive(*out, *name, index)
}

// platformLayers are the layer files of one platform, lowest first.
type platformLayers struct {
	platform v1.Platform
	files    []string
}

// parseLayers groups OS/ARCH=FILE by platform, in the order in which the platforms first appear.
func parseLayers(specs []string) ([]platformLayers, error) {
	var groups []platformLayers
	position := map[string]int{}
	for _, spec := range specs {
		name, file, ok := strings.Cut(spec, "=")
		platform, err := v1.ParsePlatform(name)
		if !ok || err != nil || platform.Architecture == "" {
			return nil, fmt.Errorf("-layer %q is not OS/ARCH=FILE", spec)
		}
		at, seen := position[name]
		if !seen {
			at = len(groups)
			position[name] = at
			groups = append(groups, platformLayers{platform: *platform})
		}
		groups[at].files = append(groups[at].files, file)
	}
	return groups, nil
}
