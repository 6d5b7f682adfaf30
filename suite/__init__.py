# SPDX-License-Identifier: BSD-3-Clause
"""The driver behind ./gpusig: chooses a device, divides the time, starts the programs, keeps their records.

It needs the standard library alone. It never measures: it sleeps while a program does.
"""
