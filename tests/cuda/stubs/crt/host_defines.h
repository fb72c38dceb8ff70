/* The words of CUDA's compiler that driver_types.h uses, for a plain C compiler. */
#define __device_builtin__
#define __device_builtin_surface_type__
#define __device_builtin_texture_type__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __host__
#define __device__
#define __restrict__ restrict
