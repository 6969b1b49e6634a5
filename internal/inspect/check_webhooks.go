// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/kinds"
)

// checkWebhooks finds the Services that webhooks for this program's kinds call, and their endpoints. They may be leftovers of another operator.
func (c *Cluster) checkWebhooks(ctx context.Context) (found explain.CheckedWebhooks) {
	var mutating admissionregistrationv1.MutatingWebhookConfigurationList
	var validating admissionregistrationv1.ValidatingWebhookConfigurationList
	for _, list := range []client.ObjectList{&mutating, &validating} {
		if err := c.List(ctx, list, client.Limit(chunk)); err != nil {
			found.Unread = unread(err)
			return found
		}
	}
	add := func(
		configuration string, asked admissionregistrationv1.WebhookClientConfig, rules []admissionregistrationv1.RuleWithOperations,
		policy *admissionregistrationv1.FailurePolicyType,
	) {
		if asked.Service == nil || !slices.ContainsFunc(rules, isOwn) {
			return
		}
		service := asked.Service.Namespace + "/" + asked.Service.Name
		at := slices.IndexFunc(found.All, func(w explain.CheckedWebhook) bool { return w.Service == service })
		if at < 0 {
			at = len(found.All)
			w := explain.CheckedWebhook{Service: service}
			w.Ready, w.Unread = c.hasEndpoints(ctx, asked.Service.Namespace, asked.Service.Name)
			found.All = append(found.All, w)
		}
		w := &found.All[at]
		w.Refuses = w.Refuses || ptr.Deref(policy, admissionregistrationv1.Fail) == admissionregistrationv1.Fail
		if !slices.Contains(w.Configurations, configuration) {
			w.Configurations = append(w.Configurations, configuration)
		}
	}
	for _, configuration := range mutating.Items {
		for _, w := range configuration.Webhooks {
			add(configuration.Name, w.ClientConfig, w.Rules, w.FailurePolicy)
		}
	}
	for _, configuration := range validating.Items {
		for _, w := range configuration.Webhooks {
			add(configuration.Name, w.ClientConfig, w.Rules, w.FailurePolicy)
		}
	}
	return found
}

// isOwn reports whether a rule applies to an API group of this program's kinds.
func isOwn(r admissionregistrationv1.RuleWithOperations) bool {
	return slices.ContainsFunc(kinds.All(), func(k *kinds.Row) bool { return slices.Contains(r.APIGroups, k.Group) })
}

// hasEndpoints reports whether a service has a ready endpoint.
func (c *Cluster) hasEndpoints(ctx context.Context, namespace, name string) (ready bool, why string) {
	var list discoveryv1.EndpointSliceList
	of := client.MatchingLabels{discoveryv1.LabelServiceName: name}
	if err := c.List(ctx, &list, client.InNamespace(namespace), of, client.Limit(chunk)); err != nil {
		return false, unread(err)
	}
	for _, s := range list.Items {
		if slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return ptr.Deref(e.Conditions.Ready, true) }) {
			return true, ""
		}
	}
	return false, ""
}
