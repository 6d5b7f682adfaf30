/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Changes of a test to the boards: FAKE_BOARD="pcie_width=8,1.nvlink_3=0". A setting is of all
 * boards, or of the one whose index stands before it; of several the last one counts.
 */
#ifndef FAKES_BOARD_H
#define FAKES_BOARD_H

#include <stdint.h>

/* The setting of a board, or `fallback`. `key` is a format for one number, or has none. */
uint64_t fake_board(unsigned board, uint64_t fallback, const char *key, ...)
	__attribute__((format(printf, 3, 4)));

/* The number of a board's PCI bus: its index after that of the first one, pci_bus, which is 1. */
unsigned fake_pci_bus(unsigned board);

#endif
