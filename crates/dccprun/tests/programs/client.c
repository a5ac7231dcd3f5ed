/*
 * Uses one part of the socket interface: client ADDRESS PORT PART
 *
 * Exits with 0 if all calls behave as with the kernel's DCCP.
 */
#include "common.h"

static struct place peer;
static int service = 42;

static int opened(int flags)
{
	uint32_t code = htonl(service);
	int fd = dccp_socket(&peer, flags);

	CHECK(!setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_SERVICE, &code, sizeof(code)));
	return fd;
}

static int connected(void)
{
	int fd = opened(0);

	CHECK(!connect_place(fd, &peer));
	return fd;
}

static void echo(int fd, const char *text)
{
	char back[2048];
	size_t len = strlen(text);

	CHECK(send(fd, text, len, 0) == (ssize_t)len);
	/* Without an address, its length means nothing. */
	CHECK(recvfrom(fd, back, sizeof(back), 0, NULL, (socklen_t *)1) == (ssize_t)len);
	CHECK(!memcmp(back, text, len));
}

static int int_option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	CHECK(!getsockopt(fd, level, name, &value, &len) && len == sizeof(value));
	return value;
}

static void test_echo(void)
{
	int fd = connected();

	echo(fd, "hello");
	echo(fd, "world");
	/* Boundaries: the end of a datagram that does not fit is lost. */
	char back[8];

	CHECK(send(fd, "0123456789", 10, 0) == 10);
	CHECK(send(fd, "next", 4, 0) == 4);
	CHECK(recv(fd, back, 4, MSG_TRUNC) == 10 && !memcmp(back, "0123", 4));
	CHECK(recv(fd, back, 2, MSG_PEEK) == 2);
	CHECK(recv(fd, back, 8, 0) == 4 && !memcmp(back, "next", 4));
	CHECK(recv(fd, back, 8, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	close(fd);
}

static void test_names(void)
{
	int fd = opened(0);
	struct place own = place_of(peer.addr.ss_family == AF_INET ? "127.0.0.1" : "::1", 0);
	struct sockaddr_storage name = { 0 };
	socklen_t len = sizeof(name);

	CHECK(getpeername(fd, (struct sockaddr *)&name, &len) == -1 && errno == ENOTCONN);
	CHECK(!bind(fd, (struct sockaddr *)&own.addr, own.len));
	CHECK(bind(fd, (struct sockaddr *)&own.addr, own.len) == -1 && errno == EINVAL);
	CHECK(!getsockname(fd, (struct sockaddr *)&name, &len) && len == peer.len);
	in_port_t port = ((struct sockaddr_in *)&name)->sin_port;
	CHECK(port != 0);
	int other = opened(0);
	CHECK(bind(other, (struct sockaddr *)&name, len) == -1 && errno == EADDRINUSE);
	CHECK(!connect_place(fd, &peer));
	len = sizeof(name);
	CHECK(!getsockname(fd, (struct sockaddr *)&name, &len));
	CHECK(((struct sockaddr_in *)&name)->sin_port == port);
	len = sizeof(name);
	CHECK(!getpeername(fd, (struct sockaddr *)&name, &len) && len == peer.len);
	CHECK(!memcmp(&name, &peer.addr, 8));
	/* A received datagram has no address. */
	char back[8];

	len = sizeof(name);
	CHECK(sendto(fd, "x", 1, 0, NULL, 0) == 1);
	CHECK(recvfrom(fd, back, 8, 0, (struct sockaddr *)&name, &len) == 1 && len == 0);
	CHECK(int_option(fd, SOL_SOCKET, SO_TYPE) == SOCK_DCCP);
	CHECK(int_option(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_DCCP);
	CHECK(int_option(fd, SOL_SOCKET, SO_DOMAIN) == peer.addr.ss_family);
	CHECK(connect_place(fd, &peer) == -1 && errno == EISCONN);
	/* A closed socket gives its port up. */
	struct place again = { .len = len };
	again.len = peer.len;
	len = sizeof(again.addr);
	CHECK(!getsockname(fd, (struct sockaddr *)&again.addr, &len));
	close(fd);
	for (int tries = 0; bind(other, (struct sockaddr *)&again.addr, again.len); tries++) {
		CHECK(errno == EADDRINUSE && tries < 500);
		usleep(10000);
	}
	struct place foreign = place_of(peer.addr.ss_family == AF_INET ? "192.0.2.1" : "2001:db8::1", 0);
	fd = opened(0);
	CHECK(bind(fd, (struct sockaddr *)&foreign.addr, foreign.len) == -1 && errno == EADDRNOTAVAIL);
	close(fd);
	close(other);
}

static void test_protocol_0(void)
{
	int fd = socket(peer.addr.ss_family, SOCK_DCCP | SOCK_CLOEXEC, 0);
	uint32_t code = htonl(43);

	CHECK(fd >= 0);
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(!setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_SERVICE, &code, sizeof(code)));
	CHECK(!connect_place(fd, &peer));
	echo(fd, "protocol 0");
	CHECK(int_option(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_DCCP);
	CHECK(socket(peer.addr.ss_family, SOCK_DCCP, IPPROTO_UDP) == -1);
	close(fd);
}

static void test_service(void)
{
	service = 7;
	CHECK(connect_place(opened(0), &peer) == -1 && errno == EBADRQC);
}

static void test_refused(void)
{
	CHECK(connect_place(opened(0), &peer) == -1 && errno == ECONNREFUSED);
}

static void test_timeout(void)
{
	CHECK(connect_place(opened(0), &peer) == -1 && errno == ETIMEDOUT);
}

static void nothing(int signal)
{
	(void)signal;
}

/* With a peer that does not answer: a signal ends the call, and the handshake goes on. */
static void test_interrupted(void)
{
	int fd = opened(0);
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	struct sigaction action = { .sa_handler = nothing };

	CHECK(!sigaction(SIGALRM, &action, NULL));
	alarm(1);
	CHECK(connect_place(fd, &peer) == -1 && errno == EINTR);
	CHECK(poll(&ready, 1, 30000) == 1 && ready.revents & POLLOUT);
	CHECK(int_option(fd, SOL_SOCKET, SO_ERROR) == ETIMEDOUT);
	close(fd);
}

/* Begins to connect; the socket must not be writable before the handshake has ended. */
static int connecting(void)
{
	int fd = opened(SOCK_NONBLOCK);

	CHECK(connect_place(fd, &peer) == -1 && errno == EINPROGRESS);
	return fd;
}

static void test_nonblocking(void)
{
	int fd = connecting();
	struct pollfd ready = { .fd = fd, .events = POLLOUT };

	CHECK(poll(&ready, 1, 10000) == 1 && ready.revents == POLLOUT);
	CHECK(int_option(fd, SOL_SOCKET, SO_ERROR) == 0);
	CHECK(connect_place(fd, &peer) == -1 && errno == EISCONN);
	char back[8];

	CHECK(recv(fd, back, 8, 0) == -1 && errno == EAGAIN);
	CHECK(send(fd, "abc", 3, 0) == 3);
	ready.events = POLLIN;
	CHECK(poll(&ready, 1, 10000) == 1 && ready.revents == POLLIN);
	CHECK(recv(fd, back, 8, 0) == 3);
	close(fd);
}

static void test_nonblocking_refused(void)
{
	int fd = connecting();
	struct pollfd ready = { .fd = fd, .events = POLLOUT };

	CHECK(poll(&ready, 1, 10000) == 1 && ready.revents & POLLOUT);
	CHECK(int_option(fd, SOL_SOCKET, SO_ERROR) == ECONNREFUSED);
	CHECK(int_option(fd, SOL_SOCKET, SO_ERROR) == 0);
	close(fd);
}

/* With a peer that does not answer: the handshake goes on while the program waits. */
static void test_nonblocking_silent(void)
{
	int fd = connecting();
	struct pollfd ready = { .fd = fd, .events = POLLOUT };

	CHECK(poll(&ready, 1, 300) == 0);
	CHECK(connect_place(fd, &peer) == -1 && errno == EALREADY);
	CHECK(poll(&ready, 1, 30000) == 1 && ready.revents & POLLOUT);
	CHECK(int_option(fd, SOL_SOCKET, SO_ERROR) == ETIMEDOUT);
	close(fd);
}

static void test_select(void)
{
	int fd = connecting(), left = 1;
	char back[8];
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	CHECK(select(fd + 1, NULL, &set, NULL, NULL) == 1 && FD_ISSET(fd, &set));
	CHECK(write(fd, "select", 6) == 6);
	while (left) {
		FD_ZERO(&set);
		FD_SET(fd, &set);
		CHECK(select(fd + 1, &set, NULL, NULL, NULL) == 1);
		CHECK(read(fd, back, 8) == 6);
		left = 0;
	}
	close(fd);
}

static void test_epoll(uint32_t edge)
{
	int fd = connecting(), all = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLOUT | edge };
	uint32_t expected = 0, n;

	CHECK(!epoll_ctl(all, EPOLL_CTL_ADD, fd, &event));
	CHECK(epoll_wait(all, &event, 1, 10000) == 1 && event.events & EPOLLOUT);
	event.events = EPOLLIN | edge;
	CHECK(!epoll_ctl(all, EPOLL_CTL_MOD, fd, &event));
	CHECK(send(fd, "burst", 5, 0) == 5);
	while (expected < 100) {
		CHECK(epoll_wait(all, &event, 1, 10000) == 1 && event.events == EPOLLIN);
		/* An edge comes once: all that is there must be read. */
		while (recv(fd, &n, sizeof(n), 0) == sizeof(n))
			CHECK(n == expected++);
		CHECK(errno == EAGAIN);
	}
	CHECK(epoll_wait(all, &event, 1, 0) == 0);
	close(fd);
}

static void test_level(void)
{
	test_epoll(0);
}

static void test_edge(void)
{
	test_epoll(EPOLLET);
}

static void test_dup(void)
{
	int fd = connected();
	int copy = dup(fd), other = fcntl(fd, F_DUPFD, 100), third = dup2(fd, 50);

	CHECK(copy >= 0 && other >= 100 && third == 50);
	close(fd);
	echo(copy, "copy");
	echo(other, "other");
	echo(third, "third");
	CHECK(int_option(other, SOL_SOCKET, SO_TYPE) == SOCK_DCCP);
	/* The number can stand for something else. */
	int pipes[2];
	char back[4096];

	CHECK(!pipe(pipes));
	CHECK(dup2(pipes[1], third) == third);
	CHECK(write(third, back, 4096) == 4096);
	CHECK(read(pipes[0], back, 4096) == 4096);
	close(copy);
	echo(other, "still open");
	close(other);
}

static void test_fork(void)
{
	int fd = connected(), status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		echo(fd, "from the child");
		int new = connected();

		echo(new, "of the child");
		close(new);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	echo(fd, "from the parent");
	close(fd);
}

static void test_exec(void)
{
	char number[16];
	int fd = connected();

	snprintf(number, sizeof(number), "%d", fd);
	setenv("INHERITED", number, 1);
	execl("/proc/self/exe", "client", getenv("HOST_WORD"), getenv("PORT_WORD"), "inherited", NULL);
	CHECK(0);
}

static void test_inherited(void)
{
	int fd = atoi(getenv("INHERITED"));
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	static char data[4096];

	CHECK(!getpeername(fd, (struct sockaddr *)&name, &len));
	CHECK(send(fd, data, sizeof(data), 0) == -1 && errno == EMSGSIZE);
	echo(fd, "after exec");
	close(fd);
}

static void test_sendmsg(void)
{
	int fd = connected();
	char a[3] = "abc", b[5] = "defgh", back[16], control[CMSG_SPACE(4)] = { 0 };
	struct iovec parts[2] = { { a, 3 }, { b, 5 } }, whole = { back, sizeof(back) };
	struct sockaddr_storage name;
	struct msghdr out = { .msg_iov = parts, .msg_iovlen = 2 };
	struct msghdr in = { .msg_iov = &whole, .msg_iovlen = 1,
			     .msg_name = &name, .msg_namelen = sizeof(name) };

	CHECK(sendmsg(fd, &out, 0) == 8);
	CHECK(recvmsg(fd, &in, 0) == 8 && !memcmp(back, "abcdefgh", 8));
	CHECK(in.msg_namelen == 0);
	CHECK(writev(fd, parts, 2) == 8);
	CHECK(readv(fd, parts, 2) == 8);
	struct mmsghdr many[2] = { { .msg_hdr = out }, { .msg_hdr = out } };

	CHECK(sendmmsg(fd, many, 2, 0) == 2);
	for (int n = 0; n < 2; n++)
		many[n].msg_hdr = (struct msghdr){ .msg_iov = parts, .msg_iovlen = 2,
						   .msg_name = &name, .msg_namelen = sizeof(name) };
	for (int got = 0; got < 2;)
		got += recvmmsg(fd, many + got, 2 - got, MSG_WAITFORONE, NULL);
	CHECK(many[0].msg_len == 8 && many[0].msg_hdr.msg_namelen == 0);
	/* The queue without priorities refuses a priority. */
	struct cmsghdr *priority = (struct cmsghdr *)control;

	out.msg_control = control;
	out.msg_controllen = sizeof(control);
	*priority = (struct cmsghdr){ CMSG_LEN(4), SOL_DCCP, DCCP_SCM_PRIORITY };
	CHECK(sendmsg(fd, &out, 0) == -1 && errno == EINVAL);
	close(fd);
}

static void test_emsgsize(void)
{
	static char data[65536];
	int fd = opened(0);

	CHECK(int_option(fd, SOL_DCCP, DCCP_SOCKOPT_GET_CUR_MPS) == 536);
	CHECK(!connect_place(fd, &peer));
	int mps = int_option(fd, SOL_DCCP, DCCP_SOCKOPT_GET_CUR_MPS);
	struct iovec parts[2] = { { data, mps }, { data, 1 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	CHECK(mps > 1000 && mps < 65000);
	CHECK(send(fd, data, mps + 1, 0) == -1 && errno == EMSGSIZE);
	CHECK(sendto(fd, data, mps + 1, 0, NULL, 0) == -1 && errno == EMSGSIZE);
	CHECK(write(fd, data, mps + 1) == -1 && errno == EMSGSIZE);
	CHECK(writev(fd, parts, 2) == -1 && errno == EMSGSIZE);
	CHECK(sendmsg(fd, &message, 0) == -1 && errno == EMSGSIZE);
	CHECK(send(fd, data, mps, 0) == mps);
	CHECK(recv(fd, data, sizeof(data), 0) == mps);
	/* Other descriptors have no such limit. */
	int pipes[2];

	CHECK(!pipe(pipes) && write(pipes[1], data, mps + 1) == mps + 1);
	close(fd);
}

static void test_shutdown(void)
{
	char back[8];
	int fd = connected();

	CHECK(send(fd, "one", 3, 0) == 3);
	CHECK(send(fd, "two", 3, 0) == 3);
	/* This direction ends for the program; the kernel's DCCP sends nothing about it. */
	CHECK(!shutdown(fd, SHUT_WR));
	CHECK(send(fd, "late", 4, MSG_NOSIGNAL) == -1 && errno == EPIPE);
	CHECK(recv(fd, back, 8, 0) == 3 && !memcmp(back, "one", 3));
	CHECK(recv(fd, back, 8, 0) == 3 && !memcmp(back, "two", 3));
	close(fd);
}

static void test_end(const char *word, int error)
{
	char back[8];
	int fd = connected();
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);

	echo(fd, "before");
	CHECK(send(fd, word, 5, 0) == 5);
	CHECK(poll(&ready, 1, 10000) == 1 && ready.revents & POLLIN);
	CHECK(recv(fd, back, 8, 0) == 0);
	CHECK(recv(fd, back, 8, 0) == 0);
	/* The kernel's DCCP raises no SIGPIPE, whose default action would end this program. */
	signal(SIGPIPE, SIG_DFL);
	CHECK(send(fd, "late", 4, 0) == -1 && errno == EPIPE);
	CHECK(write(fd, "late", 4) == -1 && errno == EPIPE);
	CHECK(int_option(fd, SOL_SOCKET, SO_ERROR) == error);
	CHECK(int_option(fd, SOL_SOCKET, SO_ERROR) == 0);
	CHECK(!getpeername(fd, (struct sockaddr *)&name, &len));
	close(fd);
}

static void test_closed(void)
{
	test_end("close", 0);
}

static void test_aborted(void)
{
	test_end("abort", ECONNRESET);
}

/* Datagrams that have arrived before the end are read first. */
static void test_drain(void)
{
	int fd = connected();
	uint32_t n, expected = 0;

	CHECK(send(fd, "burst", 5, 0) == 5);
	CHECK(send(fd, "close", 5, 0) == 5);
	usleep(300000);
	while (recv(fd, &n, sizeof(n), 0) == sizeof(n))
		CHECK(n == expected++);
	CHECK(expected == 100);
	close(fd);
}

/* Sends, and does not receive: it learns the end although what it does not receive waits. */
static void test_deaf(void)
{
	int fd = connected();

	echo(fd, "before");
	for (int n = 0; n < 40; n++)
		CHECK(send(fd, "burst", 5, 0) == 5);
	CHECK(send(fd, "close", 5, 0) == 5);
	alarm(30);
	while (send(fd, "more", 4, MSG_NOSIGNAL) == 4)
		usleep(1000);
	CHECK(errno == EPIPE);
	close(fd);
}

/* A connection uses the first of a list of Service Codes. */
static void test_services(void)
{
	uint32_t codes[33] = { htonl(43), htonl(9), htonl(9) };
	int fd = dccp_socket(&peer, 0);

	CHECK(setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_SERVICE, codes, sizeof(codes)) == -1 && errno == EINVAL);
	CHECK(!setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_SERVICE, codes, 3 * sizeof(*codes)));
	CHECK(!connect_place(fd, &peer));
	echo(fd, "services");
	close(fd);
}

static void test_options(void)
{
	int fd = opened(0), value = 3;
	uint8_t ccids[1] = { 3 }, alien = 99;
	uint32_t codes[33];
	socklen_t len = sizeof(codes);

	CHECK(!getsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_SERVICE, codes, &len));
	CHECK(len == 4 && codes[0] == htonl(42));
	CHECK(!setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_CCID, ccids, sizeof(ccids)));
	CHECK(setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_TX_CCID, &alien, 1) == -1 && errno == EOPNOTSUPP);
	CHECK(!setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_SEND_CSCOV, &value, sizeof(value)));
	CHECK(int_option(fd, SOL_DCCP, DCCP_SOCKOPT_SEND_CSCOV) == 3);
	CHECK(int_option(fd, SOL_DCCP, DCCP_SOCKOPT_QPOLICY_TXQLEN) == 5);
	CHECK(!setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_QPOLICY_TXQLEN, &value, sizeof(value)));
	value = 1;
	CHECK(setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_QPOLICY_ID, &value, sizeof(value)) == -1 && errno == EINVAL);
	CHECK(setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_SERVER_TIMEWAIT, &value, sizeof(value)) == -1 && errno == EOPNOTSUPP);
	CHECK(setsockopt(fd, SOL_DCCP, 99, &value, sizeof(value)) == -1 && errno == ENOPROTOOPT);
	len = sizeof(value);
	CHECK(getsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_TX_CCID, &value, &len) == -1 && errno == ENOPROTOOPT);
	CHECK(!connect_place(fd, &peer));
	CHECK(int_option(fd, SOL_DCCP, DCCP_SOCKOPT_TX_CCID) == 3);
	CHECK(int_option(fd, SOL_DCCP, DCCP_SOCKOPT_RX_CCID) == 3);
	CHECK(setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_CCID, ccids, sizeof(ccids)) == -1 && errno == EISCONN);
	char info[64];

	len = sizeof(info);
	CHECK(!getsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_CCID_TX_INFO, info, &len) && len == 40);
	len = sizeof(info);
	CHECK(!getsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_CCID_RX_INFO, info, &len) && len == 12);
	uint8_t known[16];

	len = sizeof(known);
	CHECK(!getsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_AVAILABLE_CCIDS, known, &len) && len == 3);
	echo(fd, "options");
	close(fd);
}

