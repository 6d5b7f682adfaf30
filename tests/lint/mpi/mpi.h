/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of MPI 3.1 that programs of ranks use: libraries' own headers include others, each
 * different ones, so that a source may build with one and lack a header with the next. Handles are
 * numbers, as in MPICH and its descendants; constants have no particular values. For make
 * check-headers, which links nothing.
 */
#ifndef GPUSIG_LINT_MPI_H
#define GPUSIG_LINT_MPI_H

typedef int MPI_Comm, MPI_Datatype, MPI_Op, MPI_Request, MPI_Info, MPI_Errhandler;
typedef struct {
	int MPI_SOURCE, MPI_TAG, MPI_ERROR;
} MPI_Status;

enum {
	MPI_SUCCESS,
	MPI_COMM_WORLD,
	MPI_COMM_TYPE_SHARED,
	MPI_INFO_NULL,
	MPI_ERRORS_RETURN,
	MPI_BYTE,
	MPI_CHAR,
	MPI_INT,
	MPI_INT32_T,
	MPI_INT64_T,
	MPI_FLOAT,
	MPI_DOUBLE,
	MPI_2INT,
	MPI_DOUBLE_INT,
	MPI_SUM,
	MPI_MAX,
	MPI_MIN,
	MPI_BOR,
	MPI_MINLOC,
	MPI_MAXLOC,
	MPI_MAX_ERROR_STRING = 512,
	MPI_MAX_LIBRARY_VERSION_STRING = 8192
};
#define MPI_IN_PLACE ((void *)-1)
#define MPI_STATUS_IGNORE ((MPI_Status *)1)
#define MPI_STATUSES_IGNORE ((MPI_Status *)1)

int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Abort(MPI_Comm comm, int code);
double MPI_Wtime(void);
int MPI_Get_library_version(char *version, int *length);
int MPI_Error_string(int code, char *text, int *length);

int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_free(MPI_Comm *comm);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part);

int MPI_Send(const void *at, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Recv(void *at, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
	     MPI_Status *status);
int MPI_Isend(const void *at, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
	      MPI_Request *request);
int MPI_Irecv(void *at, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
	      MPI_Request *request);
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]);
int MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int to, int out_tag,
		 void *in, int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
		 MPI_Status *status);

int MPI_Barrier(MPI_Comm comm);
int MPI_Bcast(void *at, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Gather(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
	       MPI_Datatype in_type, int root, MPI_Comm comm);
int MPI_Allgather(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
		  MPI_Datatype in_type, MPI_Comm comm);
int MPI_Allgatherv(const void *out, int out_count, MPI_Datatype out_type, void *in,
		   const int in_counts[], const int places[], MPI_Datatype in_type, MPI_Comm comm);
int MPI_Reduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, int root,
	       MPI_Comm comm);
int MPI_Allreduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op,
		  MPI_Comm comm);
int MPI_Reduce_local(const void *other, void *at, int count, MPI_Datatype type, MPI_Op op);
int MPI_Reduce_scatter(const void *out, void *in, const int counts[], MPI_Datatype type, MPI_Op op,
		       MPI_Comm comm);
int MPI_Reduce_scatter_block(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op,
			     MPI_Comm comm);

#endif
