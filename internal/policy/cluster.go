// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Roles of a cluster. Limits of drivers apply to the master, limits of executors to the workers.
const (
	masterRole = "master"
	workerRole = "worker"
)

// role returns the limits of pods of the named role.
func (l Limits) role(name string) RoleLimits {
	if name == driverRole || name == masterRole {
		return l.Driver
	}
	return l.Executor
}

// CheckCluster returns the fields with which a standalone cluster exceeds the policies' limits, by the objects that would be created. The set must contain
// the policies of the cluster's namespace.
func (s Set) CheckCluster(built spark.Standalone) []*spark.ConfError {
	if !slices.ContainsFunc(s, func(p Policy) bool { return p.Limits.any() }) {
		return nil
	}
	app := spark.Application{Namespace: built.Namespace, Conf: built.Conf, OperatorConf: built.Defaults, Fields: built.Fields, OwnLabels: built.OwnLabels}
	c := exposureChecker{checker: checker{app: app, preset: presetOf(s), said: map[string]bool{},
		read: spark.NewReader(app, spark.Submission{Properties: built.Conf})}}
	for _, r := range built.Roles {
		c.subjects = append(c.subjects, subject{kind: podKind, role: r.Name, object: r.Pod, pod: r.Pod, sizes: r.Takes()})
	}
	for _, object := range built.Others {
		c.subjects = append(c.subjects, subject{kind: kindOf(object), role: workerRole, object: object})
	}
	var claims []claimed // the claims of one pod of each role
	var services []exposure.Claim
	for _, r := range built.Roles {
		c.subjects = append(c.subjects, subject{kind: kindOf(r.Set), role: r.Name, object: r.Set, field: spark.Field(r.Name + ".setMetadata")})
		all := c.ephemeral(r.Name, r.Pod)
		for i := range r.Claims {
			all.add(&r.Claims[i])
			c.subjects = append(c.subjects, subject{kind: claimKind, role: r.Name, object: &r.Claims[i]})
		}
		claims, services = append(claims, all), append(services, serviceOfRole(r))
	}
	for i := range s {
		c.policy, c.limits = s[i].Name, s[i].Limits
		c.conf()
		c.requiredLabels()
		for _, r := range built.Roles {
			c.clusterRole(r)
		}
		c.clusterClaims(built.Roles, claims)
		for _, one := range c.subjects {
			c.checker.judge(one)
		}
		for _, claim := range services {
			c.judge(claim)
		}
	}
	return c.found
}

// serviceOfRole returns the user's request for a role's Service. It selects only pods of that role.
func serviceOfRole(r spark.StandaloneRole) exposure.Claim {
	field := spark.Field(r.Name + ".service")
	return exposure.Claim{
		Object: exposure.Ref{Kind: exposure.Service, Name: r.Service.Name}, Field: field, TypeField: "type",
		ServiceType: r.Service.Spec.Type, ExternalIPs: r.Service.Spec.ExternalIPs, IPsField: field + ".externalIPs", Own: exposure.Addresses(field, &r.Service.Spec),
		Annotations: r.Service.Annotations, AnnotationsField: "annotations", Labels: r.Service.Labels, LabelsField: "labels",
		MetaField: spark.Field(r.Name + ".serviceMetadata"),
	}
}

// clusterRole checks the limits of a role as a whole.
func (c *exposureChecker) clusterRole(r spark.StandaloneRole) {
	c.size(r.Name, c.limits.role(r.Name), r.Takes(), "", "")
	account := cmp.Or(r.Pod.Spec.ServiceAccountName, r.Pod.Spec.DeprecatedServiceAccount, "default")
	c.allow(&spark.ConfError{Field: spark.Field(r.Name + ".serviceAccount"), Value: account}, c.limits.ServiceAccounts, account, "service accounts")
	if most := c.limits.Executors; most != nil && r.Name == workerRole && r.Most > *most {
		c.refuse(&spark.ConfError{Field: spark.Field(workerRole + ".most"), Value: strconv.Itoa(int(r.Most))}, "at most %d workers at a time", *most)
	}
}

// clusterClaims sums the claims of the maximum of pods.
func (c *exposureChecker) clusterClaims(roles []spark.StandaloneRole, claims []claimed) {
	var sum claimed
	e := &spark.ConfError{}
	var parts []string
	for i, r := range roles {
		sum = sum.with(claims[i], r.Most)
		of := "its " + r.Name
		if r.Name == workerRole {
			of = fmt.Sprintf("each of %d workers", r.Most)
		}
		parts = append(parts, fmt.Sprintf("%d for %s", claims[i].number, of))
		if n := claims[i].number; n > 0 {
			e.Field, e.Value = spark.Field(r.Name+".claims"), strconv.FormatInt(n, 10)
		}
	}
	if most := c.limits.VolumeClaims; most != nil && sum.number > int64(*most) {
		e.Problem = "the PersistentVolumeClaims of a cluster are " + strings.Join(parts, " and ")
		c.refuse(e, "at most %d", *most)
		return
	}
	c.storage(e.Field, "a cluster", sum)
}

// ownImages returns the images of Spark's own containers. Separate fields name these images, and sparkImages checks them.
func (c *checker) ownImages() []string {
	if c.built.Driver == nil {
		return nil
	}
	return []string{c.read.Image(spark.ConfDriverImage), c.read.Image(spark.ConfExecutorImage)}
}
