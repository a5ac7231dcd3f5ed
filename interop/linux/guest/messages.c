/* The messages of dccp-peer: their header, and who counts what arrives. */
#include "peer.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HEADER 16
#define SEEN_BITS (1u << 24)	/* sequence numbers tracked for loss counting */

struct totals *new_totals(void)
{
	struct totals *n = calloc(1, sizeof(*n));

	if (!n || !(n->seen = calloc(1, SEEN_BITS / 8)))
		fail("calloc");
	return n;
}

void fill_message(unsigned char *msg, size_t size, uint32_t seq)
{
	for (size_t i = 0; i < size; i++)
		msg[i] = i;
	if (size >= HEADER) {
		struct timespec ts;
		uint64_t t;

		clock_gettime(CLOCK_MONOTONIC, &ts);
		t = htobe64(ts.tv_sec * 1000000000ull + ts.tv_nsec);
		seq = htonl(seq);
		memcpy(msg, "DPT1", 4);
		memcpy(msg + 4, &seq, 4);
		memcpy(msg + 8, &t, 8);
	}
}

void count_message(struct totals *n, const unsigned char *msg, size_t size, bool is_echo)
{
	uint32_t seq;
	uint64_t t;

	n->received++;
	n->bytes_received += size;
	if (size < HEADER || memcmp(msg, "DPT1", 4)) {
		n->no_header++;
		return;
	}
	for (size_t i = HEADER; i < size; i++) {
		if (msg[i] != (unsigned char)i) {
			n->damaged++;
			break;
		}
	}
	memcpy(&seq, msg + 4, 4);
	memcpy(&t, msg + 8, 8);
	seq = ntohl(seq);
	if (seq < SEEN_BITS) {
		if (n->seen[seq / 8] & 1 << seq % 8) {
			n->dup++;
			return;
		}
		n->seen[seq / 8] |= 1 << seq % 8;
	}
	n->distinct++;
	if (seq + 1ull > n->next_expected)
		n->next_expected = seq + 1ull;
	else
		n->reordered++;
	if (is_echo) {
		double rtt = now() - be64toh(t) / 1e9;

		if (!n->rtt_n++ || rtt < n->rtt_min)
			n->rtt_min = rtt;
		if (rtt > n->rtt_max)
			n->rtt_max = rtt;
		n->rtt_sum += rtt;
	}
}
