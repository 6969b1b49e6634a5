// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/config"
)

// Installation identifies the operator in a cluster.
type Installation struct {
	Configuration
	// Deployment is the namespace/name of its Deployment; if empty, the Deployment is found by its labels.
	Deployment string
	// everywhere is set if the user asks about all namespaces.
	everywhere bool
}

// operatorLabels are the labels of the operator's Deployment in the chart and in the kustomize tree. The chart of Kubeflow's operator has the same labels.
var operatorLabels = client.MatchingLabels{"app.kubernetes.io/name": "spark-operator", "app.kubernetes.io/component": "controller"}

// usualDeployment is the operator's Deployment as installed by the documentation.
var usualDeployment = client.ObjectKey{Namespace: "spark-operator", Name: "spark-operator-controller"}

const (
	nameOne = "name the operator's Deployment with --operator NAMESPACE/NAME"
	// mostOperators bounds the number of Deployments that are read.
	mostOperators = 20
)

// installed is an operator with its configuration. problem explains why the configuration is unknown.
type installed struct {
	appsv1.Deployment
	config  config.OperatorConfiguration
	problem error
}

func (i installed) String() string { return i.Namespace + "/" + i.Name }

// errNoOperator means that no operator was found. A missing permission is another error.
var errNoOperator = errors.New("no operator is installed")

// deployments returns the Deployments that may be the operator, with as few requests as possible.
func (i Installation) deployments(ctx context.Context, c *Cluster) ([]appsv1.Deployment, error) {
	if i.Deployment != "" {
		namespace, name, ok := strings.Cut(i.Deployment, "/")
		if !ok {
			return nil, errors.New("--operator: write namespace/name")
		}
		return c.deployment(ctx, client.ObjectKey{Namespace: namespace, Name: name})
	}
	found, err := c.labeled(ctx, "")
	if len(found) > 0 || err != nil && !apierrors.IsForbidden(err) {
		return found, err
	}
	usual, missing := c.deployment(ctx, usualDeployment)
	if apierrors.IsNotFound(missing) && err != nil {
		if usual, missing = c.labeled(ctx, usualDeployment.Namespace); missing == nil && len(usual) == 0 {
			return nil, fmt.Errorf("%w, and there is no operator in namespace %s; %s", ForPeople(err), usualDeployment.Namespace, nameOne)
		}
	}
	switch {
	case apierrors.IsNotFound(missing):
		return nil, fmt.Errorf("%w: there is no Deployment with the labels %s; if yours has others, %s", errNoOperator, labels.Set(operatorLabels), nameOne)
	case apierrors.IsForbidden(missing):
		return nil, fmt.Errorf("%w; if it is installed elsewhere, %s", ForPeople(missing), nameOne)
	}
	return usual, missing
}

func (c *Cluster) deployment(ctx context.Context, key client.ObjectKey) ([]appsv1.Deployment, error) {
	var one appsv1.Deployment
	if err := c.Get(ctx, key, &one); err != nil {
		return nil, err
	}
	return []appsv1.Deployment{one}, nil
}

// labeled returns the Deployments with the operator's labels in a namespace; "" means all namespaces. It omits Deployments of other operators.
func (c *Cluster) labeled(ctx context.Context, namespace string) ([]appsv1.Deployment, error) {
	var list appsv1.DeploymentList
	if err := c.List(ctx, &list, client.InNamespace(namespace), operatorLabels, client.Limit(mostOperators)); err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(slices.Clone(list.Items), func(d appsv1.Deployment) bool { return configVolume(&d) == "" })
	if len(list.Items) > 0 && len(own) == 0 {
		other := client.ObjectKeyFromObject(&list.Items[0])
		return nil, fmt.Errorf("%w: %s is another operator: it has no volume %q of a ConfigMap; if yours has other labels, %s",
			errNoOperator, other, configMount, nameOne)
	}
	return own, nil
}

// operators returns the operators that were found, with their configurations.
func (i Installation) operators(ctx context.Context, c *Cluster) ([]installed, error) {
	found, err := i.deployments(ctx, c)
	if err != nil {
		return nil, err
	}
	var all []installed
	for _, d := range found {
		one := installed{Deployment: d}
		one.config, one.problem = i.configurationOf(ctx, c, &d)
		all = append(all, one)
	}
	return all, nil
}

