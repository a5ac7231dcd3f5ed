/*
 * Uses the socket interface over a daemon: daemon PORT PART
 *
 * Exits with 0 if all calls behave as documented.
 */
#include "common.h"

static struct place here;

static int connected(void)
{
	int fd = dccp_socket(&here, 0);

	return connect_place(fd, &here) ? (close(fd), -1) : fd;
}

static int listening(void)
{
	int fd = dccp_socket(&here, 0);

	CHECK(!bind(fd, (struct sockaddr *)&here.addr, here.len));
	return listen(fd, 5) ? (close(fd), -1) : fd;
}

static int int_error(int fd)
{
	int value = -1;
	socklen_t len = sizeof(value);

	CHECK(!getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &len));
	return value;
}

/* The policy allows nothing. */
static void test_denied(void)
{
	int fd = dccp_socket(&here, 0);

	CHECK(connect_place(fd, &here) == -1 && errno == EACCES);
	fd = dccp_socket(&here, 0);
	CHECK(!bind(fd, (struct sockaddr *)&here.addr, here.len));
	CHECK(listen(fd, 5) == -1 && errno == EACCES);
}

/* What a daemon cannot do for one connection is refused. */
static void test_lacking(void)
{
	struct place own = place_of("127.0.0.1", 0);
	int fd = dccp_socket(&here, 0), coverage = 3;
	uint8_t ccid = 3;

	CHECK(setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_SEND_CSCOV, &coverage, 4) == -1);
	CHECK(errno == EOPNOTSUPP);
	CHECK(setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_RECV_CSCOV, &coverage, 4) == -1);
	CHECK(errno == EOPNOTSUPP);
	coverage = 0;
	CHECK(!setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_SEND_CSCOV, &coverage, 4));
	CHECK(!setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_TX_CCID, &ccid, 1));
	CHECK(connect_place(fd, &here) == -1 && errno == EOPNOTSUPP);
	fd = dccp_socket(&here, 0);
	CHECK(!bind(fd, (struct sockaddr *)&own.addr, own.len));
	CHECK(connect_place(fd, &here) == -1 && errno == EADDRNOTAVAIL);
	fd = dccp_socket(&here, 0);
	CHECK(!setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_TX_CCID, &ccid, 1));
	CHECK(!bind(fd, (struct sockaddr *)&here.addr, here.len));
	CHECK(listen(fd, 5) == -1 && errno == EOPNOTSUPP);
}

/* The daemon is killed after "ready", and started again after "gone". */
static void test_killed(void)
{
	int listener = listening(), tries = 0, near, far;
	char byte;

	CHECK(listener >= 0);
	near = connected();
	CHECK(near >= 0);
	far = accept(listener, NULL, NULL);
	CHECK(far >= 0);
	CHECK(send(near, "x", 1, 0) == 1 && recv(far, &byte, 1, 0) == 1);
	puts("ready");
	fflush(stdout);
	CHECK(recv(near, &byte, 1, 0) == 0 && int_error(near) == ECONNRESET);
	CHECK(recv(far, &byte, 1, 0) == 0 && int_error(far) == ECONNRESET);
	CHECK(send(near, "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
	CHECK(connected() == -1 && errno == ENETDOWN);
	puts("gone");
	fflush(stdout);
	/* The listener goes on. */
	while ((near = connected()) < 0) {
		CHECK(errno == ENETDOWN || errno == ECONNREFUSED);
		CHECK(tries++ < 3000);
		usleep(20000);
	}
	far = accept(listener, NULL, NULL);
	CHECK(far >= 0);
	CHECK(send(far, "y", 1, 0) == 1 && recv(near, &byte, 1, 0) == 1 && byte == 'y');
}

/* The policy is changed after "ready" so that nobody may listen, and changed back after "gone". */
static void test_revoked(void)
{
	int listener = listening(), near, far;
	char byte;

	CHECK(listener >= 0);
	puts("ready");
	fflush(stdout);
	alarm(60);
	while ((near = connected()) >= 0) {
		close(near);
		usleep(20000);
	}
	puts("gone");
	fflush(stdout);
	/* The listener goes on, and may have accepted some of those before. */
	while ((near = connected()) < 0)
		usleep(20000);
	CHECK(send(near, "y", 1, 0) == 1);
	do {
		far = accept(listener, NULL, NULL);
		CHECK(far >= 0);
	} while (recv(far, &byte, 1, 0) != 1);
	CHECK(byte == 'y');
}

/* While one direction is full, the other one carries data. */
static void test_full(void)
{
	int listener = listening(), near, far, sent = 0;
	static char data[1000];

	CHECK(listener >= 0);
	near = connected();
	CHECK(near >= 0);
	far = accept(listener, NULL, NULL);
	CHECK(far >= 0);
	struct pollfd room = { .fd = near, .events = POLLOUT };

	/* The policy's cap on the rate fills all queues of the sender. */
	while (poll(&room, 1, 200) == 1) {
		CHECK(sent++ < 20000);
		CHECK(send(near, data, sizeof(data), 0) == sizeof(data));
	}
	for (int n = 0; n < 100; n++) {
		CHECK(send(far, "answer", 6, 0) == 6);
		CHECK(recv(near, data, sizeof(data), 0) == 6);
	}
}

/* The listener has asked for one connection at a time. */
static void test_bounded(void)
{
	int listener = listening(), near[2], far;
	struct pollfd ready = { .fd = listener, .events = POLLIN };
	char byte;

	CHECK(listener >= 0);
	near[0] = connected();
	CHECK(near[0] >= 0);
	far = accept(listener, NULL, NULL);
	CHECK(far >= 0);
	near[1] = connected();
	CHECK(near[1] >= 0 && send(near[1], "2", 1, 0) == 1);
	CHECK(poll(&ready, 1, 500) == 0);
	close(near[0]);
	close(far);
	far = accept(listener, NULL, NULL);
	CHECK(far >= 0);
	CHECK(recv(far, &byte, 1, 0) == 1 && byte == '2');
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	here = place_of("127.0.0.1", atoi(argv[1]));
	if (!strcmp(argv[2], "denied"))
		test_denied();
	else if (!strcmp(argv[2], "lacking"))
		test_lacking();
	else if (!strcmp(argv[2], "killed"))
		test_killed();
	else if (!strcmp(argv[2], "revoked"))
		test_revoked();
	else if (!strcmp(argv[2], "full"))
		test_full();
	else if (!strcmp(argv[2], "bounded"))
		test_bounded();
	else
		return 2;
	return 0;
}
