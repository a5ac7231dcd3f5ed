// Prints the layout of a ring as dccp_ring_layout.h has it: layout SLOTS SLOT-BYTES FATES ARRIVALS ARRIVAL-BYTES

#include <dccp_ring_layout.h>

#include <stdio.h>
#include <stdlib.h>

static void print(const char *name, size_t bytes) {
    printf("%s %zu\n", name, bytes);
}

int main(int argc, char **argv) {
    unsigned shape[5];
    for (int n = 0; n < 5; n++) {
        shape[n] = n + 1 < argc ? (unsigned)strtoul(argv[n + 1], NULL, 10) : 0;
    }
    dccp_ring_places at = dccp_ring_places_of(shape[0], shape[1], shape[2], shape[3], shape[4]);
    print("app", offsetof(dccp_ring_head, app));
    print("transport", offsetof(dccp_ring_head, transport));
    print("transport_sleeps", offsetof(dccp_ring_head, transport_sleeps));
    print("waits_for_room", offsetof(dccp_ring_head, waits_for_room));
    print("waits_for_fates", offsetof(dccp_ring_head, waits_for_fates));
    print("fates_filled", offsetof(dccp_ring_head, fates_filled));
    print("fates_taken", offsetof(dccp_ring_head, fates_taken));
    print("arrivals_filled", offsetof(dccp_ring_head, arrivals_filled));
    print("arrivals_taken", offsetof(dccp_ring_head, arrivals_taken));
    print("waits_for_arrivals", offsetof(dccp_ring_head, waits_for_arrivals));
    print("order", at.order);
    print("slots", at.slots);
    print("fates", at.fates);
    print("arrivals", at.arrivals);
    print("end", at.end);
    print("order_stride", sizeof(dccp_ring_place));
    print("slot_stride", at.slot_stride);
    print("fate_stride", sizeof(dccp_ring_fate));
    print("arrival_stride", at.arrival_stride);
    print("slot_header", sizeof(dccp_ring_slot));
    print("arrival_header", sizeof(dccp_ring_arrival));
    return EXIT_SUCCESS;
}
