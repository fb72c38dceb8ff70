/* A wall clock that is wrong, while the monotonic one is right: preloaded, it reads "BASE OFFSET RATE" (seconds, ratio)
   from the file that FAKE_CLOCK names, and tells BASE + OFFSET + RATE * (now - BASE). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static double told(const struct timespec *now)
{
    double base = 0, offset = 0, rate = 1, seconds = now->tv_sec + now->tv_nsec / 1e9;
    char text[100];
    const char *name = getenv("FAKE_CLOCK");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return seconds;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0)
        return seconds;
    text[length] = 0;
    if (sscanf(text, "%lf %lf %lf", &base, &offset, &rate) != 3)
        return seconds;
    return base + offset + rate * (seconds - base);
}

int clock_gettime(clockid_t which, struct timespec *out)
{
    int result = syscall(SYS_clock_gettime, which, out);
    if (result == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) {
        double seconds = told(out);
        out->tv_sec = (time_t)seconds;
        out->tv_nsec = (long)((seconds - (double)out->tv_sec) * 1e9);
    }
    return result;
}

int gettimeofday(struct timeval *out, void *zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
