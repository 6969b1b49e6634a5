// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hears waits until the attacker is told something. The hardened chart may say it in words of its own.
func (a *arena) hears(text string) error {
	texts := []string{text}
	if a.hardened {
		texts = append(texts, hardenedSays...)
	}
	return await(a.ctx, func() error {
		all, err := a.said()
		if err == nil && !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(all, text) }) {
			err = fmt.Errorf("the attacker is not told %q, but:\n%.4000s", texts, all)
		}
		return err
	})
}

// said is what the attacker can read of its own: answers of the API server, conditions and messages of statuses, events.
func (a *arena) said() (string, error) {
	var all strings.Builder
	all.WriteString(a.heard.text())
	for _, kind := range []schema.GroupVersionKind{application, apache, standalone, schedule, connect} {
		list := unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := a.admin.List(a.ctx, &list, client.InNamespace(a.namespace)); err != nil {
			return "", err
		}
		for _, o := range list.Items {
			if !a.mine(o.GetName()) {
				continue
			}
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions") // none is none
			message, _, _ := unstructured.NestedString(o.Object, "status", "applicationState", "errorMessage")
			fmt.Fprintf(&all, "%s %s: %s\n", kind.Kind, o.GetName(), message)
			for _, c := range conditions {
				if c, ok := c.(map[string]any); ok {
					fmt.Fprintf(&all, "  %v=%v %v: %v\n", c["type"], c["status"], c["reason"], c["message"])
				}
			}
		}
	}
	var events eventsv1.EventList
	if err := a.admin.List(a.ctx, &events, client.InNamespace(a.namespace)); err != nil {
		return "", err
	}
	for _, e := range events.Items {
		if !a.mine(e.Regarding.Name) {
			continue
		}
		fmt.Fprintf(&all, "event %s %s: %s\n", e.Regarding.Name, e.Reason, e.Note)
	}
	return all.String(), nil
}

// answers are those by which the API server refused something.
type answers struct {
	mu  sync.Mutex
	all strings.Builder
}

func (h *answers) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all.String()
}

// listener keeps refusals, as long as they are not too many.
type listener struct {
	next  http.RoundTripper
	heard *answers
}

func (l listener) RoundTrip(request *http.Request) (*http.Response, error) {
	const most, each = 64 << 10, 4 << 10
	answer, err := l.next.RoundTrip(request)
	if err != nil || answer.StatusCode < http.StatusBadRequest {
		return answer, err
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // it was only read
	answer.Body = io.NopCloser(bytes.NewReader(body))
	l.heard.mu.Lock()
	defer l.heard.mu.Unlock()
	if l.heard.all.Len() < most {
		fmt.Fprintf(&l.heard.all, "%d: %s\n", answer.StatusCode, body[:min(len(body), each)])
	}
	return answer, err
}
