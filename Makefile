# braggpipe: `make list` says what can be made.
#
# Everything is built into BUILD (default build/); programs are build/bin/*.

BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
ifeq ($(origin CC),default)
CC      := gcc
endif
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)
,       := ,

# Floating point must mean the same on every machine: no contraction, no
# reassociation, no value-changing options.  See common/engine/engine.h.
FLOAT    := -ffp-contract=off -fno-math-errno -fno-trapping-math
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Werror=switch $(if $(WERROR),-Werror)
OPTIMIZE ?= -O3 -g

# Libraries are found by pkg-config, under the names that releases of Debian and Ubuntu give them.
# library NAMES,FLAGS: how to link with the first of NAMES that exists; FLAGS where none does.
# headers NAMES: where its headers are.
known    = $(firstword $(foreach name,$(1),$(shell pkg-config --exists $(name) 2>/dev/null && echo $(name))))
library  = $(if $(call known,$(1)),$(shell pkg-config --libs $(call known,$(1))),$(2))
headers  = $(if $(call known,$(1)),$(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I $(call known,$(1)))))
HDF5_NAMES := hdf5-serial hdf5
MSGPACK_NAMES := msgpack-c msgpack
HEADERS  := $(call headers,$(HDF5_NAMES)) $(call headers,$(MSGPACK_NAMES))
CPPFLAGS += -Icommon -I. -D_GNU_SOURCE $(HEADERS)
# Before the first build, one line says what to type if the compiler or headers are missing, except for what
# installs or needs none.
SELF_HELP := deps check check-slow check-full gpu-check soak demo bench deb bundle html clean list slow-tests
ifneq ($(filter-out $(SELF_HELP),$(or $(MAKECMDGOALS),all)),)
ifeq ($(wildcard $(BUILD)/bin),)
FOREIGN := zmq.h msgpack.h hdf5.h ccp4/cmtzlib.h png.h lz4.h zlib.h jansson.h cbor.h libwebsockets.h yaml.h
COMPILER := $(shell for word in $(CC); do command -v $$word >/dev/null || echo $$word; break; done)
MISSING := $(or $(COMPILER),$(shell printf '\043if !__has_include(<%s>)\n"%s"\n\043endif\n' $(foreach header,$(FOREIGN),$(header) $(header)) | $(CC) $(CPPFLAGS) -E -P -x c - | tr -d '"'))
ifneq ($(MISSING),)
$(error not installed: $(MISSING). Type 'make deps && make': it installs the missing packages of Debian or Ubuntu, and builds)
endif
endif
endif
CFLAGS_ALL = -std=c11 $(OPTIMIZE) $(FLOAT) $(WARNINGS) -fopenmp -MMD -MP $(SANITIZE) $(CFLAGS)
# BUNDLED=1: programs find their libraries in the folder lib next to theirs, whatever the environment says.
LDFLAGS_ALL = -fopenmp $(SANITIZE) $(if $(filter 1,$(BUNDLED)),-Wl$(,)--as-needed$(,)--disable-new-dtags$(,)-rpath$(,)'$$ORIGIN/../lib') $(LDFLAGS)

# What each layer links with, beside the C library.
LIBS_hdf5  := $(call library,$(HDF5_NAMES),-lhdf5)
LIBS_codec := $(call library,liblz4,-llz4)
LIBS_io    := $(call library,ccp4c libccp4c,-lccp4c) $(call library,libpng,-lpng) $(LIBS_codec) $(LIBS_hdf5) $(call library,zlib,-lz) $(call library,jansson,-ljansson)
LIBS_wire  := $(call library,$(MSGPACK_NAMES),-lmsgpackc)
LIBS_gateway := $(call library,libcbor,-lcbor)
LIBS_stage := $(call library,libzmq,-lzmq) -lpthread -ldl
# Only for what serves a page, and for what reads pipeline files.
LIBS_web   := $(call library,libwebsockets,-lwebsockets)
LIBS_run   := $(call library,yaml-0.1,-lyaml)

