# SPDX-License-Identifier: BSD-3-Clause
# One explicit, non-recursive Makefile. `make help` lists the targets, `make config` what was found.
#
#   make [VARIANT=release|debug] [SAN=address,undefined|thread] [HAVE_HWLOC=0|1] [HAVE_MPI=0|1] [HAVE_NVCC=0|1] [V=1]
#        [PROGRAMS='FOLDER/NAME ...'] [UNITS='NAME ...']

VARIANT ?= release
SAN ?=
CC ?= cc
MPICC ?= mpicc
NVCC ?= nvcc
# Build folder, and the link to the programs. GPUSIG_BUILD names another folder for both, for a read-only checkout.
BUILD := $(or $(GPUSIG_BUILD),build)
LINK := $(if $(GPUSIG_BUILD),$(BUILD)/)bin
ifneq ($(words $(BUILD)),1)
$(error GPUSIG_BUILD is '$(GPUSIG_BUILD)': make builds in no folder with a space in its name)
endif

ifeq ($(filter $(VARIANT),release debug),)
$(error VARIANT is '$(VARIANT)', not release or debug)
endif
comma := ,
sanitizers := $(subst $(comma), ,$(SAN))
ifneq ($(filter-out address undefined thread,$(sanitizers)),)
$(error SAN is '$(SAN)', not address, undefined or thread, or several with commas between)
endif
ifeq ($(filter address,$(sanitizers))$(filter thread,$(sanitizers)),addressthread)
$(error SAN is '$(SAN)': address and thread don't go together)
endif
override SAN := $(subst $() ,$(comma),$(sort $(sanitizers)))

# --- what this machine has; every HAVE_X may be forced to 0 or 1, and a forced 1 that fails to build fails
hash := \#
compiles = $(shell printf '$(2)\nint main(void){return 0;}\n' | $(1) -x c - -o /dev/null $(3) >/dev/null 2>&1 && echo 1 || echo 0)
ifeq ($(filter clean help,$(MAKECMDGOALS)),)
HAVE_HWLOC ?= $(call compiles,$(CC),$(hash)include <hwloc.h>,-lhwloc)
mpi_was_found := $(filter undefined,$(origin HAVE_MPI))
HAVE_MPI ?= $(call compiles,$(MPICC),$(hash)include <mpi.h>,)
HAVE_NVCC ?= $(if $(shell command -v $(NVCC) 2>/dev/null),1,0)
endif
HAVE_HWLOC := $(HAVE_HWLOC)
HAVE_MPI := $(HAVE_MPI)
HAVE_NVCC := $(HAVE_NVCC)

# --- flags: ours are kept apart, the user's come last
# Callbacks have fixed parameters, not all of which each needs, and rows of tables members that may be left out.
warnings := -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Wpedantic -Wshadow -Wstrict-prototypes -Wconversion $(if $(WERROR),-Werror)
# Stack traces and profiles need lines alone, and half of the time of a link is spent on the rest of -g. Building sanitized programs takes
# as long as running them: -O1 is the least for both.
optimise := $(if $(filter debug,$(VARIANT)),-O1 -g3,$(if $(SAN),-O1,-O2) -g1)
# GCC warns of what it can no longer follow where sanitizers add branches.
sanitize := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -Wno-format-truncation)
# Programs of builds in which nothing is measured open devices with DEV_CHECKED.
our_cppflags := -I. -D_GNU_SOURCE -DHAVE_HWLOC=$(HAVE_HWLOC) $(if $(SAN)$(filter debug,$(VARIANT)),-DGPUSIG_CHECKED)
our_cflags := -std=c11 $(optimise) $(warnings) $(sanitize) -pthread
our_ldlibs := $(if $(filter 1,$(HAVE_HWLOC)),-lhwloc) -lm -ldl
ccache := $(shell command -v ccache 2>/dev/null)
# Folders are no part of what is cached: one cache serves every checkout.
export CCACHE_NOHASHDIR ?= 1
compile = $(ccache) $(CC) $(our_cppflags) $(CPPFLAGS) $(our_cflags) $(CFLAGS)

