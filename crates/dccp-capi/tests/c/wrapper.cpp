// Uses each member of the wrapper for C++.

#include <dccp.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

// Ends the program, and names the line of the condition that does not hold.
#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                               \
            std::exit(EXIT_FAILURE);                                                                                   \
        }                                                                                                              \
    } while (false)

static_assert(!std::is_copy_constructible_v<dccp::socket>);
static_assert(std::is_nothrow_move_constructible_v<dccp::socket>);

static void errors_are_exceptions() {
    dccp::options options;
    try {
        options.set(dccp_options_mtu, 20u);
        REQUIRE(false);
    } catch (const dccp::error &error) {
        REQUIRE(error.code() == DCCP_ERR_OPTION);
        REQUIRE(error.fault() == DCCP_FAULT_CALLER);
        REQUIRE(std::string(error.what()).find("mtu") != std::string::npos);
        REQUIRE(!error.next_step().empty());
    }
    try {
        dccp::socket socket("127.0.0.1", options);
        REQUIRE(false);
    } catch (const dccp::error &error) {
        REQUIRE(error.code() == DCCP_ERR_ADDRESS);
    }
}

static void datagrams_arrive() {
    dccp::options options;
    options.set(dccp_options_ccid, std::uint8_t{2}).set(dccp_options_fate_buffer, 100u);
    options.set(dccp_options_service_code, 0x56494445u).set(dccp_options_rate_hints, true);
    dccp::listener listener("127.0.0.1:0/0", options);
    REQUIRE(listener.fd() >= 0);
    dccp::socket client(listener.address(), options);
    dccp::socket accepted = listener.accept();
    dccp::socket server = std::move(accepted);
    REQUIRE(client.peer_address() == server.local_address());
    REQUIRE(accepted.try_send("x", 1) == DCCP_ERR_INVALID);

    auto key = dccp::send_options();
    key.priority = 1;
    REQUIRE(client.send("frame") == 0);
    REQUIRE(client.send(std::string("key frame"), key) == 1);
    std::vector<dccp_send_item> items(2);
    for (auto &item : items) {
        item.data = "part";
        item.len = 4;
    }
    REQUIRE(client.send(items) == 2);
    REQUIRE(items[1].result == 3);
    char buffer[100];
    std::size_t bytes = 0;
    for (int n = 0; n < 4; n++) {
        bytes += server.receive(buffer, sizeof buffer);
    }
    REQUIRE(bytes == 5 + 9 + 4 + 4);
    REQUIRE(client.max_packet_size() > 1000);
    REQUIRE((client.ready() & DCCP_READY_SEND) != 0);
    REQUIRE(client.fd() >= 0);
    REQUIRE(client.snapshot().send_ccid == 2);
    bool is_connected = false;
    while (auto event = client.poll_event()) {
        is_connected |= event->event == DCCP_EVENT_CONNECTED;
    }
    REQUIRE(is_connected);
    if (auto rate = client.rate_hint()) {
        REQUIRE(rate->bits_per_s > 0);
    }
    client.close();
    REQUIRE(client.stats().pushed == 4);
    REQUIRE(client.fates(100).size() == 4);
    REQUIRE(server.try_receive(buffer, sizeof buffer) == DCCP_ERR_CLOSED);
    server.shutdown(DCCP_SHUT_RDWR);
    server.abort();
}

int main() {
    errors_are_exceptions();
    datagrams_arrive();
    return dccp_wait_idle(5000000) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
