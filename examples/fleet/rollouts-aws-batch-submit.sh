#!/bin/bash
# A benchmark of tasks run by the tasks of an AWS Batch array (EC2, not Fargate: boxes need a privileged container), each its
# part of the trials on the container's own disk. Rows and trials' folders go to the bucket of PROCTOR_SHARED.
# ACCOUNT, MY-REGION and BUCKET in rollouts-aws-batch-job.json are yours to fill in; so is the queue's name.
#
#   rollouts-aws-batch-submit.sh 8 nightly-2026-11-23
#   and when the array has ended, anywhere:  PROCTOR_SHARED=s3://BUCKET/PREFIX proctor merge shared:nightly-2026-11-23
set -euo pipefail
cd "$(dirname "$0")"

shards="${1:-8}" name="${2:-nightly}"
aws batch register-job-definition --cli-input-json file://rollouts-aws-batch-job.json
aws batch submit-job --job-name proctor-rollouts --job-definition proctor-rollouts --job-queue "${QUEUE:-proctor}" \
    --array-properties "size=$shards" \
    --container-overrides "environment=[{name=NAME,value=$name}]"
