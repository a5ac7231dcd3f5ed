// The memory of a packet ring as C structs, and functions that use it without a call of the library.
//
// dccp_ring_memory(3) of dccp.h returns the memory of a ring. The structs here are its layout, version 2. The tests of
// libdccp compare them with the library's own. docs/ring.md describes the states of a datagram and the order of the writes.
// The header is for C11 and C++11.
//
//   offset   size      part
//   0        128       dccp_ring_header                 the shape of the ring
//   128      10 * 128  dccp_ring_control                indexes and sleepers, each in two cache lines of its own
//   1408     16 each   dccp_ring_place, slots           the order in which datagrams leave
//   ...      stride    dccp_ring_slot and data, slots   datagrams that wait; aligned to 64 bytes
//   ...      24 each   dccp_ring_fate, fates            reports
//   ...      stride    dccp_ring_arrival and data       received datagrams; aligned to 64 bytes
//
// Indexes are 32-bit counters that wrap around. The index of an entry is the counter modulo the number of entries, which is
// a power of two. Words have native byte order.
//
// Sending, with a dccp_ring_view that dccp_ring_view_attach() has filled:
//
//   dccp_ring_slot *slot = dccp_ring_view_claim(&view);       // NULL: the ring is full
//   memcpy(dccp_ring_slot_data(slot), data, len);             // write in place; tag, key and priority too
//   if (dccp_ring_view_publish(&view, slot, len, DCCP_RING_NO_DEADLINE)) {
//       dccp_ring_wake(ring);                                 // the only call, and only if the server sleeps
//   }
//
// Until it leaves, a datagram can be taken back, and then be rewritten in its place, withdrawn, or moved:
//
//   uint32_t held = dccp_ring_view_take_back(&view, UINT32_MAX);
//   ...                                                       // dccp_ring_held_slot(&view, n) for n < held
//   if (dccp_ring_view_release(&view)) { dccp_ring_wake(ring); }
//
// Receiving: dccp_ring_view_next() and dccp_ring_view_done(). To wait, call dccp_ring_ready() and watch dccp_ring_fd().
//
// One thread uses a ring: its view, its memory and its calls. A view stays valid during dccp_ring_ready(), dccp_ring_wake(),
// dccp_ring_poll_event(), dccp_ring_wait_room(), dccp_ring_wait_fates() and dccp_ring_close(). After others, such as
// dccp_ring_push(), dccp_ring_recv() and dccp_ring_fates(), call dccp_ring_view_attach() again.
//
// The functions check what the server writes before they use it, so no value leads outside of the memory. After a wrong
// value, or when the server has taken the memory back, `is_over` is true, and no function finds a datagram.

#ifndef USRDCCP_DCCP_RING_LAYOUT_H
#define USRDCCP_DCCP_RING_LAYOUT_H

#ifdef __cplusplus
#include <atomic>
#include <cstddef>
#include <cstdint>
#define DCCP_RING_ATOMIC(name) std::name
#define DCCP_RING_ASSERT static_assert
typedef std::atomic<uint64_t> dccp_ring_word;
#else
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define DCCP_RING_ATOMIC(name) name
#define DCCP_RING_ASSERT _Static_assert
typedef _Atomic(uint64_t) dccp_ring_word;
#endif

// The first word of the memory: the letters "DCCPRN" and the version. 0: the server has taken the memory back.
#define DCCP_RING_MAGIC UINT64_C(0x44434350524E0002)
// The deadline of a datagram that may leave at any time.
#define DCCP_RING_NO_DEADLINE UINT64_MAX
// Bit of `priority` in dccp_ring_slot: `key` counts.
#define DCCP_RING_HAS_KEY UINT64_C(0x100)
// Bit of `slot_and_len` in dccp_ring_place: the priority is greater than 0.
#define DCCP_RING_IMPORTANT (UINT64_C(1) << 63)
// The greatest number of slots, fates or arrivals.
#define DCCP_RING_ENTRIES_MAX 65536u
// The greatest length of a datagram.
#define DCCP_RING_BYTES_MAX 65535u

