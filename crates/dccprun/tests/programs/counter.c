/* Another preloaded library: counts calls of send() and socket(), and prints both numbers at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/socket.h>

static int sends, sockets;

ssize_t send(int fd, const void *data, size_t len, int flags)
{
	ssize_t (*next)(int, const void *, size_t, int) = dlsym(RTLD_NEXT, "send");

	sends++;
	return next(fd, data, len, flags);
}

int socket(int domain, int type, int protocol)
{
	int (*next)(int, int, int) = dlsym(RTLD_NEXT, "socket");

	sockets++;
	return next(domain, type, protocol);
}

__attribute__((destructor)) static void report(void)
{
	printf("counted %d %d\n", sends, sockets);
}
