# SPDX-License-Identifier: BSD-3-Clause
# The GPUs' kernels on what others wrote (tests/emulators/README.md), for suite/testing/stages.py.

on_opencl := $(build)/emulators/libamdhip64.so.7 $(build)/emulators/kernels.spv
$(firstword $(on_opencl)): $(call fake_object,tests/fakes/hip.c tests/fakes/board.c tests/emulators/opencl.c) \
		$(filter-out %/fibers.o,$(fake_engine))
	$(call say,LD,$@)
	mkdir -p $(@D)
	$(CC) $(our_cflags) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) $^ -o $(new) -lm -ldl -lOpenCL $(LDLIBS) && $(put)

# This translator does not know all that an optimiser makes.
$(lastword $(on_opencl)): $(kernel_sources)
	$(call say,SPIRV,$@)
	mkdir -p $(@D)
	clang-14 -x hip --offload=spirv64 --cuda-device-only -nogpuinc -nogpulib -O0 -Wall -Wextra -Werror -I. -emit-llvm -c -o $(new).bc $<
	llvm-spirv-14 $(new).bc -o $(new) && rm $(new).bc && $(put)

on-opencl: $(on_opencl) fakes

for_amd := $(patsubst %,$(build)/emulators/%.hsaco,gfx90a gfx942 gfx1100 gfx1201)
$(for_amd): $(kernel_sources)
	$(call say,CLANG,$@)
	mkdir -p $(@D)
	clang-19 -x hip --offload-arch=$(basename $(@F)) --offload-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -O3 -I. -o $(new) $< && $(put)

for-amd: $(for_amd)
