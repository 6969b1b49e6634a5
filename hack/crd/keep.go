// SPDX-License-Identifier: Apache-2.0

package main

// The API server decodes a stored object into the version of a request, drops the fields that this version's schema lacks, and stores the rest. A client that
// writes an older version would thus delete the operator's records. So would a client that writes while an older release's definitions are installed.

// keep makes every version keep the fields of the stored version. The spec keeps them by name, so that a misspelled field is still refused. The status keeps
// all fields, so that a release also keeps the records of a newer one.
func keep(doc map[string]any) {
	var stored map[string]any
	versions := versionsOf(doc)
	for _, v := range versions {
		if v["storage"] == true {
			stored = schemaOf(v)
		}
	}
	for _, v := range versions {
		schema := schemaOf(v)
		if v["storage"] != true {
			complete(schema, stored)
		}
		preserveAll(property(schema, "status"))
	}
}

func versionsOf(doc map[string]any) []map[string]any {
	spec, _ := doc["spec"].(map[string]any)
	all, _ := spec["versions"].([]any)
	var versions []map[string]any
	for _, v := range all {
		if v, ok := v.(map[string]any); ok {
			versions = append(versions, v)
		}
	}
	return versions
}

func schemaOf(version map[string]any) map[string]any {
	schema, _ := version["schema"].(map[string]any)
	schema, _ = schema["openAPIV3Schema"].(map[string]any)
	return schema
}

func property(schema map[string]any, name string) map[string]any {
	properties, _ := schema["properties"].(map[string]any)
	p, _ := properties[name].(map[string]any)
	return p
}

// complete adds the properties of the stored version that a schema lacks. They have no descriptions and no defaults, because they are kept and not offered. A
// value that is valid in the stored version is valid in the other one, too; otherwise each write of such an object would be refused.
func complete(schema, stored map[string]any) {
	if values, ok := stored["enum"]; ok {
		schema["enum"] = values
	}
	theirs, _ := stored["properties"].(map[string]any)
	if properties, ok := schema["properties"].(map[string]any); ok {
		for name, p := range theirs {
			if inner, found := properties[name].(map[string]any); found {
				complete(inner, p.(map[string]any))
				continue
			}
			properties[name] = undescribed(p)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		inner, ok := schema[key].(map[string]any)
		values, found := stored[key].(map[string]any)
		if ok && found {
			complete(inner, values)
		}
	}
}

// undescribed returns a copy of a schema without descriptions and defaults.
func undescribed(node any) any {
	switch node := node.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, child := range node {
			if _, text := child.(string); key != "description" || !text {
				out[key] = undescribed(child)
			}
		}
		if _, typed := node["type"].(string); typed {
			delete(out, "default")
		}
		return out
	case []any:
		out := make([]any, 0, len(node))
		for _, child := range node {
			out = append(out, undescribed(child))
		}
		return out
	default:
		return node
	}
}

// preserveAll marks a schema, and the schemas within it that have properties.
func preserveAll(schema map[string]any) {
	properties, ok := schema["properties"].(map[string]any)
	if ok {
		schema[preserve] = true
	}
	for _, p := range properties {
		preserveAll(p.(map[string]any))
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := schema[key].(map[string]any); ok {
			preserveAll(inner)
		}
	}
}
