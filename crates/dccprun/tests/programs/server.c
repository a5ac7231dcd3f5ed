/*
 * Echoes datagrams: server ADDRESS PORT CONNECTIONS MODE
 *
 * Prints "ready" when it listens. Each connection has a process of its own.
 * In the mode "limit" there are too few descriptors for the first accept.
 * A datagram "close" closes the connection, "abort" resets it, "burst" sends
 * 100 numbered datagrams.
 */
#include "common.h"
#include <sys/resource.h>

static void serve(int fd)
{
	static char data[65536];
	ssize_t len;

	while ((len = recv(fd, data, sizeof(data), 0)) > 0) {
		if (len == 5 && !memcmp(data, "close", 5))
			return;
		if (len == 5 && !memcmp(data, "abort", 5)) {
			struct linger now = { .l_onoff = 1 };

			CHECK(!setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
			return;
		}
		if (len == 5 && !memcmp(data, "burst", 5)) {
			for (uint32_t n = 0; n < 100; n++)
				CHECK(send(fd, &n, sizeof(n), 0) == sizeof(n));
			continue;
		}
		CHECK(send(fd, data, len, 0) == len);
	}
	CHECK(len == 0);
}

/* A connection has the code that the client asked for, out of those of its listener. */
static void check_service(int fd)
{
	uint32_t code = 0;
	socklen_t len = sizeof(code);

	CHECK(!getsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_SERVICE, &code, &len));
	CHECK(len == sizeof(code) && ntohl(code) >= 42 && ntohl(code) <= 44);
}

/* With `free` descriptors that are free, accept fails. The connection still waits. */
static void check_limit(int fd, int free)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	struct rlimit all, few;
	int lowest = dup(fd);

	CHECK(!close(lowest) && !getrlimit(RLIMIT_NOFILE, &all));
	few = all;
	few.rlim_cur = lowest + free;
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	CHECK(accept(fd, (struct sockaddr *)&peer, &len) == -1 && errno == EMFILE);
	CHECK(!setrlimit(RLIMIT_NOFILE, &all));
}

int main(int argc, char **argv)
{
	CHECK(argc == 5);
	struct place place = place_of(argv[1], atoi(argv[2]));
	int fd = dccp_socket(&place, 0), left = atoi(argv[3]), failed = 0, status;
	uint32_t codes[4] = { htonl(42), htonl(43), htonl(44), htonl(43) };

	CHECK(!setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_SERVICE, codes, sizeof(codes)));
	CHECK(!bind(fd, (struct sockaddr *)&place.addr, place.len));
	CHECK(!listen(fd, 8));
	int accepts = 0;
	socklen_t len = sizeof(accepts);
	CHECK(!getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &len) && accepts);
	puts("ready");
	fflush(stdout);
	while (left-- > 0) {
		struct sockaddr_storage peer = { 0 };
		struct pollfd ready = { .fd = fd, .events = POLLIN };

		len = sizeof(peer);
		CHECK(poll(&ready, 1, -1) == 1 && ready.revents == POLLIN);
		if (!strcmp(argv[4], "limit"))
			for (int free = 0; free < 2; free++)
				check_limit(fd, free);
		int lowest = dup(fd);
		close(lowest);
		int client = accept4(fd, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC);

		CHECK(client == lowest);
		CHECK(fcntl(client, F_GETFD) == FD_CLOEXEC);
		check_service(client);
		CHECK(peer.ss_family == place.addr.ss_family && len == place.len);
		pid_t child = fork();
		CHECK(child >= 0);
		if (!child) {
			close(fd);
			serve(client);
			close(client);
			_exit(0);
		}
		close(client);
	}
	close(fd);
	while (wait(&status) > 0)
		failed |= status;
	return failed != 0;
}
