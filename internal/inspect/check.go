// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/definitions"
	"github.com/firesteel-dev/firesteel/internal/explain"
)

// Check reads the state of an installation as seen from the namespace. plugin is the version of this program. Unreadable objects cause an error only if all
// objects are unreadable.
func (c *Cluster) Check(ctx context.Context, operators Installation, plugin string) (explain.CheckReport, error) {
	in := explain.Checked{Namespace: c.Namespace, Plugin: plugin}
	if _, _, err := operators.Operator(); err != nil { // if the user names a file, it must exist
		return explain.CheckReport{}, err
	}
	if err := c.checkNamespace(ctx, &in); err != nil {
		return explain.CheckReport{}, err
	}
	operator, err := c.checkOperator(ctx, operators, &in)
	if operators.File != "" {
		operator.config, err = config.Load(operators.File)
	}
	configured := err == nil
	if err != nil {
		in.Unconfigured = ForPeople(err).Error()
	}
	in.Definitions = c.checkDefinitions(ctx, operator.config)
	if configured {
		c.checkScope(ctx, operator.config, &in)
		c.checkConfiguration(operators.Plugins, operator.config, &in)
	}
	in.Rights = c.checkRights(ctx, operator.config)
	in.Accounts = c.checkAccounts(ctx, operator)
	in.Webhooks = c.checkWebhooks(ctx)
	var quotas corev1.ResourceQuotaList
	in.Quotas.Unread = unread(c.List(ctx, &quotas, client.InNamespace(c.Namespace), client.Limit(chunk)))
	in.Quotas.All = quotas.Items
	return explain.Check(in), nil
}

// unread explains a failed read; "" for no error.
func unread(err error) string {
	if err == nil {
		return ""
	}
	return ForPeople(err).Error()
}

// checkNamespace reads the namespace. Only here does a connection error end the command.
func (c *Cluster) checkNamespace(ctx context.Context, in *explain.Checked) error {
	err := c.Get(ctx, client.ObjectKey{Name: c.Namespace}, &corev1.Namespace{})
	switch {
	case apierrors.IsNotFound(err):
		in.Scope.Absent = true
	case err != nil && !apierrors.IsForbidden(err):
		return err
	}
	return nil
}

// checkOperator finds the operator. The error explains why the operator's configuration is unknown.
func (c *Cluster) checkOperator(ctx context.Context, operators Installation, in *explain.Checked) (installed, error) {
	all, err := operators.operators(ctx, c)
	switch {
	case apierrors.IsNotFound(err) && operators.Deployment != "":
		in.Operator.Missing, in.Operator.Named = "there is no Deployment "+operators.Deployment, true
		return installed{}, err
	case errors.Is(err, errNoOperator):
		in.Operator.Missing = unread(err)
		return installed{}, err
	case err != nil:
		in.Operator.Unread = unread(err)
		return installed{}, err
	}
	one, err := operators.choose(ctx, c, all)
	if len(all) > 1 {
		working, _ := c.workingIn(ctx, all)
		for _, w := range working {
			in.Operator.Working = append(in.Operator.Working, w.String())
		}
		if len(working) > 1 {
			one, err = working[0], nil
		}
	}
	if err != nil {
		in.Operator.Unread = unread(err)
		return installed{}, err
	}
	in.Operator.Namespace, in.Operator.Name, in.Operator.Version = one.Namespace, one.Name, versionOf(&one.Deployment)
	in.Operator.Ready, in.Operator.Wanted = one.Status.ReadyReplicas, ptr.Deref(one.Spec.Replicas, 1)
	return one, one.problem
}

// operatorContainer is the name of the operator's container in the chart and in the kustomize tree.
const operatorContainer = "spark-operator-controller"

// versionOf returns the tag of the operator's image, or else the version in the chart's label.
func versionOf(d *appsv1.Deployment) string {
	for _, container := range d.Spec.Template.Spec.Containers {
		if container.Name != operatorContainer {
			continue
		}
		image, _, _ := strings.Cut(container.Image, "@")
		if _, tag, tagged := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":"); tagged {
			return tag
		}
	}
	return d.Labels["app.kubernetes.io/version"]
}

// checkDefinitions reads the kinds of this program and their schemas. It reads each group version once. Every user may read schemas.
func (c *Cluster) checkDefinitions(ctx context.Context, o config.OperatorConfiguration) []explain.CheckedDefinition {
	read := map[schema.GroupVersion]schemas{}
	var all []explain.CheckedDefinition
	for _, k := range Types() {
		d := explain.CheckedDefinition{Kind: k.Kind, Version: k.GroupVersion().String(), Optional: k.Optional, On: o.Apache.Enabled}
		_, err := c.RESTMapper().RESTMapping(k.GroupKind(), k.Version)
		if d.Installed = !isMissingKind(err); d.Installed {
			if _, has := read[k.GroupVersion()]; !has {
				read[k.GroupVersion()] = c.schemas(ctx, k.GroupVersion())
			}
			d.Lacks, d.Unread = read[k.GroupVersion()].compare(k)
		}
		all = append(all, d)
	}
	return all
}

