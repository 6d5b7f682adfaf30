/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/cuda/cuda_nvml.h"
#include "lib/err.h"

static void append_count(struct dev_telemetry_list *r, const char *name, nvml_status result,
			 double value)
{
	if (result == NVML_ABI_SUCCESS)
		dev_telemetry_number(r, name, "", value);
	else
		dev_telemetry_unknown(r, name, "", cuda_nvml_reason(result));
}

static const struct {
	const char *name;
	unsigned kind, counter;
} errors[] = {
	{"ecc_uncorrected", NVML_ABI_ERROR_UNCORRECTED, NVML_ABI_VOLATILE_ECC},
	{"ecc_corrected", NVML_ABI_ERROR_CORRECTED, NVML_ABI_VOLATILE_ECC},
	{"ecc_uncorrected_total", NVML_ABI_ERROR_UNCORRECTED, NVML_ABI_AGGREGATE_ECC},
	{"ecc_corrected_total", NVML_ABI_ERROR_CORRECTED, NVML_ABI_AGGREGATE_ECC},
};
enum { ERRORS = sizeof(errors) / sizeof(errors[0]) };

static void append_errors(struct dev_telemetry_list *r, struct nvmlDevice_st *device)
{
	for (int i = 0; i < ERRORS; i++) {
		unsigned long long count = 0;
		const nvml_status result = cuda_nvml.ecc_errors
						   ? cuda_nvml.ecc_errors(device, errors[i].kind,
									  errors[i].counter, &count)
						   : CUDA_NVML_NO_FUNCTION;
		append_count(r, errors[i].name, result, (double)count);
	}
}

/* Rows are remapped from Ampere on. */
static nvml_status append_rows(struct dev_telemetry_list *r, struct nvmlDevice_st *device)
{
	unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
	const nvml_status result =
		cuda_nvml.remapped
			? cuda_nvml.remapped(device, &corrected, &uncorrected, &pending, &failed)
			: CUDA_NVML_NO_FUNCTION;
	append_count(r, "rows_remapped_uncorrected", result, uncorrected);
	append_count(r, "rows_remapped_corrected", result, corrected);
	append_count(r, "row_remap_pending", result, pending != 0);
	append_count(r, "row_remap_failed", result, failed != 0);
	return result;
}

/* A capacity of 0 asks for the number alone: some releases then report success, others that the
 * buffer is too small. */
static void append_retired(struct dev_telemetry_list *r, struct nvmlDevice_st *device,
			   const char *name, unsigned cause)
{
	unsigned count = 0;
	nvml_status result = cuda_nvml.retired ? cuda_nvml.retired(device, cause, &count, NULL)
					       : CUDA_NVML_NO_FUNCTION;
	if (result == NVML_ABI_INSUFFICIENT_SIZE)
		result = NVML_ABI_SUCCESS;
	append_count(r, name, result, count);
}

static void append_pages(struct dev_telemetry_list *r, struct nvmlDevice_st *device)
{
	unsigned pending = 0;
	append_retired(r, device, "pages_retired_uncorrected", NVML_ABI_RETIRED_UNCORRECTED);
	append_retired(r, device, "pages_retired_corrected", NVML_ABI_RETIRED_CORRECTED);
	const nvml_status result = cuda_nvml.pages_pending
					   ? cuda_nvml.pages_pending(device, &pending)
					   : CUDA_NVML_NO_FUNCTION;
	append_count(r, "pages_pending", result, pending != 0);
}

void cuda_health(const char *bus, struct dev_telemetry *samples, size_t capacity, size_t *count_p)
{
	struct dev_telemetry_list r = {.samples = samples, .capacity = capacity, .count = *count_p};
	struct nvmlDevice_st *device = NULL;
	if (cuda_nvml_find(bus, &device)) {
		for (int i = 0; i < ERRORS; i++)
			dev_telemetry_unknown(&r, errors[i].name, "", err_text());
	} else {
		append_errors(&r, device);
		/* A board does one of the two. */
		if (append_rows(&r, device) != NVML_ABI_SUCCESS)
			append_pages(&r, device);
	}
	*count_p = r.count;
}
