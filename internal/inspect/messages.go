// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// denied matches the message of the API server's authorizer.
var denied = regexp.MustCompile(`cannot (\S+) resource "(\S+)" in API group "(\S*)"(?: in the namespace "(\S+)")?`)

// ForPeople adds the cause and a correction to an error of a client library.
func ForPeople(err error) error {
	var unreachable *url.Error
	var network net.Error
	switch {
	case clientcmd.IsEmptyConfig(err):
		return fmt.Errorf("no cluster is configured: set KUBECONFIG or --kubeconfig, as for kubectl")
	case isMissingKind(err):
		return missingKind(err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the cluster does not accept your credentials: log in again (kubectl auth whoami shows who you are): %w", err)
	case apierrors.IsForbidden(err):
		return forbidden(err)
	case errors.As(err, &unreachable) && errors.As(err, &network):
		return fmt.Errorf("no cluster responds at %s; check that it runs and that the context is right (kubectl config current-context): %w",
			hostOf(unreachable.URL), unreachable.Err)
	}
	return err
}

// missingKind names the kinds that a cluster lacks. If the group could not be discovered, the error names all kinds of the group.
func missingKind(err error) error {
	none, ofKind := errors.AsType[*meta.NoKindMatchError](err)
	failed, ofGroup := errors.AsType[*apiutil.ErrResourceDiscoveryFailed](err)
	var names []string
	of := Applications
	for _, k := range Types() {
		missing := ofKind && k.GroupKind() == none.GroupKind
		if ofGroup {
			_, missing = (*failed)[k.GroupVersion()]
		}
		if missing {
			names, of = append(names, k.Kind+"s"), k
		}
	}
	if len(names) == 0 {
		names = []string{of.Kind + "s"}
	}
	hint := "install the operator or at least its definitions, see README.md, Install: kubectl apply --server-side -k config/crd"
	if of.Optional {
		hint = "these kinds are off by default, see docs/migrate-from-apache.md"
	}
	return fmt.Errorf("the cluster does not know %s (%s): %s", strings.Join(names, " and "), of.GroupVersion(), hint)
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}

// forbidden names the missing permission.
func forbidden(err error) error {
	found := denied.FindStringSubmatch(err.Error())
	if found == nil {
		return fmt.Errorf("the cluster does not allow it: %w", err)
	}
	verb, resource, group, namespace := found[1], found[2], found[3], found[4]
	if group != "" {
		resource += "." + group
	}
	where, flag := "in the whole cluster", "-A"
	if namespace != "" {
		where, flag = "in namespace "+namespace, "-n "+namespace
	}
	role := ""
	switch {
	case group == "authorization.k8s.io":
		role = ", which the cluster role admin has"
	case verb == "patch" || verb == "delete" || verb == "create":
		role = "; the cluster role edit includes it if the operator's roles for users are installed"
	}
	return fmt.Errorf("you may not %s %s %s: an administrator can grant you that permission%s (kubectl auth can-i %s %s %s)",
		verb, resource, where, role, verb, resource, flag)
}

// candidate is a name that the user may have meant.
type candidate struct {
	name     string
	distance int
}

// shownNames bounds the suggested names.
const shownNames = 3

// similar returns the names that resemble name, the nearest first.
func similar(name string, names []string) []candidate {
	const most = 2
	var all []candidate
	for _, other := range names {
		d := distance(name, other)
		if strings.Contains(other, name) || strings.Contains(name, other) {
			d = min(d, most)
		}
		if d <= most {
			all = append(all, candidate{other, d})
		}
	}
	return nearest(all)
}

func nearest(all []candidate) []candidate {
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.name, b.name))
	})
	return all[:min(shownNames, len(all))]
}

// distance is the Levenshtein distance of two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
