# SPDX-License-Identifier: BSD-3-Clause
"""Advice: calls advise/advise.h by ctypes. All predictions are made there."""

from __future__ import annotations

import ctypes
import itertools
import math
import os
from pathlib import Path
from typing import Any

from reports.advice.chunks import CHUNKS, KEEP, VERDICTS
from reports.advice.lines import Machine
from reports.records.jsonl import Json

LIBRARY = "libgpusig_advise.so"
_HOME = Path(__file__).resolve().parents[2]
_CANDIDATES = 12  # of every schedule with every copy method; checked by the size of an advice
_WAYS = 4  # to send C early; checked in the same manner
_ENODATA = 61


class LibraryMissing(RuntimeError):
    """The library is not built, or cannot be loaded."""


class NoData(ValueError):
    """The signature lacks what the question needs."""


class _Question(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint32) for n in ("m", "n", "k", "devices")] + [
        ("op", ctypes.c_int),
        ("type", ctypes.c_int),
        ("copy_methods", ctypes.c_uint),
    ]


class _Shape(ctypes.Structure):
    _fields_ = [(n, ctypes.c_double) for n in ("m", "n", "k", "adds")]


class _Candidate(ctypes.Structure):
    _fields_ = [
        ("schedule", ctypes.c_int),
        ("copy_method", ctypes.c_int),
        *((name, ctypes.c_double) for name in ("seconds", "gemm_s", "comm_s", "gemm_cil", "copy_cil")),
        ("gemms", ctypes.c_uint32),
        ("copies", ctypes.c_uint32),
        ("error", ctypes.c_double),
        ("extrapolated", ctypes.c_bool),
        ("tie", ctypes.c_bool),
    ]


class _Early(ctypes.Structure):
    _fields_ = [
        ("points", ctypes.c_uint),
        ("extrapolated", ctypes.c_bool),
        ("copy_method", ctypes.c_int),
        *((n, ctypes.c_double) for n in ("send_over_gemm", "min_x", "max_x", "gain", "error", "seconds")),
        ("pays", ctypes.c_int),
    ]


class _Advice(ctypes.Structure):
    _fields_ = [
        ("candidate", _Candidate * _CANDIDATES),
        ("candidates", ctypes.c_uint),
        *((name, ctypes.c_double) for name in ("error", "expected_error", "gemm_s", "comm_s")),
        ("link", ctypes.c_int),
        ("shared_bytes", ctypes.c_int64),
        ("priority", ctypes.c_int),
        ("allreduce", ctypes.c_char * 24),
        ("allreduce_s", ctypes.c_double),
        ("allreduce_bytes", ctypes.c_double),
        ("extrapolated", ctypes.c_bool),
        ("needs", ctypes.c_uint),
        ("decided", ctypes.c_bool),
        ("send_over_gemm", ctypes.c_double),
        ("early", _Early * _WAYS),
        ("best_way", ctypes.c_int),
        ("way_gain", ctypes.c_double),
        ("way_error", ctypes.c_double),
        ("way_pays", ctypes.c_int),
        ("why", ctypes.c_char * 384),
    ]


class _CopyChunk(ctypes.Structure):
    _fields_ = [
        ("verdict", ctypes.c_int),
        ("whole_wait_s", ctypes.c_double),
        ("idle_wait_s", ctypes.c_double),
        ("chunk_byte", ctypes.c_uint64),
        ("yield", ctypes.c_int),
        ("wait_s", ctypes.c_double),
        ("rate_kept", ctypes.c_double),
        ("smallest", ctypes.c_bool),
        ("larger", ctypes.c_bool),
    ]


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _decided(pays: int) -> bool | None:
    """None where it is within the error."""
    return {1: True, -1: False}.get(pays)


def library_path() -> Path:
    return Path(os.environ.get("GPUSIG_BIN") or _HOME / "bin") / LIBRARY


