# SPDX-License-Identifier: BSD-3-Clause
"""Tests that sass.py and isa.py parse listings, and find loops with other instructions."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import isa
import sass

# An outer loop around one of four loads; then a remainder with one.
LISTING = """
.text.gpusig_go:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_9:
        /*0010*/                   MOV R4, R5 ;
.L_x_1:
        /*0020*/                   LDG.E.64 R2, desc[UR4][R2.64] ;
        /*0030*/                   LDG.E.64 R2, desc[UR4][R2.64] ;
        /*0040*/              @!P0 LDG.E.64 R2, desc[UR4][R2.64] ;
        /*0050*/                   LDG.E.64 R2, desc[UR4][R2.64] ;
        /*0060*/                   {address}
        /*0070*/                   IADD3 R0, P0, R0, -0x4, RZ ;
        /*0080*/               @P0 BRA `(.L_x_1) ;
        /*0090*/               @P1 BRA `(.L_x_9) ;
.L_x_2:
        /*00a0*/                   LDG.E.64 R2, desc[UR4][R2.64] ;
        /*00b0*/                   LEA R3, R2, R6, 0x3 ;
        /*00c0*/              @!P2 BRA `(.L_x_2) ;
        /*00d0*/                   BRA `(.L_x_3) ;
.L_x_3:
        /*00e0*/                   EXIT ;
.text.gpusig_other:
        /*0000*/                   EXIT ;
"""
SAID = """ptxas info    : Compiling entry function 'gpusig_go' for 'sm_90'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 41 registers, used 0 barriers
ptxas info    : Compiling entry function 'gpusig_other' for 'sm_90'
    8 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers
"""


def check(rule, address="NOP ;"):
    return sass.check_loop(rule, sass.parse(LISTING.replace("{address}", address))["go"])


class List(unittest.TestCase):
    def test_kernels_are_read_from_the_list(self):
        listed = sass.listed_kernels()
        self.assertEqual(listed[:2], ["empty", "read"])
        self.assertIn("triad_nt", listed)
        self.assertNotIn("mma_f16", listed)


class Loops(unittest.TestCase):
    def rule(self, **other):
        usual = {
            "kernel": "go",
            "work": r"LDG\.E\.64",
            "min_work": 4,
            "max_others": 3,
            "others": sass.COUNTING + "|NOP",
        }
        return sass.Loop(**{**usual, **other})

    def test_the_innermost_with_most_work_counts(self):
        kernel = sass.parse(LISTING.replace("{address}", "NOP ;"))["go"]
        self.assertEqual([len(loop) for loop in kernel.innermost_loops()], [7, 3])
        self.assertEqual(check(self.rule()), "")

    def test_another_instruction_is_found(self):
        self.assertIn("LEA R3", check(self.rule(), "LEA R3, P1, R2, R6, 0x3 ;"))

    def test_too_little_work_and_too_many_others_are_found(self):
        self.assertIn("no loop has 5", check(self.rule(min_work=5)))
        self.assertIn("3 others, more than 2", check(self.rule(max_others=2)))

    def test_a_kernel_that_is_not_there_is_found(self):
        self.assertTrue(sass.check_loop(self.rule(), None))
        self.assertIn(": no loop", sass.check_loop(self.rule(), sass.parse(LISTING)["other"]))

    def test_a_rule_is_for_architectures(self):
        self.assertEqual(
            [self.rule(since=80, before=100).applies(arch) for arch in ("sm_75", "sm_90a", "sm_100")],
            [False, True, False],
        )
        self.assertEqual(
            [self.rule(only=("sm_90a",)).applies(arch) for arch in ("sm_90", "sm_90a")], [False, True]
        )

    def test_a_constant_loaded_by_hfma2_is_a_move(self):
        self.assertEqual(check(self.rule(), "HFMA2.MMA R4, -RZ, RZ, 1.87, -2 ;"), "")
        self.assertIn("HFMA2", check(self.rule(), "HFMA2.MMA R4, R5, R6, R7 ;"))


class OfAmd(unittest.TestCase):
    LISTING = """
gpusig_go:                              ; @gpusig_go
; %bb.0:
.LBB9_2:                                ; =>This Inner Loop Header: Depth=1
	s_waitcnt vmcnt(0)
	global_load_dwordx2 v[0:1], v[0:1], off
	s_load_dwordx2 s[2:3], s[0:1], 0x0
	s_cbranch_scc1 .LBB9_2
.LBB9_3:
	s_endpgm
.Lfunc_end9:
	global_load_dwordx2 v[0:1], v[0:1], off
"""

    def test_a_scalar_load_in_the_loop_is_found(self):
        rule = sass.Loop("go", r"global_load_dwordx2", min_work=1, max_others=2, others=isa.COUNTING)
        self.assertIn("s_load_dwordx2", sass.check_loop(rule, isa.parse(self.LISTING)["go"]))
        without = "\n".join(line for line in self.LISTING.splitlines() if "s_load" not in line)
        self.assertEqual(sass.check_loop(rule, isa.parse(without)["go"]), "")


class Resources(unittest.TestCase):
    def test_registers_and_spills_are_read(self):
        self.assertEqual(sass.check_resources(SAID), ({"go": 41, "other": 255}, ["other"]))


if __name__ == "__main__":
    unittest.main()
