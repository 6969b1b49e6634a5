// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestDeletionsForgetTheOldest(t *testing.T) {
	var d Deletions
	for i := range remembered + 1 {
		for range 2 { // a repeated delete takes no second place
			d.add(types.UID(strconv.Itoa(i)))
		}
	}
	for uid, want := range map[types.UID]bool{"0": false, "1": true, types.UID(strconv.Itoa(remembered)): true, "": false, "unknown": false} {
		if got := d.Has(uid); got != want {
			t.Errorf("%q is known: %t, want %t", uid, got, want)
		}
	}
	(*Deletions)(nil).add("a") // a writer without a memory
}
