// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// connectAttempt is an attempt of a SparkConnect.
func connectAttempt(t *testing.T, change func(*v1alpha1.SparkConnectSpec)) Attempt {
	t.Helper()
	o := &v1alpha1.SparkConnect{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "lab", UID: "u"}}
	o.Spec = v1alpha1.SparkConnectSpec{SparkVersion: "4.1.4", Image: new("spark")}
	change(&o.Spec)
	loaded := kubeflow.SparkConnects{}.Load(o, lifecycle.Record{})
	app, problems := loaded.App, loaded.Problems
	if len(problems) > 0 {
		t.Fatal(problems[0])
	}
	return Attempt{App: app, Owner: kubeflow.SparkConnects{}.Family().Owner(o, ""), SparkAppID: "spark-1", DriverName: "lab-server"}
}

func port(name string, number int32, protocol string) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: number, Protocol: corev1.ProtocolTCP, AppProtocol: &protocol}
}

// The Service of a server's clients, field by field: what the Kubeflow operator makes, what Firesteel makes, and why it differs.
func TestServiceOfAServerIsKubeflows(t *testing.T) {
	users := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: "own", Namespace: "elsewhere", Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"note": "x"}, Finalizers: []string{"example.org/x"},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"tier": "web", "spark-role": "driver"}, Ports: []corev1.ServicePort{{Port: 80}},
			SessionAffinity: corev1.ServiceAffinityClientIP, LoadBalancerSourceRanges: []string{"192.0.2.0/24"},
		},
	}
	plain := func(*v1alpha1.SparkConnectSpec) {}
	custom := func(s *v1alpha1.SparkConnectSpec) { s.Server.Service = users }
	unnamed := func(s *v1alpha1.SparkConnectSpec) { s.Server.Service = &corev1.Service{} }
	moved := func(s *v1alpha1.SparkConnectSpec) {
		s.SparkConf = map[string]string{
			"spark.driver.port": "17078", "spark.driver.blockManager.port": "17079", "spark.ui.port": "14040", "spark.connect.grpc.binding.port": "25002",
		}
	}
	ports := []corev1.ServicePort{port("driver-rpc", 7078, "tcp"), port("blockmanager", 7079, "tcp"), port("web-ui", 4040, "http"), port("spark-connect-server", 15002, "grpc")}
	selector := map[string]string{v1beta2.LabelLaunchedBy: "true", v1alpha1.LabelConnectName: "lab", "spark-role": "connect-server", "spark-version": "4.1.4"}
	cases := map[string]struct {
		spec   func(*v1alpha1.SparkConnectSpec)
		field  func(*corev1.Service) any
		theirs any
		// ours differs on purpose, and why.
		ours any
		why  string
	}{
		"apiVersion and kind":        {spec: plain, field: func(s *corev1.Service) any { return s.APIVersion + " " + s.Kind }, theirs: "v1 Service"},
		"name":                       {spec: plain, field: func(s *corev1.Service) any { return s.Name }, theirs: "lab-server"},
		"name, the user's":           {spec: custom, field: func(s *corev1.Service) any { return s.Name }, theirs: "own"},
		"name, empty":                {spec: unnamed, field: func(s *corev1.Service) any { return s.Name }, theirs: "", ours: "lab-server", why: "theirs tries to create it for ever (C14)"},
		"namespace":                  {spec: plain, field: func(s *corev1.Service) any { return s.Namespace }, theirs: "jobs"},
		"namespace, the user's":      {spec: custom, field: func(s *corev1.Service) any { return s.Namespace }, theirs: "jobs"},
		"labels":                     {spec: plain, field: func(s *corev1.Service) any { return s.Labels }, theirs: labelsOf(), ours: labelsOf(v1beta2.LabelExposes, "connect"), why: "the mark by which all auxiliary objects are watched"},
		"labels, the user's":         {spec: custom, field: func(s *corev1.Service) any { return s.Labels }, theirs: labelsOf("team", "a"), ours: labelsOf("team", "a", v1beta2.LabelExposes, "connect"), why: "as above"},
		"annotations":                {spec: plain, field: func(s *corev1.Service) any { return len(s.Annotations) }, theirs: 0, ours: 1, why: "a hash of what was applied: later edits are applied in place, theirs are not"},
		"annotations, the user's":    {spec: custom, field: func(s *corev1.Service) any { return s.Annotations["note"] }, theirs: "x"},
		"finalizers, the user's":     {spec: custom, field: func(s *corev1.Service) any { return len(s.Finalizers) }, theirs: 1, ours: 0, why: "a Service that cannot go would keep its server's name"},
		"selector":                   {spec: plain, field: func(s *corev1.Service) any { return s.Spec.Selector }, theirs: selector},
		"selector, the user's":       {spec: custom, field: func(s *corev1.Service) any { return s.Spec.Selector }, theirs: with(selector, "tier", "web"), ours: selector, why: "a selector that the pod does not match leads nowhere"},
		"ports":                      {spec: plain, field: func(s *corev1.Service) any { return s.Spec.Ports }, theirs: ports},
		"ports, the user's":          {spec: custom, field: func(s *corev1.Service) any { return s.Spec.Ports }, theirs: ports},
		"ports, of the properties":   {spec: moved, field: func(s *corev1.Service) any { return s.Spec.Ports[3].Port }, theirs: int32(15002), ours: int32(25002), why: "nothing listens on 15002 then"},
		"UI's port":                  {spec: moved, field: func(s *corev1.Service) any { return s.Spec.Ports[2].Port }, theirs: int32(4040), ours: int32(14040), why: "as above"},
		"driver's port":              {spec: moved, field: func(s *corev1.Service) any { return s.Spec.Ports[0].Port }, theirs: int32(7078), ours: int32(17078), why: "theirs overrides the property; here it holds"},
		"block manager's port":       {spec: moved, field: func(s *corev1.Service) any { return s.Spec.Ports[1].Port }, theirs: int32(7079), ours: int32(17079), why: "as above"},
		"type":                       {spec: plain, field: func(s *corev1.Service) any { return s.Spec.Type }, theirs: corev1.ServiceType("")},
		"type, the user's":           {spec: custom, field: func(s *corev1.Service) any { return s.Spec.Type }, theirs: corev1.ServiceTypeLoadBalancer},
		"the rest of the spec":       {spec: custom, field: func(s *corev1.Service) any { return s.Spec.SessionAffinity }, theirs: corev1.ServiceAffinityClientIP},
		"source ranges, the user's":  {spec: custom, field: func(s *corev1.Service) any { return s.Spec.LoadBalancerSourceRanges }, theirs: []string{"192.0.2.0/24"}},
		"addresses before it exists": {spec: plain, field: func(s *corev1.Service) any { return s.Spec.ClusterIP + s.Spec.LoadBalancerIP }, theirs: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := Of(connectAttempt(t, tc.spec), Config{})
			if len(w.Objects) != 1 {
				t.Fatalf("%d objects; problems %v", len(w.Objects), w.Problems)
			}
			got, _ := serviceNamed(t, w, w.Objects[0].Name)
			want := tc.theirs
			if tc.why != "" {
				want = tc.ours
			}
			if diff := cmp.Diff(want, tc.field(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.why, diff)
			}
			if tc.why != "" && cmp.Equal(tc.theirs, tc.ours) {
				t.Error("nothing differs")
			}
		})
	}
}

// labelsOf are the labels of the Service, and more.
func labelsOf(more ...string) map[string]string {
	return with(map[string]string{v1beta2.LabelCreatedBy: "true", v1alpha1.LabelConnectName: "lab"}, more...)
}

// with is a map with more keys and values.
func with(m map[string]string, more ...string) map[string]string {
	all := map[string]string{}
	for key, value := range m {
		all[key] = value
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}
