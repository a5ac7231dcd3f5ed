/*
 * Uses sockets whose datagrams go through queues in shared memory: queues ADDRESS PORT PART
 *
 * Most parts use a socket whose queues are in use already. Exits with 0 if all calls behave as with a socket.
 */
#include "common.h"
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

static struct place peer;

static int connected(void)
{
	uint32_t code = htonl(42);
	int fd = dccp_socket(&peer, 0);

	CHECK(!setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_SERVICE, &code, sizeof(code)));
	CHECK(!connect(fd, (struct sockaddr *)&peer.addr, peer.len));
	return fd;
}

static void echo(int fd, const char *text)
{
	char back[64];
	size_t len = strlen(text);

	CHECK(send(fd, text, len, 0) == (ssize_t)len);
	CHECK(recv(fd, back, sizeof(back), 0) == (ssize_t)len && !memcmp(back, text, len));
}

static int used(void)
{
	int fd = connected();

	/* The host uses its queue from the second datagram on. */
	for (int n = 0; n < 3; n++)
		echo(fd, "first");
	return fd;
}

static void wait_for_data(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	CHECK(poll(&ready, 1, 10000) == 1 && ready.revents == POLLIN);
}

static int is_readable(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	return poll(&ready, 1, 0) == 1;
}

/* Waits until the length of the next datagram is known. */
static int next_len(int fd)
{
	int len = -1;

	wait_for_data(fd);
	CHECK(!ioctl(fd, FIONREAD, &len));
	return len;
}

static void test_kinds(void)
{
	int fd = used(), len = -1;
	char a[4], b[8];
	struct iovec parts[2] = { { a, sizeof(a) }, { b, sizeof(b) } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	struct mmsghdr many[3] = { 0 };

	CHECK(!is_readable(fd) && !ioctl(fd, FIONREAD, &len) && len == 0);
	CHECK(writev(fd, (struct iovec[]){ { "0123", 4 }, { "456789", 6 } }, 2) == 10);
	CHECK(next_len(fd) == 10);
	CHECK(recvmsg(fd, &message, MSG_PEEK) == 10 && !memcmp(a, "0123", 4) && !memcmp(b, "456789", 6));
	parts[1].iov_len = 2;
	memset(a, 0, sizeof(a));
	CHECK(recvmsg(fd, &message, 0) == 6 && message.msg_flags == MSG_TRUNC && !memcmp(a, "0123", 4));
	CHECK(!is_readable(fd));
	parts[1].iov_len = sizeof(b);
	CHECK(write(fd, "abcdef", 6) == 6);
	CHECK(readv(fd, parts, 2) == 6 && !memcmp(a, "abcd", 4) && !memcmp(b, "ef", 2));
	CHECK(write(fd, "xyz", 3) == 3);
	CHECK(read(fd, b, 2) == 2 && !memcmp(b, "xy", 2));
	CHECK(send(fd, "end", 3, 0) == 3);
	CHECK(recv(fd, b, 1, MSG_TRUNC) == 3);
	for (int n = 0; n < 3; n++)
		many[n].msg_hdr = message;
	parts[0] = (struct iovec){ "one", 3 };
	for (int n = 0; n < 3; n++)
		many[n].msg_hdr.msg_iovlen = 1;
	CHECK(sendmmsg(fd, many, 3, 0) == 3 && many[2].msg_len == 3);
	parts[0] = (struct iovec){ a, sizeof(a) };
	struct timespec limit = { .tv_sec = 10 };
	CHECK(recvmmsg(fd, many, 3, 0, &limit) == 3 && many[0].msg_len == 3 && !memcmp(a, "one", 3));
	CHECK(recvmmsg(fd, many, 3, MSG_DONTWAIT, NULL) == -1 && errno == EAGAIN);
	CHECK(recv(fd, a, sizeof(a), MSG_DONTWAIT) == -1 && errno == EAGAIN);
	struct timeval patience = { .tv_usec = 50000 };
	CHECK(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)));
	CHECK(recv(fd, a, sizeof(a), 0) == -1 && errno == EAGAIN);
	/* An empty buffer of read() takes nothing. */
	CHECK(write(fd, "last", 4) == 4);
	CHECK(read(fd, a, 0) == 0 && read(fd, a, 4) == 4 && !memcmp(a, "last", 4));
	close(fd);
}

