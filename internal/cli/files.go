// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/firesteel-dev/firesteel/internal/manifest"
)

// filenames are the files and folders to read; "-" is the standard input.
type filenames []string

func (f *filenames) addTo(command *cobra.Command) {
	command.Args = func(command *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("%q: a file is named by a flag: %s -f %s", args[0], command.CommandPath(), args[0])
		}
		if !command.Flags().Changed("filename") {
			return fmt.Errorf("a flag is missing; write %s %s", command.Parent().CommandPath(), command.Use)
		}
		return nil
	}
	command.Flags().StringSliceVarP((*[]string)(f), "filename", "f", nil, "manifests to read, or folders of them; - is the standard input")
	_ = command.MarkFlagRequired("filename")
	_ = command.MarkFlagFilename("filename", "yaml", "yml", "json")
}

// read passes the documents of each file to use.
func (f filenames) read(streams genericiooptions.IOStreams, use func(name string, documents []manifest.Document) error) error {
	all, err := f.inFolders()
	if err != nil {
		return err
	}
	for _, name := range all {
		text, err := readFile(name, streams.In)
		if err != nil {
			return err
		}
		documents, err := manifest.Read(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := use(name, documents); err != nil {
			return err
		}
	}
	return nil
}

// inFolders replaces each folder with the manifests in it. Like kubectl, it does not read subfolders.
func (f filenames) inFolders() ([]string, error) {
	var all []string
	for _, name := range f {
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			all = append(all, name) // the reader reports the error
			continue
		}
		files, err := os.ReadDir(name)
		if err != nil {
			return nil, err
		}
		before := len(all)
		for _, file := range files {
			if ext := filepath.Ext(file.Name()); !file.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, ext) {
				all = append(all, filepath.Join(name, file.Name()))
			}
		}
		if len(all) == before {
			return nil, fmt.Errorf("%s: no file there ends in .yaml, .yml or .json", name)
		}
	}
	return all, nil
}

func readFile(name string, in io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(name)
}

// output holds the flags for the format in which objects are printed.
type output struct {
	format string
	flags  genericclioptions.JSONYamlPrintFlags
}

func (o *output) addTo(command *cobra.Command) {
	// Objects that were never stored have no managed fields to hide.
	o.flags.ShowManagedFields = true
	o.addFormat(command, "yaml", "format of the output: yaml or json", "yaml", "json")
}

func (o *output) addFormat(command *cobra.Command, preset, help string, formats ...string) {
	chosen(command, &o.format, "output", "o", preset, help, formats...)
}

// print writes objects as YAML documents, or as JSON. Several objects become one JSON list.
func (o *output) print(w io.Writer, objects ...any) error {
	printer, err := o.flags.ToPrinter(o.format)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	if _, isJSON := printer.(*printers.JSONPrinter); isJSON && len(objects) > 1 {
		objects = []any{map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}}
	}
	for _, object := range objects {
		content, err := manifest.JSON(object)
		if err != nil {
			return err
		}
		if err := printer.PrintObj(&runtime.Unknown{Raw: content}, w); err != nil {
			return err
		}
	}
	return nil
}
