# SPDX-License-Identifier: BSD-3-Clause
"""Run commands of documents without a GPU, without a cluster and in little time.

A command is run as it stands but for RULES, in a copy of the checkout. Folders and files that it reads, and
that no earlier command of its document made, are laid there by their names: FOLDERS and FILES.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.documents.commands import ROOT

_LIMIT_S = 500  # for a command that hangs
_NODE = "srun --overcommit"
_DEVICE = "--device sim:h100:0-1"

# Changes to a command, in this order, each with its reason.
RULES: list[tuple[str, str, str]] = [
    (r"^(?:[\d*]+ ){5}", "", "cron's columns"),
    (r"--device (?:cuda|hip)\b", "--device sim:h100", "a GPU is simulated"),
    (r"(\./gpusig (?:run|ab|preflight)\b)(?!.* --(?:device|resume|soak))", rf"\1 {_DEVICE}", "as above"),
    (r"(bin/(?:micro|gemm|overlap)/\w+)\b(?! --help|.* --device)", rf"\1 {_DEVICE}", "as above"),
    (r"(bin/collectives/device_\w+)\b(?!.* --device)", r"\1 --device sim:h100", "as above"),
    (r"(mpirun.* bin/.* --device) sim:h100", r"\1 host", "ranks run on no simulated device"),
    (r"--budget \S+", "--budget 1s", "short; a simulated case takes what it takes"),
    (r"(\./gpusig (?:run|ab)\b)(?!.* --(?:budget|soak|resume))", r"\1 --budget 1s", "as above"),
    (r"(bin/collectives/(?!device_)\w+)\b", r"\1 --budget 1s", "as above"),
    (r"--soak \w+", "--soak 10s --device host --only micro/memory", "short, on a device that computes"),
    (r"--repeats (?:N|[5-9]|\d\d+)\b", "--repeats 4", "fewer runs"),
    (
        r"(scorecard (?:A|machine).*)known:h100",
        r"\1known:sim-h100",
        "a simulated machine is compared with such",
    ),
    (r"nodes/old\* vs nodes/new\*", "nodes/node? vs nodes/node2?", "nodes that are there"),
    (r"ppr:1:node bin", "ppr:2:node bin", "one node for two"),
    (r"\bsrun (.*)-N\d+", rf"{_NODE} \1-N4", "a Slurm of four nodes on this machine"),
    (r"\bsrun -w '[^']*'", f"{_NODE} -w 'node[1-4]'", "as above"),
    (r"\bsrun -w node7", f"{_NODE} -w node1", "as above"),
    (r"\bsrun --ntasks", f"{_NODE} --ntasks", "as above"),
    (r"/var/lib/(?:prometheus/node-exporter|nights)", "var", "a folder of this test"),
    (r"/opt/gpusig", "$PWD", "a folder of this test"),
    (r"(tests/hardware/check\.sh)(?! -n|.* -d sim)", r"\1 -n", "stages, listed; hardware.bats runs them"),
    (r"--attack \d+", "--attack 0.1", "six seconds"),
    (r"(\./gpusig test)(?! --(?:program|stages|attack))", r"\1 --stages", "it would run itself"),
    (r"\bmake (peers|reproduction)\b", r"make -n \1", "minutes, of which a part is tested elsewhere"),
    (r"\bmake (VARIANT=|SAN=)", r"make PROGRAMS=micro/memory \1", "one program"),
    (r"\bmake units(?! fakes)", r"make UNITS='conformance*' units", "what the next command runs"),
    (r"\bmake units fakes", r"make UNITS='conformance_kernels gpu_compile' units fakes", "as above"),
    (r"\bNAME\b", "sim", "a device"),
    (r"\bPROGRAM\b", "micro/memory", "a program"),
    (r"\bRECORDS\b", "DIR/records.jsonl", "the records of a run"),
    (r"\bHISTORY\b", "nights", "a folder of runs"),
]

_RUN = "./gpusig run --budget 1s --device"
_FULL = "--shape 4096x11008x4096 --out"
_HEADLINE = "--only micro/launch --only gemm/efficiency --headline"
# Contents of a folder of such a name: the command that makes it, run once; it ends with the folder's name.
FOLDERS: dict[str, str] = {
    r"DIR|A|machine-a|offer-1|node-17|results|gpusig-results-\d+-\d+|run-[\d-]+|night-\d|before/run-1"
    r"|before/run-2": f"{_RUN} sim:h100:0-7 {_FULL}",
    r"MY-RUN": "mkdir $to; xz -dc reports/reference/h100/records-60s-1.jsonl.xz >$to/records.jsonl; "
    "./gpusig report $to",
    r"B|machine-b(?:/run-1)?|offer-2": f"{_RUN} sim:mi300x:0-7 {_FULL}",
    r"C|machine-c": f"{_RUN} sim:a100:0-3 {_FULL}",
    r"BEFORE|before|monday|quiet|reference|vendor": f"{_RUN} sim:h100:0-1 {_HEADLINE} --repeats 4 --out",
    r"AFTER|after|tuesday|update/node7": f"{_RUN} sim:h100:0-1 {_HEADLINE} --repeats 4 --seed 9 --out",
    r"nights(?:/node7)?": f"for n in 25 26 27; do {_RUN} sim:h100:0-1 {_HEADLINE} --seed $n "
    "--out $to/202611${n}T033000Z; done",
    r"nodes|update": "for n in 1 2 3 4 21 22 23 24; do unshare --uts --map-root-user sh -c "
    "'hostname node$0 && exec \"$@\"' $n "
    f"{_RUN} sim:h100?open_sigma=0.002,seed=$n {_HEADLINE} --seed $n --out $to/node$n; done",
    r"nccl-(?:before|after)": "mkdir $to; cp tests/reports/foreign/nccl_tests_all_reduce.txt $to/",
}
_SEVERAL = re.compile(r"nights.*|nodes|update")  # one run, as this node makes it, is no such folder yet
FILES: dict[str, str] = {
    r"mix\.txt|training\.mix": "cp docs/examples/scorecard/training.mix $to",
    r"prices\.txt": r"printf '%s 25 EUR 10kW\n' A B C >$to",
    r"otava\.yaml": "cp docs/examples/otava/otava.yaml $to",
    r"noise\.json": "./gpusig compare --aa quiet --out $to",
    r"hosts": "echo localhost slots=8 >$to",
    r"job\.sh": "printf '#!/bin/sh\\ntrue\\n' >$to",
}
_WRITES = re.compile(r"--(?:out|html|history)[ =]\S+|>\s*\S+|(?<!\S)#.*")
# In front of PATH: what would leave this machine, ask for a password, or bind memory runs the command here.
_STUBS = {
    "sudo": 'exec "$@"',
    "ssh": 'shift; exec sh -c "$*"',
    "pdsh": 'shift 2; exec sh -c "$*"',
    "numactl": 'shift 2; exec "$@"',
}
_VERDICTS = ("compare", "fleet", "preflight", "ab", "test")  # 1 and 3 are answers


def adapted(text: str) -> str:
    for pattern, with_, _ in RULES:
        text = re.sub(pattern, with_, text, flags=re.MULTILINE)
    return text


@dataclass(frozen=True)
class Ran:
    """End of a command; `code` is None if it was stopped at its limit."""

    text: str
    code: int | None
    out: str
    err: str

    @property
    def why_not(self) -> str:
        """Reason why it could not run here; empty if it could."""
        missing = re.search(r"([\w.+-]+): (?:command )?not found", self.err)
        if missing and not re.search(rf"\./{re.escape(missing[1])}", self.text):
            return f"no {missing[1]}"
        lacking = re.search(r"(No module named '\w+'|task \d+ launch failed: .*)", self.err)
        if lacking and not re.search(r"\./gpusig", self.text):
            return lacking[1]
        if self.code == 77 and not re.search(r"\./gpusig", self.text):
            return (self.err or self.out).strip().splitlines()[-1]
        return ""

    @property
    def is_good(self) -> bool:
        allowed = {0}
        command = re.search(r"\./gpusig (\w+)", self.text)
        if command and command[1] in _VERDICTS:
            allowed |= {1, 3} if self.out.strip() else set()
        if re.search("host|mpirun", self.text) or "--strict" in self.text or "--soak" in self.text:
            allowed |= {3}  # a machine with other work
        return self.code in allowed and "Traceback" not in self.err


class Shell:
    """A bash in which the commands of one fence follow each other."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder, self._log = folder, folder.parent / "log"
        self._log.mkdir(exist_ok=True)
        self._bash = subprocess.Popen(
            ["bash", "--norc"], cwd=folder, env=environment, text=True, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def run(self, text: str) -> Ran:
        command, out, err = (self._log / name for name in ("command", "out", "err"))
        command.write_text(text + "\n", encoding="utf-8")
        assert self._bash.stdin and self._bash.stdout
        self._bash.stdin.write(f". {command} >{out} 2>{err} </dev/null; echo $?\n")
        self._bash.stdin.flush()
        ready = select.select([self._bash.stdout], [], [], _LIMIT_S)[0]
        said = self._bash.stdout.readline() if ready else ""
        code = int(said) if said.strip() else None
        return Ran(text, code, *(path.read_text(errors="replace") for path in (out, err)))

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.communicate()


class Scene:
    """A copy of the checkout with its build, and the folders and files that commands read."""

    def __init__(self, folder: Path, more: dict[str, str]) -> None:
        self._pool, self.home = folder / "pool", folder / "checkout"
        stubs = folder / "stubs"
        stubs.mkdir()
        self._pool.mkdir()
        for name, body in _STUBS.items():
            (stubs / name).write_text(f"#!/bin/sh\n{body}\n")
            (stubs / name).chmod(0o755)
        path = more.get("PATH", os.environ["PATH"])
        self.environment = {
            **os.environ,
            **more,
            "PATH": f"{stubs}:{path}",
            "DESTDIR": str(folder / "installed"),
            "GPUSIG_NO_INSTALL": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1",
        }
        self._build()

    def _build(self) -> None:
        built = (ROOT / "bin").resolve().parent
        self.begin()
        shutil.copytree(built, self.home / "build" / built.name, symlinks=True)
        said = subprocess.run(
            [ROOT / "gpusig", "--version"], capture_output=True, text=True, check=True
        ).stdout
        (self._pool / "VERSION").write_text(f"{said.split()[1]}\n")  # this copy has no git
        self.begin()
        subprocess.run(["make", "-s", "all", "fakes"], cwd=self.home, check=True, stdout=subprocess.DEVNULL)
        self._link = os.readlink(self.home / "bin")

    def begin(self) -> None:
        """Make the copy as it was, for the next document."""
        self._written: dict[str, int] = {}
        self.home.mkdir(exist_ok=True)
        for path in self.home.iterdir():
            if path.name != "build":
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        listed = ["git", "ls-files", "-co", "--exclude-standard"]
        names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        packed = subprocess.run(["tar", "-cT", "-"], input=names.encode(), cwd=ROOT, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", self.home], input=packed.stdout, check=True)
        (self.home / "var").mkdir()
        if (self._pool / "VERSION").is_file():
            shutil.copy2(self._pool / "VERSION", self.home / "VERSION")
        if hasattr(self, "_link"):
            (self.home / "bin").symlink_to(self._link)
        for program in (self.home / "build").glob("*/bin/*/*"):  # without those that a document adds
            if not (self.home / program.parent.name / f"{program.name}.c").is_file():
                program.unlink()

    def lay_files_of(self, text: str) -> None:
        """Write the files that a document has in full: fences that begin with `# NAME.ENDING`, and a program
        in C whose first comment names it."""
        for match in re.finditer(r"^ *```\w*\n(# ([\w-]+\.\w+)\n.*?)^ *```$", text, re.M | re.S):
            (self.home / match[2]).write_text(match[1], encoding="utf-8")
        for match in re.finditer(r"^```c\n(.*?)^```$", text, re.M | re.S):
            program = re.search(r"^ \* +bin/([\w/]+)", match[1], re.M)
            if program:
                (self.home / f"{program[1]}.c").write_text(match[1], encoding="utf-8")

    def clear(self, text: str, block: int) -> None:
        """Remove what commands of other fences left where this one writes a run."""
        for match in re.finditer(r"gpusig run .*--(?:out|history) '?([\w/%-]+)", text):
            if self._written.get(match[1]) != block or "%h" in match[1]:  # launchers are alternatives
                for path in self.home.glob(match[1].replace("%h", "*")):
                    shutil.rmtree(path)
            self._written[match[1]] = block

    def lay(self, text: str) -> None:
        """Lay what the command reads by its known names."""
        for word in re.split(r"[\s'\"()=]+", _WRITES.sub("", text)):
            name = re.sub(r"/(?:(?:signature|records)\.jsonl?)?$", "", word.replace("night-*", "night-1"))
            name = re.sub(r"^(nodes|update)/(?!node7$).*|^(nights/node7)/.*", r"\1\2", name)
            for names, recipe in {**FOLDERS, **FILES}.items():
                is_here = (self.home / name).exists() and not _SEVERAL.fullmatch(name)
                if re.fullmatch(names, name) and not is_here:
                    self._put(name, recipe)

    def _put(self, name: str, recipe: str) -> None:
        made = self._pool / str(hash(recipe))
        if not made.exists():
            script = recipe if "$to" in recipe else f"{recipe} $to"
            self.lay(script.replace("$to", ""))
            done = subprocess.run(
                ["bash", "-c", script], cwd=self.home, env={**self.environment, "to": str(made)},
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            if not made.exists():
                raise AssertionError(f"{name} was not made: {script}\n{done.stderr}")
        (self.home / name).parent.mkdir(parents=True, exist_ok=True)
        if made.is_dir():
            shutil.copytree(made, self.home / name, dirs_exist_ok=True)
        else:
            shutil.copy2(made, self.home / name)
