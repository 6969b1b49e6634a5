/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