// The shape. The server writes it once.
typedef struct dccp_ring_header {
    dccp_ring_word magic;
    dccp_ring_word slots;
    dccp_ring_word slot_bytes;
    dccp_ring_word fates;
    dccp_ring_word arrivals;
    dccp_ring_word arrival_bytes;
    dccp_ring_word is_attached;
    uint64_t reserved[9];
} dccp_ring_header;

// A word that changes. `missed` counts fates without room, in `fates_filled` only.
typedef struct dccp_ring_control {
    dccp_ring_word word;
    dccp_ring_word missed;
    uint64_t reserved[14];
} dccp_ring_control;

// The memory before its entries.
typedef struct dccp_ring_head {
    dccp_ring_header header;
    // umod_i in the lower half, user_i in the upper half. Written by the program.
    dccp_ring_control app;
    // kern_i in the lower half, dev_i in the upper half. Written by the server.
    dccp_ring_control transport;
    // 1 while the server waits for datagrams to send.
    dccp_ring_control transport_sleeps;
    // 1 while the program waits for room, or for fates.
    dccp_ring_control waits_for_room;
    dccp_ring_control waits_for_fates;
    // Fates written by the server, and read by the program.
    dccp_ring_control fates_filled;
    dccp_ring_control fates_taken;
    // Received datagrams written by the server, and read by the program.
    dccp_ring_control arrivals_filled;
    dccp_ring_control arrivals_taken;
    // 1 while the program waits for datagrams.
    dccp_ring_control waits_for_arrivals;
} dccp_ring_head;

// A position in the order of departure.
typedef struct dccp_ring_place {
    // The slot in bits 0 to 31, the length in bits 32 to 62, and DCCP_RING_IMPORTANT.
    dccp_ring_word slot_and_len;
    // The time of dccp_now_ns() from which the datagram may not leave, or DCCP_RING_NO_DEADLINE.
    dccp_ring_word deadline_ns;
} dccp_ring_place;

// A datagram that waits. Its data follow the struct.
typedef struct dccp_ring_slot {
    // Returned with the fate.
    uint64_t tag;
    uint64_t key;
    // From 0 to 255, plus DCCP_RING_HAS_KEY.
    uint64_t priority;
} dccp_ring_slot;

// A fate.
typedef struct dccp_ring_fate {
    uint64_t tag;
    // One of DCCP_FATE_… in bits 0 to 7, the Drop Code of DCCP_FATE_RX_DROPPED in bits 8 to 15.
    uint64_t fate;
    // When the fate became known, as of dccp_now_ns().
    uint64_t known_ns;
} dccp_ring_fate;

// A received datagram. Its data follow the struct.
typedef struct dccp_ring_arrival {
    uint64_t len;
    // As of dccp_now_ns().
    uint64_t arrived_ns;
    // The sequence number in bits 0 to 47, the ECN field in bits 48 and 49; bit 50: the Data Checksum failed.
    uint64_t info;
} dccp_ring_arrival;

DCCP_RING_ASSERT(sizeof(dccp_ring_word) == 8, "an atomic word has no lock beside it");
DCCP_RING_ASSERT(sizeof(dccp_ring_header) == 128, "header");
DCCP_RING_ASSERT(offsetof(dccp_ring_header, is_attached) == 48, "header");
DCCP_RING_ASSERT(sizeof(dccp_ring_control) == 128, "control");
DCCP_RING_ASSERT(offsetof(dccp_ring_control, missed) == 8, "control");
DCCP_RING_ASSERT(offsetof(dccp_ring_head, app) == 128, "head");
DCCP_RING_ASSERT(offsetof(dccp_ring_head, transport) == 256, "head");
DCCP_RING_ASSERT(offsetof(dccp_ring_head, transport_sleeps) == 384, "head");
DCCP_RING_ASSERT(offsetof(dccp_ring_head, fates_filled) == 768, "head");
DCCP_RING_ASSERT(offsetof(dccp_ring_head, arrivals_filled) == 1024, "head");
DCCP_RING_ASSERT(offsetof(dccp_ring_head, waits_for_arrivals) == 1280, "head");
DCCP_RING_ASSERT(sizeof(dccp_ring_head) == 1408, "head");
DCCP_RING_ASSERT(sizeof(dccp_ring_place) == 16, "place");
DCCP_RING_ASSERT(sizeof(dccp_ring_slot) == 24, "slot");
DCCP_RING_ASSERT(sizeof(dccp_ring_fate) == 24, "fate");
DCCP_RING_ASSERT(sizeof(dccp_ring_arrival) == 24, "arrival");

