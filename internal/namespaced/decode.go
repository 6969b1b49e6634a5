// SPDX-License-Identifier: Apache-2.0

package namespaced

import (
	"bytes"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
)

// Custom resources are sent as JSON. Kubernetes' decoders parse the text of an event eight times before they decode it: the frame, the event, the kind and the
// object, each once more for validation. With thousands of applications this is most of the cost of a start. The API server's format is simple enough to skip
// most of the parsing: an event has only a type and an object (meta/v1 WatchEvent). Other formats go to Kubernetes' decoders.

// own returns a cheaper source for a kind that decodes itself. For other kinds it returns the given source.
func (c *Cache) own(source toolscache.ListerWatcher, namespace string, gvk schema.GroupVersionKind, object runtime.Object) (toolscache.ListerWatcher, error) {
	if _, decodes := object.(json.Unmarshaler); !decodes || formOf(object) != "" || c.selects() {
		return source, nil
	}
	mapping, err := c.options.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, fmt.Errorf("find the resource of %s: %w", gvk, err)
	}
	cfg, version := rest.CopyConfig(c.cfg), gvk.GroupVersion()
	cfg.GroupVersion, cfg.APIPath, cfg.ContentType = &version, "/apis", runtime.ContentTypeJSON
	cfg.NegotiatedSerializer = newCodecs(c.options.Scheme, gvk)
	client, err := rest.RESTClientForConfigAndClient(cfg, c.options.HTTPClient)
	if err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", gvk, err)
	}
	return toolscache.NewListWatchFromClient(client, mapping.Resource.Resource, namespace, fields.Everything()), nil
}

// selects reports whether watches have a selector, which only controller-runtime's source supports.
func (c *Cache) selects() bool {
	for object := range c.options.ByObject {
		if _, decodes := object.(json.Unmarshaler); decodes {
			return true
		}
	}
	return c.options.DefaultLabelSelector != nil || c.options.DefaultFieldSelector != nil
}

// codecs decode watch events of one kind at a lower cost, and lists as usual.
type codecs struct {
	serializer.WithoutConversionCodecFactory
	info runtime.SerializerInfo
}

func newCodecs(scheme *runtime.Scheme, gvk schema.GroupVersionKind) codecs {
	c := codecs{WithoutConversionCodecFactory: serializer.NewCodecFactory(scheme).WithoutConversion().(serializer.WithoutConversionCodecFactory)}
	c.info, _ = runtime.SerializerInfoForMediaType(c.CodecFactory.SupportedMediaTypes(), runtime.ContentTypeJSON)
	stream := *c.info.StreamSerializer
	stream.Serializer = events{stream.Serializer}
	c.info.StreamSerializer = &stream
	c.info.Serializer = objects{
		Serializer: c.info.Serializer, gvk: gvk, scheme: scheme,
		begins: fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,`, gvk.GroupVersion(), gvk.Kind),
	}
	return c
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (c codecs) SupportedMediaTypes() []runtime.SerializerInfo {
	return []runtime.SerializerInfo{c.info}
}

// objects decodes objects of one kind. The kind is at the beginning, because API servers write it first.
type objects struct {
	runtime.Serializer
	gvk    schema.GroupVersionKind
	scheme *runtime.Scheme
	begins []byte
}

// Decode implements runtime.Decoder.
func (o objects) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if into == nil && bytes.HasPrefix(data, o.begins) {
		made, err := o.scheme.New(o.gvk)
		if object, decodes := made.(json.Unmarshaler); err == nil && decodes && object.UnmarshalJSON(data) == nil {
			gvk := o.gvk
			return made, &gvk, nil
		}
	}
	return o.Serializer.Decode(data, defaults, into)
}

// events decodes watch events. The framer passes each event as a complete JSON value.
type events struct{ runtime.Serializer }

// Decode implements runtime.Decoder. The object of the event is a part of data. That is safe, because the caller decodes it before the next read.
func (e events) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	if !ok {
		return e.Serializer.Decode(data, defaults, into)
	}
	left, typed := bytes.CutPrefix(data, []byte(`{"type":"`))
	kind, left, named := bytes.Cut(left, []byte(`"`))
	object, follows := bytes.CutPrefix(left, []byte(`,"object":{"apiVersion":`))
	if !typed || !named || !follows || bytes.ContainsRune(kind, '\\') || !bytes.HasSuffix(object, []byte(`}}`)) {
		return e.Serializer.Decode(data, defaults, into)
	}
	event.Type, event.Object.Raw = string(kind), left[len(`,"object":`):len(left)-1]
	return event, nil, nil
}