class Adviser:
    """The library with the curves of one machine. Raises LibraryMissing; ValueError for a malformed line."""

    def __init__(self, machine: Machine, path: Path | None = None) -> None:
        path = path or library_path()
        try:
            self._lib = ctypes.CDLL(str(path))
        except OSError as why:
            raise LibraryMissing("cannot load %s: %s" % (path.name, why)) from None
        self._lib.err_text.restype = ctypes.c_char_p
        self._lib.advise_gemm_error.restype = ctypes.c_double
        for name in ("machine", "question", "advice", "copy_chunk"):
            getattr(self._lib, "advise_%s_bytes" % name).restype = ctypes.c_size_t
        ours = {"question": _Question, "advice": _Advice, "copy_chunk": _CopyChunk}
        sizes = {name: getattr(self._lib, "advise_%s_bytes" % name)() for name in ours}
        if sizes != {name: ctypes.sizeof(own) for name, own in ours.items()}:
            raise LibraryMissing("%s has another version" % path.name)
        self.ops, self.types, self.schedules, self.copy_methods, self.links, self.ways, self.inputs = (
            self._names("advise_" + what)
            for what in ("ops", "types", "schedules", "copy_methods", "links", "ways", "inputs")
        )
        self.directions, self.yields = self._names("advise_directions"), self._names("advise_yields")
        self._machine = ctypes.create_string_buffer(self._lib.advise_machine_bytes())
        for line in machine.lines:
            if self._lib.advise_parse_line(self._machine, line.encode("utf-8", "replace")):
                raise ValueError("%s: %s" % (line[:80], self._text()))
        self._lib.advise_prepare(self._machine)

    def _names(self, array: str) -> list[str]:
        """Up to the NULL past the last."""
        first = ctypes.c_char_p.in_dll(self._lib, array)
        names = ctypes.cast(ctypes.pointer(first), ctypes.POINTER(ctypes.c_char_p))
        return [name.decode() for name in itertools.takewhile(bool, (names[i] for i in itertools.count()))]

    def _text(self) -> str:
        return self._lib.err_text().decode("utf-8", "replace")

    def ask(
        self, m: int, n: int, k: int, devices: int, op: str, kind: str, copy_method: str | None = None
    ) -> Json:
        """Advice for one copy method, or for all. ValueError for a question that has no answer, NoData where
        the machine lacks the measurements."""
        self._check(op, self.ops, "operation")
        self._check(kind, self.types, "type")
        for name, side in (("m", m), ("n", n), ("k", k), ("devices", devices)):
            if not 0 < side < 1 << 32:
                raise ValueError("--%s %d is not from 1 to 2^32 - 1" % (name, side))
        methods = 0 if copy_method is None else 1 << self.copy_methods.index(copy_method)
        question = _Question(m, n, k, devices, self.ops.index(op), self.types.index(kind), methods)
        advice = _Advice()
        self._call(self._lib.advise, ctypes.byref(question), ctypes.byref(advice))
        return self._json(advice)

    def _check(self, word: str, words: list[str], what: str) -> None:
        if word not in words:
            raise ValueError("unknown %s '%s'; choices: %s" % (what, word, " ".join(words)))

    def _call(self, function: Any, *arguments: Any) -> None:
        status = function(self._machine, *arguments)
        if status:
            raise (NoData if status == -_ENODATA else ValueError)(self._text())

    def gemm(self, m: int, n: int, k: int, kind: str) -> tuple[float, bool]:
        """Seconds of one GEMM that overwrites C, and whether its shape is outside those measured; raises as
        ask()."""
        self._check(kind, self.types, "type")
        seconds, extrapolated = ctypes.c_double(), ctypes.c_bool()
        shape, outputs = _Shape(m, n, k, 0.0), (ctypes.byref(seconds), ctypes.byref(extrapolated))
        self._call(self._lib.advise_gemm_seconds, self.types.index(kind), shape, *outputs)
        return seconds.value, extrapolated.value

    def copy_chunk(self, direction: str, keep: float = KEEP) -> Json:
        """Advice on chunks, as reports/advice/chunks.py gives it; raises as ask()."""
        self._check(direction, self.directions, "direction")
        found = _CopyChunk()
        number = self.directions.index(direction)
        self._call(self._lib.advise_copy_chunk, number, ctypes.c_double(keep), ctypes.byref(found))
        names = ("whole_wait_s", "idle_wait_s", "chunk_byte", "wait_s", "rate_kept", "smallest", "larger")
        verdict = VERDICTS[found.verdict]
        advice = {name: getattr(found, name) for name in names[: None if verdict == CHUNKS else 2]}
        advice.update(verdict=verdict)
        return dict(advice, **{"yield": self.yields[getattr(found, "yield")]}) if found.chunk_byte else advice

    def gemm_error(self, kind: str) -> float:
        """Half of the measured GEMMs of a known type are predicted from the others to that."""
        return self._lib.advise_gemm_error(self._machine, self.types.index(kind))

    def _json(self, advice: _Advice) -> Json:
        candidates: list[dict[str, Any]] = [
            {
                "schedule": self.schedules[c.schedule],
                "copy_method": self.copy_methods[c.copy_method],
                "predicted_s": c.seconds,
                **{name: getattr(c, name) for name, _ in _Candidate._fields_[3:]},  # behind the seconds
            }
            for c in advice.candidate[: advice.candidates]
        ]
        allreduce = None
        if advice.allreduce:
            allreduce = {"algorithm": advice.allreduce.decode(), "predicted_s": advice.allreduce_s}
        return {
            "candidates": candidates,
            "pick": {key: candidates[0][key] for key in ("schedule", "copy_method", "predicted_s")},
            "error": advice.error,
            "expected_error": advice.expected_error,
            "gemm_s": advice.gemm_s,
            "comm_s": advice.comm_s,
            "link": self.links[advice.link],
            "shared_bytes": advice.shared_bytes if advice.shared_bytes >= 0 else None,
            "priority": {1: "high", 0: "normal"}.get(advice.priority),
            "allreduce": allreduce,
            "message_bytes": advice.allreduce_bytes,
            "extrapolated": advice.extrapolated,
            "needs": [name for bit, name in enumerate(self.inputs) if advice.needs >> bit & 1],
            "decided": advice.decided,
            "why": advice.why.decode(),
            "early": None if math.isnan(advice.send_over_gemm) else self._early_json(advice),
        }

    def _early_json(self, advice: _Advice) -> Json:
        ways = []
        for name, early in zip(self.ways, advice.early):
            some = early.points > 0
            ways.append(
                {
                    "way": name,
                    "points": early.points,
                    "extrapolated": early.extrapolated,
                    "copy_method": self.copy_methods[early.copy_method] if some else None,
                    "send_over_gemm": early.send_over_gemm if some else None,
                    "measured": [early.min_x, early.max_x] if some else None,
                    "gain": _finite(early.gain),
                    "error": _finite(early.error),
                    "predicted_s": _finite(early.seconds),
                    "pays": None if math.isnan(early.gain) else _decided(early.pays),
                }
            )
        best = self.ways[advice.best_way] if advice.best_way >= 0 else None
        return {
            "send_over_gemm": advice.send_over_gemm,
            "ways": ways,
            "best": best,
            "over_pick": _finite(advice.way_gain),
            "over_pick_error": _finite(advice.way_error),
            "beats_pick": _decided(advice.way_pays) if best else None,
        }