# Objects of different compilers, flags or findings never mix: the folder carries a hash of them.
# Nodes that share a checkout may have different processors and compilers, and another module another MPI.
flags_hash := $(shell { printf '%s\n' '$(compile) $(LDFLAGS) $(our_ldlibs) $(HAVE_MPI) $(MPICC) $(HAVE_NVCC)'; \
	uname -m; $(CC) --version 2>/dev/null; $(if $(filter 1,$(HAVE_MPI)),$(MPICC) -show 2>/dev/null;) } | cksum | cut -d' ' -f1)
build := $(BUILD)/$(VARIANT)$(if $(SAN),-$(subst $(comma),-,$(SAN)))-$(flags_hash)
version := $(or $(GPUSIG_VERSION),$(shell sh suite/setup/version.sh))

# --- sources: found, never listed. PROGRAMS='micro/memory overlap/*' and UNITS='host_*' build these alone.
PROGRAMS ?= micro/* gemm/* overlap/* topology/* collectives/*
UNITS ?= *
chosen_programs := $(wildcard $(PROGRAMS:%=%.c))
ifeq ($(chosen_programs),)
$(error PROGRAMS is '$(PROGRAMS)': there are $(basename $(wildcard micro/*.c gemm/*.c overlap/*.c topology/*.c collectives/*.c)))
endif
# Ranks need MPI; their schedules, and devices that follow them, do not.
rank_sources := $(if $(filter 1,$(HAVE_MPI)),$(sort $(wildcard collectives/ranks/*.c)))
without_hwloc := $(if $(filter 1,$(HAVE_HWLOC)),,$(shell grep -l '^$(hash)include <hwloc.h>' topology/*/*.c))
module_sources := $(filter-out $(without_hwloc),$(sort $(wildcard lib/*.c bench/*.c bench/*/*.c advise/*.c device/*.c device/*/*.c device/*/*/*.c micro/*/*.c gemm/*/*.c \
	overlap/*/*.c collectives/schedules/*.c collectives/devices/*.c collectives/nccl_tests/*.c collectives/pairs/*.c \
	topology/*/*.c)))