// The places of a ring's parts in bytes. Also where addresses have 32 bits, no valid shape makes them wrap.
typedef struct dccp_ring_places {
    uint64_t order;
    uint64_t slots;
    uint64_t slot_stride;
    uint64_t fates;
    uint64_t arrivals;
    uint64_t arrival_stride;
    uint64_t end;
} dccp_ring_places;

// A program's own record of a ring. The fields are for the functions below, except `is_over` and the shape.
typedef struct dccp_ring_view {
    unsigned char *memory;
    dccp_ring_head *head;
    // The shape.
    uint32_t slots;
    uint32_t slot_bytes;
    uint32_t fates;
    uint32_t arrivals;
    uint32_t arrival_bytes;
    dccp_ring_places places;
    // The program's indexes: of what the server may claim, and of what is in the ring.
    uint32_t umod;
    uint32_t user;
    // The server's indexes as last read: of what is claimed, and of what is copied.
    uint32_t kern;
    uint32_t dev;
    uint32_t fates_filled;
    uint32_t fates_taken;
    uint32_t arrivals_filled;
    uint32_t arrivals_taken;
    // The slot at each position, and the slots that are free.
    uint32_t *slot_at;
    uint32_t *free_slots;
    uint32_t free_count;
    // The server has taken the memory back, or it has broken the rules.
    bool is_over;
} dccp_ring_view;

#define DCCP_RING_LOAD(word, order) DCCP_RING_ATOMIC(atomic_load_explicit)(&(word), DCCP_RING_ATOMIC(order))
#define DCCP_RING_STORE(word, value, order)                                                                            \
    DCCP_RING_ATOMIC(atomic_store_explicit)(&(word), (uint64_t)(value), DCCP_RING_ATOMIC(order))
#define DCCP_RING_FENCE(order) DCCP_RING_ATOMIC(atomic_thread_fence)(DCCP_RING_ATOMIC(order))

// Internal: whether one counter is before another. They are less than half of the numbers apart.
static inline bool dccp_ring_is_before(uint32_t a, uint32_t b) {
    return (uint32_t)(a - b) > UINT32_MAX / 2;
}

static inline uint64_t dccp_ring_round_up(uint64_t bytes, uint64_t to) {
    return (bytes + to - 1) / to * to;
}

// The places of the parts of a ring with this shape.
static inline dccp_ring_places dccp_ring_places_of(uint32_t slots, uint32_t slot_bytes, uint32_t fates,
                                                   uint32_t arrivals, uint32_t arrival_bytes) {
    dccp_ring_places at;
    at.order = sizeof(dccp_ring_head);
    at.slots = dccp_ring_round_up(at.order + (uint64_t)slots * sizeof(dccp_ring_place), 64);
    at.slot_stride = dccp_ring_round_up((uint64_t)sizeof(dccp_ring_slot) + slot_bytes, 64);
    at.fates = at.slots + slots * at.slot_stride;
    at.arrivals = dccp_ring_round_up(at.fates + (uint64_t)fates * sizeof(dccp_ring_fate), 64);
    at.arrival_stride = dccp_ring_round_up((uint64_t)sizeof(dccp_ring_arrival) + arrival_bytes, 64);
    at.end = at.arrivals + arrivals * at.arrival_stride;
    return at;
}

static inline dccp_ring_place *dccp_ring_place_at(const dccp_ring_view *view, uint32_t position) {
    size_t index = position & (view->slots - 1);
    return (dccp_ring_place *)(void *)(view->memory + view->places.order) + index;
}

