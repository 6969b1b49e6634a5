// SPDX-License-Identifier: Apache-2.0

// Command oci writes one image as an OCI archive: a tar file that containerd, Docker and others import. It needs no container engine. The layers are tar files
// given on the command line.
//
// It uses go-containerregistry and not ko's library. ko builds Go programs onto a base image, and depends on the clients of several clouds' registries. Here
// the layers have three origins (Go, Debian packages, Spark), the base is empty, and nothing is pulled or pushed.
//
// The same input always yields the same bytes: all times are the epoch, except the one in -created.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "oci:", err)
		os.Exit(1)
	}
}

// list is a flag that may occur several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func run(args []string) error {
	flags := flag.NewFlagSet("oci", flag.ExitOnError)
	var layers, env, entrypoint, labels list
	out := flags.String("out", "", "archive to write")
	name := flags.String("name", "", "image name with tag, as pods write it")
	user := flags.String("user", "", "user or user:group of the process")
	workdir := flags.String("workdir", "", "working directory of the process")
	compress := flags.Bool("gzip", false, "compress the layers")
	flags.Var(&layers, "layer", "OS/ARCH=FILE.tar, lowest layer first; several platforms make an image for several platforms")
	flags.Var(&env, "env", "NAME=VALUE of the process")
	flags.Var(&entrypoint, "entrypoint", "the command and, given again, its arguments")
	flags.Var(&labels, "label", "NAME=VALUE that the image says of itself: a label of its configuration, and an annotation of all its manifests")
	created := flags.Int64("created", 0, "when the sources were committed, in seconds since the epoch; 0 says nothing")
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
	described, err := describe(labels, *created)
	if err != nil {
		return err
	}
	index, err := buildIndex(byPlatform, v1.ConfigFile{
		Created: v1.Time{Time: time.Unix(*created, 0).UTC()},
		Config:  v1.Config{User: *user, WorkingDir: *workdir, Env: env, Entrypoint: entrypoint, Labels: described},
	}, *compress)
	if err != nil {
		return err
	}
	return writeArchive(*out, *name, index)
}

// describe parses labels, and adds the time of the sources. It returns nil if there are none.
func describe(labels []string, created int64) (map[string]string, error) {
	var described map[string]string
	if created != 0 {
		labels = append(labels, "org.opencontainers.image.created="+time.Unix(created, 0).UTC().Format(time.RFC3339))
	}
	for _, label := range labels {
		name, value, ok := strings.Cut(label, "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("-label %q is not NAME=VALUE", label)
		}
		if described == nil {
			described = map[string]string{}
		}
		described[name] = value
	}
	return described, nil
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
