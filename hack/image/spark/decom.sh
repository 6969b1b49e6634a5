#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Spark runs this before an executor's pod is deleted: it asks the executor to hand its work over and gives it time.
pid=$(pgrep -o java) || exit 0
kill -PWR "$pid"
timeout 60 tail --pid="$pid" -f /dev/null
