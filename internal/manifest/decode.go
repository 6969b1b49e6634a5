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
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/text"
)

// The fields of an application, a schedule and a server, without their lenient decoders.
type (
	typed         v1beta2.SparkApplication
	typedSchedule v1beta2.ScheduledSparkApplication
	typedConnect  v1alpha1.SparkConnect
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
func (d *Document) decode(content []byte, of metav1.TypeMeta) (err error) {
	var head struct {
		metav1.TypeMeta
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	// What has no such fields is not an object; it is named by what it has.
	_ = json.Unmarshal(content, &head)
	d.APIVersion, d.Kind, d.Name = cmp.Or(head.APIVersion, of.APIVersion), cmp.Or(head.Kind, of.Kind), head.Metadata.Name
	switch kind := schema.FromAPIVersionAndKind(d.APIVersion, d.Kind); kind {
	case v1beta2.SchemeGroupVersion.WithKind("SparkApplication"):
		err = d.inspect(content, kind, &typed{})
		// The operator's own decoder contains what is malformed.
		d.Application = &v1beta2.SparkApplication{}
		d.note(json.Unmarshal(content, d.Application))
		d.Application.UnknownFields = nil // they are among the problems, with their lines
	case v1beta2.SchemeGroupVersion.WithKind(kubeflow.ScheduleKind):
		err = d.inspect(content, kind, &typedSchedule{})
		d.Schedule = &v1beta2.ScheduledSparkApplication{}
		d.note(json.Unmarshal(content, d.Schedule))
		d.Schedule.UnknownFields = nil
	case v1alpha1.SchemeGroupVersion.WithKind(kubeflow.ConnectKind):
		err = d.inspect(content, kind, &typedConnect{})
		d.Connect = &v1alpha1.SparkConnect{}
		d.note(json.Unmarshal(content, d.Connect))
		d.Connect.UnknownFields = nil
	}
	return err
}

// note takes down that the operator's decoder fails, too: the spec is not to blame then, which it contains. What is wrong is among the
// problems, with its place.
func (d *Document) note(err error) {
	if err != nil {
		d.Undecoded = err.Error()
	}
}

// inspect collects the problems of an object of a kind, which is decoded into a type.
func (d *Document) inspect(content []byte, kind schema.GroupVersionKind, into any) error {
	d.duplicates(d.root, "")
	if d.endless(d.root, "") {
		return nil
	}
	all, err := definitions()
	if err != nil {
		return err
	}
	var object map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(content, &object); err != nil {
		return err
	}
	wrong, unknown := lenient.Compare(object, reflect.TypeOf(into))
	d.refuse(all[kind].refused(object), wrong)
	for _, w := range wrong {
		d.add(w.Path, Error, w.Message)
	}
	unstored := all[kind].unstored(object)
	for _, u := range unknown {
		meant := text.DidYouMean(u.Path, u.Names)
		if meant != "" {
			meant = "; " + meant
		}
		switch {
		case strings.HasPrefix(u.Path, "status."): // of another release
		case unstored[u.Path]:
			d.add(u.Path, Error, u.Path+": unknown field; the operator would not see it"+meant)
		default:
			d.add(u.Path, Warning, u.Path+": unknown field; it has no effect"+meant)
		}
	}
	if err := json.Unmarshal(content, into); err != nil && len(wrong) == 0 {
		d.add("", Error, err.Error())
	}
	return nil
}

// refuse collects the rules of a definition that an object breaks. Values of a wrong type are told of already, with what would be right.
func (d *Document) refuse(broken []error, wrong []lenient.Mismatch) {
	for _, err := range broken {
		rule, is := errors.AsType[*openapierrors.Validation](err)
		if !is {
			if slices.ContainsFunc(wrong, func(m lenient.Mismatch) bool { return strings.HasSuffix(err.Error(), " in "+dotted(m.Path)) }) {
				continue
			}
			d.Refused = append(d.Refused, Problem{Line: d.Line, Severity: Error, Message: err.Error()})
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
		d.Refused = append(d.Refused, Problem{Line: d.LineOf(path), Severity: Error, Message: path + ": " + what})
	}
}

// dotted is a path as the schema's validator writes it: it does not quote keys.
func dotted(path string) string {
	return strings.NewReplacer(`["`, ".", `"]`, "").Replace(path)
}

func (d *Document) add(field string, severity Severity, message string) {
	d.Problems = append(d.Problems, Problem{Line: d.LineOf(field), Severity: severity, Message: message})
}
