// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	"github.com/firesteel-dev/firesteel/internal/text"
)

// What docs/tenants.md lists beside urls is forbidden: each of these makes of an allowed URL another place.
func TestHardenedForbidsOtherPlaces(t *testing.T) {
	patterns := hardenedPolicy(t, render(t, must)).Limits.ForbiddenConf
	for _, key := range []string{
		"fs.s3a.endpoint", "fs.s3a.bucket.jars.endpoint", "fs.s3a.bucket.jars.accesspoint.arn", "fs.s3a.proxy.host", "fs.s3a.impl", "fs.AbstractFileSystem.s3a.impl", "fs.s3a.s3.client.factory.impl",
		"fs.gs.storage.root.url", "fs.gs.proxy.address", "fs.defaultFS", "fs.default.name", "fs.viewfs.mounttable.default.link./jars", "dfs.nameservices", "dfs.namenode.rpc-address.prod.a",
		"dfs.ha.namenodes.prod", "dfs.client.failover.proxy.provider.prod", "hadoop.socks.server", "hadoop.rpc.socket.factory.class.default",
	} {
		if !text.MatchesAny(patterns, "spark.hadoop."+key) {
			t.Errorf("a tenant may set %s", key)
		}
	}
	for _, key := range []string{"spark.hadoop.fs.s3a.access.key", "spark.hadoop.fs.s3a.connection.maximum", "spark.hadoop.dfs.replication", "spark.hadoop.fs.s3a.impl.disable.cache"} {
		if text.MatchesAny(patterns, key) {
			t.Errorf("a tenant may not set %s", key)
		}
	}
	if !text.MatchesAny(patterns, "spark.repl.class.uri") {
		t.Error("a tenant may name a server of classes")
	}
}
