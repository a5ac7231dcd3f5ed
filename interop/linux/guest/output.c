/* The lines that dccp-peer prints. */
#include "peer.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The kernel's layout of DCCP_SOCKOPT_CCID_TX_INFO for CCID 3; it is not in
 * any exported header. */
struct tfrc_tx_info {
	uint64_t x;		/* allowed rate, 64ths of a byte per second */
	uint64_t x_recv;	/* rate the receiver reported, same unit */
	uint32_t x_calc;	/* rate from the equation, bytes per second */
	uint32_t rtt;		/* microseconds */
	uint32_t p;		/* loss event rate, millionths */
	uint32_t rto;		/* nofeedback timer, microseconds */
	uint32_t ipi;		/* gap between packets, microseconds */
};

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* One line, one write: lines of concurrent connections do not mix. */
void print_line(const char *fmt, ...)
{
	char line[2048];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	line[n++] = '\n';
	if (write(1, line, n) < 0)
		exit(1);
}

void fail(const char *what)
{
	print_line("{\"type\":\"error\",\"call\":\"%s\",\"errno\":%d,\"error\":\"%s\"}",
		   what, errno, strerrorname_np(errno));
	exit(1);
}

static int get_int(int fd, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_DCCP, name, &value, &len) ? -1 : value;
}

void print_connected(int fd, const char *role, int conn)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);
	char host[INET6_ADDRSTRLEN] = "?";
	int port = 0;

	getpeername(fd, (struct sockaddr *)&ss, &len);
	if (ss.ss_family == AF_INET6) {
		struct sockaddr_in6 *a = (struct sockaddr_in6 *)&ss;

		inet_ntop(AF_INET6, &a->sin6_addr, host, sizeof(host));
		port = ntohs(a->sin6_port);
	} else if (ss.ss_family == AF_INET) {
		struct sockaddr_in *a = (struct sockaddr_in *)&ss;

		inet_ntop(AF_INET, &a->sin_addr, host, sizeof(host));
		port = ntohs(a->sin_port);
	}
	print_line("{\"type\":\"connected\",\"role\":\"%s\",\"conn\":%d,"
		   "\"peer\":\"%s\",\"peer_port\":%d,\"service\":%" PRIu32 ","
		   "\"tx_ccid\":%d,\"rx_ccid\":%d,\"max_packet_size\":%d,"
		   "\"send_cscov\":%d,\"recv_cscov\":%d}",
		   role, conn, host, port, opt.service,
		   get_int(fd, DCCP_SOCKOPT_TX_CCID),
		   get_int(fd, DCCP_SOCKOPT_RX_CCID),
		   get_int(fd, DCCP_SOCKOPT_GET_CUR_MPS),
		   get_int(fd, DCCP_SOCKOPT_SEND_CSCOV),
		   get_int(fd, DCCP_SOCKOPT_RECV_CSCOV));
}

/* Formats what the kernel tells about the sending half, "null" if nothing
 * (CCID 2 tells nothing). */
static const char *tx_info(int fd, char *buf, size_t size)
{
	struct tfrc_tx_info ti;
	socklen_t len = sizeof(ti);

	if (getsockopt(fd, SOL_DCCP, DCCP_SOCKOPT_CCID_TX_INFO, &ti, &len))
		return "null";
	snprintf(buf, size,
		 "{\"x_Bps\":%" PRIu64 ",\"x_recv_Bps\":%" PRIu64 ",\"x_calc_Bps\":%u,"
		 "\"rtt_us\":%u,\"p_ppm\":%u,\"rto_us\":%u,\"ipi_us\":%u}",
		 ti.x / 64, ti.x_recv / 64, ti.x_calc, ti.rtt, ti.p, ti.rto, ti.ipi);
	return buf;
}

void print_totals(const char *type, int fd, const char *role, int conn,
			 double t, const struct totals *n, const char *end, int error)
{
	char info[256], lost[24] = "null", rtt[128] = "null", tail[160] = "";

	/* Without headers there is nothing to count losses by. */
	if (n->received > n->no_header || !n->received)
		snprintf(lost, sizeof(lost), "%" PRIu64, n->next_expected - n->distinct);
	if (n->rtt_n)
		snprintf(rtt, sizeof(rtt), "{\"min\":%.3f,\"avg\":%.3f,\"max\":%.3f}",
			 n->rtt_min * 1e3, n->rtt_sum / n->rtt_n * 1e3, n->rtt_max * 1e3);
	if (end)
		snprintf(tail, sizeof(tail), ",\"end\":\"%s\",\"error\":%s%s%s", end,
			 error ? "\"" : "", error ? strerrorname_np(error) : "null",
			 error ? "\"" : "");
	print_line("{\"type\":\"%s\",\"role\":\"%s\",\"conn\":%d,\"t\":%.3f,"
		   "\"sent\":%" PRIu64 ",\"received\":%" PRIu64 ",\"lost\":%s,"
		   "\"duplicates\":%" PRIu64 ",\"reordered\":%" PRIu64 ",\"damaged\":%" PRIu64 ","
		   "\"bytes_sent\":%" PRIu64 ",\"bytes_received\":%" PRIu64 ","
		   "\"eagain\":%" PRIu64 ",\"echo_dropped\":%" PRIu64 ","
		   "\"echo_rtt_ms\":%s,\"tx_info\":%s%s}",
		   type, role, conn, t, n->sent, n->received, lost, n->dup,
		   n->reordered, n->damaged, n->bytes_sent, n->bytes_received, n->eagain,
		   n->echo_dropped, rtt, fd >= 0 ? tx_info(fd, info, sizeof(info)) : "null",
		   tail);
}