LAYERS   := score run page refine stage control link gateway web wire io gpu engine physics model codec base
# stages/NAME/bragg-NAME.c is a program; all else in stages/ is a library that they share.
STAGES   := $(wildcard stages/*/*.c)
PROGRAM_SOURCES := $(wildcard stages/*/bragg-*.c) stages/braggpipe/braggpipe.c
PROGRAMS := $(addprefix $(BUILD)/bin/,$(basename $(notdir $(PROGRAM_SOURCES))))
SHARED   := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out $(PROGRAM_SOURCES),$(STAGES)))
SHARED_LIBRARY := $(BUILD)/lib/libbragg-shared.a
UNITS    := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%.t,$(wildcard tests/unit/*.c))
# Tests that take 5 seconds of CPU and more, and test what others reach in part: `make check-slow` runs them, and
# with it make check-full.  `make check` keeps to 5 minutes without them.
SLOW_UNITS := $(patsubst %,$(BUILD)/tests/unit/%.t,cuda_after cuda_go_on footprint_points derive derive_cpu reflections smear)
SLOW_CLI   := $(patsubst %,tests/cli/%.t,anomalous b-factor coffset cpu crystals cuda dectris1 detector diffuse disk eiger gather harmonic in-memory laue \
	machines models misalign nxmx-damage nxmx-fields order panels recover refine-statistics reflections run-blame run-table score score-merged serve-hdf5 shared signal \
	simulate steps strangers streams training transmission vary vary-frames visible)
LIBRARIES := $(SHARED_LIBRARY) $(patsubst %,$(BUILD)/lib/libbragg-%.a,$(LAYERS))

# sources LAYERS: what is in their folders, and in folders of these.
sources = $(foreach layer,$(1),$(wildcard common/$(layer)/*.c common/$(layer)/*/*.c))
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources,$(1)))

# Where programs find the shipped pipelines, from their bin as once installed.
SHIPPED := $(BUILD)/share/braggpipe/pipelines

all: $(PROGRAMS) | $(SHIPPED)  ## build all programs into build/bin

$(SHIPPED):
	$(Q)mkdir -p $(@D) && ln -sfnrT pipelines $@

# For the fuzzers, see below.  Without trace-cmp they take twice as many inputs a second.
FUZZ_CC := clang -std=c11 -O2 -g $(CPPFLAGS) -fsanitize=fuzzer,address,undefined -fno-sanitize-coverage=trace-cmp -fno-sanitize-recover=all

# Hot loops, *_loop.c, are compiled once per instruction set.
ISAS := baseline avx2 avx512
ISA_baseline :=
ISA_avx2     := -mavx2 -mfma -mtune=haswell
ISA_avx512   := -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512 -mtune=icelake-server
# EMULATED=1: AVX-512 by AVX2, slowly, to test its loops where a processor has none (libsimde-dev).
ifeq ($(EMULATED),1)
ISA_avx512   := $(ISA_avx2) -Wno-psabi -include tests/avx512.h
CPPFLAGS     += -DAVX512_EMULATED
endif
# Loops written as vectors of two groups side by side: gcc puts their operations in order before it
# gives out registers, too, 5 to 8 % faster (clang does so anyway).
SIDE_BY_SIDE := $(shell $(CC) -fschedule-insns -fsched-pressure -E -x c /dev/null >/dev/null 2>&1 && echo -fschedule-insns -fsched-pressure)
$(BUILD)/obj/common/engine/dense/dense_loop.%.o $(BUILD)/obj/common/engine/dense/dense_reflections_loop.%.o: CFLAGS_ALL += $(SIDE_BY_SIDE)
ISA_SOURCES  := $(filter %_loop.c,$(call sources,$(LAYERS)))
isa_objects   = $(foreach isa,$(ISAS),$(patsubst %.c,$(BUILD)/obj/%.$(isa).o,$(1)))

