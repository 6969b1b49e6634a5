// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"
)

// identityNamespace separates our name-based UUIDs from everyone else's.
var identityNamespace = uuid.NewSHA1(uuid.NameSpaceDNS, []byte("spark.firesteel.dev"))

// NewIdentity derives the ids of one attempt from the application's UID and the attempt's number, so that whoever
// repeats a submission, also after a crash, arrives at the same names. submitTime is not part of the ids.
func NewIdentity(uid types.UID, attempt int32, submitTime time.Time) Identity {
	seed := string(uid) + "/" + strconv.FormatInt(int64(attempt), 10)
	return Identity{
		AppID:        "spark-" + hexID(seed, "app", 32),
		SubmissionID: uuid.NewSHA1(identityNamespace, []byte(seed+"/submission")).String(),
		NameID:       hexID(seed, "name", 16),
		ConfigMapID:  hexID(seed, "config-map", 16),
		ServiceID:    hexID(seed, "service", 16),
		LocalDirID:   uuid.NewSHA1(identityNamespace, []byte(seed+"/local-dir")).String(),
		SubmitTime:   submitTime,
	}
}

// hexID returns digits hexadecimal digits (at most 64) for one purpose.
func hexID(seed, purpose string, digits int) string {
	sum := sha256.Sum256([]byte(seed + "/" + purpose))
	return hex.EncodeToString(sum[:])[:digits]
}
