#!/bin/bash
# One run asked by the tasks of an AWS Batch array, each its part, in a PROCTOR_HOME of its own on a shared EFS volume.
# ACCOUNT, REGION and fs-ID in aws-batch-job.json are yours to fill in; so is the queue's name.
#
# When the array has ended, where the volume is mounted:  PROCTOR_HOME=/parts/merged proctor merge /parts/[0-9]*
set -euo pipefail
cd "$(dirname "$0")"

shards="${1:-8}"
aws batch register-job-definition --cli-input-json file://aws-batch-job.json
aws batch submit-job --job-name proctor --job-definition proctor --job-queue "${QUEUE:-proctor}" \
    --array-properties "size=$shards"
