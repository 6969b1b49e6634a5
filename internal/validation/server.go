// SPDX-License-Identifier: Apache-2.0

package validation

import "github.com/firesteel-dev/firesteel/internal/spark"

// checkServerImages refuses a server of which a role has no image. Other clients of this API rely on the refusal of the write.
func checkServerImages(app spark.Application) []*spark.ConfError {
	if app.Server == nil || app.Conf[spark.ConfImage] != "" {
		return nil
	}
	for _, r := range []struct{ key, who string }{{spark.ConfDriverImage, "the server has"}, {spark.ConfExecutorImage, "the executors have"}} {
		if app.Conf[r.key] == "" {
			return []*spark.ConfError{{Key: spark.ConfImage, Problem: r.who + " no image; write one here, or in both templates"}}
		}
	}
	return nil
}
