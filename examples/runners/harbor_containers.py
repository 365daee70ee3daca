"""An environment for Harbor: one container of a local daemon for each trial, without compose and without a network.

Harbor's own environment `docker` needs `docker compose`; this one needs a daemon and the docker client alone:

    PYTHONPATH=examples/runners harbor run -p TASKS -a oracle --env harbor_containers:Containers

Scoring is Harbor's: nothing of its trials or of its verifier is changed.
"""

import asyncio
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

FOLDERS = "/logs/agent /logs/verifier /logs/artifacts /tests /solution"


class Containers(BaseEnvironment):
    @staticmethod
    def type():
        return "containers"

    @property
    def capabilities(self):
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self):
        if not (self.environment_dir / "Dockerfile").is_file():
            raise FileNotFoundError(self.environment_dir / "Dockerfile")

    @property
    def container(self):
        return f"harbor-{self.session_id.lower().replace('_', '-')}"

    async def start(self, force_build):
        image = f"{self.container}-image"
        await self._docker("build", "-q", "-t", image, str(self.environment_dir), check=True)
        await self._docker(
            *("run", "-d", "--network", "none", "--name", self.container, image),
            *("sh", "-c", "while :; do sleep 3600; done"),
            check=True,
        )
        await self.exec(f"mkdir -p {FOLDERS} && chmod 777 {FOLDERS}", user="root")

    async def stop(self, delete):
        await self._docker("rm", "-f", "-v", self.container)

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None):
        user = user if user is not None else self.default_user
        merged = self._merge_env(env) or {}
        words = [part for name, value in merged.items() for part in ("-e", f"{name}={value}")]
        words += ["-w", cwd] if cwd else []
        words += ["-u", str(user)] if user is not None else []
        return await self._docker("exec", *words, self.container, "bash", "-c", command, timeout=timeout_sec)

    async def upload_file(self, source_path, target_path):
        await self._docker("cp", str(source_path), f"{self.container}:{target_path}", check=True)

    async def upload_dir(self, source_dir, target_dir):
        await self.exec(f"mkdir -p {target_dir}", user="root")
        await self._docker("cp", f"{source_dir}/.", f"{self.container}:{target_dir}", check=True)

    async def download_file(self, source_path, target_path):
        await self._docker("cp", f"{self.container}:{source_path}", str(target_path), check=True)

    async def download_dir(self, source_dir, target_dir):
        await asyncio.to_thread(Path(target_dir).mkdir, parents=True, exist_ok=True)
        await self._docker("cp", f"{self.container}:{source_dir}/.", str(target_dir), check=True)

    async def _docker(self, *words, check=False, timeout=None):
        process = await asyncio.create_subprocess_exec(
            "docker", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), timeout)
        except TimeoutError:
            process.kill()
            raise
        if check and process.returncode:
            raise RuntimeError(f"docker {words[0]}: {err.decode(errors='replace')}")
        return ExecResult(
            stdout=out.decode(errors="replace"),
            stderr=err.decode(errors="replace"),
            return_code=process.returncode,
        )