static inline dccp_ring_slot *dccp_ring_slot_number(const dccp_ring_view *view, uint32_t slot) {
    return (dccp_ring_slot *)(void *)(view->memory + view->places.slots + slot * view->places.slot_stride);
}

// The data of a datagram that waits, with room for `slot_bytes`.
static inline unsigned char *dccp_ring_slot_data(dccp_ring_slot *slot) {
    return (unsigned char *)(slot + 1);
}

// Internal: whether the server has taken the memory back. What was read before is then no datagram.
static inline bool dccp_ring_view_is_gone(dccp_ring_view *view) {
    DCCP_RING_FENCE(memory_order_acquire);
    view->is_over = view->is_over || DCCP_RING_LOAD(view->head->header.magic, memory_order_relaxed) == 0;
    return view->is_over;
}

// Internal: writes the program's indexes, and with them all that it wrote before.
static inline void dccp_ring_view_show(dccp_ring_view *view) {
    DCCP_RING_STORE(view->head->app.word, view->umod | (uint64_t)view->user << 32, memory_order_release);
}

// Internal: reads the server's indexes, and frees the slots of the datagrams that it has copied: none at `bound` or behind.
static inline bool dccp_ring_view_see(dccp_ring_view *view, uint32_t bound) {
    uint64_t word = DCCP_RING_LOAD(view->head->transport.word, memory_order_acquire);
    uint32_t kern = (uint32_t)word;
    uint32_t dev = (uint32_t)(word >> 32);
    if (dccp_ring_view_is_gone(view)) {
        return false;
    }
    if ((uint32_t)(dev - view->dev) > (uint32_t)(bound - view->dev) || (uint32_t)(kern - dev) > view->slots) {
        view->is_over = true;
        return false;
    }
    // A claim of a datagram that was just withdrawn is beyond `user` for a moment, and fails.
    view->kern = dccp_ring_is_before(view->user, kern) ? view->user : kern;
    while (view->dev != dev) {
        view->free_slots[view->free_count++] = view->slot_at[view->dev & (view->slots - 1)];
        view->dev++;
    }
    return true;
}

