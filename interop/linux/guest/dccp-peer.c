/*
 * dccp-peer - DCCP test endpoint on the kernel's DCCP sockets.
 *
 *   dccp-peer listen PORT       [options]
 *   dccp-peer connect HOST PORT [options]
 *
 * Prints one JSON object per line on stdout:
 *   {"type":"listening"...}   the socket accepts connections
 *   {"type":"connected"...}   a connection is up, with what was negotiated
 *   {"type":"report"...}      once a second and connection, running totals
 *   {"type":"summary"...}     the connection is over, final totals
 *   {"type":"error"...}       a call failed
 * and exits with 0 if all went well, 1 after an error, 2 for wrong usage.
 *
 * Messages of 16 bytes or more start with a header, so that the receiver can
 * tell which are missing (all fields big endian):
 *   4 bytes "DPT1" | u32 sequence number from 0 | u64 time of sending, ns
 * The rest is filled with the byte 0x00, 0x01, 0x02, ...  An echoed message
 * comes back unchanged.
 */
#include "peer.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void set_int(int fd, int name, int value, const char *what)
{
	if (value >= 0 && setsockopt(fd, SOL_DCCP, name, &value, sizeof(value)))
		fail(what);
}

static void set_byte(int fd, int name, int value, const char *what)
{
	uint8_t b = value;

	if (value >= 0 && setsockopt(fd, SOL_DCCP, name, &b, sizeof(b)))
		fail(what);
}

static int make_socket(void)
{
	int fd = socket(opt.v6 ? AF_INET6 : AF_INET, SOCK_DCCP, IPPROTO_DCCP);
	uint32_t service = htonl(opt.service);
	int one = 1;

	if (fd < 0)
		fail("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_SERVICE, &service, sizeof(service)))
		fail("DCCP_SOCKOPT_SERVICE");
	set_byte(fd, DCCP_SOCKOPT_TX_CCID, opt.tx_ccid, "DCCP_SOCKOPT_TX_CCID");
	set_byte(fd, DCCP_SOCKOPT_RX_CCID, opt.rx_ccid, "DCCP_SOCKOPT_RX_CCID");
	set_int(fd, DCCP_SOCKOPT_SEND_CSCOV, opt.send_cscov, "DCCP_SOCKOPT_SEND_CSCOV");
	set_int(fd, DCCP_SOCKOPT_RECV_CSCOV, opt.recv_cscov, "DCCP_SOCKOPT_RECV_CSCOV");
	set_int(fd, DCCP_SOCKOPT_QPOLICY_TXQLEN, opt.txqlen, "DCCP_SOCKOPT_QPOLICY_TXQLEN");
	return fd;
}

/* Fills in an address; host NULL means any. Returns its length. */
static socklen_t make_addr(struct sockaddr_storage *ss, const char *host, int port)
{
	memset(ss, 0, sizeof(*ss));
	if (opt.v6) {
		struct sockaddr_in6 *a = (struct sockaddr_in6 *)ss;

		a->sin6_family = AF_INET6;
		a->sin6_port = htons(port);
		if (host && inet_pton(AF_INET6, host, &a->sin6_addr) != 1)
			return 0;
		return sizeof(*a);
	}
	struct sockaddr_in *a = (struct sockaddr_in *)ss;

	a->sin_family = AF_INET;
	a->sin_port = htons(port);
	if (host && inet_pton(AF_INET, host, &a->sin_addr) != 1)
		return 0;
	return sizeof(*a);
}

static int do_connect(const char *host, int port)
{
	struct sockaddr_storage ss;
	socklen_t len;
	int fd;

	opt.v6 = strchr(host, ':') != NULL;
	fd = make_socket();
	if (opt.bind_addr || opt.sport) {
		len = make_addr(&ss, opt.bind_addr, opt.sport);
		if (!len || bind(fd, (struct sockaddr *)&ss, len))
			fail("bind");
	}
	len = make_addr(&ss, host, port);
	if (!len) {
		fprintf(stderr, "dccp-peer: %s: not a numeric address\n", host);
		return 2;
	}
	if (connect(fd, (struct sockaddr *)&ss, len))
		fail("connect");
	return session(fd, "connect", 1);
}

static int do_listen(int port)
{
	struct sockaddr_storage ss;
	socklen_t len;
	int fd, running = 0, conn = 0, failed = 0;

	if (opt.bind_addr)
		opt.v6 = strchr(opt.bind_addr, ':') != NULL;
	fd = make_socket();
	len = make_addr(&ss, opt.bind_addr, port);
	if (!len || bind(fd, (struct sockaddr *)&ss, len))
		fail("bind");
	if (listen(fd, 8))
		fail("listen");
	print_line("{\"type\":\"listening\",\"port\":%d,\"service\":%" PRIu32 "}",
		   port, opt.service);
	double start = now();

	/* One process a connection; this one waits for them. */
	while (!opt.conns || conn < opt.conns) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		int status, client;

		if (opt.timeout > 0 && now() - start >= opt.timeout) {
			failed = 1;
			print_line("{\"type\":\"error\",\"call\":\"accept\",\"errno\":%d,"
				   "\"error\":\"ETIMEDOUT\"}", ETIMEDOUT);
			break;
		}
		if (poll(&pfd, 1, 200) > 0) {
			client = accept(fd, NULL, NULL);
			if (client < 0) {
				if (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED)
					continue;
				fail("accept");
			}
			conn++;
			running++;
			if (fork() == 0) {
				close(fd);
				/* Only accepted sockets allow this one. */
				if (opt.server_timewait)
					set_int(client, DCCP_SOCKOPT_SERVER_TIMEWAIT, 1,
						"DCCP_SOCKOPT_SERVER_TIMEWAIT");
				_exit(session(client, "listen", conn));
			}
			close(client);
		}
		while (waitpid(-1, &status, WNOHANG) > 0) {
			running--;
			failed |= status != 0;
		}
	}
	close(fd);
	while (running-- > 0) {
		int status;

		wait(&status);
		failed |= status != 0;
	}
	return failed;
}

int main(int argc, char **argv)
{
	int first = parse_options(argc, argv);

	signal(SIGPIPE, SIG_IGN);
	if (argc - first == 2 && !strcmp(argv[first], "listen"))
		return do_listen(atoi(argv[first + 1]));
	if (argc - first == 3 && !strcmp(argv[first], "connect"))
		return do_connect(argv[first + 1], atoi(argv[first + 2]));
	print_usage();
	return 2;
}
