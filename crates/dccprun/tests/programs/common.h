/* Shared by the test programs: checks, addresses, sockets. */
#ifndef COMMON_H
#define COMMON_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dccp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SOCK_DCCP
#define SOCK_DCCP 6
#endif
#ifndef IPPROTO_DCCP
#define IPPROTO_DCCP 33
#endif
#ifndef SOL_DCCP
#define SOL_DCCP 269
#endif

/* Ends the program with the line and the condition that is false. */
#define CHECK(condition)                                                      \
	do {                                                                  \
		if (!(condition)) {                                           \
			fprintf(stderr, "%s:%d: %s (errno %s)\n", __FILE__,   \
				__LINE__, #condition, strerrorname_np(errno)); \
			exit(1);                                              \
		}                                                             \
	} while (0)

struct place {
	struct sockaddr_storage addr;
	socklen_t len;
};

static inline struct place place_of(const char *host, int port)
{
	struct place place = { .len = sizeof(struct sockaddr_in) };

	if (strchr(host, ':')) {
		struct sockaddr_in6 *a = (struct sockaddr_in6 *)&place.addr;

		place.len = sizeof(*a);
		a->sin6_family = AF_INET6;
		a->sin6_port = htons(port);
		CHECK(inet_pton(AF_INET6, host, &a->sin6_addr) == 1);
	} else {
		struct sockaddr_in *a = (struct sockaddr_in *)&place.addr;

		a->sin_family = AF_INET;
		a->sin_port = htons(port);
		CHECK(inet_pton(AF_INET, host, &a->sin_addr) == 1);
	}
	return place;
}

static inline int dccp_socket(const struct place *place, int flags)
{
	int fd = socket(place->addr.ss_family, SOCK_DCCP | flags, IPPROTO_DCCP);

	CHECK(fd >= 0);
	return fd;
}

static inline int connect_place(int fd, const struct place *place)
{
	return connect(fd, (const struct sockaddr *)&place->addr, place->len);
}

#endif
