// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/config/crd"
)

// definition holds the schema of a kind, and a validator for it.
type definition struct {
	schema    *structural.Structural
	validator *validate.SchemaValidator
}

// definitions returns the definitions of this project's kinds by kind, from the CRDs that are built into this program.
var definitions = sync.OnceValues(func() (map[schema.GroupVersionKind]definition, error) {
	files, err := fs.Glob(crd.Definitions, "bases/*.yaml")
	if err != nil {
		return nil, err
	}
	all := map[schema.GroupVersionKind]definition{}
	for _, file := range files {
		text, err := fs.ReadFile(crd.Definitions, file)
		if err != nil {
			return nil, err
		}
		var o apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &o); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, version := range o.Spec.Versions {
			d, err := defined(version)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			all[schema.GroupVersionKind{Group: o.Spec.Group, Version: version.Name, Kind: o.Spec.Names.Kind}] = d
		}
	}
	return all, nil
})

func defined(version apiextensionsv1.CustomResourceDefinitionVersion) (d definition, err error) {
	var props apiextensions.JSONSchemaProps
	if err = apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &props, nil); err != nil {
		return d, err
	}
	if d.schema, err = structural.NewStructural(&props); err != nil {
		return d, err
	}
	text, err := json.Marshal(version.Schema.OpenAPIV3Schema)
	if err != nil {
		return d, err
	}
	var rules spec.Schema
	err = json.Unmarshal(text, &rules)
	d.validator = validate.NewSchemaValidator(&rules, nil, "", strfmt.Default)
	return d, err
}

// unstored removes the fields from an object that the API server would not store, and returns their paths.
func (d definition) unstored(object map[string]any) map[string]bool {
	paths := map[string]bool{}
	for _, path := range pruning.PruneWithOptions(object, d.schema, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		paths[path] = true
	}
	return paths
}

// withoutNulls removes the nulls that the API server treats as absent: those of fields and map entries that are not nullable. A null in a list stays, and is
// refused. The rule is PruneNonNullableNullsWithoutDefaults of k8s.io/apiextensions-apiserver; importing its package would bring CEL and half of an API server.
// Unlike there, a null in a field with a default is also removed: the operator uses the default for an absent field.
func withoutNulls(value any, s *structural.Structural) {
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			rule := ruleOf(key, s)
			if below == nil && rule != nil && !rule.Nullable {
				delete(value, key)
				continue
			}
			withoutNulls(below, rule)
		}
	case []any:
		for _, one := range value {
			if s != nil {
				withoutNulls(one, s.Items)
			}
		}
	}
}

// ruleOf returns the schema of a field or of a map entry; nil if there is none.
func ruleOf(key string, s *structural.Structural) *structural.Structural {
	if s == nil {
		return nil
	}
	if rule, is := s.Properties[key]; is {
		return &rule
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

// refused returns the API server's errors about a new object. The API server sets no defaults for these kinds. Their CEL rules are about edits.
func (d definition) refused(object map[string]any) []error {
	return d.validator.Validate(object).Errors
}
