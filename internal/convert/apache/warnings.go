// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// labelQueue is Kueue's label. Apache's operator reads it with kueue.enabled.
const labelQueue = "kueue.x-k8s.io/queue-name"

// warnings returns warnings about accepted fields that have no effect, here and in Apache's operator. app is the model built so far.
func warnings(o *v1.SparkApplication, app *spark.Application) []*spark.ConfError {
	s := &o.Spec
	all := unread(o)
	all = append(all, restartWarnings(s)...)
	initial, _ := spark.InitialExecutors(*app)
	all = append(all, thresholdWarnings(s, initial)...)
	all = append(all, graceWarnings(s, app)...)
	for i := range s.DriverServiceIngressList {
		spec := s.DriverServiceIngressList[i].IngressSpec
		if spec != nil && len(spec.Rules) == 0 && (spec.IngressClassName != nil || len(spec.TLS) > 0 || spec.DefaultBackend != nil) {
			all = append(all, &spark.ConfError{
				Field:   spark.Field("driverServiceIngressList").Index(i) + ".ingressSpec",
				Problem: "has no rules: its class, TLS and default backend are ignored; add a rule to the Service",
			})
		}
	}
	return all
}

// unread warns about fields that the operator ignores.
func unread(o *v1.SparkApplication) []*spark.ConfError {
	s := &o.Spec
	var all []*spark.ConfError
	ignored := func(at spark.Field, value, problem string) {
		if value != "" {
			all = append(all, &spark.ConfError{Field: at, Value: value, Problem: problem})
		}
	}
	ignored("files", s.Files, `is accepted and ignored; write spec.sparkConf["spark.files"]`)
	ignored("runtimeVersions.scalaVersion", s.RuntimeVersions.ScalaVersion, "is accepted and ignored: the image decides")
	ignored("runtimeVersions.jdkVersion", s.RuntimeVersions.JDKVersion, "is accepted and ignored: the image decides")
	ignored(spark.Field("metadata.labels").Key(labelQueue), o.Labels[labelQueue], "is not read by this operator: the application does not wait for Kueue")
	main := mainOf(s).field
	for _, other := range []struct {
		at    spark.Field
		value string
	}{{"pyFiles", s.PyFiles}, {"sparkRFiles", s.SparkRFiles}} {
		if other.at != main {
			ignored(other.at, other.value, "is ignored: the application runs the file in "+fields.Path(main))
		}
	}
	return all
}

// restartWarnings warns about contradictory limits of restarts, and about retention.
func restartWarnings(s *v1.SparkApplicationSpec) []*spark.ConfError {
	var all []*spark.ConfError
	warn := func(name spark.Field, value, problem string) {
		all = append(all, &spark.ConfError{Field: "applicationTolerations." + name, Value: value, Problem: problem})
	}
	t, policy := tolerations(s), restartPolicy(s)
	if policy == v1.RestartNever {
		c := ptr.Deref(t.RestartConfig, v1.RestartConfig{})
		limit := func(name spark.Field, n *int64) {
			if n != nil && *n > 0 {
				warn("restartConfig."+name, strconv.FormatInt(*n, 10),
					"has no effect with restartPolicy Never, which is the default; write OnFailure, OnInfrastructureFailure or Always")
			}
		}
		limit("maxRestartAttempts", c.MaxRestartAttempts)
		limit("maxRestartOnFailure", c.MaxRestartOnFailure)
		limit("maxRestartOnSchedulingFailure", c.MaxRestartOnSchedulingFailure)
	}
	keeps := t.ResourceRetainPolicy == v1.RetainAlways || t.ResourceRetainPolicy == v1.RetainOnFailure
	switch kept := ptr.Deref(t.ResourceRetainDurationMillis, -1); {
	case keeps && policy != v1.RestartNever:
		warn("resourceRetainPolicy", string(t.ResourceRetainPolicy),
			"has no effect with restartPolicy "+string(policy)+": an application that may run again keeps nothing")
	case !keeps && kept >= 0:
		warn("resourceRetainDurationMillis", strconv.FormatInt(kept, 10),
			"has no effect with resourceRetainPolicy Never, which is the default; write OnFailure or Always")
	}
	return all
}

// graceWarnings warns about the grace period of executors, because Spark overwrites the template's value.
func graceWarnings(s *v1.SparkApplicationSpec, app *spark.Application) []*spark.ConfError {
	profile, err := spark.ProfileFor(app.SparkVersion)
	if _, said := s.SparkConf[spark.ConfExecutorGrace]; said || err != nil || !profile.ExecutorGraceConf {
		return nil
	}
	t := ptr.Deref(s.ExecutorSpec, v1.RoleSpec{}).PodTemplateSpec
	if t == nil || t.Spec.TerminationGracePeriodSeconds == nil {
		return nil
	}
	seconds := strconv.FormatInt(*t.Spec.TerminationGracePeriodSeconds, 10)
	return []*spark.ConfError{{
		Field: "executorSpec.podTemplateSpec.spec.terminationGracePeriodSeconds", Value: seconds,
		Problem: "is overwritten by Spark when it creates the executors; write spec.sparkConf[" + strconv.Quote(spark.ConfExecutorGrace) + `]: "` + seconds + `s"`,
	}}
}

// thresholdWarnings warns about impossible or unchecked numbers of executors. instances is the initial number; 0 if unknown.
func thresholdWarnings(s *v1.SparkApplicationSpec, instances int32) []*spark.ConfError {
	c := tolerations(s).InstanceConfig
	if c == nil {
		return nil
	}
	warn := func(name spark.Field, value int32, problem string) []*spark.ConfError {
		return []*spark.ConfError{{Field: "applicationTolerations.instanceConfig." + name, Value: strconv.Itoa(int(value)), Problem: problem}}
	}
	elastic := strings.EqualFold(s.SparkConf[spark.ConfDynamicAllocation], "true")
	switch {
	case c.InitExecutors <= 0 && (c.MinExecutors > 0 || c.MaxExecutors > 0):
		return warn("initExecutors", c.InitExecutors, "minExecutors and maxExecutors have no effect without initExecutors; "+
			"write how many executors must be ready at the start")
	case instances > 0 && !elastic && c.InitExecutors > instances:
		return warn("initExecutors", c.InitExecutors,
			fmt.Sprintf("is more than the %d executors of the application (spark.executor.instances): they would never be ready", instances))
	case c.MaxExecutors > 0 && c.MinExecutors > c.MaxExecutors:
		return warn("minExecutors", c.MinExecutors, fmt.Sprintf("is more than maxExecutors %d", c.MaxExecutors))
	}
	return nil
}
