// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// An attempt after one that ran out of memory gets more, up to the user's bound.
func TestWithRaisedMemory(t *testing.T) {
	const memory, overhead = spark.ConfDriverMemory, spark.ConfDriverMemoryOverhead
	grows := func(factor string, ceiling *string) *v1beta2.OutOfMemoryRule {
		return &v1beta2.OutOfMemoryRule{RetryRule: v1beta2.RetryRule{Retries: 9}, MemoryFactor: &factor, MaxMemory: ceiling}
	}
	cases := map[string]struct {
		reason string
		conf   props
		rule   *v1beta2.OutOfMemoryRule
		raises int32
		want   props
	}{
		"First":     {reason: "the first attempt has what the user says", conf: props{memory: "2g"}, rule: grows("2", nil), want: props{memory: "2g"}},
		"Once":      {reason: "times the factor, in MiB", conf: props{memory: "2g"}, rule: grows("1.5", nil), raises: 1, want: props{memory: "3072m"}},
		"Thrice":    {reason: "each time", conf: props{memory: "2g"}, rule: grows("2", nil), raises: 3, want: props{memory: "16384m"}},
		"Default":   {reason: "of Spark's default", conf: props{}, rule: grows("2", nil), raises: 1, want: props{memory: "2048m"}},
		"NoUnit":    {reason: "Spark's own unit is MiB", conf: props{memory: "1500"}, rule: grows("2", nil), raises: 1, want: props{memory: "3000m"}},
		"Ceiling":   {reason: "not above the user's bound", conf: props{memory: "2g"}, rule: grows("2", new("3g")), raises: 2, want: props{memory: "3072m"}},
		"Below":     {reason: "a bound below what the user asks for takes nothing away", conf: props{memory: "4g"}, rule: grows("2", new("3g")), raises: 1, want: props{memory: "4096m"}},
		"Overhead":  {reason: "an overhead that is set grows with it; else Spark computes it from the memory", conf: props{memory: "2g", overhead: "1g"}, rule: grows("2", new("3g")), raises: 1, want: props{memory: "3072m", overhead: "2048m"}},
		"Factor":    {reason: "a factor of the overhead stays a factor", conf: props{memory: "2g", spark.ConfMemoryOverheadFactor: "0.4"}, rule: grows("2", nil), raises: 1, want: props{memory: "4096m", spark.ConfMemoryOverheadFactor: "0.4"}},
		"Large":     {reason: "no overflow", conf: props{memory: "2g"}, rule: grows("10", nil), raises: 400, want: props{memory: "2147483647m"}},
		"NoRule":    {reason: "nobody asked for it", conf: props{memory: "2g"}, raises: 2, want: props{memory: "2g"}},
		"NoFactor":  {reason: "a retry with the same memory", conf: props{memory: "2g"}, rule: &v1beta2.OutOfMemoryRule{}, raises: 2, want: props{memory: "2g"}},
		"Malformed": {reason: "a factor that means nothing, which is reported elsewhere", conf: props{memory: "2g"}, rule: grows("x", nil), raises: 1, want: props{memory: "2g"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			o.Spec.RestartPolicy.OutOfMemory = tc.rule
			before := cmp.Diff(props(nil), tc.conf)
			got := WithRaisedMemory(spark.Application{Conf: tc.conf}, o, tc.raises)
			if diff := cmp.Diff(tc.want, got.Conf); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if before != cmp.Diff(props(nil), tc.conf) {
				t.Errorf("%s: the application given was changed: %v", tc.reason, tc.conf)
			}
		})
	}
}

// The raised memory arrives in the pod, with the overhead that belongs to it.
func TestRaisedMemoryReachesThePod(t *testing.T) {
	o := testutil.Pi()
	o.Spec.Driver.Memory = new("2g")
	o.Spec.RestartPolicy.OutOfMemory = &v1beta2.OutOfMemoryRule{RetryRule: v1beta2.RetryRule{Retries: 3}, MemoryFactor: new("2"), MaxMemory: new("6g")}
	profile, err := spark.ProfileFor(o.Spec.SparkVersion)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"2432Mi", "4505Mi", "6758Mi", "6758Mi"} // and 10 %, at least 384 MiB
	for raises, memory := range want {
		s, err := spark.Build(WithRaisedMemory(normalize(t, o), o, int32(raises)), spark.NewIdentity(o.UID, 1, now), profile)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Driver.Spec.Containers[0].Resources.Limits.Memory().String(); got != memory {
			t.Errorf("after %d raises the driver has %s, want %s", raises, got, memory)
		}
	}
}
