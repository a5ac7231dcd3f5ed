// Does the same once by calls and once in the memory of a ring, and prints what came of it:
//
//   ring_paths calls|memory SERVER ADDRESS
//
// The peer at ADDRESS returns each datagram. While the connection lives, all datagrams go out and come back. After its end
// the server claims nothing: then the order of the datagrams that wait is exactly the program's.

#include <dccp.h>
#include <dccp_ring_layout.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 8
#define BYTES 1000
#define ECHOES 200

static dccp_ring *ring;
static dccp_ring_view view;
static uint32_t scratch[2 * SLOTS];
static int in_memory;
static int64_t tickets[100];

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, dccp_last_detail());
    exit(EXIT_FAILURE);
}

static int64_t check(int64_t result, const char *what) {
    if (result < 0) {
        fail(what);
    }
    return result;
}

static void attach(void) {
    size_t size;
    void *memory = dccp_ring_memory(ring, &size);
    if (memory == NULL || !dccp_ring_view_attach(&view, memory, size, scratch, 2 * SLOTS)) {
        fail("attach");
    }
}

// Pushes a datagram of `len` bytes. Returns whether there was room.
static int push(uint64_t tag, size_t len, uint64_t deadline_ns) {
    static unsigned char data[BYTES];
    memset(data, (int)tag, len);
    if (in_memory) {
        dccp_ring_slot *slot = dccp_ring_view_claim(&view);
        if (slot == NULL) {
            return 0;
        }
        slot->tag = tag;
        slot->key = 0;
        slot->priority = 0;
        memcpy(dccp_ring_slot_data(slot), data, len);
        if (dccp_ring_view_publish(&view, slot, len, deadline_ns == 0 ? DCCP_RING_NO_DEADLINE : deadline_ns)) {
            check(dccp_ring_wake(ring), "dccp_ring_wake");
        }
        return 1;
    }
    dccp_send_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.tag = tag;
    options.deadline_ns = deadline_ns;
    int64_t ticket = dccp_ring_push(ring, data, len, &options);
    if (ticket == DCCP_ERR_AGAIN) {
        return 0;
    }
    tickets[tag % 100] = check(ticket, "dccp_ring_push");
    return 1;
}

// Receives a datagram if one waits. Returns its length, or -1.
static int64_t receive(unsigned char *first) {
    static unsigned char buffer[BYTES];
    if (in_memory) {
        const unsigned char *data;
        size_t len;
        if (dccp_ring_view_next(&view, &data, &len) == NULL) {
            return -1;
        }
        *first = len > 0 ? data[0] : 0;
        return dccp_ring_view_done(&view) ? (int64_t)len : -1;
    }
    int64_t len = dccp_ring_recv(ring, buffer, sizeof buffer, NULL);
    *first = len > 0 ? buffer[0] : 0;
    return len == DCCP_ERR_TIMED_OUT || len == DCCP_ERR_CLOSED ? -1 : check(len, "dccp_ring_recv");
}

static int next_fate(uint64_t *tag, int *fate) {
    if (in_memory) {
        dccp_ring_fate found;
        if (!dccp_ring_view_fate(&view, &found)) {
            return 0;
        }
        *tag = found.tag;
        *fate = (int)(found.fate & 0xFF);
        return 1;
    }
    dccp_ring_report found;
    if (check(dccp_ring_fates(ring, &found, 1), "dccp_ring_fates") == 0) {
        return 0;
    }
    *tag = found.tag;
    *fate = found.fate;
    return 1;
}

// Waits until the ring has news, and takes events.
static void wait_for_news(void) {
    int ready = (int)check(dccp_ring_ready(ring), "dccp_ring_ready");
    if (ready & DCCP_READY_EVENT) {
        dccp_event event;
        memset(&event, 0, sizeof event);
        event.size = sizeof event;
        check(dccp_ring_poll_event(ring, &event), "dccp_ring_poll_event");
    } else if ((ready & (DCCP_READY_RECV | DCCP_READY_FATES)) == 0) {
        struct pollfd poller;
        poller.fd = (int)check(dccp_ring_fd(ring), "dccp_ring_fd");
        poller.events = POLLIN;
        poll(&poller, 1, 10000);
    }
}

static size_t length(uint64_t tag) {
    return (size_t)(tag * 37 % BYTES);
}

