# SPDX-License-Identifier: BSD-3-Clause
"""JSON of the repository is compact, and the formatter changes nothing but blanks and ends of lines."""

from __future__ import annotations

import json
import unittest

import compact_json


class Compact(unittest.TestCase):
    def test_the_files_are_compact(self) -> None:
        self.assertEqual(
            compact_json.breaches(), [], "python3 tests/lint/compact_json.py --write rewrites them"
        )

    def test_content_is_kept_and_lines_are_short(self) -> None:
        words = ["word%d" % number for number in range(60)]
        for value in (
            {},
            [],
            {"a": []},
            3,
            words,
            {"x": {"y": words, "z": {"é": None, "ü": [1.5, True, {"a": "b"}]}}},
            [{"name": word, "inner": {"of": words[:9]}} for word in words[:12]],
        ):
            text = compact_json.compact(value)
            self.assertEqual(json.dumps(json.loads(text)), json.dumps(value))
            self.assertLessEqual(max(map(len, text.split("\n"))), compact_json.COLUMNS)

    def test_what_fits_is_a_line_and_words_share_lines(self) -> None:
        self.assertEqual(compact_json.compact({"a": [1, {"b": "c"}]}), '{"a": [1, {"b": "c"}]}')
        lines = compact_json.compact({"names": ["n" * 30] * 6, "inner": {"a": 1}, "more": 2}).split("\n")
        self.assertEqual([line.count("nnn" * 10) for line in lines], [0, 0, 2, 2, 2, 0, 0])
        self.assertEqual(lines[-2:], [' "inner": {"a": 1},', ' "more": 2}'])


if __name__ == "__main__":
    unittest.main()
