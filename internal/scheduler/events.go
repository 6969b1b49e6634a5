// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ObjectEvent is a scheduler's event about an object.
type ObjectEvent struct {
	// Object and UID identify the object.
	Object, UID           string
	Type, Reason, Message string
	// At is the time of the last write; zero if unknown.
	At time.Time
}

// Warns reports whether the event is of type Warning.
func (e ObjectEvent) Warns() bool { return e.Type == corev1.EventTypeWarning }

// Events returns the events about the objects that concerns selects, the newest last. The list may cover a whole namespace, so only the selected events are
// decoded.
func (s Snapshot) Events(r Read, concerns func(object string) bool) []ObjectEvent {
	list := s[r]
	if list == nil {
		return nil
	}
	items, _ := list.Object["items"].([]any)
	var found []ObjectEvent
	for _, item := range items {
		content, _ := item.(map[string]any)
		object, _ := content["involvedObject"].(map[string]any)
		if name, _ := object["name"].(string); concerns(name) {
			found = append(found, objectEventOf(content, object))
		}
	}
	slices.SortStableFunc(found, func(a, b ObjectEvent) int { return a.At.Compare(b.At) })
	return found
}

func objectEventOf(content, object map[string]any) ObjectEvent {
	text := func(of map[string]any, key string) string {
		value, _ := of[key].(string)
		return value
	}
	return ObjectEvent{
		Object: text(object, "name"), UID: text(object, "uid"),
		Type: text(content, "type"), Reason: text(content, "reason"), Message: text(content, "message"),
		At: writtenAt(content),
	}
}

// writtenAt returns the time of an event's last write; zero if unknown. The scheduler's event library decides which field has the time.
func writtenAt(content map[string]any) time.Time {
	var last time.Time
	series, _ := content["series"].(map[string]any)
	for _, written := range []any{content["lastTimestamp"], content["eventTime"], series["lastObservedTime"]} {
		text, _ := written.(string)
		if text == "" {
			continue
		}
		if at, err := time.Parse(time.RFC3339, text); err == nil && at.After(last) {
			last = at
		}
	}
	return last
}
