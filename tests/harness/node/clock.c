/* A wall clock that a test can move, preloaded into a server.
 *
 * The file that REDLOCK_CLOCK names is mapped, so that a change holds from the next look at the clock
 * on. It holds how many microseconds are added. Monotonic clocks go on as they are, as they do on a machine
 * whose wall clock is set.
 *
 * The kernel is asked directly: looking up the functions that are replaced here would allocate, and
 * an allocator that looks at the clock while it starts (jemalloc does) would end up where it began. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MICROS 1000000

static const volatile int64_t *shift;

__attribute__((constructor)) static void map_shift(void) {
    const char *path = getenv("REDLOCK_CLOCK");
    int opened = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (opened < 0)
        return;
    void *page = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, opened, 0);
    close(opened);
    if (page != MAP_FAILED)
        shift = page;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (failed || !shift || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return failed;
    int64_t by = *shift;
    now->tv_sec += by / MICROS;
    now->tv_nsec += by % MICROS * 1000;
    if (now->tv_nsec < 0) {
        now->tv_nsec += 1000000000;
        now->tv_sec -= 1;
    } else if (now->tv_nsec >= 1000000000) {
        now->tv_nsec -= 1000000000;
        now->tv_sec += 1;
    }
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec precise;
    int failed = clock_gettime(CLOCK_REALTIME, &precise);
    if (failed)
        return failed;
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec precise;
    if (clock_gettime(CLOCK_REALTIME, &precise))
        return (time_t)-1;
    if (now)
        *now = precise.tv_sec;
    return precise.tv_sec;
}
