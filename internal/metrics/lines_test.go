// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

func lineState(namespace, quota string, name corev1.ResourceName, waiting int) scheduler.LineState {
	s := scheduler.LineState{Waiting: waiting, Asked: resource.MustParse("1500m"), Longest: time.Minute}
	s.Line = scheduler.Line{Namespace: namespace, Quota: quota, Resource: name}
	s.Used, s.Limit, s.Guaranteed, s.Borrowed = resource.MustParse("6"), resource.MustParse("1Ki"), resource.MustParse("4"), resource.MustParse("2")
	return s
}

// Each line has a row of each family, and what namespaces share a namespace of its own.
func TestLineGauges(t *testing.T) {
	m := New(configured(nil))
	m.ObserveLines(func() []scheduler.LineState {
		return []scheduler.LineState{lineState("jobs", "ResourceQuota compute", "requests.cpu", 3), lineState("", "all", "cpu", 1)}
	})
	var want []string
	for _, row := range []string{"asked %s 1.5", "borrowed %s 2", "guaranteed %s 4", "limit %s 1024", "longest_wait_seconds %s 60", "used %s 6"} {
		for _, labels := range []string{"namespace=*,quota=all,resource=cpu", "namespace=jobs,quota=ResourceQuota compute,resource=requests.cpu"} {
			want = append(want, "spark_operator_quota_"+fmt.Sprintf(row, labels))
		}
	}
	want = append(want, "spark_operator_quota_waiting namespace=*,quota=all,resource=cpu 1", "spark_operator_quota_waiting namespace=jobs,quota=ResourceQuota compute,resource=requests.cpu 3")
	if diff := cmp.Diff(want, lineSamples(t, m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// However many quotas there are, the number of rows is bounded, and none that waits is left out.
func TestLineGaugesAreBounded(t *testing.T) {
	m := New(configured(nil))
	m.ObserveLines(func() []scheduler.LineState {
		var all []scheduler.LineState
		for n := range 1000 {
			all = append(all, lineState(fmt.Sprintf("n%03d", n), "ResourceQuota q", "pods", n+1))
		}
		return all
	})
	rows := lineSamples(t, m)
	if len(rows) != 7*maxLines+2 {
		t.Errorf("there are %d rows", len(rows))
	}
	left := (1000 - maxLines) * (1000 - maxLines + 1) / 2
	for _, row := range []string{fmt.Sprintf("waiting namespace=Other,quota=Other,resource=Other %d", left), "waiting namespace=n999,quota=ResourceQuota q,resource=pods 1000"} {
		if !slices.Contains(rows, "spark_operator_quota_"+row) {
			t.Errorf("there is no row %s", row)
		}
	}
}

func lineSamples(t *testing.T, m *Metrics) []string {
	t.Helper()
	return slices.DeleteFunc(samples(t, m), func(s string) bool { return !strings.HasPrefix(s, "spark_operator_quota_") })
}