/* poll() waits for room. On a busy machine it returns a moment too early at times: then the call that sends says so. */
static void test_room(void)
{
	static char data[1000];
	struct pollfd room = { .fd = used(), .events = POLLOUT };
	int full = 0, early = 0;

	for (int n = 0; n < 20000; n++) {
		CHECK(poll(&room, 1, 10000) == 1 && room.revents & POLLOUT);
		if (send(room.fd, data, sizeof(data), MSG_DONTWAIT) != sizeof(data)) {
			CHECK(errno == EAGAIN);
			early++;
		}
		full += poll(&room, 1, 0) == 0;
	}
	printf("%d times full, %d times too early\n", full, early);
	CHECK(full > 0 && early <= 10000);
	/* The buffer of the Unix socket, which stands for the queue, is not the program's. */
	int buffer = 1 << 20;
	CHECK(!setsockopt(room.fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer)));
	for (int sent = 0, tries = 0; sent >= 0; tries++) {
		sent = send(room.fd, data, sizeof(data), MSG_DONTWAIT);
		CHECK(sent == sizeof(data) || errno == EAGAIN);
		CHECK(tries < 10000000);
	}
	CHECK(poll(&room, 1, 10000) == 1);
	close(room.fd);
}

static int count[100], total;

static void *take(void *arg)
{
	int fd = *(int *)arg;
	uint32_t n;

	while (recv(fd, &n, sizeof(n), 0) == sizeof(n) && n < 100) {
		__atomic_fetch_add(&count[n], 1, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&total, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* Each datagram goes to one thread. */
static void test_threads(void)
{
	pthread_t threads[4];
	int fd = connected();
	struct timeval patience = { .tv_sec = 3 };

	CHECK(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)));
	for (int n = 0; n < 4; n++)
		CHECK(!pthread_create(&threads[n], NULL, take, &fd));
	/* One after the other, so that no buffer overflows. */
	for (int n = 1; n <= 50; n++) {
		CHECK(send(fd, "burst", 5, 0) == 5);
		for (int tries = 0; __atomic_load_n(&total, __ATOMIC_SEQ_CST) < 100 * n; tries++) {
			CHECK(tries < 10000);
			usleep(1000);
		}
	}
	for (int n = 0; n < 4; n++)
		CHECK(!pthread_join(threads[n], NULL));
	for (int n = 0; n < 100; n++)
		CHECK(count[n] == 50);
	close(fd);
}

/* A process that has executed another program finds the queues again, with what they have. */
static void test_exec(void)
{
	char number[16];
	int fd = used();

	CHECK(send(fd, "burst", 5, 0) == 5);
	wait_for_data(fd);
	snprintf(number, sizeof(number), "%d", fd);
	setenv("INHERITED", number, 1);
	execl("/proc/self/exe", "queues", getenv("HOST_WORD"), getenv("PORT_WORD"), "inherited", NULL);
	CHECK(0);
}

static void test_inherited(void)
{
	int fd = atoi(getenv("INHERITED"));
	uint32_t n, expected = 0;

	while (expected < 100 && recv(fd, &n, sizeof(n), 0) == sizeof(n))
		CHECK(n == expected++);
	CHECK(expected == 100);
	echo(fd, "after exec");
	CHECK(send(fd, "close", 5, 0) == 5);
	CHECK(recv(fd, &n, sizeof(n), 0) == 0);
	CHECK(send(fd, "late", 4, MSG_NOSIGNAL) == -1 && errno == EPIPE);
	close(fd);
}

/* Processes share a socket: each has its answers. */
static void test_processes(void)
{
	int fd = used(), status;

	for (int n = 0; n < 3; n++) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (!child) {
			for (int m = 0; m < 50; m++)
				echo(fd, "shared");
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		CHECK(status == 0);
	echo(fd, "alone");
	close(fd);
}

static void check_file(int number)
{
	char text[8];
	int file = memfd_create("queues", 0);

	CHECK(file == number);
	CHECK(write(file, "file", 4) == 4);
	CHECK(lseek(file, 0, SEEK_SET) == 0);
	CHECK(read(file, text, sizeof(text)) == 4 && !memcmp(text, "file", 4));
	close(file);
}

/* A descriptor that stands for a file now does not reach the queue of the socket that it was. */
static void test_reuse(void)
{
	int fd = used();

	close(fd);
	check_file(fd);
	fd = used();
	FILE *stream = fdopen(fd, "r+");
	CHECK(stream && !fclose(stream));
	check_file(fd);
	fd = used();
	CHECK(!close_range(fd, fd, 0));
	check_file(fd);
	fd = used();
	int file = open("/dev/null", O_RDWR);
	CHECK(dup2(file, fd) == fd && write(fd, "x", 1) == 1 && read(fd, &(char){ 0 }, 1) == 0);
	close(file);
	close(fd);
	/* A duplicate keeps the connection, and uses the same queues. */
	fd = used();
	int other = dup(fd);
	echo(other, "copy");
	close(fd);
	check_file(fd);
	echo(other, "copy");
	close(other);
}

static void *take_one(void *arg)
{
	char text[8];

	CHECK(recv(*(int *)arg, text, sizeof(text), 0) == 5 && !memcmp(text, "first", 5));
	return NULL;
}

/* A thread receives during the handshake. Another one gets the queue, whose first bell wakes it. */
static void test_handshake(void)
{
	uint32_t code = htonl(42);
	int fd = dccp_socket(&peer, 0);
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	pthread_t thread;

	CHECK(!setsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_SERVICE, &code, sizeof(code)));
	CHECK(!fcntl(fd, F_SETFL, O_NONBLOCK));
	CHECK(connect_place(fd, &peer) == -1 && errno == EINPROGRESS);
	CHECK(!fcntl(fd, F_SETFL, 0));
	CHECK(!pthread_create(&thread, NULL, take_one, &fd));
	usleep(300000);
	CHECK(poll(&ready, 1, 0) == 0);
	puts("receiving");
	fflush(stdout);
	CHECK(poll(&ready, 1, 30000) == 1 && ready.revents == POLLOUT);
	CHECK(recv(fd, &code, sizeof(code), MSG_DONTWAIT) == -1 && errno == EAGAIN);
	CHECK(send(fd, "first", 5, 0) == 5);
	CHECK(!pthread_join(thread, NULL));
	close(fd);
}

/* After the end, a duplicate finds the end. The descriptor itself has what it has not received. */
static void end_of(int fd)
{
	struct pollfd over = { .fd = fd };
	uint32_t n, expected = 0;

	CHECK(send(fd, "burst", 5, 0) == 5);
	wait_for_data(fd);
	CHECK(send(fd, "close", 5, 0) == 5);
	CHECK(poll(&over, 1, 10000) == 1 && over.revents & POLLHUP);
	int other = dup(fd);
	CHECK(recv(other, &n, sizeof(n), 0) == 0);
	CHECK(dup2(fd, fd) == fd);
	while (recv(fd, &n, sizeof(n), 0) == sizeof(n))
		CHECK(n == expected++);
	CHECK(expected == 100);
	close(other);
	close(fd);
}

static void test_end(void)
{
	end_of(used());
	/* One that has its queue, and has not received yet. */
	int fd = connected();
	CHECK(recv(fd, &(char){ 0 }, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	end_of(fd);
}

/* Once the path is narrower, what is too long is refused, and the rest still arrives. */
static void test_narrow(void)
{
	static char data[65536];
	int fd = used(), full, mps, tries = 0;
	socklen_t len = sizeof(full);

	CHECK(!getsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_GET_CUR_MPS, &full, &len));
	CHECK(full > 1000 && send(fd, data, full, 0) == full);
	CHECK(recv(fd, data, sizeof(data), 0) == full);
	CHECK(!system("ip link set lo mtu 800"));
	/* The first one that is lost tells it. */
	while (send(fd, data, full, 0) == full) {
		CHECK(tries++ < 1000);
		usleep(10000);
	}
	CHECK(errno == EMSGSIZE);
	CHECK(!getsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_GET_CUR_MPS, &mps, &len));
	CHECK(mps > 500 && mps < 800);
	CHECK(send(fd, data, mps + 1, 0) == -1 && errno == EMSGSIZE);
	CHECK(send(fd, data, mps, 0) == mps && recv(fd, data, sizeof(data), 0) == mps);
	printf("%d lost\n", tries);
	close(fd);
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "kinds", test_kinds }, { "room", test_room }, { "threads", test_threads },
	{ "exec", test_exec }, { "inherited", test_inherited },
	{ "processes", test_processes }, { "reuse", test_reuse },
	{ "handshake", test_handshake }, { "end", test_end }, { "narrow", test_narrow },
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
