/* The command line of dccp-peer. */
#include "peer.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct options opt = {
	.tx_ccid = -1, .rx_ccid = -1, .send_cscov = -1, .recv_cscov = -1,
	.txqlen = -1, .size = 200, .rate = 100, .wait = -1,
};

/* Service codes as in RFC 4340, 8.1.2: SC:abcd, SC=decimal, SC=xHEX; also
 * bare decimal, 0xHEX, or four characters. */
static uint32_t parse_service(const char *s)
{
	bool text = strncasecmp(s, "SC:", 3) == 0;
	char *end;
	uint32_t v;

	if (text || strncasecmp(s, "SC=", 3) == 0)
		s += 3;
	if (!text) {
		v = *s == 'x' ? strtoul(s + 1, &end, 16) : strtoul(s, &end, 0);
		if (*s && !*end)
			return v;
	}
	v = 0;
	for (int i = 0; i < 4; i++)	/* short ones are padded with spaces */
		v = v << 8 | (unsigned char)(*s ? *s++ : ' ');
	return v;
}

static const char usage[] =
"usage: dccp-peer listen PORT [options]\n"
"       dccp-peer connect HOST PORT [options]      (HOST: numeric address)\n"
"both:\n"
"  --service CODE    number, 0xHEX, SC:abcd or four characters (default 0)\n"
"  --ccid N          CCID of both directions; --tx-ccid N, --rx-ccid N of one\n"
"  --cscov N         checksum coverage of what is sent (DCCP_SOCKOPT_SEND_CSCOV)\n"
"  --min-cscov N     least coverage accepted (DCCP_SOCKOPT_RECV_CSCOV)\n"
"  --txqlen N        length of the kernel's send queue, packets\n"
"  --bind ADDR       local address (listen: :: for IPv6)\n"
"  --count N --size N --rate PPS --duration S\n"
"                    what to send; rate 0: as fast as the kernel takes it\n"
"  --abort           end with a Reset instead of Close\n"
"  --wait S          after the last message: close when nothing has arrived for\n"
"                    so long (default 2 with --echo, else 0)\n"
"  --timeout S       give up (status 1)\n"
"listen:\n"
"  --echo            send every message back;  --sink  only count (default)\n"
"  --source          send by --count/--duration, like a client\n"
"  --conns N         end after N connections (default: never)\n"
"  --server-timewait hold the TIMEWAIT state at the server\n"
"connect:\n"
"  --sport PORT      local port\n"
"  --echo            expect echoes and measure their round trip\n"
"  Without --count and --duration nothing is sent; the connection then lasts\n"
"  until the peer closes it.\n";

int parse_options(int argc, char **argv)
{
	enum { O_SERVICE = 256, O_CCID, O_TXCCID, O_RXCCID, O_CSCOV, O_MINCSCOV,
	       O_TXQLEN, O_BIND, O_SPORT, O_ECHO, O_SINK, O_SOURCE, O_CONNS,
	       O_TIMEWAIT, O_COUNT, O_SIZE, O_RATE, O_DURATION, O_WAIT, O_ABORT,
	       O_TIMEOUT, O_HELP };
	static const struct option longs[] = {
		{ "service", 1, 0, O_SERVICE }, { "ccid", 1, 0, O_CCID },
		{ "tx-ccid", 1, 0, O_TXCCID }, { "rx-ccid", 1, 0, O_RXCCID },
		{ "cscov", 1, 0, O_CSCOV }, { "min-cscov", 1, 0, O_MINCSCOV },
		{ "txqlen", 1, 0, O_TXQLEN }, { "bind", 1, 0, O_BIND },
		{ "sport", 1, 0, O_SPORT }, { "echo", 0, 0, O_ECHO },
		{ "sink", 0, 0, O_SINK }, { "source", 0, 0, O_SOURCE },
		{ "conns", 1, 0, O_CONNS }, { "server-timewait", 0, 0, O_TIMEWAIT },
		{ "count", 1, 0, O_COUNT }, { "size", 1, 0, O_SIZE },
		{ "rate", 1, 0, O_RATE }, { "duration", 1, 0, O_DURATION },
		{ "wait", 1, 0, O_WAIT }, { "abort", 0, 0, O_ABORT },
		{ "timeout", 1, 0, O_TIMEOUT }, { "help", 0, 0, O_HELP },
		{ 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case O_SERVICE: opt.service = parse_service(optarg); break;
		case O_CCID: opt.tx_ccid = opt.rx_ccid = atoi(optarg); break;
		case O_TXCCID: opt.tx_ccid = atoi(optarg); break;
		case O_RXCCID: opt.rx_ccid = atoi(optarg); break;
		case O_CSCOV: opt.send_cscov = atoi(optarg); break;
		case O_MINCSCOV: opt.recv_cscov = atoi(optarg); break;
		case O_TXQLEN: opt.txqlen = atoi(optarg); break;
		case O_BIND: opt.bind_addr = optarg; break;
		case O_SPORT: opt.sport = atoi(optarg); break;
		case O_ECHO: opt.echo = true; break;
		case O_SINK: opt.echo = false; break;
		case O_SOURCE: opt.source = true; break;
		case O_CONNS: opt.conns = atoi(optarg); break;
		case O_TIMEWAIT: opt.server_timewait = true; break;
		case O_COUNT: opt.count = strtoul(optarg, NULL, 0); break;
		case O_SIZE: opt.size = strtoul(optarg, NULL, 0); break;
		case O_RATE: opt.rate = atof(optarg); break;
		case O_DURATION: opt.duration = atof(optarg); break;
		case O_WAIT: opt.wait = atof(optarg); break;
		case O_ABORT: opt.abort = true; break;
		case O_TIMEOUT: opt.timeout = atof(optarg); break;
		case O_HELP: print_usage(); exit(0);
		default: exit(2);
		}
	}
	if (opt.size > MAX_MESSAGE) {
		fprintf(stderr, "dccp-peer: size is at most %d\n", MAX_MESSAGE);
		exit(2);
	}
	if (opt.wait < 0)
		opt.wait = opt.echo ? 2 : 0;
	return optind;
}

void print_usage(void)
{
	fputs(usage, stdout);
}
