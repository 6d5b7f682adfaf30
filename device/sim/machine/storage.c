/* SPDX-License-Identifier: BSD-3-Clause
 *
 * STORAGE. With storage_bandwidth the machine has storage, of which devices read files into memory.
 * All reads at once share that rate, with the weight of engines. What goes to pinned memory passes
 * host_bandwidth and no link of a device; what goes to a device's memory passes that memory, the
 * link of the device that reads and its uplink, and no memory of the host. The model of the device
 * that reads decides. Data are those of the file that the caller has opened, wherever it is.
 */
#include "device/sim/machine/storage.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/memory.h"
#include "device/sim/machine/streams.h"
#include "device/sim/machine/uplinks.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct resource storage;

void sim_storage_need(struct flow *f, const struct op *op)
{
	struct sim_dev *d = op->stream->dev;
	const double volume = (double)op->bytes;
	storage.capacity = d->model.storage_bandwidth * 1e-9;
	f->weight = d->model.engine_weight;
	flow_need(f, &storage, volume);
	if (op->work->use[0]->kind == DEV_MEM_PINNED) {
		flow_need(f, &sim_machine.host_memory, volume);
		return;
	}
	flow_need(f, &d->shared->link_down, volume);
	sim_uplink_need(f, d, false, volume);
}

void sim_storage_read(struct op *op)
{
	uint64_t done = 0;
	while (done < op->bytes) {
		const ssize_t got = pread(op->work->file, op->dst + done, op->bytes - done,
					  (off_t)(op->work->offset + done));
		if (got <= 0) {
			sim_stream_fail(op->stream, -EIO, "sim:%u: read a file: %s",
					op->stream->dev->base.index,
					got ? strerror(errno) : "it has ended");
			return;
		}
		done += (uint64_t)got;
	}
}
