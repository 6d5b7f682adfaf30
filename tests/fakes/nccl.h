/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of the fake of NCCL: nccl.c has collectives and groups, nccl_comms.c communicators and
 * what is registered with them, nccl_engines.c collectives by copy engines.
 */
#ifndef FAKES_NCCL_H
#define FAKES_NCCL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SUCCESS = 0,
	UNHANDLED_ERROR = 1,
	SYSTEM_ERROR = 2,
	INVALID_ARGUMENT = 4,
	INVALID_USAGE = 5
};
enum { FLOAT = 7 };
enum { SUM = 0 };

#define RANKS_MAX 8
/* A send to and a receive from every rank, of all ranks. */
#define CALLS_MAX (2 * RANKS_MAX * RANKS_MAX)

enum algorithm { TREE, RING, POINT_TO_POINT, ALGORITHMS };

enum policy { POLICY_DEFAULT, POLICY_EFFICIENCY, POLICY_ZERO };

struct clique {
	struct clique *next; /* of those with an id */
	unsigned long id;    /* 0: none */
	int ranks, alive, opened;
	bool connected[ALGORITHMS], failed;
	struct ncclComm *comms[RANKS_MAX];
	/* For copy engines: on every rank's device a word for every rank, twice. */
	uint32_t *sync[RANKS_MAX], sequence;
};

struct window;
struct registration;

struct ncclComm {
	struct clique *clique;
	int rank;
	unsigned device;
	enum policy policy;
	void *memory[ALGORITHMS];
	struct window *windows;
	int window_count; /* that were ever registered */
	struct registration *registrations;
};

enum kind { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, ALL_TO_ALL, SEND, RECEIVE };

struct call {
	enum kind kind;
	struct ncclComm *comm;
	const float *from;
	float *to;
	size_t count;
	int peer; /* of a send or receive */
	void *stream;
};

/* One operation of several ranks: the same collective on all of them, or all sends and receives of
 * a group. */
struct operation {
	struct operation *next;
	struct clique *clique;
	int ranks, blocks; /* of the communicator; streams that take part */
	atomic_int arrived, left;
	atomic_bool done, aborted;
	size_t count;
	struct call calls[CALLS_MAX]; /* of a collective: by rank */
};

/* FAKE_NCCL_VERSION */
int nccl_version(void);

/* Ends the process: the library would crash or wait for ever. */
_Noreturn void nccl_crash(const char *what);

/* True if the calling thread is in a group. */
bool nccl_in_group(void);

/* The group's end, if there is one, returns this error and does nothing. Returns it too. */
int nccl_note_error(int status);

/* ---- nccl_comms.c */

struct ncclComm *comm_new(struct clique *clique, int rank, unsigned device, enum policy policy);
void comm_free(struct ncclComm *comm);

/* Opens communicators and windows of the group that ends; with an error, gives them up. */
int comms_end_group(int status);

/* The same address in the symmetric window of another rank, where [at, at + bytes) is in a window
 * of this one; else NULL. */
void *comm_find_symmetric(const struct ncclComm *comm, const void *at, size_t bytes, int rank);

/* ---- nccl_engines.c */

/* True if copy engines do what is called with these arguments. */
bool engines_can(const struct call *c);
int engines_run(const struct operation *o);

#endif