// choose returns the only operator. If there are several, it returns the one that works in the namespace.
func (i Installation) choose(ctx context.Context, c *Cluster, all []installed) (installed, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	var names []string
	for _, one := range all {
		names = append(names, one.String())
	}
	several := fmt.Sprintf("there are %d operators, %s", len(all), strings.Join(names, " and "))
	if i.everywhere {
		return installed{}, fmt.Errorf("%s, which work in namespaces of their own; %s", several, nameOne)
	}
	working, unknown := c.workingIn(ctx, all)
	switch {
	case len(working) == 1:
		return working[0], nil
	case len(working) > 1:
		return installed{}, fmt.Errorf("%s, and %d of them work in namespace %s; %s", several, len(working), c.Namespace, nameOne)
	case unknown != nil:
		return installed{}, fmt.Errorf("%s, and the one for namespace %s is unknown: %w; %s", several, c.Namespace, ForPeople(unknown), nameOne)
	}
	return installed{}, fmt.Errorf("%s, and none of them works in namespace %s; %s", several, c.Namespace, nameOne)
}

// workingIn returns the operators that work in the namespace. The error names the operators whose configuration is unreadable.
func (c *Cluster) workingIn(ctx context.Context, all []installed) (working []installed, unknown error) {
	for _, one := range all {
		works, err := false, one.problem
		if err == nil {
			works, err = c.isIn(ctx, one.config)
		}
		if err != nil {
			unknown = err
		}
		if works {
			working = append(working, one)
		}
	}
	return working, unknown
}

// isIn reports whether an operator works in the namespace.
func (c *Cluster) isIn(ctx context.Context, o config.OperatorConfiguration) (bool, error) {
	selector := o.Selector()
	if slices.Contains(o.Namespaces, c.Namespace) || len(o.Namespaces) == 0 && selector == nil {
		return true, nil
	}
	if selector == nil {
		return false, nil
	}
	var namespace corev1.Namespace
	err := c.Get(ctx, client.ObjectKey{Name: c.Namespace}, &namespace)
	return err == nil && selector.Matches(labels.Set(namespace.Labels)), err
}

// configuration returns the configuration in the file, or else in the operator's ConfigMap.
func (i Installation) configuration(ctx context.Context, c *Cluster) (config.OperatorConfiguration, error) {
	if i.File != "" {
		return config.Load(i.File)
	}
	all, err := i.operators(ctx, c)
	if err != nil {
		return config.OperatorConfiguration{}, err
	}
	one, err := i.choose(ctx, c, all)
	if err != nil {
		return config.OperatorConfiguration{}, err
	}
	return one.config, one.problem
}

// configurationOf returns the configuration in the file, or else in the ConfigMap that the Deployment mounts.
func (i Installation) configurationOf(ctx context.Context, c *Cluster, d *appsv1.Deployment) (config.OperatorConfiguration, error) {
	if i.File != "" {
		return config.Load(i.File)
	}
	text, err := c.mounted(ctx, d)
	if err != nil {
		return config.OperatorConfiguration{}, err
	}
	return config.Parse([]byte(text))
}

// configMount is the volume with the operator's configuration, and configKey the name of the file in it.
const (
	configMount = "config"
	configKey   = "config.yaml"
)

// configVolume returns the name of the ConfigMap that an operator mounts; "" for none. The name may change with the content.
func configVolume(d *appsv1.Deployment) string {
	for _, volume := range d.Spec.Template.Spec.Volumes {
		if volume.Name == configMount && volume.ConfigMap != nil {
			return volume.ConfigMap.Name
		}
	}
	return ""
}

// mounted returns the configuration that a Deployment mounts.
func (c *Cluster) mounted(ctx context.Context, d *appsv1.Deployment) (string, error) {
	name := configVolume(d)
	if name == "" {
		return "", fmt.Errorf("%s/%s has no volume %q of a ConfigMap", d.Namespace, d.Name, configMount)
	}
	var stored corev1.ConfigMap
	if err := c.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: name}, &stored); err != nil {
		return "", err
	}
	text, has := stored.Data[configKey]
	if !has {
		return "", fmt.Errorf("ConfigMap %s has no %s", stored.Name, configKey)
	}
	return text, nil
}
