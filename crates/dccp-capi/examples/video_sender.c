// Sends video with a late choice: frames that are out of date never leave.
//
//   video_sender ADDRESS FRAMES
//
// Each frame has some datagrams with the frame's number as their tag. Three rules keep the picture fresh:
// - A key frame has priority 1 and withdraws the frames before it, as far as they still wait.
// - Another frame expires after two frame times.
// - The position of the camera has a key, so that a newer position replaces one that still waits.
// At the end the program prints the fates of all datagrams.

#define _POSIX_C_SOURCE 200809L

#include <dccp.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRAME_US 2000u // 500 frames per second, so that a test is short
#define KEY_INTERVAL 25
#define PART 1200
#define PARTS_MAX 40
#define FATES 4096

static int failed(const char *call) {
    fprintf(stderr, "%s: %s\n  %s\n", call, dccp_last_detail(), dccp_next_step());
    return -1;
}

static uint64_t counts[16];

// Adds the known fates to the counts. Without this call the oldest ones would be dropped.
static void count_fates(const dccp_socket *socket) {
    static dccp_fate fates[256];
    int64_t known;
    do {
        known = dccp_fates(socket, fates, 256);
        for (int64_t n = 0; n < known; n++) {
            counts[fates[n].fate & 15]++;
        }
    } while (known == 256);
}

// Sends a frame of `parts` datagrams in one call.
static int send_frame(const dccp_socket *socket, uint64_t frame, size_t parts, int is_key) {
    static unsigned char picture[PARTS_MAX][PART];
    dccp_send_options options = {
        .size = sizeof options,
        .tag = frame,
        .priority = is_key ? 1 : 0,
        .lifetime_us = is_key ? 0 : 2 * FRAME_US,
        .when_full = DCCP_WHEN_FULL_DROP_LOWEST_PRIORITY,
    };
    dccp_send_item items[PARTS_MAX];
    for (size_t n = 0; n < parts; n++) {
        memcpy(picture[n], &frame, sizeof frame);
        items[n] = (dccp_send_item){.data = picture[n], .len = PART, .options = &options};
    }
    if (is_key && frame > 0) {
        // The receiver can show the key frame without those before it.
        int64_t withdrawn = dccp_withdraw_tags(socket, 0, frame - 1);
        if (withdrawn < 0) {
            return failed("dccp_withdraw_tags");
        }
    }
    int64_t taken = dccp_sendv(socket, items, parts);
    return taken < 0 ? failed("dccp_sendv") : 0;
}

// Replaces the position that waits, if there is one.
static int send_position(const dccp_socket *socket, uint64_t frame) {
    char position[32];
    int len = snprintf(position, sizeof position, "position %" PRIu64, frame);
    dccp_send_options options = {
        .size = sizeof options,
        .tag = frame,
        .key = 1,
        .flags = DCCP_SEND_KEY,
        .priority = 2,
        .deadline_ns = dccp_now_ns() + 50000000u,
        .when_full = DCCP_WHEN_FULL_DROP_LOWEST_PRIORITY,
    };
    int64_t id = dccp_send_with(socket, position, (size_t)len, &options);
    return id < 0 ? failed("dccp_send_with") : 0;
}

static int send_video(const dccp_socket *socket, uint64_t frames) {
    // An encoder would follow this rate; here it decides between large and small frames.
    size_t parts = 8;
    for (uint64_t frame = 0; frame < frames; frame++) {
        int is_key = frame % KEY_INTERVAL == 0;
        if (send_frame(socket, frame, is_key ? PARTS_MAX : parts, is_key) < 0 || send_position(socket, frame) < 0) {
            return -1;
        }
        dccp_event event = {.size = sizeof event};
        while (dccp_poll_event(socket, &event) > 0) {
            if (event.event == DCCP_EVENT_RATE) {
                uint64_t bytes_per_frame = event.rate.bits_per_s / 8 * FRAME_US / 1000000u;
                parts = bytes_per_frame > 8 * PART ? 8 : 2;
            }
        }
        count_fates(socket);
        nanosleep(&(struct timespec){.tv_nsec = FRAME_US * 1000}, NULL);
    }
    return 0;
}

static int run(const char *address, const dccp_options *options, uint64_t frames) {
    dccp_socket *socket;
    if (dccp_connect(address, options, &socket) < 0) {
        return failed("dccp_connect");
    }
    int status = send_video(socket, frames);
    if (dccp_close(socket) < 0) {
        status = failed("dccp_close");
    }
    count_fates(socket);
    uint64_t fates = 0;
    for (int fate = 0; fate < 16; fate++) {
        fates += counts[fate];
        if (counts[fate] > 0) {
            printf("%" PRIu64 " datagrams: %s\n", counts[fate], dccp_fate_name(fate));
        }
    }
    dccp_counters counters = {.size = sizeof counters};
    if (dccp_stats(socket, &counters) < 0) {
        status = failed("dccp_stats");
    }
    if (fates != counters.pushed) {
        fprintf(stderr, "%" PRIu64 " datagrams have %" PRIu64 " fates\n", counters.pushed, fates);
        status = -1;
    }
    dccp_socket_free(socket);
    return status;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: video_sender ADDRESS FRAMES\n");
        return EXIT_FAILURE;
    }
    dccp_options *options = dccp_options_new();
    int refused = dccp_options_ccid(options, 2) < 0                      // the law that follows needs it
                  || dccp_options_law(options, "cubic") < 0              // fills fast paths sooner than Reno
                  || dccp_options_service_code(options, 0x56494445u) < 0 // "VIDE"
                  || dccp_options_send_buffer(options, 64) < 0           // about a key frame
                  || dccp_options_fate_buffer(options, FATES) < 0        //
                  || dccp_options_rate_hints(options, true) < 0;
    int status = refused ? failed("options") : run(argv[1], options, strtoul(argv[2], NULL, 10));
    dccp_options_free(options);
    return status < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
