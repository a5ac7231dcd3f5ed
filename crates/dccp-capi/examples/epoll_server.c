// Receives from many connections on one thread: non-blocking sockets and epoll.
//
//   epoll_server ADDRESS CONNECTIONS    serves until that many connections have ended, prints their totals and ends
//
// Each datagram is counted, and every tenth one is acknowledged by the text "ok". The Service Code is that of echo.c or
// video_sender.c.

#define _POSIX_C_SOURCE 200809L

#include <dccp.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define MOST 64
#define BATCH 32
#define ROOM 2048

struct connection {
    dccp_socket *socket;
    uint64_t datagrams;
    uint64_t bytes;
};

static int failed(const char *call) {
    fprintf(stderr, "%s: %s\n  %s\n", call, dccp_last_detail(), dccp_next_step());
    return EXIT_FAILURE;
}

// Takes all that waits. Returns 1 while the connection lives, 0 at its end, -1 for an error.
static int receive(struct connection *connection) {
    static char rooms[BATCH][ROOM];
    dccp_recv_item items[BATCH];
    for (size_t n = 0; n < BATCH; n++) {
        items[n] = (dccp_recv_item){.buffer = rooms[n], .buffer_size = ROOM};
    }
    for (;;) {
        int64_t count = dccp_recvv(connection->socket, items, BATCH);
        if (count == DCCP_ERR_AGAIN) {
            break;
        }
        if (count == DCCP_ERR_CLOSED) {
            return 0;
        }
        if (count < 0) {
            failed("dccp_recvv");
            return -1;
        }
        for (int64_t n = 0; n < count; n++) {
            connection->bytes += items[n].len;
            connection->datagrams++;
            // Without room for an answer, the oldest one is left out.
            if (connection->datagrams % 10 == 0 && dccp_send(connection->socket, "ok", 2) == DCCP_ERR_INVALID) {
                failed("dccp_send");
                return -1;
            }
        }
    }
    // Events keep the descriptor readable, too.
    dccp_event event = {.size = sizeof event};
    while (dccp_poll_event(connection->socket, &event) > 0) {
        if (event.event == DCCP_EVENT_MPS) {
            printf("datagrams have at most %zu bytes\n", event.mps_bytes);
        }
    }
    return 1;
}

static int watch(int epoll, int fd, size_t index) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = index}};
    if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        perror("epoll_ctl");
        return -1;
    }
    return 0;
}

// Ends a connection. Its descriptor leaves epoll before the socket closes it.
static void end(int epoll, struct connection *connection) {
    epoll_ctl(epoll, EPOLL_CTL_DEL, dccp_fd(connection->socket), NULL);
    char reason[256] = "";
    if (dccp_close_reason(connection->socket, reason, sizeof reason) > 0) {
        printf("%" PRIu64 " datagrams, %" PRIu64 " bytes; %s\n", connection->datagrams, connection->bytes, reason);
    }
    dccp_socket_free(connection->socket);
    connection->socket = NULL;
}

// Accepts the connections that wait, until there have been `wanted`. Returns their number.
static size_t accept_all(int epoll, const dccp_listener *listener, struct connection *connections, size_t open,
                         size_t wanted) {
    while (open < wanted) {
        dccp_socket *socket;
        if (dccp_accept(listener, &socket) < 0) {
            break;
        }
        connections[open] = (struct connection){.socket = socket};
        if (watch(epoll, dccp_fd(socket), open) < 0) {
            dccp_socket_free(socket);
            break;
        }
        open++;
    }
    if (open == wanted) {
        // Others wait in vain: without this the listener's descriptor would wake the loop for each of them.
        epoll_ctl(epoll, EPOLL_CTL_DEL, dccp_listener_fd(listener), NULL);
    }
    return open;
}

static int run(int epoll, const dccp_listener *listener, size_t wanted) {
    struct connection connections[MOST] = {{0}};
    size_t open = 0, ended = 0;
    int status = watch(epoll, dccp_listener_fd(listener), MOST) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    while (status == EXIT_SUCCESS && ended < wanted) {
        struct epoll_event ready[16];
        int count = epoll_wait(epoll, ready, 16, 60000);
        if (count <= 0) {
            fprintf(stderr, "no connection has news for a minute\n");
            status = EXIT_FAILURE;
        }
        for (int n = 0; n < count; n++) {
            if (ready[n].data.u64 == MOST) {
                open = accept_all(epoll, listener, connections, open, wanted);
                continue;
            }
            struct connection *connection = &connections[ready[n].data.u64];
            if (receive(connection) < 1) {
                end(epoll, connection);
                ended++;
            }
        }
    }
    for (size_t n = 0; n < open; n++) {
        dccp_socket_free(connections[n].socket);
    }
    return status;
}

static int serve(const char *address, const dccp_options *options, size_t wanted) {
    dccp_listener *listener;
    if (dccp_listen(address, options, &listener) < 0) {
        return failed("dccp_listen");
    }
    char own[DCCP_ADDRESS_SIZE];
    if (dccp_listener_address(listener, 0, own, sizeof own) > 0) {
        printf("listening at %s\n", own);
        fflush(stdout);
    }
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    int status = epoll < 0 ? EXIT_FAILURE : run(epoll, listener, wanted);
    if (epoll >= 0) {
        close(epoll);
    }
    dccp_listener_free(listener);
    return status;
}

int main(int argc, char **argv) {
    long wanted = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    if (wanted < 1 || wanted > MOST) {
        fprintf(stderr, "usage: epoll_server ADDRESS CONNECTIONS\n");
        return EXIT_FAILURE;
    }
    dccp_options *options = dccp_options_new();
    int refused = dccp_options_service_code(options, 0x4543484fu) < 0    // "ECHO"
                  || dccp_options_service_code(options, 0x56494445u) < 0 // "VIDE"
                  || dccp_options_nonblocking(options, true) < 0
                  || dccp_options_when_full(options, DCCP_WHEN_FULL_DROP_OLDEST) < 0;
    int status = refused ? failed("options") : serve(argv[1], options, (size_t)wanted);
    dccp_options_free(options);
    dccp_wait_idle(5000000);
    return status;
}
