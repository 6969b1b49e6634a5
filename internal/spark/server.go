// SPDX-License-Identifier: Apache-2.0

package spark

// Server makes an application a Spark Connect server: its driver takes clients.
type Server struct {
	// TemplateMap names the ConfigMap with the template that the executors are made from.
	TemplateMap string
	// TokenSecret names the Secret with the token that clients present, in its key "token"; "" if all are let in.
	TokenSecret string
}

// TokenKey is the key of Server.TokenSecret that holds the token.
const TokenKey = "token"

// RoleServer is the role of a pod in which a Spark Connect server runs, where others have RoleDriver.
const RoleServer = "connect-server"

// RunsDriver reports whether labels are those of a pod in which a driver runs.
func RunsDriver(labels map[string]string) bool {
	role := labels[LabelRole]
	return role == RoleDriver || role == RoleServer
}
