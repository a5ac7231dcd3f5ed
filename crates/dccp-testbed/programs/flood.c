/*
 * Sends datagrams over loopback, or receives them: by the calls of the kernel's DCCP, or with -DLIBRARY by those of libdccp.
 *
 *   flood receive PORT            receives until the end of a connection, and prints how many datagrams came
 *   flood send PORT COUNT LENGTH  sends so many, 100 each millisecond
 *
 * PORT is the DCCP port. Here the UDP port of dccprun --udp-port and --remote-udp-port is 7031.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Datagrams of a burst, and the nanoseconds between two. */
#define BURST 100
#define PAUSE 1000000

#define CHECK(what) \
	do { \
		if (!(what)) { \
			perror(#what); \
			exit(1); \
		} \
	} while (0)

static char data[9216];

#ifdef LIBRARY
#include <dccp.h>

typedef dccp_socket *end;

static end connect_to(int port)
{
	char place[64];
	end peer;

	snprintf(place, sizeof(place), "127.0.0.1:7031/%d", port);
	CHECK(dccp_connect(place, NULL, &peer) >= 0);
	return peer;
}

static end accept_at(int port)
{
	char place[64];
	dccp_listener *listener;
	end peer;

	snprintf(place, sizeof(place), "127.0.0.1:7031/%d", port);
	CHECK(dccp_listen(place, NULL, &listener) >= 0);
	puts("ready");
	fflush(stdout);
	CHECK(dccp_accept(listener, &peer) >= 0);
	return peer;
}

static void send_one(end peer, size_t len)
{
	CHECK(dccp_send(peer, data, len) >= 0);
}

static int receive_one(end peer)
{
	return dccp_recv(peer, data, sizeof(data)) >= 0;
}

static void finish(end peer)
{
	CHECK(dccp_close(peer) >= 0);
}
#else
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOCK_DCCP_KIND 6
#define IPPROTO_DCCP_NUMBER 33

typedef int end;

static struct sockaddr_in place_of(int port)
{
	struct sockaddr_in place = { .sin_family = AF_INET, .sin_port = htons(port) };

	place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return place;
}

static end connect_to(int port)
{
	struct sockaddr_in place = place_of(port);
	end peer = socket(AF_INET, SOCK_DCCP_KIND, IPPROTO_DCCP_NUMBER);

	CHECK(peer >= 0);
	CHECK(!connect(peer, (struct sockaddr *)&place, sizeof(place)));
	return peer;
}

static end accept_at(int port)
{
	struct sockaddr_in place = place_of(port);
	int listener = socket(AF_INET, SOCK_DCCP_KIND, IPPROTO_DCCP_NUMBER);

	CHECK(listener >= 0);
	CHECK(!bind(listener, (struct sockaddr *)&place, sizeof(place)));
	CHECK(!listen(listener, 1));
	puts("ready");
	fflush(stdout);
	end peer = accept(listener, NULL, NULL);
	CHECK(peer >= 0);
	return peer;
}

static void send_one(end peer, size_t len)
{
	CHECK(send(peer, data, len, 0) == (ssize_t)len);
}

static int receive_one(end peer)
{
	return recv(peer, data, sizeof(data), 0) > 0;
}

static void finish(end peer)
{
	CHECK(!close(peer));
}
#endif

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "receive")) {
		end peer = accept_at(atoi(argv[2]));
		long count = 0;

		while (receive_one(peer))
			count++;
		printf("%ld\n", count);
		return 0;
	}
	if (argc != 5 || strcmp(argv[1], "send")) {
		fprintf(stderr, "usage: flood receive PORT | send PORT COUNT LENGTH\n");
		return 2;
	}
	end peer = connect_to(atoi(argv[2]));
	long count = atol(argv[3]);

	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long n = 0; n < count; n++) {
		if (n % BURST == 0) {
			next.tv_nsec += PAUSE;
			if (next.tv_nsec >= 1000000000) {
				next.tv_nsec -= 1000000000;
				next.tv_sec++;
			}
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		}
		send_one(peer, atol(argv[4]));
	}
	finish(peer);
	return 0;
}
