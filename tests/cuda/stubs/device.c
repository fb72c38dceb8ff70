/* Preloaded before torch: what its C++ side asks about devices. Until `pretend` is called there is none.
 *
 * c10::cuda::device_count()                 is asked by the autograd engine
 * at::cuda::getCurrentDeviceProperties()    by the choice of an attention kernel, among others
 * cuda...                                   by DistributedDataParallel's own stopwatch
 *
 * The mangled names are as the compiler of torch wrote them (Itanium C++ ABI).
 */
#include <string.h>

#include <driver_types.h>

static signed char devices = 0;
static struct cudaDeviceProp chip;

signed char _ZN3c104cuda12device_countEv(void) { return devices; }
struct cudaDeviceProp *_ZN2at4cuda26getCurrentDevicePropertiesEv(void) { return &chip; }
struct cudaDeviceProp *_ZN2at4cuda19getDevicePropertiesEa(signed char index) {
  (void)index;
  return &chip;
}

/* Refused as without a driver until a device is pretended. */
#define ANSWER (devices ? cudaSuccess : cudaErrorInsufficientDriver)

cudaError_t cudaGetDeviceCount(int *count) {
  *count = devices;
  return ANSWER;
}
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int index) {
  (void)attribute, (void)index;
  *value = 0;
  return ANSWER;
}
cudaError_t cudaGetDevice(int *index) {
  *index = 0;
  return ANSWER;
}
cudaError_t cudaSetDevice(int index) {
  (void)index;
  return ANSWER;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return ANSWER;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
  (void)flags, (void)priority;
  *stream = (cudaStream_t)&chip;
  return ANSWER;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
  (void)stream;
  *status = cudaStreamCaptureStatusNone;
  return ANSWER;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  (void)stream, (void)event, (void)flags;
  return ANSWER;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  (void)flags;
  *event = (cudaEvent_t)&chip;
  return ANSWER;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  (void)event, (void)stream;
  return ANSWER;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  (void)event, (void)stream, (void)flags;
  return ANSWER;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  (void)event;
  return ANSWER;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  (void)event;
  return ANSWER;
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  (void)begin, (void)end;
  *milliseconds = 1;
  return ANSWER;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  (void)event;
  return ANSWER;
}

void pretend(int count, const char *name, int major, int minor, int multiprocessors,
             unsigned long long memory) {
  memset(&chip, 0, sizeof chip);
  strncpy(chip.name, name, sizeof chip.name - 1);
  chip.major = major;
  chip.minor = minor;
  chip.multiProcessorCount = multiprocessors;
  chip.totalGlobalMem = memory;
  chip.warpSize = 32;
  devices = (signed char)count;
}
