// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// JSON writes an object with every character escaped that a reader of YAML refuses even inside of quotes.
func JSON(object any) ([]byte, error) {
	content, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var escaped bytes.Buffer
	for _, r := range string(content) {
		// Such characters can only stand inside of texts.
		if r == 0x7f || r >= 0x80 && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff {
			fmt.Fprintf(&escaped, `\u%04x`, r)
		} else {
			escaped.WriteRune(r)
		}
	}
	return escaped.Bytes(), nil
}

// YAML writes an object as YAML that can be read back.
func YAML(object any) ([]byte, error) {
	content, err := JSON(object)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(content)
}