# Changes when a source file has come or gone: libraries then lose the objects of files that are gone.
SOURCE_LIST := $(sort $(wildcard common/*/*.c common/*/*/*.c stages/*/*.c gpu/*.c))
ifneq ($(file <$(BUILD)/obj/sources),$(SOURCE_LIST))
$(BUILD)/obj/sources: FORCE
endif
$(BUILD)/obj/sources:
	@mkdir -p $(@D)
	@echo '$(SOURCE_LIST)' >$@

define layer_rule
$(BUILD)/lib/libbragg-$(1).a: $(BUILD)/obj/sources $(filter-out $(patsubst %.c,$(BUILD)/obj/%.o,$(ISA_SOURCES)),$(call objects,$(1))) $(call isa_objects,$(filter %_loop.c,$(call sources,$(1))))
	@mkdir -p $$(@D)
	$(Q)rm -f $$@ && ar rcs $$@ $$(filter %.o,$$^)
endef
$(foreach layer,$(filter-out gpu,$(LAYERS)),$(eval $(call layer_rule,$(layer))))

# The CUDA engine, where there is nvcc (CUDA=0: leave it out).  The runtime is linked
# statically, so that programs run where there is no driver.
# What is installed and packed, and what is built where there is a card, has kernels for all cards
# since Turing.  Other builds, those of `make check` among them, have them for one: all would take
# 40 s more, and the driver of a newer card makes its own of that one's.
NVCC        ?= $(shell command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
CUDA        ?= $(if $(NVCC),$(if $(shell command -v $(NVCC) 2>/dev/null),1,0),0)
CUDA_ARCH   ?= $(if $(filter install deb,$(MAKECMDGOALS))$(wildcard /dev/nvidiactl),all-major,sm_75)
NVCCFLAGS   := -std=c++17 -O3 -fmad=false -arch=$(CUDA_ARCH) --threads=0 -Xcompiler=-ffp-contract=off,-fno-exceptions,-fno-threadsafe-statics
CUDA_PARTS  := device run
GPU_SOURCES := $(filter-out gpu/cuda_%.c,$(wildcard gpu/*.c)) $(patsubst %,gpu/cuda_%.c,$(if $(filter 1,$(CUDA)),$(CUDA_PARTS),absent))
GPU_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(GPU_SOURCES))
# CC and SANITIZE have no part in the kernels: builds may share those of another.
GPU_BUILD   ?= $(BUILD)
GPU_KERNELS := $(GPU_BUILD)/obj/gpu/$(CUDA_ARCH)
ifeq ($(CUDA),1)
# Where the toolkit is, by its compiler: folders differ from one installation to another.
CUDA_DRYRUN  := $(shell $(NVCC) --dryrun -x cu /dev/null 2>&1 | sed -n 's/"//g; s/^.. INCLUDES=\|^.. LIBRARIES=/ /p')
CUDA_HEADERS := $(patsubst -I%,-isystem %,$(filter -I%,$(CUDA_DRYRUN)))
GPU_OBJECTS += $(patsubst gpu/%.cu,$(GPU_KERNELS)/%.o,$(wildcard gpu/*.cu))
LIBS_gpu    := $(filter -L%,$(CUDA_DRYRUN)) -lcudart_static -ldl -lrt -lpthread
$(patsubst %,$(BUILD)/obj/gpu/cuda_%.o,$(CUDA_PARTS)): CPPFLAGS += $(CUDA_HEADERS)
endif

# The same engine with loops on the CPU as its kernels, for tests.
HOST_GPU := $(BUILD)/lib/libbragg-hostgpu.a
$(HOST_GPU): $(patsubst %,$(BUILD)/obj/tests/hostgpu/%.o,host_engine shared_file) $(foreach isa,baseline avx2,$(patsubst %,$(BUILD)/obj/tests/hostgpu/%_loop.$(isa).o,host slopes slopes_double))
	@mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcs $@ $^

# A kernel that spills registers into memory is told of, and with WERROR=1 it is no build.
define kernel_rule
$(GPU_KERNELS)/%.o: $(1)/%.cu
	@mkdir -p $$(@D)
	$(Q)$(NVCC) $(CPPFLAGS) $(NVCCFLAGS) -Xptxas -v -MMD -MP -c $$< -o $$@ 2>$$(@:.o=.ptxas) || { cat $$(@:.o=.ptxas) >&2; exit 1; }
	$(Q)if grep -E '[1-9][0-9]* bytes (stack|spill)' $$(@:.o=.ptxas) >&2; then echo '$$<: registers spill' >&2; $(if $(filter 1,$(WERROR)),rm $$@; exit 1,:); fi
endef
$(foreach folder,gpu tests/enginecheck,$(eval $(call kernel_rule,$(folder))))

$(SHARED_LIBRARY): $(SHARED) $(BUILD)/obj/sources
	@mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcs $@ $(filter %.o,$^)

$(BUILD)/lib/libbragg-gpu.a: $(GPU_OBJECTS) $(BUILD)/obj/gpu/setting $(BUILD)/obj/sources
	@mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcs $@ $(filter %.o,$^)

# Changes when nvcc has come or gone since the last build, or kernels are for other cards.
ifneq ($(shell cat $(BUILD)/obj/gpu/setting 2>/dev/null),$(CUDA) $(CUDA_ARCH))
$(BUILD)/obj/gpu/setting: FORCE
endif
$(BUILD)/obj/gpu/setting:
	@mkdir -p $(@D)
	@echo '$(CUDA) $(CUDA_ARCH)' >$@
FORCE:

define isa_rule
$(BUILD)/obj/%.$(1).o: %.c
	@mkdir -p $$(@D)
	$(Q)$(CC) $(CPPFLAGS) $$(CFLAGS_ALL) $(ISA_$(1)) -DISA=$(1) -c $$< -o $$@

$(BUILD)/fuzz/obj/%.$(1).o: %.c
	@mkdir -p $$(@D)
	$(Q)$(FUZZ_CC) $(ISA_$(1)) -DISA=$(1) -MMD -MP -c $$< -o $$@
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -c $< -o $@

# Tables that are part of programs.
$(BUILD)/obj/common/io/structure_factors/lysozyme.o: common/io/structure_factors/lysozyme.f32
$(BUILD)/obj/common/io/structure_factors/anomalous.o: common/io/structure_factors/fprime.f32

# Likewise the page.
$(BUILD)/obj/common/web/http.o: $(wildcard common/web/page/*)

LINK = $(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS_io) $(LIBS_wire) $(LIBS_gateway) $(LIBS_stage) $(LIBS_gpu) $(LIBS_more) -lm

$(BUILD)/bin/bragg-run $(BUILD)/bin/bragg-eiger $(BUILD)/tests/unit/pipeline.t $(BUILD)/tests/unit/gpu_choice.t: LIBS_more = $(LIBS_run)

$(BUILD)/bin/bragg-view: LIBS_more = $(LIBS_web)

define program_rule
$(BUILD)/bin/$(basename $(notdir $(1))): $(BUILD)/obj/$(1:.c=.o) $(LIBRARIES)
	@mkdir -p $$(@D)
	$$(Q)$$(LINK)
endef
$(foreach source,$(PROGRAM_SOURCES),$(eval $(call program_rule,$(source))))

$(BUILD)/tests/unit/%.t: $(BUILD)/obj/tests/unit/%.o $(LIBRARIES) $(HOST_GPU)
	@mkdir -p $(@D)
	$(Q)$(LINK) -lcmocka

# A program outside this folder.  Without a suffix .c make would write the program over its source.
stage: $(LIBRARIES)  ## a stage of your own, outside this folder: SOURCE=/PATH/NAME.c makes /PATH/NAME
	@case '$(firstword $(SOURCE))' in *.c) ;; *) echo "stage: SOURCE is '$(SOURCE)'; expected SOURCE=/PATH/NAME.c" >&2; exit 1 ;; esac
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS_ALL)) $(LDFLAGS_ALL) -o '$(basename $(firstword $(SOURCE)))' $(SOURCE) \
		-Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS_io) $(LIBS_wire) $(LIBS_gateway) $(LIBS_stage) $(LIBS_gpu) -lm

# For stages in C outside this folder, once installed: the layers that a stage needs as one library, and
# their headers.  LIBDIR is where they go, for a pkg-config that searches elsewhere.
LIBDIR       ?= $(PREFIX)/lib
STAGE_LAYERS := stage control link wire codec physics model base
STAGE_LIBRARY := $(BUILD)/lib/libbragg.a
STAGE_HEADERS = $(sort $(patsubst common/%,%,$(filter %.h,$(shell $(CC) $(CPPFLAGS) -MM common/stage/stage.h $(wildcard common/base/*.h common/model/*.h common/physics/*/*.h)))))
STAGE_SOURCES := $(wildcard stages/skeleton/*.c)
$(STAGE_LIBRARY): $(patsubst %,$(BUILD)/lib/libbragg-%.a,$(STAGE_LAYERS))
	$(Q)rm -f $@ && printf '%s\n' 'create $@' $(patsubst %,'addlib %',$^) save end | ar -M

# Test programs that scripts use beside the real ones.  They compute no image.
HELPER_LIBRARIES := $(patsubst %,$(BUILD)/lib/libbragg-%.a,stage control link wire io model codec base)
HELPERS := $(patsubst tests/programs/%.c,$(BUILD)/tests/bin/%,$(wildcard tests/programs/*.c))
$(BUILD)/tests/bin/%: $(BUILD)/obj/tests/programs/%.o $(HELPER_LIBRARIES) $(HOST_GPU)
	@mkdir -p $(@D)
	$(Q)$(LINK)

# The simulator: the code of link, control and stage/turn.c with a network and a clock of its own.
SIMULATE := $(BUILD)/tests/bin/simulate
SIMULATE_WRAPPED := mem_array mem_try_array mem_copy mem_grow mem_free clock_ns clock_gettime eventfd write close getpid endpoint_is_refused endpoint_remove restart outlaw log_line \
	$(addprefix pthread_,mutex_lock mutex_trylock mutex_unlock cond_broadcast)
# gcc compiles it once more for it alone and as one, with memory and moves of bytes in line: a quarter
# faster.  Not so what the linker replaces, which must not be inlined, nor builds with sanitizers, or
# for gcov.
SIMULATE_PLAIN := tests/simulate/seam.c $(patsubst %,common/%.c,base/alloc base/clock base/log link/endpoint control/restart control/fence)
SIMULATE_ONE   := $(filter-out $(SIMULATE_PLAIN),$(wildcard tests/simulate/*.c) $(call sources,control link wire base) $(patsubst %,common/stage/%.c,turn))
SIMULATE_NAMES := $(foreach name,array try_array copy grow free,-Dmem_$(name)=__wrap_mem_$(name))
MOVES          := unrolled_loop:256:noalign$(,)libcall:-1:noalign
SIMULATE_FLAGS := -flto=2 -fno-pie -fno-plt --param inline-unit-growth=300 --param max-inline-insns-auto=100 -mmemset-strategy=$(MOVES) -mmemcpy-strategy=$(MOVES) $(SIMULATE_PROFILE)
SIMULATE_PARTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/simulate/*.c))
ifeq ($(SANITIZE)$(shell $(CC) $(SIMULATE_FLAGS) -E -x c /dev/null >/dev/null 2>&1 || echo other),)
SIMULATE_PARTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter tests/%,$(SIMULATE_PLAIN))) $(BUILD)/lib/simulate.a
SIMULATE_LINK  := $(SIMULATE_FLAGS) -no-pie
endif
$(BUILD)/obj/one/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) $(SIMULATE_FLAGS) $(SIMULATE_NAMES) -c $< -o $@

$(BUILD)/lib/simulate.a: $(patsubst %.c,$(BUILD)/obj/one/%.o,$(SIMULATE_ONE))
	@mkdir -p $(@D)
	$(Q)rm -f $@ && gcc-ar rcs $@ $^

$(SIMULATE): $(SIMULATE_PARTS) $(HELPER_LIBRARIES)
	@mkdir -p $(@D)
	$(Q)$(LINK) $(SIMULATE_LINK) $(patsubst %,-Wl$(,)--wrap=%,$(SIMULATE_WRAPPED))

# gcc counts what its runs do, then makes it another tenth faster: that pays for a million of them.
simulate-profiled:
	$(Q)rm -rf $(BUILD)/profile
	$(Q)for way in generate use; do \
		rm -rf $(BUILD)/obj/one $(BUILD)/lib/simulate.a $(SIMULATE); \
		$(MAKE) --no-print-directory SIMULATE_PROFILE="-Wno-missing-profile -fprofile-$$way -fprofile-dir=$(abspath $(BUILD))/profile" $(SIMULATE) || exit; \
		[ $$way = use ] || $(SIMULATE) --seeds=1:400 >/dev/null || exit; \
	done

# The check of the CUDA engine, linked with nothing but what a machine with gcc and the
# CUDA toolkit has.
ENGINECHECK := $(BUILD)/tests/bin/enginecheck
ENGINECHECK_PEAK := $(if $(filter 1,$(CUDA)),$(GPU_KERNELS)/peak.o,$(BUILD)/obj/tests/enginecheck/peak_absent.o)
ENGINECHECK_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out %/peak_absent.c,$(wildcard tests/enginecheck/*.c)) bench/workload.c common/link/pool.c \
	$(addprefix stages/nanobragg/,nanobragg_options.c nanobragg_setup.c legacy.c) \
	$(addprefix common/io/,structure_factors/hkl.c beam/nanobragg_text.c text/textfile.c images/smv.c images/header_text.c images/tilted_header.c \
	images/nanobragg_files.c output/output_file.c))
ENGINECHECK_LIBRARIES := $(patsubst %,$(BUILD)/lib/libbragg-%.a,hostgpu gpu engine physics model base)
$(ENGINECHECK): $(ENGINECHECK_OBJECTS) $(ENGINECHECK_PEAK) $(ENGINECHECK_LIBRARIES)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(ENGINECHECK_OBJECTS) $(ENGINECHECK_PEAK) -Wl,--start-group $(ENGINECHECK_LIBRARIES) -Wl,--end-group $(LIBS_gpu) -lm

# Programs of the CUDA engine without a GPU, see tests/standin/cuda_runtime.c.
ifeq ($(CUDA),1)
STANDIN := $(patsubst %,$(BUILD)/obj/tests/standin/%.o,cuda_runtime kernels)
STANDINS := $(patsubst %,$(BUILD)/tests/standin/%,bragg-intensity bragg-background bragg-noise bragg-fisher enginecheck)
$(STANDIN): CPPFLAGS += $(CUDA_HEADERS)
define standin_rule
$(BUILD)/tests/standin/bragg-$(1): $(BUILD)/obj/stages/$(1)/bragg-$(1).o $(STANDIN) $(HOST_GPU) $(LIBRARIES)
	@mkdir -p $$(@D)
	$$(Q)$$(LINK)
endef
$(foreach name,intensity background noise fisher,$(eval $(call standin_rule,$(name))))
$(BUILD)/tests/standin/enginecheck: $(ENGINECHECK_OBJECTS) $(STANDIN) $(ENGINECHECK_LIBRARIES)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(ENGINECHECK_OBJECTS) $(STANDIN) -Wl,--start-group $(ENGINECHECK_LIBRARIES) -Wl,--end-group $(LIBS_gpu) -lm
endif

# Libraries that scripts preload into programs.
PRELOADS := $(patsubst tests/preload/%.c,$(BUILD)/tests/bin/%.so,$(wildcard tests/preload/*.c))
$(BUILD)/tests/bin/%.so: tests/preload/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -std=c11 -O1 -g $(WARNINGS) -fPIC -shared -o $@ $< -ldl

# bench/bench-NAME.c are programs of one file; all else in bench/ is the benchmark.
BENCHES := $(BUILD)/bench/bench $(patsubst bench/%.c,$(BUILD)/bench/%,$(wildcard bench/bench-*.c))

units: $(UNITS) $(HELPERS) $(SIMULATE) $(PRELOADS) $(ENGINECHECK) $(STANDINS) $(BENCHES)  ## build the unit tests and the benchmark

# libFuzzer harnesses, with all that they reach under clang's sanitizers.
FUZZ := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/*.c))
FUZZ_SOURCES := $(filter-out %_loop.c common/link/port.c,$(call sources,base codec model io wire link control stage run page refine score))
FUZZ_OBJECTS := $(patsubst %.c,$(BUILD)/fuzz/obj/%.o,$(FUZZ_SOURCES)) $(patsubst $(BUILD)/obj/%,$(BUILD)/fuzz/obj/%,$(call isa_objects,$(filter %_loop.c,$(call sources,codec io))))
FUZZ_LIBRARY := $(BUILD)/fuzz/obj/library.a
$(BUILD)/fuzz/parsers: FUZZ_MORE = -Wl,--wrap=mem_try_array $(BUILD)/fuzz/obj/stages/replay/provenance.o
$(BUILD)/fuzz/stream: FUZZ_MORE = -Wl,--wrap=execv,--wrap=exchange_await_main,--wrap=memfd_create
$(BUILD)/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -MMD -MP -c $< -o $@

$(FUZZ_LIBRARY): $(FUZZ_OBJECTS)
	$(Q)rm -f $@ && ar rcs $@ $^

$(BUILD)/fuzz/parsers: $(BUILD)/fuzz/obj/stages/replay/provenance.o
$(BUILD)/fuzz/%: $(BUILD)/fuzz/obj/tests/fuzz/%.o $(FUZZ_LIBRARY)
	$(Q)$(FUZZ_CC) -o $@ $< $(FUZZ_MORE) $(FUZZ_LIBRARY) $(LIBS_io) $(LIBS_wire) $(LIBS_stage) $(LIBS_run) -lm

fuzz: $(FUZZ)  ## build the fuzzers (clang)

deps:  ## install the Debian packages that are missing
	@scripts/install-deps core

# Recipes below call make again, so that what deps installed is seen.
JOBS  ?= 2

# make check CLI= runs unit tests only.
CLI := $(filter-out $(SLOW_CLI),$(sort $(wildcard tests/cli/*.t)))
check: deps  ## build everything and run the core tests
	@$(MAKE) --no-print-directory -j$(JOBS) all units
	@scripts/run-tests $(BUILD) $(filter-out $(SLOW_UNITS),$(UNITS)) $(CLI)

check-slow: deps  ## the tests of tests/unit and tests/cli that make check leaves out: 4 minutes more
	@$(MAKE) --no-print-directory -j$(JOBS) all units
	@scripts/run-tests $(BUILD) $(SLOW_UNITS) $(SLOW_CLI)

slow-tests:
	@echo $(SLOW_UNITS) $(SLOW_CLI)

check-full: deps  ## the rest: clang, sanitizers, DIALS, manual pages
	@scripts/install-deps full
	@scripts/check-full

gpu-check:  ## compare the CUDA engine on this machine's GPU with the reference, and time it
	@scripts/gpu-check

soak: deps  ## kill, freeze and cut off small pipelines, run them long; prints a table; SOAK=options
	@$(MAKE) --no-print-directory -j$(JOBS) all $(HELPERS) $(PRELOADS) $(BUILD)/bench/bench-hop fuzz
	@PATH="$(abspath $(BUILD))/bin:$(abspath $(BUILD))/tests/bin:$(abspath $(BUILD))/bench:$$PATH" scripts/soak $(SOAK)

demo: deps  ## simulate lysozyme stills through six stages, into demo/
	@$(MAKE) -q all >/dev/null 2>&1 || echo 'Building $(words $(PROGRAMS)) programs into $(BUILD)/bin, the first time for some minutes ...'
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@PATH="$(abspath $(BUILD))/bin:$$PATH" scripts/demo

bench: deps  ## time everything, interleaved: see bench --help; BENCH=options
	@$(MAKE) --no-print-directory -j$(JOBS) all $(BENCHES)
	@PYTHONPATH="$(CURDIR)/pipelines$${PYTHONPATH:+:$$PYTHONPATH}" PATH="$(abspath $(BUILD))/bin:$(abspath $(BUILD))/bench:$(CURDIR)/bench:$$PATH" scripts/bench $(BENCH)

BENCH_ISA     := $(wildcard bench/*_loop.c)
BENCH_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out $(BENCH_ISA) bench/bench-%.c,$(wildcard bench/*.c))) $(call isa_objects,$(BENCH_ISA))
$(BUILD)/obj/bench/machine.o: CPPFLAGS += -DBENCH_FLAGS='"$(OPTIMIZE) $(FLOAT) $(CFLAGS)"'

$(BUILD)/bench/bench: $(BENCH_OBJECTS) $(LIBRARIES)
	@mkdir -p $(@D)
	$(Q)$(LINK)

$(BUILD)/bench/bench-%: $(BUILD)/obj/bench/bench-%.o $(LIBRARIES)
	@mkdir -p $(@D)
	$(Q)$(LINK)

SHARE = $(DESTDIR)$(PREFIX)/share
# All programs but those that are there to be copied.
SKELETONS := $(addprefix bragg-,skeleton skeleton-sink)
INSTALLED := $(filter-out $(addprefix %/,$(SKELETONS)),$(PROGRAMS))
# Where Debian's Python looks: three folders below PREFIX, so that the link to the module leads there.
PYTHONDIR ?= $(PREFIX)/lib/$(if $(filter /usr,$(PREFIX)),python3,python$(shell python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo 3))/dist-packages
install: all $(STAGE_LIBRARY)  ## install programs, manual pages, pipelines, completion, the Python module and what stages in C need (PREFIX, DESTDIR)
	@case '$(DESTDIR)$(PREFIX)' in *' '*) echo 'install: no blanks in DESTDIR and PREFIX' >&2; exit 1 ;; esac
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PYTHONDIR) $(addprefix $(SHARE)/,man/man1 man/man5 man/man7 braggpipe/pipelines/braggpipe bash-completion/completions)
	install -m 755 $(INSTALLED) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(filter-out $(addprefix %/,$(addsuffix .1,$(SKELETONS))),$(wildcard stages/*/*.1)) $(SHARE)/man/man1
	install -m 644 common/wire/*.5 stages/pages/*.5 $(SHARE)/man/man5
	install -m 644 stages/pages/*.7 $(SHARE)/man/man7
	install -m 644 pipelines/*.yaml pipelines/*.pdb pipelines/*.txt pipelines/*.ipynb $(SHARE)/braggpipe/pipelines
	install -m 755 $(filter-out pipelines/setup.py,$(wildcard pipelines/*.py)) $(SHARE)/braggpipe/pipelines
	install -m 644 pipelines/braggpipe/*.py pipelines/braggpipe/*.pyi pipelines/braggpipe/py.typed $(SHARE)/braggpipe/pipelines/braggpipe
	ln -sfnT ../../../share/braggpipe/pipelines/braggpipe $(DESTDIR)$(PYTHONDIR)/braggpipe
	for header in $(STAGE_HEADERS); do install -D -m 644 common/$$header $(DESTDIR)$(PREFIX)/include/braggpipe/$$header; done
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(SHARE)/braggpipe/stages
	install -m 644 $(STAGE_LIBRARY) $(DESTDIR)$(LIBDIR)
	install -m 644 $(STAGE_SOURCES) $(SHARE)/braggpipe/stages
	printf '%s\n' 'prefix=$${pcfiledir}/$(shell realpath -m --relative-to=/$(LIBDIR)/pkgconfig /$(PREFIX))' \
		'libdir=$${pcfiledir}/..' 'Name: braggpipe' 'Description: stages in C for pipelines of braggpipe' \
		'Version: $(shell sed -n 's/^.define BRAGG_VERSION "\(.*\)"/\1/p' common/base/program.h)' \
		'Cflags: -I$${prefix}/include/braggpipe -D_GNU_SOURCE' \
		'Libs: -L$${libdir} -lbragg -fopenmp $(LIBS_wire) $(LIBS_codec) $(LIBS_stage) -lm' >$(DESTDIR)$(LIBDIR)/pkgconfig/braggpipe.pc
	scripts/make-completion $(INSTALLED) >$(SHARE)/bash-completion/completions/braggpipe
	for program in $(filter-out braggpipe,$(notdir $(INSTALLED))); do ln -sf braggpipe $(SHARE)/bash-completion/completions/$$program; done

deb:  ## a Debian package of what install installs, build/braggpipe_*.deb
	@scripts/install-deps deb
	@$(MAKE) --no-print-directory -j$(JOBS) CUDA_ARCH=$(CUDA_ARCH) all
	@BUILD="$(BUILD)" CUDA_ARCH=$(CUDA_ARCH) scripts/make-deb

bundle:  ## programs for any Linux without root, build/braggpipe-*.tar.xz (made by root, in Debian 11)
	@BUILD="$(BUILD)" scripts/make-bundle

html:  ## make the manual pages as linked HTML, in build/html (needs mandoc)
	@scripts/make-html $(BUILD)/html

clean:  ## remove what was built
	rm -rf $(BUILD)

list:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-22s%s\n", $$1, $$2}'

.PHONY: FORCE all stage units simulate-profiled fuzz deps check check-slow slow-tests check-full gpu-check soak demo bench install deb bundle html clean list
# Make would delete the object of a program of one source after linking.  All objects are listed by
# their rules, because a bare .SECONDARY would let make skip a new source that is older than its library.
.PRECIOUS: $(BUILD)/obj/%.o $(BUILD)/fuzz/obj/%.o
-include $(shell find $(BUILD) \( -path $(BUILD)/bare -o -path $(BUILD)/bundle \) -prune -o -type f -name '*.d' -print 2>/dev/null) $(wildcard $(patsubst gpu/%.cu,$(GPU_KERNELS)/%.d,$(wildcard gpu/*.cu)) $(GPU_KERNELS)/peak.d)
