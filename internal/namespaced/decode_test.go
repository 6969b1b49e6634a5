// SPDX-License-Identifier: Apache-2.0

package namespaced

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

var application = v1beta2.GroupVersion.WithKind("SparkApplication")

// watching decodes a stream as client-go does: with the decoders of this package, or with Kubernetes'.
func watching(ours bool, stream io.Reader) *restwatch.Decoder {
	scheme := apiserver.Scheme()
	metav1.AddToGroupVersion(scheme, v1beta2.GroupVersion)
	all := serializer.NewCodecFactory(scheme).WithoutConversion()
	if ours {
		all = newCodecs(scheme, application)
	}
	info, _ := runtime.SerializerInfoForMediaType(all.SupportedMediaTypes(), runtime.ContentTypeJSON)
	frames := info.StreamSerializer.NewFrameReader(io.NopCloser(stream))
	return restwatch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), all.DecoderToVersion(info.Serializer, v1beta2.GroupVersion))
}

type decoded struct {
	Type   watch.EventType
	Object runtime.Object
	Err    string
}

// all decodes a stream to its end, or to the first error.
func all(ours bool, stream string) []decoded {
	var found []decoded
	for d := watching(ours, strings.NewReader(stream)); ; {
		event, object, err := d.Decode()
		if errors.Is(err, io.EOF) {
			return found
		}
		found = append(found, decoded{event, object, fmt.Sprint(err)})
		if err != nil {
			return found
		}
	}
}

func event(kind, object string) string { return `{"type":"` + kind + `","object":` + object + "}\n" }

// Whatever comes is decoded as Kubernetes decodes it.
func TestDecode(t *testing.T) {
	text, err := json.Marshal(testutil.Pi())
	if err != nil {
		t.Fatal(err)
	}
	is := `{"apiVersion":"sparkoperator.k8s.io/v1beta2","kind":"SparkApplication",`
	pi := is + `"metadata":{"name":"pi","namespace":"jobs","managedFields":[{"manager":"m","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]},` +
		strings.TrimPrefix(string(text[bytes.Index(text, []byte(`"spec":`)):]), ",")
	cases := map[string]struct{ reason, stream string }{
		"Applications": {"one after the other, which do not share their text", event("ADDED", pi) + event("MODIFIED", strings.ReplaceAll(pi, "pi", "qi")) + event("DELETED", pi)},
		"Bookmark":     {"it has a version and annotations", event("BOOKMARK", is+`"metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}`)},
		"Error":        {"it has a status", event("ERROR", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}`)},
		"Malformed":    {"its spec cannot be decoded", event("ADDED", is+`"metadata":{"name":"pi"},"spec":{"driver":{"template":{"spec":{"containers":"none"}}}}}`)},
		"Undecodable":  {"its metadata cannot be decoded", event("ADDED", is+`"metadata":{"name":7},"spec":{}}`)},
		"KindFirst":    {"in another order", event("ADDED", `{"kind":"SparkApplication","apiVersion":"sparkoperator.k8s.io/v1beta2","metadata":{"name":"pi"},"spec":{}}`)},
		"Another":      {"of another kind", event("ADDED", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pi"}}`)},
		"Unknown":      {"of a kind that nobody knows", event("ADDED", `{"apiVersion":"v1","kind":"Nobody","metadata":{"name":"pi"}}`)},
		"Spaces":       {"as a person writes", "{ \"type\": \"ADDED\", \"object\": " + pi + " }\n"},
		"ObjectFirst":  {"in another order", `{"object":` + pi + `,"type":"ADDED"}`},
		"Escaped":      {"a type that is spelled otherwise", event(`\u0041DDED`, pi)},
		"Type":         {"of a type that nobody knows", event("MOVED", pi)},
		"NoObject":     {"nothing", `{"type":"ADDED"}` + `{"type":"ADDED","object":{}}`},
		"Cut":          {"the connection breaks", event("ADDED", pi)[:200]},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, want := all(true, tc.stream), all(false, tc.stream)
			if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
				t.Errorf("%s: %d events (-Kubernetes +ours):\n%s", tc.reason, len(want), diff)
			}
		})
	}
}

// endless is a stream of one event.
type endless struct {
	event string
	at    int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.event[e.at:])
	e.at = (e.at + n) % len(e.event)
	return n, nil
}

func BenchmarkWatch(b *testing.B) {
	o := testutil.Pi()
	o.APIVersion, o.Kind = application.ToAPIVersionAndKind()
	text, err := json.Marshal(o)
	if err != nil {
		b.Fatal(err)
	}
	object := `{"apiVersion":"sparkoperator.k8s.io/v1beta2","kind":"SparkApplication",` + string(text[bytes.Index(text, []byte(`"metadata":`)):])
	for name, ours := range map[string]bool{"ours": true, "Kubernetes": false} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			d := watching(ours, &endless{event: event("MODIFIED", object)})
			for b.Loop() {
				if _, _, err := d.Decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
