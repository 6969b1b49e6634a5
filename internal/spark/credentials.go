// SPDX-License-Identifier: Apache-2.0

package spark

import "strings"

// oauthTokenSuffix ends the keys whose values never reach the driver.
const (
	oauthTokenSuffix = "oauthToken"
	redacted         = "<present_but_redacted>"
)

// credential is one of the files or texts that the driver can authenticate to the API server with.
type credential struct {
	// conf ends the key that it is uploaded by, mounted the key that names its path in the pod.
	conf, mounted string
	// item is its key in the Secret.
	item string
	file bool
}

var driverCredentials = []credential{
	{"clientKeyFile", "clientKeyFile", "client-key", true},
	{"clientCertFile", "clientCertFile", "client-cert", true},
	{"caCertFile", "caCertFile", "ca-cert", true},
	{oauthTokenSuffix, "oauthTokenFile", "oauth-token", false},
}

// credentials gives the driver its service account, or a Secret with credentials of the user's:
// DriverKubernetesCredentialsFeatureStep.
func (b *builder) credentials() {
	data := map[string][]byte{}
	for _, c := range driverCredentials {
		key := confDriverCredentials + c.conf
		value, ok := b.conf.text(key)
		if !ok {
			continue
		}
		data[c.item] = []byte(value)
		if c.file {
			data[c.item] = b.file(key, value)
		}
		b.properties[confMountedCredentials+c.mounted] = credentialsDirInPod + "/" + c.item
	}
	b.redact()
	if len(data) > 0 {
		name := b.prefix + "-kubernetes-credentials"
		b.mount("kubernetes-credentials", credentialsDirInPod, secretSource(name))
		b.addResource(b.secret(name, data))
	} else if account, ok := b.conf.text(ConfDriverServiceAccount); ok {
		b.pod.Spec.ServiceAccountName = account
		b.pod.Spec.DeprecatedServiceAccount = account
	}
}

// redact hides tokens from the driver's configuration, and lets paths of the user's win over those of the Secret.
func (b *builder) redact() {
	for key := range b.conf.values {
		if strings.HasSuffix(key, oauthTokenSuffix) {
			b.properties[key] = redacted
		}
	}
	for _, c := range driverCredentials {
		key := confMountedCredentials + c.mounted
		if path, ok := b.conf.text(key); ok {
			b.properties[key] = path
		}
	}
}

// file returns a copy of one of the submitter's files. Spark reads such paths with or without a scheme.
func (b *builder) file(key, path string) []byte {
	content, ok := b.lookupFile(path)
	if !ok {
		b.conf.fail(key, path, "no such file on the submitting machine")
	}
	return []byte(content)
}

func (b *builder) lookupFile(path string) (string, bool) {
	if content, ok := b.app.Submitter.Files[path]; ok {
		return string(content), true
	}
	for _, prefix := range []string{"file:", "local:"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			content, ok := b.app.Submitter.Files["/"+strings.TrimLeft(rest, "/")]
			return string(content), ok
		}
	}
	return "", false
}

// baseName is the last segment of a path.
func baseName(path string) string {
	return path[strings.LastIndexByte(path, '/')+1:]
}