// Sends ECHOES datagrams, up to four at a time, and takes them back one by one.
static void echo(void) {
    uint64_t sent = 0;
    uint64_t got = 0;
    uint64_t sum = 0;
    uint64_t seen[32] = {0};
    uint64_t tag;
    int fate;
    unsigned char first;
    while (got < ECHOES) {
        while (sent < ECHOES && sent < got + 4 && push(sent, length(sent), 0)) {
            sent++;
        }
        int64_t len = receive(&first);
        if (len < 0) {
            wait_for_news();
        } else {
            if ((size_t)len != length(got) || (len > 0 && first != (got & 0xFF))) {
                fail("a datagram came back as another");
            }
            sum += (uint64_t)len;
            got++;
        }
        while (next_fate(&tag, &fate)) {
            seen[fate & 31]++;
        }
    }
    // Each datagram came back, so each has left; its report may follow.
    while (seen[DCCP_FATE_ACKED] < ECHOES) {
        while (next_fate(&tag, &fate)) {
            seen[fate & 31]++;
        }
        if (seen[DCCP_FATE_ACKED] < ECHOES) {
            wait_for_news();
        }
    }
    printf("%d echoes with %llu bytes, all acked\n", ECHOES, (unsigned long long)sum);
}

// The place of a datagram among those that are held.
static uint32_t find(uint32_t held, uint64_t tag) {
    for (uint32_t n = 0; n < held; n++) {
        if (dccp_ring_held_slot(&view, n)->tag == tag) {
            return n;
        }
    }
    fail("a datagram is not held");
    return 0;
}

// Changes what waits: 3 and 6 are withdrawn, 5 becomes 55 with 9 bytes, and 7 leaves first.
static void change(void) {
    if (in_memory) {
        uint32_t held = dccp_ring_view_take_back(&view, UINT32_MAX);
        printf("%u held\n", held);
        dccp_ring_held_withdraw(&view, find(held, 3));
        dccp_ring_held_withdraw(&view, find(held - 1, 6));
        held -= 2;
        uint32_t fifth = find(held, 5);
        dccp_ring_held_slot(&view, fifth)->tag = 55;
        dccp_ring_held_set(&view, fifth, 9, DCCP_RING_NO_DEADLINE);
        if (dccp_ring_held_len(&view, fifth) != 9) {
            fail("the length was not set");
        }
        for (uint32_t n = find(held, 7); n > 0; n--) {
            dccp_ring_held_swap(&view, n - 1, n);
        }
        dccp_ring_view_release(&view);
        return;
    }
    printf("%d held\n", (int)check(dccp_ring_waiting(ring), "dccp_ring_waiting"));
    check(dccp_ring_withdraw_tags(ring, 3, 3), "dccp_ring_withdraw_tags");
    check(dccp_ring_withdraw(ring, (uint64_t)tickets[6]), "dccp_ring_withdraw");
    dccp_send_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.tag = 55;
    check(dccp_ring_revise(ring, (uint64_t)tickets[5], "new bytes", 9, &options), "dccp_ring_revise");
    check(dccp_ring_move(ring, (uint64_t)tickets[7], 0), "dccp_ring_move");
}

// After the end: fills the ring, changes the order, and prints it.
static void rearrange(void) {
    check(dccp_ring_abort(ring), "dccp_ring_abort");
    unsigned char nothing;
    check(dccp_ring_set_timeout(ring, DCCP_FOREVER), "dccp_ring_set_timeout");
    if (dccp_ring_recv(ring, &nothing, 1, NULL) != DCCP_ERR_CLOSED) {
        fail("the connection goes on");
    }
    if (in_memory) {
        attach();
    }
    int pushed = 0;
    for (uint64_t tag = 1; tag <= SLOTS + 1; tag++) {
        pushed += push(tag, length(tag), 1000000 + tag);
    }
    printf("%d of %d fit\n", pushed, SLOTS + 1);
    change();
    // From the last place on, whichever path made the order.
    dccp_ring_report reports[SLOTS];
    int64_t count = check(dccp_ring_fates(ring, reports, SLOTS), "dccp_ring_fates");
    for (int64_t n = 0; n < count; n++) {
        printf("%llu %s\n", (unsigned long long)reports[n].tag, dccp_fate_name(reports[n].fate));
    }
}

int main(int argc, char **argv) {
    if (argc != 4) {
        return EXIT_FAILURE;
    }
    in_memory = strcmp(argv[1], "memory") == 0;
    dccp_ring_request request;
    memset(&request, 0, sizeof request);
    request.size = sizeof request;
    request.slots = SLOTS;
    request.slot_bytes = BYTES;
    request.fates = 1024;
    check(dccp_ring_connect(argv[2], argv[3], &request, &ring), "dccp_ring_connect");
    check(dccp_ring_set_timeout(ring, 0), "dccp_ring_set_timeout");
    if (in_memory) {
        attach();
    }
    echo();
    rearrange();
    dccp_ring_free(ring);
    return EXIT_SUCCESS;
}