# A program that needs MPI includes what ranks do; one that needs hwloc includes its header.
collective_programs := $(filter $(chosen_programs),$(sort $(wildcard collectives/*.c)))
rank_programs := $(if $(collective_programs),$(shell grep -l '^$(hash)include "collectives/ranks/' $(collective_programs)))
found_programs := $(sort $(filter-out collectives/%,$(chosen_programs)) \
	$(filter-out $(rank_programs),$(collective_programs)))
hwloc_programs := $(if $(found_programs),$(shell grep -l '^$(hash)include <hwloc.h>' $(found_programs)))
plain_programs := $(if $(filter 1,$(HAVE_HWLOC)),$(found_programs),$(filter-out $(hwloc_programs),$(found_programs)))
mpi_programs := $(if $(filter 1,$(HAVE_MPI)),$(rank_programs))
unit_sources := $(sort $(shell find tests/unit -false $(UNITS:%=-o -name '%.c')))
ifeq ($(unit_sources),)
$(error UNITS is '$(UNITS)': there are $(sort $(basename $(notdir $(shell find tests/unit -name '*.c')))))
endif
peer_sources := $(sort $(wildcard tests/peers/*.c))
hardware_sources := $(sort $(wildcard tests/hardware/*.c))

objects_of = $(patsubst %.c,$(build)/obj/%.o,$(1))
archive := $(build)/libgpusig.a
ranks_archive := $(build)/libgpusig_ranks.a
built_ranks := $(patsubst %.c,$(build)/bin/%,$(mpi_programs))
built_plain := $(patsubst %.c,$(build)/bin/%,$(plain_programs))
programs := $(built_plain) $(built_ranks)
library := $(build)/bin/libgpusig_advise.so
unit_tests := $(addprefix $(build)/tests/unit/,$(notdir $(unit_sources:.c=)))
peers := $(patsubst %.c,$(build)/%,$(peer_sources))
hardware := $(patsubst %.c,$(build)/%,$(hardware_sources))

ifeq ($(V),)
.SILENT:
say = @printf '  %-5s %s\n' $(1) $(2)
else
say = @:
endif
# Several makes may build the same files at once (tests, nodes that share a checkout). Each writes under names of its own, and a file
# gets its name when it is complete.
unique := $(shell echo $$(uname -n | cksum | cut -d' ' -f1)-$$PPID)
new = $@.$(unique)
put = mv -f $(new) $@
make_link = ln -sfnr $(1) $(2).$(unique) && mv -fT $(2).$(unique) $(2)
to_object = -MMD -MP -MF $(new).deps -MT $@ -c $< -o $(new) && mv -f $(new).deps $(@:.o=.d) && $(put)
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all ranks-apart rank-programs format format-check fakes on-opencl for-amd gpu-peers hardware-pack ranks smpi built advice where check check-headers check-abi check-alone check-kernels check-sass config help list units peers reproduction install install-strip uninstall clean FORCE

all: $(built_plain) $(library) $(if $(built_ranks),ranks-apart) skipped ## build every program (the default)
	$(if $(filter release,$(VARIANT)$(SAN)),$(call make_link,$(build)/bin,$(LINK)))

# For suite/setup/building.py: where the programs are, with -q ONLY_ASK=1 whether they are built from these sources; and those that advice
# simulates, and checks its predictions with.
built: $(programs) $(library)
advice: $(addprefix $(build)/bin/,overlap/ficco overlap/trigger gemm/efficiency)
where:
	echo $(build)

# A broken MPI costs the programs of ranks alone, where nobody asked for these. A make of its own builds them, so that all others are
# built whatever it says.
ranks_must_build := $(WERROR)$(if $(mpi_was_found),,$(filter 1,$(HAVE_MPI)))
ranks-apart: $(archive)
	+exec 9>&1; said=$$($(MAKE) --no-print-directory -k HAVE_MPI=1 HAVE_HWLOC=$(HAVE_HWLOC) HAVE_NVCC=$(HAVE_NVCC) rank-programs 2>&1 >&9) || \
		failed=1; [ -z "$$said" ] || printf '%s\n' "$$said" >&2; \
	[ -z "$$failed" ] || $(if $(ranks_must_build),exit 1,{ rm -f $(built_ranks); printf 'skip: %s (they do not build with %s: %s)\n' '$(mpi_programs:.c=)' '$(MPICC)' \
		"$$(printf '%s\n' "$$said" | awk '/^([^ ]*\/)?g?make(\[[0-9]+\])?: / { next } { why = $$0 } \
			tolower($$0) ~ /error|undefined|cannot/ { why = $$0; exit } END { print why ? why : "see above" }')"; })

rank-programs: $(built_ranks)
	@:

units: $(unit_tests) $(if $(filter *,$(UNITS)),$(hardware)) ## build the unit tests, and what tests/hardware/check.sh starts

$(archive): $(call objects_of,$(module_sources))
	$(call say,AR,$@)
	rm -f $(new)
	ar rcs $(new) $^ && $(put)

$(ranks_archive): $(call objects_of,$(rank_sources))
	$(call say,AR,$@)
	rm -f $(new)
	ar rcs $(new) $^ && $(put)

$(build)/obj/%.o: %.c
	$(call say,CC,$<)
	mkdir -p $(@D)
	$(compile) $(to_object)

# Most tests take longer to compile than to run.
$(build)/obj/tests/unit/%.o: our_cflags += -O0

# MPICH's MPI_STATUSES_IGNORE is the address 1, which GCC takes for an array too short.
mpi_compile = OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(ccache) $(MPICC) $(our_cppflags) $(CPPFLAGS) $(our_cflags) -Wno-unknown-warning-option -Wno-stringop-overflow $(CFLAGS)
$(build)/obj/collectives/ranks/%.o: collectives/ranks/%.c
	$(call say,MPICC,$<)
	mkdir -p $(@D)
	$(mpi_compile) $(to_object)

$(built_plain): $(build)/bin/%: $(build)/obj/%.o $(archive)
	$(call say,LD,$@)
	mkdir -p $(@D)
	$(CC) $(our_cflags) $(CFLAGS) $(LDFLAGS) $^ -o $(new) $(our_ldlibs) $(LDLIBS) && $(put)

$(built_ranks): $(build)/bin/%: %.c $(ranks_archive) $(archive)
	$(call say,MPICC,$@)
	mkdir -p $(@D)
	$(mpi_compile) -MMD -MP -MF $(new).deps -MT $@ $(LDFLAGS) $< $(ranks_archive) $(archive) -o $(new) $(our_ldlibs) $(LDLIBS) && \
		mv -f $(new).deps $@.d && $(put)

# Library for runtimes: advise/advise.h, position-independent, needs only libc.
$(library): $(patsubst %.c,$(build)/pic/%.o,$(sort $(wildcard advise/*.c)) lib/err.c lib/text_fit.c)
	$(call say,LD,$@)
	mkdir -p $(@D)
	$(CC) $(our_cflags) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) $^ -o $(new) -lm $(LDLIBS) && $(put)

$(build)/pic/%.o: %.c
	$(call say,CC,$<)
	mkdir -p $(@D)
	$(compile) -fPIC $(to_object)

include tests/fakes/fakes.mk

# A program of tests/hardware may have modules, in a folder of its name.
$(build)/tests/hardware/questions: $(call objects_of,$(wildcard tests/hardware/questions/*.c))

# Unit tests have the folders of what they test; their programs have one folder.
$(foreach unit,$(unit_sources),$(eval $(build)/tests/unit/$(basename $(notdir $(unit))): $(call objects_of,$(unit))))
$(peers) $(hardware): $(build)/%: $(build)/obj/%.o
$(unit_tests) $(peers) $(hardware): $(archive)
	$(call say,LD,$@)
	mkdir -p $(@D)
	$(CC) $(our_cflags) $(CFLAGS) $(LDFLAGS) $(filter %.o,$^) $(filter-out %.o,$^) -o $(new) $(our_ldlibs) $(LDLIBS) && $(put)

# The text of `make config` is compiled into every binary; the object follows the text.
# No make of its own prints it: make -n, which packers' tools use to look for targets, would start that, and keep what it prints.
config_text = printf '%s\n' 'compiler $(shell $(CC) --version 2>/dev/null | head -n1)' \
	'flags $(our_cflags) $(filter-out -ffile-prefix-map=%,$(CFLAGS)) $(LDFLAGS)' 'hwloc $(HAVE_HWLOC)' 'mpi $(HAVE_MPI)' 'nvcc $(HAVE_NVCC)'
$(build)/config.inc: $(if $(ONLY_ASK),,FORCE)
	mkdir -p $(@D)
	{ printf '"%s\\n"\n' 'version $(version)'; $(config_text) | sed 's/["\\]/\\&/g; s/.*/"&\\n"/'; } > $(new) && \
	if cmp -s $(new) $@; then rm $(new); else $(put); fi
$(build)/obj/lib/provenance.o: our_cppflags += -DBUILD_CONFIG='"$(build)/config.inc"'
$(build)/obj/lib/provenance.o: $(build)/config.inc

# The text of the GPUs' kernels, with all that it includes of device/, as numbers for device/gpu/gpu_source.c.
kernel_sources := device/gpu/kernels/kernels.cu $(wildcard device/gpu/kernels/*.inc)
$(build)/kernels.inc: $(kernel_sources)
	$(call say,TEXT,$@)
	mkdir -p $(@D)
	awk 'function print_file(name,  line, part, got) { \
			while ((got = (getline line < name)) > 0) \
				if (line ~ /^$(hash)include "device\//) { split(line, part, "\""); print_file(part[2]) } else print line; \
			if (got < 0) { print "no file " name > "/dev/stderr"; exit 1 } \
			close(name) } \
		BEGIN { print_file(ARGV[1]) }' $< > $(new).text
	od -An -v -tu1 $(new).text | sed 's/[0-9][0-9]*/&,/g' > $(new) && rm $(new).text && $(put)
$(build)/obj/device/gpu/gpu_source.o: our_cppflags += -DGPU_KERNELS_SOURCE='"$(build)/kernels.inc"'
$(build)/obj/device/gpu/gpu_source.o: $(build)/kernels.inc

include tests/emulators/emulators.mk

# The texts of the models of simulated devices, and of their links, each after its name, as numbers for device/sim/model/model.c.
sim_models := $(sort $(wildcard device/sim/model/machines/*.model))
$(build)/models.inc: $(sim_models) $(sort $(wildcard device/sim/model/machines/*.links))
	$(call say,TEXT,$@)
	mkdir -p $(@D)
	for m in $^; do printf '%s\0' "$$(basename $$m .model)" && cat $$m && printf '\0' || exit 1; done | \
		od -An -v -tu1 | sed 's/[0-9][0-9]*/&,/g' > $(new) && $(put)
$(build)/obj/device/sim/model/model.o: our_cppflags += -DSIM_MODEL_TEXTS='"$(build)/models.inc"' \
	-DSIM_MODEL_NAMES='"$(subst $() ,$(comma) ,$(basename $(notdir $(sim_models))))"'
$(build)/obj/device/sim/model/model.o: $(build)/models.inc

# The GPUs' kernels compiled ahead, for NVIDIA machines with a driver and no NVRTC; nothing where nvcc is not here. The kernels need
# nothing of newer PTX than 6.3, the first of sm_75, and older drivers take no newer one.
$(build)/ptx.inc: $(kernel_sources)
	$(call say,PTX,$@)
	mkdir -p $(@D)
	$(if $(filter 1,$(HAVE_NVCC)),$(NVCC) -ptx -arch=compute_75 -I. -o $(new).ptx $<,: > $(new).ptx)
	sed 's/^\.version .*/.version 6.3/' $(new).ptx | od -An -v -tu1 | sed 's/[0-9][0-9]*/&,/g' > $(new) && rm $(new).ptx && $(put)
$(build)/obj/device/gpu/cuda/cuda_ptx.o: our_cppflags += -DCUDA_KERNELS_PTX='"$(build)/ptx.inc"'
$(build)/obj/device/gpu/cuda/cuda_ptx.o: $(build)/ptx.inc

.PHONY: skipped
config: ## print what was found and with which flags things are built
	$(config_text)
	echo 'version $(version)'
	echo 'build $(build)'

skipped:
	$(if $(filter 1,$(HAVE_HWLOC)),,echo 'skip: $(hwloc_programs:.c=) (hwloc.h not found, or HAVE_HWLOC=0); workers are pinned through the kernel instead')
	$(if $(filter 1,$(HAVE_MPI)),,echo 'skip: $(rank_programs:.c=) (no working $(MPICC), or HAVE_MPI=0)')

smpi: ## build the programs of ranks for SimGrid, as build/smpi
	$(MAKE) --no-print-directory MPICC=smpicc HAVE_MPI=1 HAVE_HWLOC=0 CFLAGS='-fPIC $(CFLAGS)' LINK=$(BUILD)/smpi ranks

ranks: $(built_ranks) # a part of all
	$(call make_link,$(build)/bin,$(LINK))

list: all ## list the programs with the question each one asks
	for p in $(programs); do [ ! -e $$p ] || $$p --about; done

check: all units ## unit tests only; ./gpusig test runs everything
	$(if $(unit_tests),prove -q $(addprefix ./,$(unit_tests)),true)

# Without MPI, hwloc and nvcc the linked libraries differ too, and PTX may be missing.
check-alone: $(archive) $(patsubst %.c,$(build)/obj/%.o,$(filter-out $(hwloc_programs),$(plain_programs))) ## link without MPI and hwloc what can do without
	for p in $(basename $(filter-out $(hwloc_programs),$(plain_programs))); do \
		$(CC) $(our_cflags) $(CFLAGS) $(LDFLAGS) $(build)/obj/$$p.o $(archive) -o $(build)/alone -lm -ldl $(LDLIBS) || exit 1; done
	rm -f $(build)/alone
	$(compile) -Werror -fsyntax-only -DCUDA_KERNELS_PTX='"/dev/null"' device/gpu/cuda/cuda_ptx.c

check-headers: ## compile every header alone, and what needs MPI without what MPI's own headers include
	for h in $(sort $(wildcard lib/*.h bench/*.h bench/*/*.h advise/*.h device/*.h device/*/*.h device/gpu/*/*.h device/sim/*/*.h micro/*/*.h collectives/schedules/*.h collectives/devices/*.h collectives/nccl_tests/*.h collectives/pairs/*.h collectives/ranks/*.h topology/torus/*.h \
		overlap/*/*.h gemm/*/*.h)); do \
		printf "#include \"%s\"\ntypedef int header_alone;\n" "$$h" | $(CC) $(our_cppflags) -Itests/lint/mpi $(our_cflags) -Werror -fsyntax-only -x c - || exit 1; done
	for c in $(wildcard collectives/ranks/*.c) $(rank_programs); do \
		$(CC) $(our_cppflags) -Itests/lint/mpi $(our_cflags) -Wno-unknown-warning-option -Wno-stringop-overflow -Werror -fsyntax-only $$c || exit 1; done

formatted := git ls-files -z -co --exclude-standard '*.c' '*.h' | xargs -0 ls -d 2>/dev/null | xargs clang-format
format: ## apply .clang-format to the C sources, with clang-format 14
	$(formatted) -i

format-check: ## say where the C sources are not as `make format` leaves them
	$(formatted) --dry-run -Werror

check-kernels: ## compile the GPUs' kernels with clang-19 for what distributions' HIPRTC does not know; none may spill, loops are held against tests/lint/isa.py
	mkdir -p $(build)
	for arch in gfx942 gfx1100 gfx1201; do \
		clang-19 -x hip --offload-arch=$$arch --offload-device-only -nogpuinc -nogpulib -O3 -Wall -Wextra -Werror -I. \
			-S device/gpu/kernels/kernels.cu -o $(build)/kernels-$$arch.s || exit 1; \
		if grep -E '(_spill_count|private_segment_fixed_size): +[1-9]' $(build)/kernels-$$arch.s; then exit 1; fi; done
	python=$$(sh suite/setup/find_python.sh --any) && "$$python" tests/lint/isa.py $(build)/kernels-gfx*.s

check-sass: ## disassemble the loops of NVIDIA's kernels, where nvcc and nvdisasm are here, and hold them against tests/lint/sass.py
	python=$$(sh suite/setup/find_python.sh --any) && "$$python" tests/lint/sass.py --nvcc $(NVCC)

# The vendors' headers, of the folder ABI_INCLUDE or where they are installed: a check is skipped where one that it includes is not there.
abi_cppflags := -I. $(addprefix -isystem ,$(ABI_INCLUDE) $(wildcard $(or $(CUDA_HOME),/usr/local/cuda)/include $(or $(ROCM_PATH),/opt/rocm)/include))
abi_flags := $(abi_cppflags) -Wall -Wextra -Werror -Wno-deprecated-declarations -fsyntax-only
check-abi: ## hold our declarations of the vendors' libraries against their headers: [ABI_INCLUDE=FOLDER]
	for f in $(sort $(wildcard tests/abi/*.c tests/abi/*.cpp)); do \
		case $$f in *.cpp) compile='$(CXX) -std=c++17 -x c++';; *) compile='$(CC) -std=c11 -x c';; esac; missing=; \
		for h in $$(sed -n 's/^$(hash)include <\(.*\)>$$/\1/p' $$f); do \
			printf '$(hash)if !__has_include(<%s>)\n$(hash)error\n$(hash)endif\n' "$$h" | \
				$$compile $(abi_cppflags) -E - >/dev/null 2>&1 || missing="$$missing $$h"; done; \
		if [ -n "$$missing" ]; then echo "skip: $$f (not found:$$missing)"; \
		else $$compile $(abi_flags) $$f || exit 1; printf '  %-5s %s\n' ABI $$f; fi; done

peers: all $(peers) $(build)/tests/unit/bench_aa ## compare with likwid-bench, OpenBLAS and mbw, in turns, and print the ratios
	python=$$(sh suite/setup/find_python.sh) && "$$python" tests/peers/peers.py --bin $(build)/bin --helpers $(build)/tests/peers

# The vendor's interface as its samples use it; the machine that runs them builds them, -arch=native is for its GPU.
gpu_peers := $(patsubst tests/peers/cuda/%.cu,$(build)/gpu-peers/%,$(sort $(wildcard tests/peers/cuda/*.cu)))
$(build)/gpu-peers/gemms: peer_libraries := -lcublasLt
$(build)/gpu-peers/%: tests/peers/cuda/%.cu tests/peers/cuda/measure.cuh
	$(call say,NVCC,$@)
	mkdir -p $(@D)
	$(NVCC) -O3 -std=c++17 -arch=$(or $(NVCC_ARCH),native) -Xcompiler -Wall,-Wextra$(if $(WERROR),$(comma)-Werror) -o $(new) $< $(peer_libraries) && $(put)

gpu-peers: $(gpu_peers) ## build the peers of NVIDIA GPUs with nvcc, as build/*/gpu-peers; tests/peers/gpu_peers.py runs them

hardware-pack: ## everything for a GPU machine without compilers, as build/hardware and an archive; tests/hardware/README.md
	MAKE='$(MAKE)' tests/hardware/pack.sh

reproduction: all ## papers against models, as docs/reproduction/{swing,shaping,ficco,t3,fleet}.md; ranks where SimGrid is here (minutes)
	if command -v smpirun >/dev/null; then $(MAKE) --no-print-directory smpi; fi
	python=$$(sh suite/setup/find_python.sh --any) && "$$python" tests/reproduction/swing.py
	python=$$(sh suite/setup/find_python.sh --any) && "$$python" tests/reproduction/shaping.py
	python=$$(sh suite/setup/find_python.sh --any) && "$$python" tests/reproduction/ficco.py
	python=$$(sh suite/setup/find_python.sh --any) && "$$python" tests/reproduction/t3.py
	python=$$(sh suite/setup/find_python.sh --any) && "$$python" tests/reproduction/fleet.py

PREFIX ?= /usr/local
install: all ## install a gpusig for the PATH, which needs neither this folder nor a compiler: [DESTDIR=] [PREFIX=/usr/local]
	sh packaging/install.sh install "$(DESTDIR)" "$(PREFIX)" $(build)/bin "$(version)" \
		$(plain_programs:.c=) $(foreach p,$(mpi_programs:.c=),$$([ ! -e $(build)/bin/$p ] || echo $p)) $(notdir $(library))

install-strip: export STRIP := 1
install-strip: install ## install programs without symbols, a third as large

uninstall: ## remove what install installed
	sh packaging/install.sh uninstall "$(DESTDIR)" "$(PREFIX)"

clean: ## remove everything that was built
	rm -rf $(if $(GPUSIG_BUILD),$(addprefix $(BUILD)/,release-* debug-* smpi cannot-install lock make.log),build) $(LINK)

help: ## print this
	sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile

-include $(shell find $(build) -name '*.d' 2>/dev/null)
