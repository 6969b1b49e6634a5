// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Sum adds resource lists without changing them.
func Sum(lists ...corev1.ResourceList) corev1.ResourceList {
	total := corev1.ResourceList{}
	for _, list := range lists {
		AddTo(total, list, 1)
	}
	return total
}

// Times multiplies a resource list.
func Times(list corev1.ResourceList, factor int64) corev1.ResourceList {
	out := make(corev1.ResourceList, len(list))
	AddTo(out, list, factor)
	return out
}

// AddTo adds a multiple of a list to a total in place. It avoids the copies that Sum makes for many lists.
func AddTo(total, list corev1.ResourceList, factor int64) {
	for name, quantity := range list {
		product := quantity.DeepCopy()
		if factor != 1 {
			product.Mul(factor)
		}
		if sum, ok := total[name]; ok {
			product.Add(sum)
		}
		total[name] = product
	}
}

// Shortage is one resource that is short.
type Shortage struct {
	Resource corev1.ResourceName
	// Asked is the attempt's request, Free the reported remainder of the limit, Limit the total.
	Asked, Free, Limit resource.Quantity
	// Reserved is the part of Free that is reserved for others, if the reservations cause the shortage; else zero.
	Reserved resource.Quantity
}

// Shortages compares a request with the remainder of a limit, and sorts the result by resource name. A resource without a limit is never short.
func Shortages(asked, used, limit corev1.ResourceList) []Shortage {
	return ShortagesWithReserved(asked, used, nil, limit)
}

// ShortagesWithReserved is Shortages with the room that others have reserved and not used yet. A resource that is short even without the reservations is not
// attributed to them, because the usage may already include reserved room.
func ShortagesWithReserved(asked, used, reserved, limit corev1.ResourceList) []Shortage {
	var out []Shortage
	for _, name := range slices.Sorted(maps.Keys(limit)) {
		ask, ok := asked[name]
		if !ok || ask.Sign() <= 0 {
			continue
		}
		free := limit[name].DeepCopy()
		free.Sub(used[name])
		if free.Sign() < 0 {
			free = resource.Quantity{Format: free.Format}
		}
		s := Shortage{Resource: name, Asked: ask, Free: free, Limit: limit[name]}
		if ask.Cmp(free) <= 0 {
			left := free.DeepCopy()
			if left.Sub(reserved[name]); ask.Cmp(left) <= 0 {
				continue
			}
			s.Reserved = reserved[name]
		}
		out = append(out, s)
	}
	return out
}

// Waiting formats temporary shortages: "cpu asked 12, free 4 of 40; memory asked 8Gi, free 9Gi of 64Gi, reserved 2Gi for
// others".
func Waiting(shortages []Shortage) string {
	return words(shortages, func(s Shortage) string {
		text := fmt.Sprintf("%s asked %s, free %s of %s", s.Resource, Amount(s.Asked), Amount(s.Free), Amount(s.Limit))
		if s.Reserved.Sign() > 0 {
			text += fmt.Sprintf(", reserved %s for others", Amount(s.Reserved))
		}
		return text
	})
}

// Exceeding formats permanent shortages: "cpu asked 44, limit 40".
func Exceeding(shortages []Shortage) string {
	return words(shortages, func(s Shortage) string {
		return fmt.Sprintf("%s asked %s, limit %s", s.Resource, Amount(s.Asked), Amount(s.Limit))
	})
}

// Asking formats a request: "asked cpu 12, memory 8Gi".
func Asking(list corev1.ResourceList) string {
	parts := make([]string, 0, len(list))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		parts = append(parts, fmt.Sprintf("%s %s", name, Amount(list[name])))
	}
	return "asked " + strings.Join(parts, ", ")
}

// Allocated formats the used part of a limit, for the resources that the limit names: "allocated cpu 4 of 40".
func Allocated(used, limit corev1.ResourceList) string {
	parts := make([]string, 0, len(limit))
	for _, name := range slices.Sorted(maps.Keys(limit)) {
		parts = append(parts, fmt.Sprintf("%s %s of %s", name, Amount(used[name]), Amount(limit[name])))
	}
	return "allocated " + strings.Join(parts, ", ")
}

func words(shortages []Shortage, word func(Shortage) string) string {
	parts := make([]string, 0, len(shortages))
	for _, s := range shortages {
		parts = append(parts, word(s))
	}
	return strings.Join(parts, "; ")
}

// Amount formats a quantity in its shortest form, and bytes in binary units as Spark does.
func Amount(q resource.Quantity) string {
	const kibi = 1024
	if value := q.Value(); q.Format != resource.BinarySI && value >= kibi && value%kibi == 0 && q.MilliValue() == value*1000 {
		return resource.NewQuantity(value, resource.BinarySI).String()
	}
	return q.String()
}