/* Two connections that live as long as the program that is killed. */
static void test_killed(void)
{
	int listener = opened(0);
	struct place own = place_of("127.0.0.1", 0);

	CHECK(!bind(listener, (struct sockaddr *)&own.addr, own.len) && !listen(listener, 1));
	for (int n = 0; n < 50; n++)
		opened(0);
	echo(connected(), "first");
	echo(connected(), "second");
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

/* Connects again and again until somebody listens: the first connection works. */
static void test_early(void)
{
	int fd;

	puts("calling");
	fflush(stdout);
	alarm(60);
	for (fd = opened(0); connect_place(fd, &peer); fd = opened(0)) {
		CHECK(errno == ECONNREFUSED);
		close(fd);
		usleep(10000);
	}
	echo(fd, "early");
	close(fd);
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "echo", test_echo }, { "names", test_names }, { "protocol-0", test_protocol_0 },
	{ "service", test_service }, { "refused", test_refused }, { "timeout", test_timeout },
	{ "nonblocking", test_nonblocking }, { "nonblocking-refused", test_nonblocking_refused },
	{ "nonblocking-silent", test_nonblocking_silent }, { "select", test_select },
	{ "level", test_level }, { "edge", test_edge }, { "dup", test_dup },
	{ "fork", test_fork }, { "exec", test_exec }, { "inherited", test_inherited },
	{ "sendmsg", test_sendmsg }, { "emsgsize", test_emsgsize }, { "shutdown", test_shutdown },
	{ "closed", test_closed }, { "aborted", test_aborted }, { "drain", test_drain },
	{ "interrupted", test_interrupted }, { "deaf", test_deaf }, { "services", test_services },
	{ "options", test_options }, { "killed", test_killed }, { "early", test_early },
};

int main(int argc, char **argv)
{
	CHECK(argc == 4);
	peer = place_of(argv[1], atoi(argv[2]));
	setenv("HOST_WORD", argv[1], 1);
	setenv("PORT_WORD", argv[2], 1);
	for (size_t n = 0; n < sizeof(parts) / sizeof(*parts); n++)
		if (!strcmp(parts[n].name, argv[3])) {
			parts[n].run();
			return 0;
		}
	fprintf(stderr, "%s: no such part\n", argv[3]);
	return 2;
}
