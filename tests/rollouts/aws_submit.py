"""The job of examples/fleet/rollouts-aws-batch-job.json, registered and submitted by boto3; run in moto's environment.

python aws_submit.py JOB.json SIZE NAME     prints what AWS Batch then knows, as JSON
"""

import json
import sys
from pathlib import Path

ROLE = "arn:aws:iam::123456789012:role/"
TRUST = '{"Version": "2012-10-17", "Statement": []}'


def main(path: str, size: str, name: str) -> None:
    import boto3  # here alone: whoever collects tests has none

    text = Path(path).read_text().replace("ACCOUNT", "123456789012").replace("MY-REGION", "eu-west-1")
    job = json.loads(text.replace("BUCKET/PREFIX", "trials/aws"))
    boto3.client("iam").create_role(RoleName="batch", AssumeRolePolicyDocument=TRUST)
    batch = boto3.client("batch")
    batch.create_compute_environment(
        computeEnvironmentName="here", type="UNMANAGED", state="ENABLED", serviceRole=f"{ROLE}batch"
    )
    order = [{"order": 1, "computeEnvironment": "here"}]
    batch.create_job_queue(jobQueueName="proctor", state="ENABLED", priority=1, computeEnvironmentOrder=order)
    made = batch.register_job_definition(**job)
    sent = batch.submit_job(
        jobName="proctor-rollouts",
        jobQueue="proctor",
        jobDefinition="proctor-rollouts",
        arrayProperties={"size": int(size)},
        containerOverrides={"environment": [{"name": "NAME", "value": name}]},
    )
    (told,) = batch.describe_jobs(jobs=[sent["jobId"]])["jobs"]
    (kept,) = batch.describe_job_definitions(jobDefinitions=[made["jobDefinitionArn"]])["jobDefinitions"]
    document = {"status": told["status"], "array": told.get("arrayProperties"), "definition": kept}
    print(json.dumps(document, default=str))


if __name__ == "__main__":
    main(*sys.argv[1:])