// Fills a view of the memory of dccp_ring_memory(), which has `size` bytes. `scratch` has room for `scratch_count` numbers,
// at least twice the number of slots; it belongs to the view from now on. Returns false if that is not a ring of this
// version, if `scratch` is too short, or if the ring is over.
static inline bool dccp_ring_view_attach(dccp_ring_view *view, void *memory, size_t size, uint32_t *scratch,
                                         size_t scratch_count) {
    view->memory = (unsigned char *)memory;
    view->head = (dccp_ring_head *)memory;
    view->is_over = true;
    if (memory == NULL || size < sizeof(dccp_ring_head)) {
        return false;
    }
    dccp_ring_header *header = &view->head->header;
    const uint64_t counts[3] = {DCCP_RING_LOAD(header->slots, memory_order_relaxed),
                                DCCP_RING_LOAD(header->fates, memory_order_relaxed),
                                DCCP_RING_LOAD(header->arrivals, memory_order_relaxed)};
    for (int n = 0; n < 3; n++) {
        if (counts[n] == 0 || counts[n] > DCCP_RING_ENTRIES_MAX || (counts[n] & (counts[n] - 1)) != 0) {
            return false;
        }
    }
    const uint64_t lengths[2] = {DCCP_RING_LOAD(header->slot_bytes, memory_order_relaxed),
                                 DCCP_RING_LOAD(header->arrival_bytes, memory_order_relaxed)};
    if (lengths[0] > DCCP_RING_BYTES_MAX || lengths[1] > DCCP_RING_BYTES_MAX) {
        return false;
    }
    view->slots = (uint32_t)counts[0];
    view->fates = (uint32_t)counts[1];
    view->arrivals = (uint32_t)counts[2];
    view->slot_bytes = (uint32_t)lengths[0];
    view->arrival_bytes = (uint32_t)lengths[1];
    view->places =
        dccp_ring_places_of(view->slots, view->slot_bytes, view->fates, view->arrivals, view->arrival_bytes);
    if (view->places.end > size || scratch_count / 2 < view->slots ||
        DCCP_RING_LOAD(view->head->header.magic, memory_order_relaxed) != DCCP_RING_MAGIC) {
        return false;
    }
    uint64_t app = DCCP_RING_LOAD(view->head->app.word, memory_order_relaxed);
    uint64_t transport = DCCP_RING_LOAD(view->head->transport.word, memory_order_acquire);
    view->umod = (uint32_t)app;
    view->user = (uint32_t)(app >> 32);
    view->kern = (uint32_t)transport;
    view->dev = (uint32_t)(transport >> 32);
    if ((uint32_t)(view->user - view->dev) > view->slots ||
        (uint32_t)(view->user - view->umod) > (uint32_t)(view->user - view->dev)) {
        return false;
    }
    view->slot_at = scratch;
    view->free_slots = scratch + view->slots;
    // Here the second half marks the slots that are used.
    for (uint32_t slot = 0; slot < view->slots; slot++) {
        view->free_slots[slot] = 0;
    }
    for (uint32_t position = view->dev; position != view->user; position++) {
        dccp_ring_place *place = dccp_ring_place_at(view, position);
        uint32_t slot = (uint32_t)DCCP_RING_LOAD(place->slot_and_len, memory_order_relaxed);
        if (slot >= view->slots || view->free_slots[slot] != 0) {
            return false;
        }
        view->free_slots[slot] = 1;
        view->slot_at[position & (view->slots - 1)] = slot;
    }
    view->free_count = 0;
    for (uint32_t slot = 0; slot < view->slots; slot++) {
        if (view->free_slots[slot] == 0) {
            view->free_slots[view->free_count++] = slot;
        }
    }
    view->fates_taken = (uint32_t)DCCP_RING_LOAD(view->head->fates_taken.word, memory_order_relaxed);
    view->fates_filled = view->fates_taken;
    view->arrivals_taken = (uint32_t)DCCP_RING_LOAD(view->head->arrivals_taken.word, memory_order_relaxed);
    view->arrivals_filled = view->arrivals_taken;
    view->is_over = false;
    return dccp_ring_view_see(view, view->umod);
}

// Returns a free slot, which belongs to the program until it is published, or NULL if the ring is full or over.
static inline dccp_ring_slot *dccp_ring_view_claim(dccp_ring_view *view) {
    if (view->is_over || (view->free_count == 0 && (!dccp_ring_view_see(view, view->umod) || view->free_count == 0))) {
        return NULL;
    }
    return dccp_ring_slot_number(view, view->free_slots[--view->free_count]);
}

// Internal: writes the place of a datagram: its slot, its length, whether it is important, and its deadline.
static inline void dccp_ring_view_write_place(dccp_ring_view *view, uint32_t position, uint32_t slot, size_t len,
                                              uint64_t deadline_ns) {
    uint64_t mark = (dccp_ring_slot_number(view, slot)->priority & 0xFF) != 0 ? DCCP_RING_IMPORTANT : 0;
    dccp_ring_place *place = dccp_ring_place_at(view, position);
    DCCP_RING_STORE(place->slot_and_len, slot | (uint64_t)len << 32 | mark, memory_order_relaxed);
    DCCP_RING_STORE(place->deadline_ns, deadline_ns, memory_order_relaxed);
    view->slot_at[position & (view->slots - 1)] = slot;
}

// Appends a claimed slot with `len` bytes, at most `slot_bytes`. The server sees it after dccp_ring_view_release().
static inline void dccp_ring_view_append(dccp_ring_view *view, dccp_ring_slot *slot, size_t len, uint64_t deadline_ns) {
    uint64_t offset = (uint64_t)((unsigned char *)slot - view->memory) - view->places.slots;
    dccp_ring_view_write_place(view, view->user, (uint32_t)(offset / view->places.slot_stride), len, deadline_ns);
    view->user++;
}

