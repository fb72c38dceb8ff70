/* A libcuda whose cuInit does what FAKE_CUDA says: a code, "hang" or "crash". */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cuInit(unsigned flags) {
    const char *what = getenv("FAKE_CUDA");
    if (flags || !what) return 1;
    if (!strcmp(what, "hang")) sleep(600);
    if (!strcmp(what, "crash")) abort();
    return atoi(what);
}

int cuDriverGetVersion(int *version) {
    *version = 13000;
    return 0;
}
