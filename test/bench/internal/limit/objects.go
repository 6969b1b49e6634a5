// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// objects were recorded from the operator of this tree, with the application that the harness creates. Names are replaced.
//
//go:embed objects/*.json
var objects embed.FS

// about is which application an object is for.
type about struct {
	name string
	uid  types.UID
}

// text is an object, or a patch, of an application.
func (a about) text(file string, now time.Time) ([]byte, error) {
	text, err := objects.ReadFile("objects/" + file + ".json")
	if err != nil {
		return nil, fmt.Errorf("find the recorded object: %w", err)
	}
	replaced := strings.NewReplacer("NAME", a.name, "UID", string(a.uid),
		"MICROTIME", now.UTC().Format("2006-01-02T15:04:05.000000Z"), "TIME", now.UTC().Format(time.RFC3339)).Replace(string(text))
	return []byte(replaced), nil
}

// decode makes a typed object of it, which goes over the wire in the form that costs least.
func decode[T any](a about, file string, now time.Time) (*T, error) {
	text, err := a.text(file, now)
	if err != nil {
		return nil, err
	}
	out := new(T)
	if err := json.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("read the recorded %s: %w", file, err)
	}
	return out, nil
}
