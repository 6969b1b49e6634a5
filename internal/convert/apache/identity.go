// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"crypto/sha256"
	"math/big"
	"strconv"
	"time"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// The longest application id that is made of a name as it is, and what a longer one is cut to: the beginning of the name, and of a hash.
const (
	maxAppID    = 46
	keptOfName  = 9
	keptOfHash  = 36
	hashNumbers = 36 // the base that the hash is written in
)

// Identity returns the ids of an attempt, counted from 1. The application id is <name>-<n>, with n counted from 0, and the names of all objects
// begin with it. One that the user sets in spark.app.id is that of the first attempt, and begins those of the others, which would
// otherwise meet its objects.
func Identity(o *v1.SparkApplication, attempt int32, submitTime time.Time) spark.Identity {
	id := spark.NewIdentity(o.UID, attempt, submitTime)
	id.AppID = appID(o, attempt-1)
	// It marks the pods, too: there is a label for it.
	id.SubmissionID = id.AppID
	return id
}

func appID(o *v1.SparkApplication, n int32) string {
	number := strconv.FormatInt(int64(n), 10)
	if own := o.Spec.SparkConf[spark.ConfAppID]; own != "" {
		if n == 0 {
			return own
		}
		return own + "-" + number
	}
	name := o.Name + "-" + number
	if len(name) <= maxAppID {
		return name
	}
	sum := sha256.Sum256([]byte(o.Namespace + "/" + o.Name + "/" + number))
	hash := new(big.Int).SetBytes(sum[:]).Text(hashNumbers)
	return name[:keptOfName] + "-" + hash[:min(keptOfHash, len(hash))]
}
