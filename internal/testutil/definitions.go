// SPDX-License-Identifier: Apache-2.0

package testutil

// CloseSchema makes a schema drop all fields that it does not name, as the definitions of other operators and of earlier releases do. node is a schema decoded
// from JSON without a type.
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
