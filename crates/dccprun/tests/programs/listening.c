/*
 * Uses the calls of listeners: listening ADDRESS PART
 *
 * Exits with 0 if all calls behave as with the kernel's DCCP.
 */
#include "common.h"

#define PORT 5001

/* Listeners of both families share a port, if that of IPv6 leaves IPv4 out. */
static void test_families(const struct place *any)
{
	struct place four = place_of("0.0.0.0", PORT);
	int listeners[3], only = 1;

	for (int n = 0; n < 3; n++) {
		const struct place *place = n ? &four : any;

		listeners[n] = dccp_socket(place, 0);
		if (!n)
			CHECK(!setsockopt(listeners[n], IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only)));
		int bound = bind(listeners[n], (struct sockaddr *)&place->addr, place->len);
		CHECK(n < 2 ? !bound : bound == -1 && errno == EADDRINUSE);
		CHECK(n == 2 || !listen(listeners[n], 1));
	}
}

/* A listener whose UDP port is taken works once the port is free. */
static void test_again(const struct place *place)
{
	struct timeval limit = { .tv_sec = 30 };
	int fd = dccp_socket(place, 0);

	CHECK(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
	CHECK(!bind(fd, (struct sockaddr *)&place->addr, place->len));
	CHECK(listen(fd, 5) == -1 && errno == EADDRINUSE);
	puts("taken");
	fflush(stdout);
	for (int tries = 0; listen(fd, 5); tries++) {
		CHECK(errno == EADDRINUSE && tries < 1000);
		usleep(10000);
	}
	puts("ready");
	fflush(stdout);
	fd = accept(fd, NULL, NULL);
	limit.tv_sec = 0;
	CHECK(fd >= 0 && !getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &(socklen_t){ sizeof(limit) }));
	CHECK(limit.tv_sec == 30);
	CHECK(send(fd, "hello", 5, 0) == 5);
	CHECK(recv(fd, &(char){ 0 }, 1, 0) == 0);
}

/* Becomes a server that goes to the background: its parent ends before it listens, and waits for nothing. */
static void background(int seconds)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (child)
		_exit(0);
	sleep(seconds);
}

/* Sends "hello" to a connection. */
static void greet(int listener)
{
	int fd = accept(listener, NULL, NULL);

	CHECK(fd >= 0 && send(fd, "hello", 5, 0) == 5);
	CHECK(recv(fd, &(char){ 0 }, 1, 0) == 0);
}

/* A server in the background may take its time with a socket. An address without a family is one of IPv4. */
static void test_late(const struct place *place)
{
	struct place any = place_of("0.0.0.0", PORT);
	int fd = dccp_socket(place, 0);

	((struct sockaddr *)&any.addr)->sa_family = AF_UNSPEC;
	background(3);
	CHECK(!bind(fd, (struct sockaddr *)&any.addr, any.len) && !listen(fd, 5));
	puts("ready");
	fflush(stdout);
	greet(fd);
}

/* A server may give its user up, listen, and only then go to the background. */
static void test_dropped(const struct place *place)
{
	int fd = dccp_socket(place, 0);

	CHECK(!bind(fd, (struct sockaddr *)&place->addr, place->len));
	CHECK(!setgid(65534) && !setuid(65534) && !listen(fd, 5));
	background(0);
	puts("ready");
	fflush(stdout);
	greet(fd);
}

/* Receives what the listener of "again" sends. */
static void test_greeted(const struct place *peer)
{
	char text[8];
	int fd = dccp_socket(peer, 0);

	CHECK(!connect_place(fd, peer));
	CHECK(recv(fd, text, sizeof(text), 0) == 5 && !memcmp(text, "hello", 5));
}

static const struct {
	const char *name;
	void (*run)(const struct place *);
} parts[] = {
	{ "families", test_families }, { "again", test_again }, { "greeted", test_greeted },
	{ "late", test_late }, { "dropped", test_dropped },
};

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	struct place place = place_of(argv[1], PORT);

	for (size_t n = 0; n < sizeof(parts) / sizeof(*parts); n++)
		if (!strcmp(parts[n].name, argv[2])) {
			parts[n].run(&place);
			return 0;
		}
	fprintf(stderr, "%s: no such part\n", argv[2]);
	return 2;
}
