// Sends pictures that are larger than a packet, each with one fate, or receives them.
//
//   messages receive ADDRESS             receives from one connection until it ends
//   messages send ADDRESS PICTURES MS    sends pictures, each with a lifetime of MS milliseconds
//
// The receiver counts whole pictures: one that lost a part never arrives.

#define _POSIX_C_SOURCE 200809L

#include <dccp.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PICTURE 20000

static int failed(const char *call) {
    fprintf(stderr, "%s: %s\n  %s\n", call, dccp_last_detail(), dccp_next_step());
    return EXIT_FAILURE;
}

static int receive_all(const dccp_socket *socket) {
    static unsigned char picture[2 * PICTURE];
    long pictures = 0;
    for (;;) {
        dccp_message_meta meta = {.size = sizeof meta};
        int64_t len = dccp_message_recv(socket, picture, sizeof picture, &meta);
        if (len == DCCP_ERR_CLOSED) {
            printf("%ld pictures\n", pictures);
            return EXIT_SUCCESS;
        }
        if (len < 0) {
            return failed("dccp_message_recv");
        }
        if (len != PICTURE || meta.flags != 0 || picture[0] != picture[len - 1]) {
            fprintf(stderr, "a picture is not whole\n");
            return EXIT_FAILURE;
        }
        pictures++;
    }
}

static int receive(const char *address, const dccp_options *options) {
    dccp_listener *listener;
    if (dccp_listen(address, options, &listener) < 0) {
        return failed("dccp_listen");
    }
    char own[DCCP_ADDRESS_SIZE];
    int status = EXIT_FAILURE;
    dccp_socket *socket = NULL;
    if (dccp_listener_address(listener, 0, own, sizeof own) < 0) {
        failed("dccp_listener_address");
    } else {
        printf("listening at %s\n", own);
        fflush(stdout);
        status = dccp_accept(listener, &socket) < 0 ? failed("dccp_accept") : receive_all(socket);
    }
    dccp_socket_free(socket);
    dccp_listener_free(listener);
    return status;
}

// Adds the known fates to the counts.
static void count_fates(const dccp_socket *socket, uint64_t counts[16]) {
    dccp_message_report reports[32];
    int64_t known;
    while ((known = dccp_message_fates(socket, reports, 32)) > 0) {
        for (int64_t n = 0; n < known; n++) {
            counts[reports[n].fate & 15]++;
        }
    }
}

static int send_all(const dccp_socket *socket, uint64_t pictures, uint64_t lifetime_us) {
    static unsigned char picture[PICTURE];
    uint64_t counts[16] = {0};
    uint64_t sent = 0;
    for (uint64_t n = 0; n < pictures; n++) {
        memset(picture, (int)(n & 0xFF), sizeof picture);
        dccp_send_options options = {.size = sizeof options, .tag = n, .lifetime_us = lifetime_us};
        int64_t id = dccp_message_send(socket, picture, sizeof picture, &options);
        if (id < 0 && id != DCCP_ERR_AGAIN) {
            return failed("dccp_message_send");
        }
        sent += id >= 0;
        count_fates(socket, counts);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    if (dccp_message_close(socket, 10000000) < 0) {
        return failed("dccp_message_close");
    }
    count_fates(socket, counts);
    uint64_t fates = 0;
    for (int fate = 0; fate < 16; fate++) {
        fates += counts[fate];
        if (counts[fate] > 0) {
            printf("%" PRIu64 " pictures: %s\n", counts[fate], dccp_fate_name(fate));
        }
    }
    if (fates != sent) {
        fprintf(stderr, "%" PRIu64 " pictures have %" PRIu64 " fates\n", sent, fates);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    int is_sender = argc == 5 && strcmp(argv[1], "send") == 0;
    if (!is_sender && (argc != 3 || strcmp(argv[1], "receive") != 0)) {
        fprintf(stderr, "usage: messages receive ADDRESS | messages send ADDRESS PICTURES MS\n");
        return EXIT_FAILURE;
    }
    dccp_options *options = dccp_options_new();
    int status;
    if (dccp_options_messages(options, "pic") < 0 || dccp_options_recv_timeout(options, 30000000) < 0) {
        status = failed("options");
    } else if (is_sender) {
        dccp_socket *socket;
        status = dccp_connect(argv[2], options, &socket) < 0
                     ? failed("dccp_connect")
                     : send_all(socket, strtoul(argv[3], NULL, 10), 1000 * strtoul(argv[4], NULL, 10));
        dccp_socket_free(socket);
    } else {
        status = receive(argv[2], options);
    }
    dccp_options_free(options);
    dccp_wait_idle(5000000);
    return status;
}
