/* A driver's library with two GPUs, for tests: what they do is in the file that OEF_FAKE_NVML names.
 *
 *   0 97 75161927680 85899345920     GPU 0 is 97 % busy and uses so many bytes of so many
 *   1 lost                           GPU 1 has fallen off the bus
 *   1 error                          GPU 1 answers with an error
 *   hang                             no call ever returns
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, BAD_ARGUMENT = 2, NOT_FOUND = 6, LOST = 15, UNKNOWN = 999 };
enum { GPUS = 2 };

typedef struct { unsigned gpu, memory; } rates;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory;
typedef struct { unsigned busy; unsigned long long used, total; } figures;

static int handles[GPUS];

static int look(int *device, figures *out) {
    int own = (int)(device - handles), code = UNKNOWN, index;
    char line[256], word[32];
    const char *path = getenv("OEF_FAKE_NVML");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file) return UNKNOWN;
    while (fgets(line, sizeof line, file)) {
        if (!strncmp(line, "hang", 4)) {
            fclose(file);
            for (;;) pause();
        }
        if (sscanf(line, "%d %31s", &index, word) != 2 || index != own) continue;
        if (!strcmp(word, "lost")) code = LOST;
        else if (sscanf(line, "%d %u %llu %llu", &index, &out->busy, &out->used, &out->total) == 4) code = OK;
    }
    fclose(file);
    return code;
}

int nvmlInit_v2(void) { return OK; }
int nvmlShutdown(void) { return OK; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = GPUS; return OK; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    if (index >= GPUS) return BAD_ARGUMENT;
    *device = &handles[index];
    return OK;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
    unsigned index;
    if (sscanf(uuid, "GPU-fake-%u", &index) != 1 || index >= GPUS) return NOT_FOUND;
    figures unused;
    if (look(&handles[index], &unused) == LOST) return LOST;
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

int nvmlDeviceGetName(void *device, char *name, unsigned length) {
    (void)device;
    snprintf(name, length, "NVIDIA H200");
    return OK;
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length) {
    snprintf(uuid, length, "GPU-fake-%d", (int)((int *)device - handles));
    return OK;
}

int nvmlDeviceGetUtilizationRates(void *device, rates *out) {
    figures seen;
    int code = look(device, &seen);
    if (code == OK) { out->gpu = seen.busy; out->memory = 0; }
    return code;
}

int nvmlDeviceGetMemoryInfo_v2(void *device, memory *out) {
    figures seen;
    int code = look(device, &seen);
    if (code == OK) { out->total = seen.total; out->used = seen.used; out->free = seen.total - seen.used; out->reserved = 0; }
    return code;
}