// Lets the server claim all that is in the ring. Returns true if the server sleeps: then call dccp_ring_wake().
static inline bool dccp_ring_view_release(dccp_ring_view *view) {
    if (view->is_over) {
        return false;
    }
    view->umod = view->user;
    dccp_ring_view_show(view);
    DCCP_RING_FENCE(memory_order_seq_cst);
    return DCCP_RING_LOAD(view->head->transport_sleeps.word, memory_order_relaxed) != 0;
}

// Appends a claimed slot and releases. Returns true if the server sleeps: then call dccp_ring_wake().
static inline bool dccp_ring_view_publish(dccp_ring_view *view, dccp_ring_slot *slot, size_t len,
                                          uint64_t deadline_ns) {
    dccp_ring_view_append(view, slot, len, deadline_ns);
    return dccp_ring_view_release(view);
}

// Takes back up to `newest` datagrams that wait, the newest first. Returns the number of those that are held now: the server
// cannot claim them until dccp_ring_view_release(), which must follow. 0 is the one that would leave first.
static inline uint32_t dccp_ring_view_take_back(dccp_ring_view *view, uint32_t newest) {
    if (view->is_over || !dccp_ring_view_see(view, view->umod)) {
        return 0;
    }
    uint32_t waiting = view->user - view->kern;
    uint32_t from = view->user - (newest < waiting ? newest : waiting);
    if (dccp_ring_is_before(from, view->umod)) {
        // Both sides announce what they want, then read the other's index: so both cannot win.
        uint32_t bound = view->umod;
        view->umod = from;
        dccp_ring_view_show(view);
        DCCP_RING_FENCE(memory_order_seq_cst);
        if (!dccp_ring_view_see(view, bound)) {
            return 0;
        }
        if (dccp_ring_is_before(from, view->kern)) {
            view->umod = view->kern;
            dccp_ring_view_show(view);
        }
    }
    return view->user - view->umod;
}

// The slot of the `n`-th datagram that is held. The program may rewrite it in place, then call dccp_ring_held_set().
static inline dccp_ring_slot *dccp_ring_held_slot(const dccp_ring_view *view, uint32_t n) {
    return dccp_ring_slot_number(view, view->slot_at[(view->umod + n) & (view->slots - 1)]);
}

// The length of the `n`-th datagram that is held.
static inline size_t dccp_ring_held_len(const dccp_ring_view *view, uint32_t n) {
    dccp_ring_place *place = dccp_ring_place_at(view, view->umod + n);
    uint64_t word = DCCP_RING_LOAD(place->slot_and_len, memory_order_relaxed) & ~DCCP_RING_IMPORTANT;
    return word >> 32 <= view->slot_bytes ? (size_t)(word >> 32) : view->slot_bytes;
}

// Sets length and deadline of the `n`-th datagram that is held.
static inline void dccp_ring_held_set(dccp_ring_view *view, uint32_t n, size_t len, uint64_t deadline_ns) {
    uint32_t position = view->umod + n;
    dccp_ring_view_write_place(view, position, view->slot_at[position & (view->slots - 1)], len, deadline_ns);
}

// Internal: copies the place at one position to another.
static inline void dccp_ring_view_copy_place(dccp_ring_view *view, uint32_t from, uint32_t to) {
    dccp_ring_place *a = dccp_ring_place_at(view, from);
    dccp_ring_place *b = dccp_ring_place_at(view, to);
    DCCP_RING_STORE(b->slot_and_len, DCCP_RING_LOAD(a->slot_and_len, memory_order_relaxed), memory_order_relaxed);
    DCCP_RING_STORE(b->deadline_ns, DCCP_RING_LOAD(a->deadline_ns, memory_order_relaxed), memory_order_relaxed);
    view->slot_at[to & (view->slots - 1)] = view->slot_at[from & (view->slots - 1)];
}

// Takes the `n`-th datagram that is held out of the ring. Later ones move up.
static inline void dccp_ring_held_withdraw(dccp_ring_view *view, uint32_t n) {
    uint32_t position = view->umod + n;
    view->free_slots[view->free_count++] = view->slot_at[position & (view->slots - 1)];
    for (; position + 1 != view->user; position++) {
        dccp_ring_view_copy_place(view, position + 1, position);
    }
    view->user--;
}

