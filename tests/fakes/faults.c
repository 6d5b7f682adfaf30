/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fakes/faults.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAULTS_MAX 16

struct fault {
	char function[64], result[64];
	unsigned long at, calls; /* at 0: every call */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fault faults[FAULTS_MAX];
static char parsed[1024];

static void parse_fault_list(const char *text)
{
	char *rest = parsed;
	memset(faults, 0, sizeof(faults));
	snprintf(parsed, sizeof(parsed), "%s", text);
	char copy[sizeof(parsed)];
	memcpy(copy, parsed, sizeof(copy));
	rest = copy;
	for (int i = 0; i < FAULTS_MAX && rest && *rest; i++) {
		char *item = strsep(&rest, ",");
		if (sscanf(item, "%63[^:=]:%lu=%63s", faults[i].function, &faults[i].at,
			   faults[i].result) == 3)
			continue;
		faults[i].at = 0;
		if (sscanf(item, "%63[^:=]=%63s", faults[i].function, faults[i].result) != 2) {
			fprintf(stderr, "fake: FAKE_FAIL: '%s' is not FUNCTION[:N]=RESULT\n", item);
			abort();
		}
	}
}

int fake_fault(const char *function, int (*result_by_name)(const char *name))
{
	const char *text = getenv("FAKE_FAIL");
	int result = 0;
	if (!text)
		text = "";
	pthread_mutex_lock(&lock);
	if (strcmp(text, parsed) != 0)
		parse_fault_list(text);
	for (int i = 0; i < FAULTS_MAX && faults[i].function[0] && !result; i++) {
		struct fault *f = &faults[i];
		if (strcmp(f->function, function) == 0 && (++f->calls == f->at || f->at == 0))
			result = result_by_name(f->result);
	}
	pthread_mutex_unlock(&lock);
	return result;
}
