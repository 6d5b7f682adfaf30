# SPDX-License-Identifier: BSD-3-Clause
# Fake driver libraries for tests/unit (tests/fakes/README.md), built from position-independent objects. They export the vendor's
# functions alone. With WITHOUT=FUNCTION they lack that function.
fakes := $(build)/fakes$(if $(WITHOUT),-without-$(WITHOUT))
fake_object = $(patsubst %.c,$(build)/fakes/obj/%.o,$(1))
fake_engine := $(call fake_object,$(wildcard device/host/*.c tests/fakes/engine/*.c) device/dev_type.c lib/minifloat.c device/dev_telemetry_list.c device/kernel_signature.c \
	lib/err.c lib/clock.c lib/vec.c lib/address_table.c lib/cgroup.c lib/cores.c lib/core_kinds.c lib/first_line.c lib/numa.c lib/processor.c lib/text.c lib/text_fit.c tests/fakes/kernels.c tests/fakes/faults.c)
fake_compiler := $(call fake_object,tests/fakes/faults.c)
$(fakes)/libcuda.so.1: $(call fake_object,tests/fakes/cuda.c tests/fakes/board.c) $(fake_engine)
$(fakes)/libamdhip64.so.7: $(call fake_object,tests/fakes/hip.c tests/fakes/board.c) $(fake_engine)
$(fakes)/libamdhip64.so.5 $(fakes)/without_device/libamdhip64.so.7: $(call fake_object,tests/fakes/hip_without_device.c tests/fakes/board.c) $(fake_engine)
$(fakes)/libnvrtc.so.13: $(call fake_object,tests/fakes/nvrtc.c) $(fake_compiler)
$(fakes)/libnvrtc.so.12: $(call fake_object,tests/fakes/nvrtc_12.c) $(fake_compiler)
$(fakes)/libhiprtc.so.7: $(call fake_object,tests/fakes/hiprtc.c) $(fake_compiler)
fake_driver := $(call fake_object,tests/fakes/driver.c tests/fakes/faults.c lib/clock.c)
of_cuda := $(fake_driver) $(call fake_object,tests/fakes/driver_cuda.c)
of_hip := $(fake_driver) $(call fake_object,tests/fakes/driver_hip.c)
$(fakes)/libcublasLt.so.13: $(call fake_object,tests/fakes/cublaslt.c tests/fakes/gemm.c device/dev_type.c lib/minifloat.c) $(of_cuda)
$(fakes)/libcublasLt.so.12: $(call fake_object,tests/fakes/cublaslt_12.c tests/fakes/gemm.c device/dev_type.c lib/minifloat.c) $(of_cuda)
$(fakes)/libcublas.so.13: $(call fake_object,tests/fakes/cublas.c tests/fakes/gemm.c device/dev_type.c lib/minifloat.c) $(of_cuda)
# As AMD's, these need the runtime by its soname.
$(addprefix $(fakes)/,libhipblaslt.so.1 librocblas.so.5 librccl.so.1): $(fakes)/libamdhip64.so.7
$(fakes)/libhipblaslt.so.1: $(call fake_object,tests/fakes/hipblaslt.c tests/fakes/gemm.c device/dev_type.c lib/minifloat.c) $(of_hip)
$(fakes)/librocblas.so.5: $(call fake_object,tests/fakes/rocblas.c tests/fakes/gemm.c device/dev_type.c lib/minifloat.c) $(of_hip)
$(fakes)/libnccl.so.2: $(call fake_object,$(wildcard tests/fakes/nccl*.c)) $(of_cuda)
$(fakes)/librccl.so.1: $(call fake_object,$(wildcard tests/fakes/nccl*.c)) $(of_hip)
$(fakes)/libnvidia-ml.so.1: $(call fake_object,tests/fakes/nvml.c tests/fakes/board.c) $(of_cuda)
$(fakes)/libcufile.so.0: $(call fake_object,tests/fakes/cufile.c) $(of_cuda)
$(fakes)/librocm_smi64.so.7: $(call fake_object,tests/fakes/rocm_smi.c tests/fakes/board.c) $(of_hip)
fake_libraries := $(addprefix $(fakes)/,libcuda.so.1 libnvrtc.so.13 libnvrtc.so.12 libcublasLt.so.13 libcublasLt.so.12 libcublas.so.13 libnccl.so.2 libnvidia-ml.so.1 libcufile.so.0 \
	libamdhip64.so.7 libamdhip64.so.5 without_device/libamdhip64.so.7 libhiprtc.so.7 libhipblaslt.so.1 librocblas.so.5 librccl.so.1 librocm_smi64.so.7)

fakes: $(fake_libraries) ## build fake GPU drivers for tests, as build/*/fakes; WITHOUT=FUNCTION leaves one out

$(filter $(build)/tests/unit/fakes% %/gpu_faults %/gpu_lost,$(unit_tests)): | $(fake_libraries)

$(fake_libraries):
	$(call say,LD,$@)
	mkdir -p $(@D)
	printf '{ local: %s; };\n' '$(or $(WITHOUT),no_function)' > $(new).map
	$(CC) $(our_cflags) $(CFLAGS) $(LDFLAGS) -shared -Wl,--no-as-needed,-soname,$(@F),--version-script,$(new).map $(if $(SAN),,-Wl,-z,defs) $^ -o $(new) -lm -ldl $(LDLIBS) && \
		rm $(new).map && $(put)

fake_compile = $(compile) -fPIC -fvisibility=hidden
$(build)/fakes/obj/%.o: %.c
	$(call say,CC,$<)
	mkdir -p $(@D)
	$(fake_compile) $(to_object)

$(build)/fakes/kernel_table.inc: tests/fakes/kernels.c tests/fakes/kernel_table.awk $(wildcard tests/fakes/*on_cpu.h) $(wildcard device/gpu/kernels/*) device/kernels.h
	mkdir -p $(@D)
	$(compile) -E -P -DFAKE_KERNEL_TABLE $< | awk -f tests/fakes/kernel_table.awk > $(new) && $(put)
$(build)/fakes/obj/tests/fakes/kernels.o: our_cppflags += -I$(build)/fakes
$(build)/fakes/obj/tests/fakes/kernels.o: $(build)/fakes/kernel_table.inc