// Exchanges the places of two datagrams that are held.
static inline void dccp_ring_held_swap(dccp_ring_view *view, uint32_t n, uint32_t m) {
    dccp_ring_place *a = dccp_ring_place_at(view, view->umod + n);
    uint64_t slot_and_len = DCCP_RING_LOAD(a->slot_and_len, memory_order_relaxed);
    uint64_t deadline_ns = DCCP_RING_LOAD(a->deadline_ns, memory_order_relaxed);
    uint32_t slot = view->slot_at[(view->umod + n) & (view->slots - 1)];
    dccp_ring_view_copy_place(view, view->umod + m, view->umod + n);
    dccp_ring_place *b = dccp_ring_place_at(view, view->umod + m);
    DCCP_RING_STORE(b->slot_and_len, slot_and_len, memory_order_relaxed);
    DCCP_RING_STORE(b->deadline_ns, deadline_ns, memory_order_relaxed);
    view->slot_at[(view->umod + m) & (view->slots - 1)] = slot;
}

// Internal: reads a producer's index, unless an entry waits already. Returns whether an entry waits.
static inline bool dccp_ring_view_find(dccp_ring_view *view, dccp_ring_control *producer, uint32_t *filled,
                                       uint32_t taken, uint32_t entries) {
    if (view->is_over) {
        return false;
    }
    if (*filled == taken) {
        uint64_t word = DCCP_RING_LOAD(producer->word, memory_order_acquire);
        if (dccp_ring_view_is_gone(view)) {
            return false;
        }
        if (word > UINT32_MAX || (uint32_t)((uint32_t)word - taken) > entries) {
            view->is_over = true;
            return false;
        }
        *filled = (uint32_t)word;
    }
    return *filled != taken;
}

// Takes the oldest fate. Returns false if none waits.
static inline bool dccp_ring_view_fate(dccp_ring_view *view, dccp_ring_fate *fate) {
    dccp_ring_head *head = view->head;
    if (!dccp_ring_view_find(view, &head->fates_filled, &view->fates_filled, view->fates_taken, view->fates)) {
        return false;
    }
    size_t index = view->fates_taken & (view->fates - 1);
    *fate = ((const dccp_ring_fate *)(const void *)(view->memory + view->places.fates))[index];
    if (dccp_ring_view_is_gone(view)) {
        return false;
    }
    view->fates_taken++;
    DCCP_RING_STORE(head->fates_taken.word, view->fates_taken, memory_order_release);
    return true;
}

// Returns the oldest received datagram in its place, its data and their length, or NULL if none waits. It stays there until
// dccp_ring_view_done().
static inline const dccp_ring_arrival *dccp_ring_view_next(dccp_ring_view *view, const unsigned char **data,
                                                           size_t *len) {
    dccp_ring_control *filled = &view->head->arrivals_filled;
    if (!dccp_ring_view_find(view, filled, &view->arrivals_filled, view->arrivals_taken, view->arrivals)) {
        return NULL;
    }
    size_t index = view->arrivals_taken & (view->arrivals - 1);
    const unsigned char *at = view->memory + view->places.arrivals + index * view->places.arrival_stride;
    const dccp_ring_arrival *arrival = (const dccp_ring_arrival *)(const void *)at;
    // Read once: the server could change it after the check.
    uint64_t bytes = *(const volatile uint64_t *)&arrival->len;
    if (bytes > view->arrival_bytes) {
        view->is_over = true;
        return NULL;
    }
    *data = (const unsigned char *)(arrival + 1);
    *len = (size_t)bytes;
    return arrival;
}

// Frees the datagram of dccp_ring_view_next(). Returns false if the server has taken the memory back meanwhile: then what
// was read there is no datagram.
static inline bool dccp_ring_view_done(dccp_ring_view *view) {
    if (dccp_ring_view_is_gone(view)) {
        return false;
    }
    view->arrivals_taken++;
    DCCP_RING_STORE(view->head->arrivals_taken.word, view->arrivals_taken, memory_order_release);
    return true;
}

#endif
