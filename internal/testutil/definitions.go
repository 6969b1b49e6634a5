// SPDX-License-Identifier: Apache-2.0

package testutil

// CloseSchema lets a schema, as JSON is decoded without a type, keep only the fields that it names, as the definitions of other operators and of our
// earlier releases do.
func CloseSchema(node any) {
	switch node := node.(type) {
	case map[string]any:
		if _, object := node["properties"]; object {
			delete(node, "x-kubernetes-preserve-unknown-fields")
		}
		for _, child := range node {
			CloseSchema(child)
		}
	case []any:
		for _, child := range node {
			CloseSchema(child)
		}
	}
}
