/* What the files of dccp-peer share. */
#ifndef PEER_H
#define PEER_H

#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <linux/dccp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#ifndef SOCK_DCCP
#define SOCK_DCCP 6
#endif
#ifndef IPPROTO_DCCP
#define IPPROTO_DCCP 33
#endif
#ifndef SOL_DCCP
#define SOL_DCCP 269
#endif

#define MAX_MESSAGE 65536

/* The command line; options.c */
struct options {
	uint32_t service;
	int tx_ccid, rx_ccid;		/* -1: the kernel's default */
	int send_cscov, recv_cscov;	/* -1: not set */
	int txqlen;			/* -1: not set */
	const char *bind_addr;
	int sport;
	bool v6, echo, source, server_timewait, abort;
	int conns;			/* end after that many; 0: never */
	uint32_t count;			/* messages to send; 0: no limit */
	size_t size;
	double rate;			/* messages a second; 0: no pacing */
	double duration;		/* stop sending then; 0: no limit */
	double wait;			/* silence after the last message; -1: not set */
	double timeout;			/* end of everything; 0: none */
};

extern struct options opt;

/* Reads argv; returns the index of the first word that is no option. */
int parse_options(int argc, char **argv);
void print_usage(void);

/* What a connection has carried; messages.c */
struct totals {
	uint64_t sent, received, bytes_sent, bytes_received;
	uint64_t eagain;		/* sends refused: send queue full */
	uint64_t echo_dropped;		/* echoes given up: send queue full */
	uint64_t dup, reordered, no_header;
	uint64_t damaged;		/* not filled as it was sent */
	uint64_t next_expected;		/* highest sequence number + 1 */
	uint64_t distinct;
	double rtt_sum, rtt_min, rtt_max;
	uint64_t rtt_n;
	uint8_t *seen;			/* a bit for each sequence number */
};

struct totals *new_totals(void);
void fill_message(unsigned char *msg, size_t size, uint32_t seq);
void count_message(struct totals *n, const unsigned char *msg, size_t size, bool is_echo);

/* Lines of output; output.c */
double now(void);
void fail(const char *what);
void print_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void print_connected(int fd, const char *role, int conn);
void print_totals(const char *type, int fd, const char *role, int conn,
		  double t, const struct totals *n, const char *end, int error);

/* Runs one connection until it ends; session.c. Returns 0, or 1 after an error. */
int session(int fd, const char *role, int conn);

#endif
