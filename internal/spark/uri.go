// SPDX-License-Identifier: Apache-2.0

package spark

import "strings"

// scheme returns the scheme of a URI, "" if it has none. It reports false for what java.net.URI would refuse.
func scheme(uri string) (string, bool) {
	if !legalURI(uri) {
		return "", false
	}
	name, rest, found := strings.Cut(uri, ":")
	if !found || strings.ContainsAny(name, "/?#") {
		return "", true
	}
	if rest == "" || name == "" {
		return "", false
	}
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", r)) {
			return "", false
		}
	}
	return name, true
}

// legalURI is whether all characters of a URI are allowed somewhere in one.
func legalURI(uri string) bool {
	for i := 0; i < len(uri); i++ {
		switch b := uri[i]; {
		case b <= ' ' || b == 0x7f || strings.IndexByte("\"<>\\^`{|}", b) >= 0:
			return false
		case b == '%' && (i+2 >= len(uri) || !isHex(uri[i+1]) || !isHex(uri[i+2])):
			return false
		}
	}
	return true
}

func isHex(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
}

// OnSubmitter is whether a URI names a file on the machine that submits, which Spark would upload.
func OnSubmitter(uri string) bool {
	name, ok := scheme(uri)
	return !ok || name == "" || name == "file"
}
