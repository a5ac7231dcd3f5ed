// Sends video with a late choice through the memory of a packet ring, without a call for each datagram.
//
//   ring_video SERVER ADDRESS FRAMES
//
// SERVER is the path of a server of rings, and ADDRESS that of the receiver, such as epoll_server.c. The rules are those of
// video_sender.c:
// - A key frame takes the place of all that still waits, except the position.
// - Another frame expires after two frame times.
// - The position of the camera is rewritten in its slot while it waits.
// The receiver's answers are read where they arrive. At the end the program prints the fates of all datagrams.

#define _POSIX_C_SOURCE 200809L

#include <dccp.h>
#include <dccp_ring_layout.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS 64
#define PART 1200
#define PARTS 40
#define FRAME_NS 2000000 // 500 frames per second, so that a test is short
#define KEY_INTERVAL 25
#define POSITION UINT64_MAX // its tag; other tags are frames

// A ring, the program's view of its memory, and totals.
struct video {
    dccp_ring *ring;
    dccp_ring_view view;
    uint32_t scratch[2 * SLOTS];
    uint64_t published;
    uint64_t withdrawn;
    uint64_t rewritten;
    uint64_t answers;
    uint64_t fates[256];
};

static int failed(const char *call) {
    fprintf(stderr, "%s: %s\n  %s\n", call, dccp_last_detail(), dccp_next_step());
    return -1;
}

// Lets the server claim what is in the ring.
static int release(struct video *video) {
    if (dccp_ring_view_release(&video->view) && dccp_ring_wake(video->ring) < 0) {
        return failed("dccp_ring_wake");
    }
    return 0;
}

// Adds a datagram at the end. The server does not see it yet. A full ring drops it here.
static void append(struct video *video, uint64_t tag, const void *data, size_t len, uint64_t deadline_ns) {
    dccp_ring_slot *slot = dccp_ring_view_claim(&video->view);
    if (slot == NULL) {
        return;
    }
    slot->tag = tag;
    slot->key = 0;
    slot->priority = deadline_ns == DCCP_RING_NO_DEADLINE ? 1 : 0;
    memcpy(dccp_ring_slot_data(slot), data, len);
    dccp_ring_view_append(&video->view, slot, len, deadline_ns);
    video->published++;
}

static int send_frame(struct video *video, uint64_t frame, uint32_t held) {
    static unsigned char picture[PART];
    int is_key = frame % KEY_INTERVAL == 0;
    if (is_key) {
        // The receiver can show the key frame without those before it.
        for (uint32_t n = held; n-- > 0;) {
            if (dccp_ring_held_slot(&video->view, n)->tag != POSITION) {
                dccp_ring_held_withdraw(&video->view, n);
                video->withdrawn++;
            }
        }
    }
    uint64_t deadline_ns = is_key ? DCCP_RING_NO_DEADLINE : dccp_now_ns() + 2 * FRAME_NS;
    memcpy(picture, &frame, sizeof frame);
    for (int part = 0; part < (is_key ? PARTS : 8); part++) {
        append(video, frame, picture, PART, deadline_ns);
    }
    return 0;
}

// Rewrites the position that waits, or appends one.
static void send_position(struct video *video, uint64_t frame, uint32_t held) {
    char position[32];
    int len = snprintf(position, sizeof position, "position %" PRIu64, frame);
    for (uint32_t n = 0; n < held; n++) {
        dccp_ring_slot *slot = dccp_ring_held_slot(&video->view, n);
        if (slot->tag == POSITION) {
            memcpy(dccp_ring_slot_data(slot), position, (size_t)len);
            dccp_ring_held_set(&video->view, n, (size_t)len, DCCP_RING_NO_DEADLINE);
            if (n > 0) {
                // It leaves next.
                dccp_ring_held_swap(&video->view, 0, n);
            }
            video->rewritten++;
            return;
        }
    }
    append(video, POSITION, position, (size_t)len, DCCP_RING_NO_DEADLINE);
}

