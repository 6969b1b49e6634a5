// SPDX-License-Identifier: Apache-2.0

// Command publish pushes the result of hack/release.sh to a registry: the image for all its platforms, the chart in the format of `helm push`, and signatures
// of both where cosign looks for them. The SBOM, the checksums and the provenance of the release become referrers of the image.
//
//	publish [-force] FOLDER VERSION REGISTRY     pushes, with the credentials of docker's configuration, and prints what it pushed
//	publish -payloads FOLDER VERSION REGISTRY    writes the payloads to sign for image and chart into the folder, and pushes nothing
//
// If a tag already has another digest, publish fails before it pushes anything. It does not push existing content again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "publish:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("publish", flag.ContinueOnError)
	force := flags.Bool("force", false, "overwrite tags that have another digest")
	payloads := flags.Bool("payloads", false, "write what is to be signed, and push nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 3 {
		return errors.New("usage: publish [-force|-payloads] FOLDER VERSION REGISTRY")
	}
	work, err := os.MkdirTemp("", "publish")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	r, err := open(flags.Arg(0), flags.Arg(1), flags.Arg(2), work)
	if err != nil {
		return err
	}
	if *payloads {
		return r.writePayloads()
	}
	things, err := r.things()
	if err != nil {
		return err
	}
	return push(ctx, things, *force, out)
}

// manifest is the content of a digest in a registry, with or without a tag: an image, an index of images, or an artifact.
type manifest interface {
	remote.Taggable
	partial.Describable
}

// thing is a manifest to push, and where to push it.
type thing struct {
	what     string
	ref      name.Reference
	manifest manifest
}

// push checks all tags before it pushes the first thing.
func push(ctx context.Context, things []thing, force bool, out io.Writer) error {
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	var missing []thing
	var taken error
	for _, t := range things {
		want, err := t.manifest.Digest()
		if err != nil {
			return err
		}
		got, err := digestOf(t.ref, options)
		switch {
		case err != nil:
			return err
		case got == want:
			fmt.Fprintf(out, "%s: %s is there already, with the digest %s\n", t.what, t.ref, got)
		case got != v1.Hash{} && !force:
			taken = errors.Join(taken, fmt.Errorf("%s: %s has the digest %s, which is another one than %s: release a new version, or overwrite it with FORCE=1",
				t.what, t.ref, got, want))
		default:
			missing = append(missing, t)
		}
	}
	if taken != nil {
		return taken
	}
	for _, t := range missing {
		if err := remote.Push(t.ref, t.manifest, options...); err != nil {
			return fmt.Errorf("%s: push %s: %w", t.what, t.ref, err)
		}
		digest, err := t.manifest.Digest()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: pushed %s with the digest %s\n", t.what, t.ref, digest)
	}
	return nil
}

// digestOf returns the digest of a reference in a registry; zero if there is none.
func digestOf(ref name.Reference, options []remote.Option) (v1.Hash, error) {
	descriptor, err := remote.Head(ref, options...)
	var refused *transport.Error
	if errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound {
		return v1.Hash{}, nil
	}
	if err != nil {
		return v1.Hash{}, fmt.Errorf("ask for %s: %w", ref, err)
	}
	return descriptor.Digest, nil
}
