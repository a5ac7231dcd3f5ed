// A server may write anything at any time: no function of dccp_ring_layout.h may leave the memory or the scratch numbers.
//
//   ring_hostile ROUNDS
//
// Runs with the address sanitizer. Prints the calls that found something, so that the test can see that they did.

#include <dccp_ring_layout.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 4
#define BYTES 10
#define START UINT32_MAX // the first value of all indexes

static uint64_t state = 1;

// xorshift64: the same numbers in each run.
static uint64_t random_number(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void store(dccp_ring_word *word, uint64_t value) {
    DCCP_RING_STORE(*word, value, memory_order_relaxed);
}

static void make(unsigned char *memory, size_t size) {
    memset(memory, 0, size);
    dccp_ring_head *head = (dccp_ring_head *)(void *)memory;
    store(&head->header.magic, DCCP_RING_MAGIC);
    store(&head->header.slots, SLOTS);
    store(&head->header.slot_bytes, BYTES);
    store(&head->header.fates, SLOTS);
    store(&head->header.arrivals, SLOTS);
    store(&head->header.arrival_bytes, BYTES);
    store(&head->app.word, START | (uint64_t)START << 32);
    store(&head->transport.word, START | (uint64_t)START << 32);
    store(&head->fates_filled.word, START);
    store(&head->fates_taken.word, START);
    store(&head->arrivals_filled.word, START);
    store(&head->arrivals_taken.word, START);
}

// Writes what a server may write, often close to the value that was there.
static void harm(unsigned char *memory, size_t size) {
    size_t words = size / 8;
    size_t at = random_number() % 4 == 0 ? random_number() % words : 16 + 16 * (random_number() % 10);
    dccp_ring_word *word = (dccp_ring_word *)(void *)memory + at;
    uint64_t value = random_number();
    uint64_t old = DCCP_RING_LOAD(*word, memory_order_relaxed);
    switch (random_number() % 5) {
    case 0:
        store(word, value);
        break;
    case 1:
        store(word, value % 8);
        break;
    case 2:
        store(word, old + (value % 3 << 32));
        break;
    default:
        store(word, (old & ~(uint64_t)UINT32_MAX) | (uint32_t)(old + value % 3));
        break;
    }
}

int main(int argc, char **argv) {
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    size_t size = dccp_ring_places_of(SLOTS, BYTES, SLOTS, SLOTS, BYTES).end;
    unsigned char *memory = (unsigned char *)aligned_alloc(64, size);
    uint32_t *scratch = (uint32_t *)malloc(2 * SLOTS * sizeof *scratch);
    unsigned long claims = 0, helds = 0, fates = 0, arrivals = 0, attached = 0;
    for (unsigned long round = 0; round < rounds; round++) {
        make(memory, size);
        dccp_ring_view view;
        attached += dccp_ring_view_attach(&view, memory, size, scratch, 2 * SLOTS);
        for (int step = 0; step < 40; step++) {
            if (random_number() % 3 == 0) {
                harm(memory, size);
            }
            switch (view.is_over ? 99 : random_number() % 6) {
            case 0: {
                dccp_ring_slot *slot = dccp_ring_view_claim(&view);
                if (slot != NULL) {
                    memset(dccp_ring_slot_data(slot), 7, BYTES);
                    slot->priority = random_number() % 2;
                    dccp_ring_view_publish(&view, slot, BYTES, DCCP_RING_NO_DEADLINE);
                    claims++;
                }
                break;
            }
            case 1: {
                uint32_t held = dccp_ring_view_take_back(&view, (uint32_t)(random_number() % 5));
                for (uint32_t n = 0; n < held; n++) {
                    memset(dccp_ring_slot_data(dccp_ring_held_slot(&view, n)), 1, dccp_ring_held_len(&view, n));
                    dccp_ring_held_set(&view, n, random_number() % (BYTES + 1), 5);
                    dccp_ring_held_swap(&view, 0, n);
                }
                while (held > 0 && random_number() % 2 == 0) {
                    dccp_ring_held_withdraw(&view, (uint32_t)(random_number() % held--));
                }
                helds += held;
                if (random_number() % 4 > 0) {
                    dccp_ring_view_release(&view);
                }
                break;
            }
            case 2: {
                dccp_ring_fate fate;
                fates += dccp_ring_view_fate(&view, &fate);
                break;
            }
            case 3: {
                const unsigned char *data;
                size_t len;
                if (dccp_ring_view_next(&view, &data, &len) != NULL) {
                    unsigned char copy[BYTES];
                    memcpy(copy, data, len);
                    arrivals += dccp_ring_view_done(&view);
                }
                break;
            }
            case 4:
                attached += dccp_ring_view_attach(&view, memory, size, scratch, 2 * SLOTS);
                break;
            default:
                break;
            }
        }
    }
    printf("%lu attached, %lu claims, %lu held, %lu fates, %lu arrivals\n", attached, claims, helds, fates, arrivals);
    free(scratch);
    free(memory);
    return claims > 0 && helds > 0 && fates > 0 && arrivals > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
