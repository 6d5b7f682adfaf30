/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The exact text of the files for SimGrid, and write errors.
 */
#include "lib/err.h"
#include "tests/unit/test.h"
#include "topology/torus/simgrid.h"

#include <errno.h>
#include <unistd.h>

static char folder[] = "/tmp/gpusig-simgrid-XXXXXX";

static struct network parse_network(const char *text)
{
	struct network n = {.kind = LINKS_TORUS};
	require(network_parse(text, &n) == 0);
	return n;
}

static void expect_file(const char *path, const char *wanted)
{
	char text[1024] = "";
	FILE *file = fopen(path, "r");
	require(file != NULL);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	expect_str(text, wanted);
	unlink(path);
}

static void written_files(void)
{
	struct network n = parse_network("4x2");
	char command[SIMGRID_COMMAND];
	require(simgrid_write(&n, 5e-7, 50e9, command) == 0);
	expect(strncmp(command,
		       "smpirun -np 8 -platform torus-4x2.xml -hostfile torus-4x2.hosts --cfg=",
		       70) == 0);
	expect_file("torus-4x2.xml", "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM "
				     "\"https://simgrid.org/simgrid.dtd\">\n"
				     "<platform version=\"4.1\">\n<cluster id=\"t\" prefix=\"n\" "
				     "radical=\"0-7\" suffix=\"\" speed=\"1Gf\" "
				     "bw=\"50000000000Bps\" lat=\"4.9999999999999998e-07s\" "
				     "topology=\"TORUS\" topo_parameters=\"4,2\" "
				     "sharing_policy=\"SPLITDUPLEX\"/>\n</platform>\n");
	expect_file("torus-4x2.hosts", "n0\nn1\nn2\nn3\nn4\nn5\nn6\nn7\n");
}

static void write_errors(void)
{
	struct network n = parse_network("hyperx:4x4");
	char command[SIMGRID_COMMAND];
	expect(simgrid_write(&n, 4e-7, 50e9, command) == -ENOTSUP);
	n = parse_network("4x4");
	require(chdir("/proc") == 0);
	expect(simgrid_write(&n, 4e-7, 50e9, command) == -EIO &&
	       strstr(err_text(), "torus-4x4.xml"));
	require(chdir(folder) == 0);
}

int main(void)
{
	if (!mkdtemp(folder) || chdir(folder) != 0)
		return 1;
	test(written_files);
	test(write_errors);
	return rmdir(folder) != 0 || test_done();
}
