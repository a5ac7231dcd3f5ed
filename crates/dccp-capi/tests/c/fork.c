// A child of fork() gets an error from each call on its parent's sockets, and takes nothing from the parent.

#define _POSIX_C_SOURCE 200809L

#include <dccp.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void expect(int64_t result, int64_t expected, const char *call) {
    if (result != expected) {
        fprintf(stderr, "%s: %" PRId64 " instead of %" PRId64 "\n", call, result, expected);
        _Exit(EXIT_FAILURE);
    }
}

#define EXPECT(expected, call) expect(call, expected, #call)

static void use_in_child(dccp_listener *listener, dccp_socket *client, dccp_socket *server) {
    char data[100];
    dccp_socket *accepted;
    dccp_counters counters = {.size = sizeof counters};
    dccp_fate fates[4];
    EXPECT(DCCP_ERR_ENGINE_GONE, dccp_send(client, "child", 5));
    EXPECT(DCCP_ERR_ENGINE_GONE, dccp_recv(server, data, sizeof data));
    EXPECT(DCCP_ERR_ENGINE_GONE, dccp_fates(client, fates, 4));
    EXPECT(DCCP_ERR_ENGINE_GONE, dccp_stats(client, &counters));
    EXPECT(DCCP_ERR_ENGINE_GONE, dccp_accept(listener, &accepted));
    dccp_socket_free(client);
    dccp_socket_free(server);
    dccp_listener_free(listener);
}

// Opens both ends of a connection.
static void open_both(dccp_listener **listener, dccp_socket **client, dccp_socket **server) {
    char address[DCCP_ADDRESS_SIZE];
    EXPECT(0, dccp_listen("127.0.0.1:0/0", NULL, listener));
    expect(dccp_listener_address(*listener, 0, address, sizeof address) > 0, 1, "dccp_listener_address");
    EXPECT(0, dccp_connect(address, NULL, client));
    EXPECT(0, dccp_accept(*listener, server));
}

int main(void) {
    dccp_listener *listener;
    dccp_socket *client;
    dccp_socket *server;
    open_both(&listener, &client, &server);
    expect(dccp_send(client, "parent", 6) >= 0, 1, "dccp_send");
    pid_t child = fork();
    if (child == 0) {
        // A call that waits for ever ends the child.
        alarm(20);
        use_in_child(listener, client, server);
        open_both(&listener, &client, &server);
        _Exit(EXIT_SUCCESS);
    }
    int status;
    expect(waitpid(child, &status, 0), child, "waitpid");
    expect(status, 0, "the child");
    char data[100];
    EXPECT(6, dccp_recv(server, data, sizeof data));
    expect(memcmp(data, "parent", 6), 0, "the data");
    dccp_socket_free(client);
    dccp_socket_free(server);
    dccp_listener_free(listener);
    return EXIT_SUCCESS;
}
