# SPDX-License-Identifier: BSD-3-Clause
"""mpirun for the ranks of one node, also where the run itself is a task of a job."""

from __future__ import annotations

import os
import re

# Open MPI refuses root and more ranks than cores unless told so, also in containers where both are usual. In
# a job of a batch system mpirun would start its ranks on all nodes of the job: a run measures its own node,
# whatever runs on the others.
_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_plm": "^slurm,tm,lsf,alps",
    "OMPI_MCA_ras": "^slurm,tm,lsf,alps,gridengine",
    "PRTE_MCA_plm": "^slurm,tm,lsf,pals",  # Open MPI 5
    "PRTE_MCA_ras": "^slurm,tm,lsf,pals,gridengine",
    "HYDRA_LAUNCHER": "fork",  # MPICH
    "HYDRA_RMK": "user",
    "I_MPI_HYDRA_BOOTSTRAP": "fork",
}
# With these a program that initialises MPI is a rank of the job that the run is a task of.
_OF_A_TASK = re.compile(
    "(PMI|PMIX|HYDI|ORTE|PALS|OMPI_COMM_WORLD|OMPI_APP|OMPI_UNIVERSE|OMPI_MCA_(ess|pmix|orte|prte|initial|shmem_RUNTIME))_"
    "|OMPI_(MCA_ess|MCA_pmix|COMMAND|ARGV|FIRST_RANKS|NUM_APP_CTX|FILE_LOCATION)$|MPI_LOCAL"
    "|SLURM_(?!(JOB_ID|JOB_NODELIST|JOB_PARTITION|CLUSTER_NAME)$)"
)


def leave_outer_job() -> None:
    """Make later MPI programs, with mpirun or without it, a job of their own on this node."""
    for name in [name for name in os.environ if _OF_A_TASK.match(name)]:
        del os.environ[name]
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