// Reads the fates and the answers that are there.
static int take(struct video *video) {
    dccp_ring_fate fate;
    while (dccp_ring_view_fate(&video->view, &fate)) {
        video->fates[fate.fate & 0xFF]++;
    }
    const unsigned char *data;
    size_t len;
    while (dccp_ring_view_next(&video->view, &data, &len) != NULL) {
        int is_answer = len == 2 && memcmp(data, "ok", 2) == 0;
        if (dccp_ring_view_done(&video->view) && !is_answer) {
            fprintf(stderr, "a datagram of %zu bytes is no answer\n", len);
            return -1;
        }
        video->answers++;
    }
    return 0;
}

// Sleeps until something arrives, at most for `ms`.
static int wait_for_news(struct video *video, int ms) {
    int ready = dccp_ring_ready(video->ring);
    if (ready < 0) {
        return failed("dccp_ring_ready");
    }
    if (ready & (DCCP_READY_RECV | DCCP_READY_FATES)) {
        return 0;
    }
    struct pollfd poller;
    poller.fd = dccp_ring_fd(video->ring);
    poller.events = POLLIN;
    if (poller.fd < 0) {
        return failed("dccp_ring_fd");
    }
    return poll(&poller, 1, ms) < 0 ? -1 : 0;
}

static int send_video(struct video *video, uint64_t frames) {
    for (uint64_t frame = 0; frame < frames; frame++) {
        // From here to the release the server claims nothing: all changes of a frame count together.
        uint32_t held = dccp_ring_view_take_back(&video->view, UINT32_MAX);
        send_position(video, frame, held);
        if (send_frame(video, frame, held) < 0 || release(video) < 0 || take(video) < 0) {
            return -1;
        }
        struct timespec pause;
        pause.tv_sec = 0;
        pause.tv_nsec = FRAME_NS;
        nanosleep(&pause, NULL);
    }
    // The receiver answers each tenth datagram.
    while (video->answers == 0 && !video->view.is_over) {
        if (wait_for_news(video, 1000) < 0 || take(video) < 0) {
            return -1;
        }
    }
    return 0;
}

static int report(struct video *video) {
    uint64_t sum = video->withdrawn;
    for (int fate = 0; fate < 256; fate++) {
        sum += video->fates[fate];
        if (video->fates[fate] > 0) {
            printf("%" PRIu64 " datagrams: %s\n", video->fates[fate], dccp_fate_name(fate));
        }
    }
    printf("%" PRIu64 " withdrawn, %" PRIu64 " rewritten in place, %" PRIu64 " answers\n", video->withdrawn,
           video->rewritten, video->answers);
    if (sum != video->published) {
        fprintf(stderr, "%" PRIu64 " datagrams have %" PRIu64 " fates\n", video->published, sum);
        return -1;
    }
    return 0;
}

static int run(struct video *video, uint64_t frames) {
    size_t size;
    void *memory = dccp_ring_memory(video->ring, &size);
    if (memory == NULL) {
        return failed("dccp_ring_memory");
    }
    if (!dccp_ring_view_attach(&video->view, memory, size, video->scratch, 2 * SLOTS)) {
        fprintf(stderr, "the memory is no ring of this version\n");
        return -1;
    }
    if (send_video(video, frames) < 0) {
        return -1;
    }
    if (dccp_ring_close(video->ring, 10000000) < 0) {
        return failed("dccp_ring_close");
    }
    return take(video) < 0 ? -1 : report(video);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: ring_video SERVER ADDRESS FRAMES\n");
        return EXIT_FAILURE;
    }
    static struct video video;
    const uint32_t service_code = 0x56494445u; // "VIDE"
    dccp_ring_request request;
    memset(&request, 0, sizeof request);
    request.size = sizeof request;
    request.slots = SLOTS;
    request.slot_bytes = PART;
    request.fates = 4096;
    request.service_codes = &service_code;
    request.service_code_count = 1;
    if (dccp_ring_connect(argv[1], argv[2], &request, &video.ring) < 0) {
        failed("dccp_ring_connect");
        return EXIT_FAILURE;
    }
    int status = run(&video, strtoul(argv[3], NULL, 10));
    dccp_ring_free(video.ring);
    return status < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
