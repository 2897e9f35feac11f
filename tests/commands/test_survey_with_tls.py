"""docs/survey.md and its Compose file: options that Dask has, and the commands, followed with TLS on this machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

import click
import pytest
import yaml

from tests.commands.test_survey import RULES, btf
from tests.harness.command import ROOT, run

DOCUMENT = (ROOT / "docs" / "survey.md").read_text()
COMPOSE = yaml.safe_load((ROOT / "docs" / "distributed" / "compose.yaml").read_text())
BLOCKS = {language: re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT, re.M | re.S) for language in ("sh", "yaml")}
COMMANDS = [
    *re.findall(r"^dask .*$", DOCUMENT, re.M),
    *(" ".join(service["command"]) for service in COMPOSE["services"].values()),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_dask_has_the_options(command):
    _, name, *words = command.split()
    tool: click.Command = import_module(f"distributed.cli.dask_{name}").main
    tool.make_parser(click.Context(tool)).parse_args(list(words))


def test_the_compose_file_opens_nothing_to_others():
    services = COMPOSE["services"]
    assert all(port.startswith("127.0.0.1:") for service in services.values() for port in service.get("ports", ()))
    assert "tls" in services["scheduler"]["command"]
    assert services["worker"]["deploy"]["replicas"] == 2
    for service in services.values():
        assert {key for key in service["environment"] if "TLS" in key} == {
            f"DASK_DISTRIBUTED__COMM__TLS__{name}"
            for name in ("CA_FILE", "SCHEDULER__CERT", "SCHEDULER__KEY", "WORKER__CERT", "WORKER__KEY")
        }


def start(stack: ExitStack, command: str, folder: Path, environment: dict[str, str]) -> None:
    process = subprocess.Popen([sys.executable, "-m", "dask", *command.split()[1:]], cwd=folder, env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    stack.callback(process.wait)
    stack.callback(process.terminate)


@pytest.fixture
def cluster(tmp_path):
    """The address of a scheduler with a worker, made by the commands of the document, and the environment of clients."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    certificates = next(block for block in BLOCKS["sh"] if "openssl" in block)
    subprocess.run(["sh", "-ec", certificates], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "dask").mkdir()
    (tmp_path / "dask" / "tls.yaml").write_text(BLOCKS["yaml"][0].replace("/shared/", f"{tmp_path}/"))
    environment = {"DASK_CONFIG": str(tmp_path / "dask"), "PYTHONPATH": str(ROOT)}
    scheduler, worker = (re.search(rf"^dask {name} .*$", DOCUMENT, re.M)[0] for name in ("scheduler", "worker"))
    file = tmp_path / "scheduler.json"
    here = f"--host 127.0.0.1 --scheduler-file {file}"
    with ExitStack() as stack:
        scheduler = scheduler.replace("--port 8786", f"--port 0 {here}").replace(":8787", ":0")
        start(stack, scheduler, tmp_path, os.environ | environment)
        deadline = time.monotonic() + 60
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        worker = worker.replace("tls://build.example.org:8786", address).replace("--nworkers -1", "--nworkers 1")
        start(stack, f"{worker} --host 127.0.0.1 --no-dashboard", tmp_path, os.environ | environment)
        yield address, environment


@pytest.mark.exhaustive
def test_the_commands_with_tls(cluster, tmp_path):
    """Without certificates, a client is not let in, and gets no rows."""
    address, environment = cluster
    (tmp_path / "rules.toml").write_text(RULES)
    for name, gap in {"near": 8, "far": 64}.items():
        (tmp_path / name).write_bytes(btf(gap))
    words = ("survey", "near", "far", "--rules", "rules.toml", "--scheduler", address, "--format", "json")
    done = run(*words, "--store", "store", cwd=tmp_path, **environment)
    assert address.startswith("tls://127.0.0.1:")
    assert (done.returncode, json.loads(done.stdout)["outcomes"]["complete"]) == (1, 2), done.stderr
    done = run(*words, "--store", "other", cwd=tmp_path, DASK_CONFIG=str(tmp_path / "none"))
    assert done.returncode == 3
    assert "no certificates" in " ".join(done.stderr.split())
