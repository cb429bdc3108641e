/* Look-ups of names that a test decides, preloaded into the test's own process.
 *
 * The file REDLOCK_NAMES/hosts has lines such as `name 127.0.0.1 127.0.0.2`, and the addresses are answered in that
 * order. Without an address the name is unknown. The look-up of a name with `hang` does not return, whatever the file
 * says later. Every look-up reads the file. A name that is not in the file is looked up as usual.
 *
 * The file REDLOCK_NAMES/under_way is mapped. It holds how many look-ups of such names are under way. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* A process that waits for them must end too: no look-up hangs for longer after the first one began to. */
#define LONGEST_HANG_S 30

typedef int look_up(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static _Atomic int64_t *under_way;

__attribute__((constructor)) static void map_under_way(void) {
    char path[4096];
    const char *dir = getenv("REDLOCK_NAMES");
    snprintf(path, sizeof path, "%s/under_way", dir ? dir : "");
    int opened = dir ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (opened < 0)
        return;
    void *page = mmap(NULL, sizeof *under_way, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    close(opened);
    if (page != MAP_FAILED)
        under_way = page;
}

/* Copies what the file says of `name` to `told`. Returns 0 if the name is not in the file. */
static int is_told(const char *name, char *told, size_t most) {
    char path[4096], line[1024], *rest;
    snprintf(path, sizeof path, "%s/hosts", getenv("REDLOCK_NAMES"));
    FILE *hosts = fopen(path, "re");
    int found = 0;
    while (hosts && !found && fgets(line, sizeof line, hosts)) {
        char *first = strtok_r(line, " \n", &rest);
        found = first && !strcmp(first, name);
    }
    if (found)
        snprintf(told, most, "%s", rest);
    if (hosts)
        fclose(hosts);
    return found;
}

/* Returns the addresses as one list. Each entry is the C library's own, so its freeaddrinfo frees the list. */
static int list(look_up *real, char *addresses, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
    struct addrinfo numeric = {0};
    if (hints)
        numeric = *hints;
    numeric.ai_flags |= AI_NUMERICHOST;
    *found = NULL;
    char *rest;
    for (char *address = strtok_r(addresses, " \n", &rest); address; address = strtok_r(NULL, " \n", &rest)) {
        int failed = real(address, service, &numeric, found);
        if (failed)
            return failed;
        while (*found)
            found = &(*found)->ai_next;
    }
    return 0;
}

static int hang(void) {
    static _Atomic time_t began;
    time_t unset = 0, now = time(NULL);
    atomic_compare_exchange_strong(&began, &unset, now);
    for (; now - began < LONGEST_HANG_S; now = time(NULL))
        sleep(1);
    return EAI_AGAIN;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    look_up *real = (look_up *)dlsym(RTLD_NEXT, "getaddrinfo");
    char told[1024];
    if (!name || !under_way || !is_told(name, told, sizeof told))
        return real(name, service, hints, found);
    ++*under_way;
    *found = NULL;
    int failed = strncmp(told, "hang", 4) ? list(real, told, service, hints, found) : hang();
    --*under_way;
    return failed ? failed : *found ? 0 : EAI_NONAME;
}
