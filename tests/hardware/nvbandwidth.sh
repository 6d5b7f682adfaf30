#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# nvbandwidth.sh SOURCES FOLDER
#
# Build NVIDIA's nvbandwidth from a checkout into FOLDER/nvbandwidth, so that it
# can be carried to a machine with a GPU and no network. It needs nvcc and Boost's
# program_options with its static library (BOOST_LIB: the folder of
# libboost_program_options.a); no GPU, no driver, no nvml.h: the few declarations
# it uses are written here. The program needs libcuda and libnvidia-ml when it
# starts, and of other libraries only the C library.
set -eu

# The comment above is the help.
case ${1-} in
-h | --help) sed -n '3s/^#/usage:/p; 4,/^[^#]/s/^# \{0,1\}//p' "$0" && exit 0 ;;
-*) echo "nvbandwidth.sh: unknown option '$1'; see nvbandwidth.sh --help" >&2 && exit 2 ;;
esac
[ $# = 2 ] || { echo "usage: nvbandwidth.sh SOURCES FOLDER" >&2 && exit 2; }
sources=$1
mkdir -p "$2/link"
folder=$(cd -- "$2" && pwd)
version=$(git -C "$sources" describe --always --tags)

cat >"$folder/link/nvml.h" <<'END'
/* What nvbandwidth uses of NVML, as its public documentation declares it. */
#ifndef NVML_H
#define NVML_H
#ifdef __cplusplus
extern "C" {
#endif
typedef enum { NVML_SUCCESS = 0, NVML_ERROR_NOT_SUPPORTED = 3 } nvmlReturn_t;
typedef struct nvmlDevice_st *nvmlDevice_t;
#define NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE 80
#define nvmlInit nvmlInit_v2
nvmlReturn_t nvmlInit_v2(void);
const char *nvmlErrorString(nvmlReturn_t result);
nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length);
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceSetCpuAffinity(nvmlDevice_t device);
#ifdef __cplusplus
}
#endif
#endif
END

# To link against only: libraries with the drivers' names and functions that do nothing.
for name in nvmlInit_v2 nvmlErrorString nvmlSystemGetDriverVersion nvmlDeviceGetHandleByUUID nvmlDeviceSetCpuAffinity; do
	echo "int $name(void); int $name(void) { return 0; }"
done | cc -shared -fPIC -x c - -Wl,-soname,libnvidia-ml.so.1 -o "$folder/link/libnvidia-ml.so"
stubs=$(dirname "$(readlink -f "$(command -v nvcc)")")/../lib64/stubs
# By its path: after -Bstatic nvcc takes the shared library all the same where it is installed beside.
boost=${BOOST_LIB:-$(dirname "$(c++ -print-file-name=libboost_program_options.a)")}/libboost_program_options.a

cd "$sources"
nvcc -O2 -std=c++17 -cudart static -I"$folder/link" -I. -DGIT_VERSION="\"$version\"" \
	-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_100,code=sm_100 \
	-gencode arch=compute_75,code=compute_75 \
	./*.cpp json/jsoncpp.cpp kernels.cu -o "$folder/nvbandwidth" \
	"$boost" -L"$folder/link" -L"$stubs" -lnvidia-ml -lcuda -Xcompiler -static-libstdc++,-static-libgcc
echo "$folder/nvbandwidth: $version, $(wc -c <"$folder/nvbandwidth") bytes"
