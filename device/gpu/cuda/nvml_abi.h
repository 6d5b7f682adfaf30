/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of NVML's ABI that we use. tests/abi/nvml.c compares it with nvml.h.
 */
#ifndef GPUSIG_NVML_ABI_H
#define GPUSIG_NVML_ABI_H

typedef unsigned nvml_status;
enum {
	NVML_ABI_SUCCESS = 0,
	NVML_ABI_INVALID_ARGUMENT = 2,
	NVML_ABI_NOT_SUPPORTED = 3,
	NVML_ABI_INSUFFICIENT_SIZE = 7
};
enum { NVML_ABI_CLOCK_SM = 1, NVML_ABI_CLOCK_MEM = 2 };
enum { NVML_ABI_TEMPERATURE_GPU = 0 };
enum { NVML_ABI_ERROR_CORRECTED = 0, NVML_ABI_ERROR_UNCORRECTED = 1 };
enum { NVML_ABI_VOLATILE_ECC = 0, NVML_ABI_AGGREGATE_ECC = 1 };
enum { NVML_ABI_RETIRED_CORRECTED = 0, NVML_ABI_RETIRED_UNCORRECTED = 1 };
enum { NVML_ABI_DISABLED = 0, NVML_ABI_ENABLED = 1 };
enum {
	NVML_ABI_COMPUTE_DEFAULT = 0,
	NVML_ABI_COMPUTE_PROHIBITED = 2,
	NVML_ABI_COMPUTE_EXCLUSIVE_PROCESS = 3
};
enum {
	NVML_ABI_IDLE = 0x1,
	NVML_ABI_APPLICATION_CLOCKS = 0x2,
	NVML_ABI_SW_POWER_CAP = 0x4,
	NVML_ABI_HW_SLOWDOWN = 0x8,
	NVML_ABI_SYNC_BOOST = 0x10,
	NVML_ABI_SW_THERMAL = 0x20,
	NVML_ABI_HW_THERMAL = 0x40,
	NVML_ABI_HW_POWER_BRAKE = 0x80,
	NVML_ABI_DISPLAY_CLOCK = 0x100,
};

/* Time for which a policy has held the clocks back since the driver was loaded. Deprecated since
 * 13.0 but present; its successors (NVML_FI_DEV_CLOCKS_EVENT_REASON_*) have other numbers in 12.9
 * than in 13. */
enum { NVML_ABI_POLICY_THERMAL = 1 };
struct nvml_violation {
	unsigned long long reference_us, violation_ns;
};

/* Older releases know fewer links. */
#define NVML_ABI_MAX_LINKS 36
enum { NVML_ABI_LINK_VALID = 5 }; /* of capabilities: the board has this link */
enum { NVML_ABI_LINK_REPLAYS = 0, NVML_ABI_LINK_RECOVERIES = 1, NVML_ABI_LINK_CRC_FLIT = 2 };
enum { NVML_ABI_LINK_TO_GPU = 0, NVML_ABI_LINK_TO_NPU = 1, NVML_ABI_LINK_TO_SWITCH = 2 };
enum { NVML_ABI_P2P_READ = 0, NVML_ABI_P2P_NVLINK = 2 };
enum { NVML_ABI_P2P_OK = 0 };
enum { NVML_ABI_LINK_SPEED_COMMON = 90, NVML_ABI_LINK_SPEED = 164 }; /* fields, in MB/s */
enum { NVML_ABI_VALUE_UNSIGNED = 1 };

struct nvml_pci_info {
	char legacy[16];
	unsigned domain, bus, device, ids, subsystem;
	char text[32];
};

struct nvml_field {
	unsigned field, scope;
	long long stamp_us, took_us;
	unsigned type, status; /* the status of this field */
	union {
		double real;
		unsigned number;
		unsigned long long wide;
	} value;
};

/* tests/abi defines these as the library's own types, so that it can compare whole prototypes. */
#ifndef NVML_ABI_TYPES
typedef struct nvml_pci_info nvml_pci_info;
typedef struct nvml_field nvml_field;
#endif

struct nvmlDevice_st;

typedef nvml_status nvml_init_fn(void);
typedef const char *nvml_error_string_fn(nvml_status);
typedef nvml_status nvml_by_bus_fn(const char *, struct nvmlDevice_st **);
typedef nvml_status nvml_driver_fn(char *, unsigned);
typedef nvml_status nvml_text_fn(struct nvmlDevice_st *, char *, unsigned);
typedef nvml_status nvml_number_fn(struct nvmlDevice_st *, unsigned *);
typedef nvml_status nvml_of_kind_fn(struct nvmlDevice_st *, unsigned, unsigned *);
typedef nvml_status nvml_two_numbers_fn(struct nvmlDevice_st *, unsigned *, unsigned *);
typedef nvml_status nvml_mask_fn(struct nvmlDevice_st *, unsigned long long *);
typedef nvml_status nvml_wide_fn(struct nvmlDevice_st *, unsigned long long *);
typedef nvml_status nvml_violation_fn(struct nvmlDevice_st *, unsigned, struct nvml_violation *);
typedef nvml_status nvml_errors_fn(struct nvmlDevice_st *, unsigned, unsigned,
				   unsigned long long *);
typedef nvml_status nvml_link_number_fn(struct nvmlDevice_st *, unsigned, unsigned *);
typedef nvml_status nvml_link_capability_fn(struct nvmlDevice_st *, unsigned, unsigned, unsigned *);
typedef nvml_status nvml_link_errors_fn(struct nvmlDevice_st *, unsigned, unsigned,
					unsigned long long *);
typedef nvml_status nvml_link_pci_fn(struct nvmlDevice_st *, unsigned, nvml_pci_info *);
typedef nvml_status nvml_ancestor_fn(struct nvmlDevice_st *, struct nvmlDevice_st *, unsigned *);
typedef nvml_status nvml_p2p_fn(struct nvmlDevice_st *, struct nvmlDevice_st *, unsigned,
				unsigned *);
typedef nvml_status nvml_fields_fn(struct nvmlDevice_st *, int, nvml_field *);
typedef nvml_status nvml_remapped_fn(struct nvmlDevice_st *, unsigned *, unsigned *, unsigned *,
				     unsigned *);
typedef nvml_status nvml_retired_fn(struct nvmlDevice_st *, unsigned, unsigned *,
				    unsigned long long *);

#endif
