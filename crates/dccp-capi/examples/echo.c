// Sends each datagram back to its sender, or sends some and counts the answers.
//
//   echo serve ADDRESS CONNECTIONS    serves that many connections, one after another, and ends
//   echo ask ADDRESS DATAGRAMS        sends datagrams and expects each one back
//
// An address is HOST:UDP-PORT/DCCP-PORT, such as 127.0.0.1:14233/5001. The server prints the one that it got.

#include <dccp.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVICE 0x4543484fu // "ECHO"

// Prints the last error with its remedy.
static int failed(const char *call) {
    fprintf(stderr, "%s: %s\n  %s\n", call, dccp_last_detail(), dccp_next_step());
    return EXIT_FAILURE;
}

static int echo_one(const dccp_socket *socket) {
    char data[2048];
    for (;;) {
        int64_t len = dccp_recv(socket, data, sizeof data);
        if (len == DCCP_ERR_CLOSED) {
            return EXIT_SUCCESS;
        }
        if (len < 0) {
            return failed("dccp_recv");
        }
        int64_t id = dccp_send(socket, data, (size_t)len);
        if (id < 0 && id != DCCP_ERR_CLOSED) {
            return failed("dccp_send");
        }
    }
}

static int serve(const char *address, const dccp_options *options, long connections) {
    dccp_listener *listener;
    if (dccp_listen(address, options, &listener) < 0) {
        return failed("dccp_listen");
    }
    char own[DCCP_ADDRESS_SIZE];
    if (dccp_listener_address(listener, 0, own, sizeof own) < 0) {
        dccp_listener_free(listener);
        return failed("dccp_listener_address");
    }
    printf("listening at %s\n", own);
    fflush(stdout);
    int status = EXIT_SUCCESS;
    for (long n = 0; n < connections && status == EXIT_SUCCESS; n++) {
        dccp_socket *socket;
        if (dccp_accept(listener, &socket) < 0) {
            status = failed("dccp_accept");
            break;
        }
        status = echo_one(socket);
        dccp_socket_free(socket);
    }
    dccp_listener_free(listener);
    return status;
}

static int ask(const char *address, const dccp_options *options, long datagrams) {
    dccp_socket *socket;
    if (dccp_connect(address, options, &socket) < 0) {
        return failed("dccp_connect");
    }
    long answers = 0;
    for (long n = 0; n < datagrams; n++) {
        char data[64], answer[64];
        int len = snprintf(data, sizeof data, "datagram %ld", n);
        if (dccp_send(socket, data, (size_t)len) < 0) {
            failed("dccp_send");
            break;
        }
        dccp_recv_meta meta = {.size = sizeof meta};
        int64_t back = dccp_recv_with(socket, answer, sizeof answer, &meta);
        if (back < 0) {
            failed("dccp_recv_with");
            break;
        }
        if (back == len && memcmp(answer, data, (size_t)len) == 0) {
            answers++;
        }
    }
    dccp_counters counters = {.size = sizeof counters};
    if (dccp_close(socket) < 0 || dccp_stats(socket, &counters) < 0) {
        failed("dccp_close");
    }
    printf("%ld of %ld came back, %" PRIu64 " bytes sent\n", answers, datagrams, counters.bytes_out);
    dccp_socket_free(socket);
    return answers == datagrams ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    if (argc != 4 || (strcmp(argv[1], "serve") != 0 && strcmp(argv[1], "ask") != 0)) {
        fprintf(stderr, "usage: echo serve|ask ADDRESS NUMBER\n");
        return EXIT_FAILURE;
    }
    long number = strtol(argv[3], NULL, 10);
    dccp_options *options = dccp_options_new();
    if (dccp_options_service_code(options, SERVICE) < 0 || dccp_options_recv_timeout(options, 30000000) < 0) {
        dccp_options_free(options);
        return failed("options");
    }
    int status = strcmp(argv[1], "serve") == 0 ? serve(argv[2], options, number) : ask(argv[2], options, number);
    dccp_options_free(options);
    // Connections that were freed send their last packets in the background.
    dccp_wait_idle(5000000);
    return status;
}