// checkRights asks the API server whether the user may create objects of the installed kinds.
func (c *Cluster) checkRights(ctx context.Context, o config.OperatorConfiguration) explain.CheckedRights {
	var rights explain.CheckedRights
	for _, k := range Types() {
		if _, err := c.RESTMapper().RESTMapping(k.GroupKind(), k.Version); isMissingKind(err) || k.Optional && !o.Apache.Enabled {
			continue
		}
		resource := schema.GroupResource{Group: k.Group, Resource: k.Plural}
		may, err := c.MayCreate(ctx, c.Namespace, resource)
		switch {
		case err != nil:
			return explain.CheckedRights{Unread: unread(err)}
		case may:
			rights.May = append(rights.May, resource.String())
		default:
			rights.MayNot = append(rights.MayNot, resource.String())
		}
	}
	return rights
}

// schemas are the schemas of one group version.
type schemas struct {
	kinds map[schema.GroupVersionKind]definitions.Schema
	err   error
}

func (c *Cluster) schemas(ctx context.Context, version schema.GroupVersion) (s schemas) {
	text, err := c.Schema(ctx, version)
	switch {
	case apierrors.IsNotFound(err): // no schema is published
		return schemas{}
	case err != nil:
		return schemas{err: err}
	}
	s.kinds, s.err = definitions.Decode(text)
	return s
}

// compare returns the fields that the served definition of a kind lacks. why explains why they are unknown.
func (s schemas) compare(k Type) (lacks, why string) {
	served, known := s.kinds[k.GroupVersionKind]
	switch {
	case s.err != nil:
		return "", unread(s.err)
	case !known:
		return "", "the API server publishes no schema for it yet"
	}
	return definitions.Some(k.Lacking(served)), ""
}

// checkScope sets the namespaces that the operator works in.
func (c *Cluster) checkScope(ctx context.Context, o config.OperatorConfiguration, in *explain.Checked) {
	in.Scope.Namespaces, in.Scope.Selector = o.Namespaces, o.NamespaceSelector
	works, err := c.isIn(ctx, o)
	in.Scope.Works, in.Scope.Unread = works, unread(err)
}

// checkConfiguration reads schedulers and policies from the operator's configuration.
func (c *Cluster) checkConfiguration(plugins Plugins, o config.OperatorConfiguration, in *explain.Checked) {
	operator, err := plugins.operatorOf(o)
	if err != nil {
		in.Unconfigured = err.Error()
		return
	}
	for _, p := range operator.Policies.For(c.Namespace) {
		in.Policies = append(in.Policies, p.Name)
	}
	for _, name := range operator.Registry.Names() {
		p, _ := operator.Registry.Plugin(name)
		s := explain.CheckedScheduler{Name: name, Default: name == o.BatchScheduler.Default}
		if answer, missing := (apis{c.RESTMapper()}).Unavailable(p.Describe()); missing {
			s.Problem = answer.Message
		}
		in.Schedulers = append(in.Schedulers, s)
	}
}

// mostAccounts bounds the number of service accounts that are checked.
const mostAccounts = 10

// checkAccounts checks the policy's service account for drivers. Without one, it checks the accounts of the namespace, the chart's accounts first.
func (c *Cluster) checkAccounts(ctx context.Context, operator installed) explain.CheckedAccounts {
	for _, p := range operator.config.Policies.For(c.Namespace) {
		if name := p.Defaults.ServiceAccount; name != "" {
			return explain.CheckedAccounts{Policy: p.Name, All: []explain.CheckedAccount{c.defaultAccount(ctx, name)}}
		}
	}
	var list corev1.ServiceAccountList
	if err := c.List(ctx, &list, client.InNamespace(c.Namespace), client.Limit(chunk)); err != nil {
		return explain.CheckedAccounts{Unread: unread(err)}
	}
	made := labels.SelectorFromSet(labels.Set{"app.kubernetes.io/name": "spark-operator", "app.kubernetes.io/component": "spark"})
	usual := strings.TrimSuffix(operator.Name, "-controller") + "-spark"
	var all []explain.CheckedAccount
	for i := range list.Items {
		a := &list.Items[i]
		meant := a.Name == usual || a.Name == "spark-operator-spark" || made.Matches(labels.Set(a.Labels))
		all = append(all, explain.CheckedAccount{Name: a.Name, Meant: meant})
	}
	slices.SortStableFunc(all, func(a, b explain.CheckedAccount) int { return rank(a) - rank(b) })
	all = all[:min(len(all), mostAccounts)]
	why := ""
	for i := range all {
		if why == "" { // a missing permission applies to all accounts
			all[i].Creates, why = c.createsPods(ctx, all[i].Name)
		}
		all[i].Unread = why
	}
	return explain.CheckedAccounts{All: all}
}

// defaultAccount reads the policy's account for drivers.
func (c *Cluster) defaultAccount(ctx context.Context, name string) explain.CheckedAccount {
	account := explain.CheckedAccount{Name: name}
	err := c.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &corev1.ServiceAccount{})
	if account.Absent = apierrors.IsNotFound(err); !account.Absent {
		account.Creates, account.Unread = c.createsPods(ctx, name)
	}
	return account
}

// rank sorts service accounts: accounts that were created for drivers come first.
func rank(a explain.CheckedAccount) int {
	if a.Meant {
		return 0
	}
	return 1
}

// createsPods checks one account.
func (c *Cluster) createsPods(ctx context.Context, account string) (creates bool, why string) {
	creates, err := c.CreatesPods(ctx, c.Namespace, account)
	return creates, unread(err)
}
