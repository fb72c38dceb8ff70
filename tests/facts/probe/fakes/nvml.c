/* A libnvidia-ml with FAKE_GPUS GPUs that answers some queries; the others are "not found", as in an older driver.
   FAKE_NVML: a code for nvmlInit, "hang", or "hang-1" and "lost-1" for GPU 1; and the lies of test_lying_driver.py.
   FAKE_SOUND: nothing is limited, throttled or linked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, NOT_SUPPORTED = 3, IS_LOST = 15, UNKNOWN = 999 };
typedef struct { unsigned long long total, free, used; } memory_v1;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char address[32]; } pci;

static int cards[16];
static int number(void *handle) { return (int)((int *)handle - cards); }
static int told(const char *what) {
    const char *value = getenv("FAKE_NVML");
    return value && !strcmp(value, what);
}

int nvmlInitWithFlags(unsigned flags) {
    const char *value = getenv("FAKE_NVML");
    (void)flags;
    if (told("hang")) sleep(600);
    if (told("exit")) _exit(0);
    if (told("crash")) abort();
    if (told("orphan") && !fork()) sleep(60);
    if (told("chatter")) for (int i = 0; i < 200000; i++) puts("\033]0;x\007::error::GPU is healthy, GPU is healthy, GPU");
    return value ? atoi(value) : OK;
}
const char *nvmlErrorString(int code) {
    return code == 18 ? "Driver/library version mismatch" : code == IS_LOST ? "GPU is lost" : "Other";
}
int nvmlSystemGetDriverVersion(char *text, unsigned size) {
    return snprintf(text, size, told("bytes") ? "\377\033[31m\n580" : "580.95.05") < 0;
}
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return OK; }
int nvmlDeviceGetCount_v2(unsigned *count) {
    const char *value = getenv("FAKE_GPUS");
    *count = told("none") ? 0 : told("huge") ? 1u << 31 : value ? atoi(value) : 1;
    return told("mute") ? UNKNOWN : OK;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    if (index == 1 && told("lost-1")) return IS_LOST;
    if (index == 1 && told("hang-1")) sleep(600);
    if (told("mute") || told("huge")) return UNKNOWN;
    *handle = &cards[index];
    return OK;
}
int nvmlDeviceGetName(void *handle, char *text, unsigned size) {
    (void)handle;
    if (told("bytes")) return snprintf(text, size, "\377\376 H100 \033[31m\n::error::") < 0;
    if (told("endless")) return memset(text, 'A', size), OK;  /* no NUL */
    if (told("overflow")) return memset(text, 'A', 4096), OK;
    return snprintf(text, size, "NVIDIA H100 \033[31m80GB HBM3") < 0;
}
int nvmlDeviceGetUUID(void *handle, char *text, unsigned size) {
    return snprintf(text, size, "GPU-00000000-1111-2222-3333-44444444%04d",
                    told("twins") ? 0 : number(handle)) < 0;
}
int nvmlDeviceGetMemoryInfo(void *handle, memory_v1 *memory) {
    (void)handle;
    *memory = (memory_v1){85899345920ULL, 0, 1000000000ULL};
    return OK;
}
int nvmlDeviceGetMemoryInfo_v2(void *handle, memory_v2 *memory) {
    (void)handle;
    memory->total = told("memory") ? ~0ULL : told("no-memory") ? 0 : 85899345920ULL;
    memory->used = told("memory") || told("no-memory") ? 1ULL << 60 : 4096;
    return OK;
}
int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) {
    (void)handle;
    *major = told("capability") ? -2147483647 : 9, *minor = told("capability") ? -7 : 0;
    return OK;
}
int nvmlDeviceGetPciInfo_v3(void *handle, pci *info) {
    memset(info, 0, sizeof *info);
    info->bus = 0x3b + number(handle);
    return OK;
}
int nvmlDeviceGetEnforcedPowerLimit(void *handle, unsigned *limit) {
    (void)handle;
    *limit = told("power") ? 4294967294u : getenv("FAKE_SOUND") ? 700000 : 310000;
    return OK;
}
int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *degrees) {
    (void)handle, (void)sensor;
    *degrees = 4000000000u;
    return told("temperature") ? OK : NOT_SUPPORTED;
}
int nvmlDeviceGetPowerManagementDefaultLimit(void *handle, unsigned *limit) { (void)handle; *limit = 700000; return OK; }
int nvmlDeviceGetPowerUsage(void *handle, unsigned *power) { (void)handle; (void)power; return NOT_SUPPORTED; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void *handle, unsigned long long *mask) {
    (void)handle;
    *mask = told("reasons") ? ~0ULL - 1 : getenv("FAKE_SOUND") ? 0x1 : 0x4 | 0x40;
    return OK;
}
int nvmlDeviceGetNvLinkState(void *handle, unsigned link, unsigned *active) {
    (void)handle;
    if (link >= 4 || getenv("FAKE_SOUND")) return 2;
    *active = link != 3;
    return OK;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void *handle, unsigned link, unsigned *type) {
    (void)handle, (void)link;
    *type = 2;
    return OK;
}
int nvmlDeviceGetP2PStatus(void *one, void *other, int index, int *status) {
    (void)one, (void)other, (void)index;
    *status = 0;
    return OK;
}
int nvmlDeviceGetTopologyCommonAncestor(void *one, void *other, unsigned *level) {
    (void)one, (void)other;
    *level = 50;
    return OK;
}
int nvmlDeviceGetGpuFabricInfo(void *handle, unsigned char *info) {
    (void)handle;
    memset(info, 0, 28);
    info[24] = getenv("FAKE_SOUND") ? 3 : 2;
    return OK;
}
