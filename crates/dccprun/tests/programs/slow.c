/* Another preloaded library: each call of listen() takes half a second before it has an effect. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

int listen(int fd, int backlog)
{
	int (*next)(int, int) = dlsym(RTLD_NEXT, "listen");

	usleep(500000);
	return next(fd, backlog);
}
