/* One connection of dccp-peer, from its first message to its last. */
#include "peer.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct session {
	int fd;
	struct totals *n;
	bool sending;
	bool expect_echo;	/* what arrives are our own messages */
	bool do_echo;		/* what arrives is sent back */
	double start;
	double next_send;
	double stop_at;		/* 0: only the peer ends it */
	int error;
};

/* Counts what send() did; returns its errno, 0 if it went well. */
static int send_message(struct session *s, const void *msg, size_t size)
{
	if (send(s->fd, msg, size, MSG_NOSIGNAL) < 0) {
		s->n->eagain += errno == EAGAIN;
		return errno;
	}
	s->n->sent++;
	s->n->bytes_sent += size;
	return 0;
}

/* Sends an echo; waits a little when the kernel's send queue is full. */
static void send_echo(struct session *s, const void *msg, size_t size)
{
	for (int tries = 0; tries < 20; tries++) {
		s->error = send_message(s, msg, size);
		if (s->error != EAGAIN)
			return;
		usleep(1000);
	}
	s->error = 0;
	s->n->echo_dropped++;
}

/* Sends the next message, or finds that there is no more to send. */
static void send_next(struct session *s, double t)
{
	static unsigned char msg[MAX_MESSAGE];

	if ((opt.count && s->n->sent >= opt.count) ||
	    (opt.duration > 0 && t - s->start >= opt.duration)) {
		s->sending = false;
		s->stop_at = t + opt.wait;
		return;
	}
	if (t < s->next_send)
		return;
	fill_message(msg, opt.size, s->n->sent);
	s->error = send_message(s, msg, opt.size);
	if (s->error == 0) {
		s->next_send = opt.rate > 0 ? s->next_send + 1 / opt.rate : t;
	} else if (s->error == EAGAIN) {
		/* poll() does not tell when the kernel's packet queue has
		 * room again, so try again later. */
		s->next_send = t + 0.001;
		s->error = 0;
	}
}

/* Waits for a message, at most until a moment; whether there is one. */
static bool wait_for_message(const struct session *s, double until)
{
	struct pollfd pfd = { .fd = s->fd, .events = POLLIN };
	double gap = until - now();
	struct timespec ts = { 0 };

	if (gap > 0) {
		ts.tv_sec = gap;
		ts.tv_nsec = (gap - ts.tv_sec) * 1e9;
	}
	return ppoll(&pfd, 1, &ts, NULL) > 0;
}

/* Takes what has arrived; returns false when the peer has ended. */
static bool receive(struct session *s)
{
	static unsigned char msg[MAX_MESSAGE];
	ssize_t got;

	while ((got = recv(s->fd, msg, sizeof(msg), MSG_DONTWAIT)) > 0) {
		count_message(s->n, msg, got, s->expect_echo);
		if (s->stop_at)
			s->stop_at = now() + opt.wait;
		if (s->do_echo)
			send_echo(s, msg, got);
		if (s->error || (s->sending && now() >= s->next_send))
			return true;
	}
	if (got < 0 && errno != EAGAIN && errno != EINTR)
		s->error = errno;
	return got != 0;
}

static double earlier(double a, double b)
{
	return a < b ? a : b;
}

/* Carries messages until one side ends; returns which: "local", "peer",
 * "timeout", or "error". */
static const char *carry(struct session *s, const char *role, int conn)
{
	double next_report = s->start + 1;

	while (!s->error) {
		double t = now(), until = next_report;

		if (t >= next_report) {
			print_totals("report", s->fd, role, conn, t - s->start, s->n, NULL, 0);
			until = next_report += 1;
		}
		if (opt.timeout > 0 && t - s->start >= opt.timeout)
			return "timeout";
		if (s->sending)
			send_next(s, t);
		if (s->sending)
			until = earlier(until, s->next_send);
		if (s->stop_at) {
			if (t >= s->stop_at || (s->expect_echo && s->n->received >= s->n->sent))
				return "local";
			until = earlier(until, s->stop_at);
		}
		if (!s->error && wait_for_message(s, until) && !receive(s))
			return "peer";
	}
	return "error";
}

int session(int fd, const char *role, int conn)
{
	bool connects = strcmp(role, "connect") == 0;
	struct session s = {
		.fd = fd,
		.n = new_totals(),
		.sending = connects ? opt.count || opt.duration > 0 : opt.source,
		.expect_echo = opt.echo && connects,
		.do_echo = opt.echo && !connects,
		.start = now(),
	};

	s.next_send = s.start;
	print_connected(fd, role, conn);
	const char *end = carry(&s, role, conn);
	print_totals("summary", fd, role, conn, now() - s.start, s.n, end, s.error);
	if (opt.abort) {
		/* Zero linger time: the kernel sends a Reset "Aborted". */
		struct linger l = { .l_onoff = 1, .l_linger = 0 };

		setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	}
	close(fd);
	free(s.n->seen);
	free(s.n);
	return s.error || strcmp(end, "timeout") == 0;
}
