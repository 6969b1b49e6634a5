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

// Sum adds resource lists; none of them is changed.
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

// AddTo adds a multiple of a list to a total. It is Sum for long lists of lists.
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

// Shortage is one resource of which there is not enough.
type Shortage struct {
	Resource corev1.ResourceName
	// Asked is what the attempt asks for, Free what the limit's owner reports as left, Limit what there is in all.
	Asked, Free, Limit resource.Quantity
	// Reserved is what others will take of Free, if that is what makes it short; else zero.
	Reserved resource.Quantity
}

// Shortages compares what is asked for with what a limit leaves, for the resources that the limit names, in the order of
// their names. What is asked for but not limited is never short.
func Shortages(asked, used, limit corev1.ResourceList) []Shortage {
	return ShortagesWithReserved(asked, used, nil, limit)
}

// ShortagesWithReserved is Shortages where others have reserved what is not reported as used yet. Of what is short without
// them they are not said to be the reason: what is reserved may be reported as used already.
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

// Waiting words shortages for something that will pass: "cpu asked 12, free 4 of 40; memory asked 8Gi, free 9Gi of 64Gi,
// reserved 2Gi for others".
func Waiting(shortages []Shortage) string {
	return words(shortages, func(s Shortage) string {
		text := fmt.Sprintf("%s asked %s, free %s of %s", s.Resource, Amount(s.Asked), Amount(s.Free), Amount(s.Limit))
		if s.Reserved.Sign() > 0 {
			text += fmt.Sprintf(", reserved %s for others", Amount(s.Reserved))
		}
		return text
	})
}

// Exceeding words shortages for something that will not pass: "cpu asked 44, limit 40".
func Exceeding(shortages []Shortage) string {
	return words(shortages, func(s Shortage) string {
		return fmt.Sprintf("%s asked %s, limit %s", s.Resource, Amount(s.Asked), Amount(s.Limit))
	})
}

// Asking words a demand: "asked cpu 12, memory 8Gi".
func Asking(list corev1.ResourceList) string {
	parts := make([]string, 0, len(list))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		parts = append(parts, fmt.Sprintf("%s %s", name, Amount(list[name])))
	}
	return "asked " + strings.Join(parts, ", ")
}

// Allocated words how much of a limit is given away, for the resources that the limit names: "allocated cpu 4 of 40".
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

// Amount writes a quantity in its shortest form: sums of bytes in binary units, as people and Spark write them.
func Amount(q resource.Quantity) string {
	const kibi = 1024
	if value := q.Value(); q.Format != resource.BinarySI && value >= kibi && value%kibi == 0 && q.MilliValue() == value*1000 {
		return resource.NewQuantity(value, resource.BinarySI).String()
	}
	return q.String()
}
