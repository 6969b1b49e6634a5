// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	kjson "sigs.k8s.io/json"

	"github.com/firesteel-dev/firesteel/api/lenient"
	"github.com/firesteel-dev/firesteel/internal/kinds"
)

// objects are what stands in a document: one object, or those of a list, as kubectl get -o yaml prints several.
func objects(root *yamlv3.Node, content []byte) ([]Document, error) {
	var list struct {
		metav1.TypeMeta
		Items []json.RawMessage `json:"items"`
	}
	_ = json.Unmarshal(content, &list) // what has no such fields is no list
	nodes, _ := childOf(root, "items", "")
	if !strings.HasSuffix(list.Kind, "List") || nodes == nil || nodes.Kind != yamlv3.SequenceNode || len(nodes.Content) != len(list.Items) {
		d := Document{Line: root.Line, root: root}
		err := d.decode(content, metav1.TypeMeta{})
		return []Document{d}, err
	}
	var all []Document
	of := metav1.TypeMeta{APIVersion: list.APIVersion, Kind: strings.TrimSuffix(list.Kind, "List")} // the API server does not repeat it in each item
	for i, item := range list.Items {
		node := nodes.Content[i]
		if node.Kind == yamlv3.AliasNode {
			node = node.Alias
		}
		d := Document{Line: node.Line, root: node}
		if err := d.decode(item, of); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// decode reads the document as kubectl does, and collects what a lenient decoder would pass over. of is its type if it names none.
func (d *Document) decode(content []byte, of metav1.TypeMeta) error {
	var head struct {
		metav1.TypeMeta
		Metadata struct {
			Name         string `json:"name"`
			GenerateName string `json:"generateName"`
		} `json:"metadata"`
	}
	// What has no such fields is not an object; it is named by what it has.
	_ = json.Unmarshal(content, &head)
	d.APIVersion, d.Kind, d.Name = cmp.Or(head.APIVersion, of.APIVersion), cmp.Or(head.Kind, of.Kind), head.Metadata.Name
	if d.Row = kinds.Of(schema.FromAPIVersionAndKind(d.APIVersion, d.Kind)); d.Row == nil {
		return nil
	}
	content, object, err := d.stored(content)
	if err != nil {
		return err
	}
	if err := d.inspect(content, object); err != nil {
		return err
	}
	if d.Object, d.malformed, err = d.Row.Decode(content); err != nil {
		// The spec is not to blame, whose mistakes the decoder contains. What is wrong is among the problems, with its place.
		d.Undecoded = err.Error()
	}
	if prefix := head.Metadata.GenerateName; d.Name == "" && prefix != "" && d.Object != nil {
		d.Name, d.Generated = prefix[:min(len(prefix), maxGenerated)]+madeUp, true
		d.Object.SetName(d.Name)
	}
	return nil
}

// The API server takes so much of metadata.generateName, and adds five characters, for which these stand.
const (
	maxGenerated = 58
	madeUp       = "bcdfg"
)

// stored is the object as the API server has it, without what is null, and that as text.
func (d *Document) stored(content []byte) ([]byte, map[string]any, error) {
	all, err := definitions()
	if err != nil {
		return nil, nil, err
	}
	var object map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(content, &object); err != nil {
		return nil, nil, err
	}
	withoutNulls(object, all[schema.FromAPIVersionAndKind(d.APIVersion, d.Kind)].schema)
	content, err = json.Marshal(object)
	return content, object, err
}

// inspect collects the problems of an object of one of our kinds.
func (d *Document) inspect(content []byte, object map[string]any) error {
	kind, into := schema.FromAPIVersionAndKind(d.APIVersion, d.Kind), d.Row.Fields()
	d.duplicates(d.root, "")
	all, err := definitions()
	if err != nil {
		return err
	}
	wrong, unknown := lenient.Compare(object, reflect.TypeOf(into))
	d.refuse(all[kind].refused(object), wrong)
	for _, w := range wrong {
		d.add(w.Path, Error, w.Message)
	}
	meant := make([]string, len(unknown))
	for i, u := range unknown {
		if meant[i] = d.meant(object, u.Path); meant[i] != "" {
			meant[i] = "; " + meant[i]
		}
	}
	unstored := all[kind].unstored(object) // which drops them
	for i, u := range unknown {
		switch {
		case strings.HasPrefix(u.Path, "status."): // of another release
		case unstored[dotted(u.Path)]:
			d.add(u.Path, Error, u.Path+": unknown field; the operator would not see it"+meant[i])
		default:
			d.add(u.Path, Warning, u.Path+": unknown field; it has no effect"+meant[i])
		}
	}
	if len(wrong) > 0 {
		return nil
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(content, into); err != nil {
		d.add("", Error, err.Error())
	}
	return nil
}

// refuse collects the rules of a definition that an object breaks. Values of a wrong type are reported already, with what would be right.
func (d *Document) refuse(broken []error, wrong []lenient.Mismatch) {
	for _, err := range broken {
		rule, is := errors.AsType[*openapierrors.Validation](err)
		if !is {
			if slices.ContainsFunc(wrong, func(m lenient.Mismatch) bool { return strings.HasSuffix(err.Error(), " in "+dotted(m.Path)) }) {
				continue
			}
			d.Refused = append(d.Refused, d.problem("", Error, err.Error()))
			continue
		}
		path := strings.TrimPrefix(rule.Name, ".")
		if slices.ContainsFunc(wrong, func(m lenient.Mismatch) bool {
			return dotted(m.Path) == path || strings.HasPrefix(path, dotted(m.Path)+".")
		}) {
			continue
		}
		what := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(err.Error(), rule.Name), " in body"), " ")
		if word, is := rule.Value.(string); is && rule.Code() == openapierrors.EnumFailCode {
			what = strconv.Quote(word) + ": " + what
		}
		d.Refused = append(d.Refused, d.problem(path, Error, path+": "+what))
	}
}

// dotted is a path as the schema's validator writes it: it does not quote keys.
func dotted(path string) string {
	return strings.NewReplacer(`["`, ".", `"]`, "").Replace(path)
}

func (d *Document) add(field string, severity Severity, message string) {
	d.Problems = append(d.Problems, d.problem(field, severity, message))
}

// problem is what is wrong with a field.
func (d *Document) problem(field string, severity Severity, message string) Problem {
	return Problem{Finding{d.LineOf(field), severity, message}, field}
}
