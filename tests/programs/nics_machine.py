# SPDX-License-Identifier: BSD-3-Clause
"""hwloc's XML of a machine, from lines on stdin that are indented, by blanks, below the part that holds them:

    package 0        with one NUMA node; `package 0 2` has two, with one processor each
      node 0         parts of a NUMA node of a package that has several
      host 00-0f     a host bridge and its buses
        bridge 0000:00:01.0 01-0f
          gpu 0000:01:00.0
          nic 0000:02:00.0

A host bridge that is below nothing hangs on the machine: its place is not told."""

import itertools
import sys

numbers = itertools.count(1)


def element(kind, extra, processors=None):
    sets = ""
    if processors is not None:
        mask = hex(sum(1 << p for p in processors))
        names = ("cpuset", "complete_cpuset", "nodeset", "complete_nodeset")
        sets = " ".join('%s="%s"' % (name, mask) for name in names)
    print('<object type="%s" gp_index="%d" %s %s' % (kind, next(numbers), sets, extra))


def pci(kind, address, code, extra=""):
    element(
        kind,
        'pci_busid="%s" pci_type="%s [15b3:1021] [0000:0000] 00" pci_link_speed="0" %s>'
        % (address, code, extra),
    )


def package(number, nodes, first):
    mine = list(range(first, first + nodes))
    element("Package", 'os_index="%d">' % number, mine)
    for node in mine:
        if nodes > 1:
            element("Group", 'kind="0" subkind="0">', [node])
        element("NUMANode", 'os_index="%d" local_memory="1073741824"/>' % node, [node])
        element("PU", 'os_index="%d"/>' % node, [node])
        if nodes > 1:
            yield node
            print("</object>")
    if nodes == 1:
        yield mine[0]


def write(words, depth):
    if words[0] == "host":
        element("Bridge", 'bridge_type="0-1" depth="0" bridge_pci="0000:[%s]">' % words[1])
    elif words[0] == "bridge":
        pci(
            "Bridge",
            words[1],
            "0604",
            'bridge_type="1-1" depth="%d" bridge_pci="0000:[%s]"' % (depth, words[2]),
        )
    else:
        pci("PCIDev", words[1], {"gpu": "0302", "nic": "0207"}[words[0]])


def parts(lines, at, indent):
    """Write the parts that are indented as far, and those below each; the number of the next line."""
    while at < len(lines) and len(lines[at]) - len(lines[at].lstrip()) == indent:
        write(lines[at].split(), indent // 2)
        at += 1
        if at < len(lines):
            below = len(lines[at]) - len(lines[at].lstrip())
            at = parts(lines, at, below) if below > indent else at
        print("</object>")
    return at


def main():
    lines = [line.rstrip() for line in sys.stdin if line.strip()]
    heads = [line.split() for line in lines if line.startswith("package")]
    total = sum(int(head[2]) if len(head) > 2 else 1 for head in heads)
    print('<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd">')
    print('<topology version="2.0">')
    all_of_them = hex((1 << total) - 1)
    element(
        "Machine",
        'os_index="0" allowed_cpuset="%s" allowed_nodeset="%s">' % (all_of_them, all_of_them),
        range(total),
    )
    at = first = 0
    while at < len(lines):
        words = lines[at].split()
        if words[0] != "package":
            at = parts(lines, at, 0)
            continue
        nodes = int(words[2]) if len(words) > 2 else 1
        at += 1
        for _ in package(int(words[1]), nodes, first):
            if nodes > 1:
                at += lines[at].split()[0] == "node" if at < len(lines) else 0
            if at < len(lines) and lines[at].startswith("  "):
                at = parts(lines, at, 4 if nodes > 1 else 2)
        print("</object>")
        first += nodes
    print("</object></topology>")


main()
