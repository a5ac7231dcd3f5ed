/* Another preloaded library: counts calls of close() and socket(), and prints both numbers at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/socket.h>

static int closed, sockets;

int close(int fd)
{
	int (*next)(int) = dlsym(RTLD_NEXT, "close");

	closed++;
	return next(fd);
}

int socket(int domain, int type, int protocol)
{
	int (*next)(int, int, int) = dlsym(RTLD_NEXT, "socket");

	sockets++;
	return next(domain, type, protocol);
}

__attribute__((destructor)) static void report(void)
{
	printf("counted %s %d\n", closed ? "some" : "none", sockets);
}
