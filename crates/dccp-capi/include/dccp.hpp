// libdccp for C++17: handles that free themselves, and errors as exceptions. It needs dccp.h and no other file.
//
//   dccp::options options;
//   options.set(dccp_options_ccid, 3).set(dccp_options_service_code, 0x56494445u);
//   dccp::socket socket("192.0.2.10:14233/5001", options);
//   socket.send("frame");
//   socket.close();
//
// Members that throw dccp::error have a relative with the prefix try_, which returns the number of dccp.h instead. Functions
// of dccp.h without a member take get(). The comments of dccp.h hold here too: threads may share sockets and listeners.

#ifndef USRDCCP_DCCP_HPP
#define USRDCCP_DCCP_HPP

#include <dccp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dccp {

// A failed call: its number, what happened, and the remedy.
class error : public std::runtime_error {
public:
    // The last failed call of this thread.
    explicit error(int code)
        : std::runtime_error(dccp_last_detail()), code_(code), fault_(dccp_last_fault()), next_step_(dccp_next_step()) {}

    // One of DCCP_ERR_….
    int code() const noexcept { return code_; }
    // One of DCCP_FAULT_….
    int fault() const noexcept { return fault_; }
    // The remedy in one line.
    const std::string &next_step() const noexcept { return next_step_; }

private:
    int code_;
    int fault_;
    std::string next_step_;
};

// Returns a result of dccp.h, or throws the error that it is.
template <typename Result> Result check(Result result) {
    if (result < 0) {
        throw error(static_cast<int>(result));
    }
    return result;
}

namespace detail {
struct deleter {
    void operator()(dccp_options *options) const noexcept { dccp_options_free(options); }
    void operator()(dccp_socket *socket) const noexcept { dccp_socket_free(socket); }
    void operator()(dccp_listener *listener) const noexcept { dccp_listener_free(listener); }
};

// The address of a function that writes it to a buffer.
template <typename Write> std::string address(Write write) {
    char text[DCCP_ADDRESS_SIZE];
    auto length = check(write(text, sizeof text));
    return std::string(text, static_cast<std::size_t>(length));
}
} // namespace detail

// Settings of sockets and listeners.
class options {
public:
    options() : handle_(dccp_options_new()) {}

    // Calls a setter of dccp.h, as in set(dccp_options_ecn, false). Throws if the value is not allowed.
    template <typename... Parameters, typename... Arguments>
    options &set(int (*setter)(dccp_options *, Parameters...), Arguments... arguments) {
        check(setter(get(), arguments...));
        return *this;
    }

    dccp_options *get() const noexcept { return handle_.get(); }

private:
    std::unique_ptr<dccp_options, detail::deleter> handle_;
};

// Options of one datagram with the defaults.
inline dccp_send_options send_options() noexcept {
    dccp_send_options options{};
    options.size = sizeof options;
    return options;
}

// A connection. A moved-from socket has no connection: its calls fail with DCCP_ERR_INVALID.
class socket {
public:
    // Takes over a handle.
    explicit socket(dccp_socket *handle) noexcept : handle_(handle) {}

    // Connects to HOST:UDP-PORT/DCCP-PORT.
    socket(const std::string &address, const options &options) {
        dccp_socket *handle = nullptr;
        check(dccp_connect(address.c_str(), options.get(), &handle));
        handle_.reset(handle);
    }

    // Sends a datagram. Returns its number.
    std::uint64_t send(std::string_view data) { return number(check(try_send(data.data(), data.size()))); }
    std::uint64_t send(std::string_view data, const dccp_send_options &options) {
        return number(check(try_send(data.data(), data.size(), &options)));
    }
    std::int64_t try_send(const void *data, std::size_t length, const dccp_send_options *options = nullptr) noexcept {
        return dccp_send_with(get(), data, length, options);
    }

    // Sends many datagrams in one call; each item has its result. Returns the number of datagrams taken.
    std::size_t send(std::vector<dccp_send_item> &items) {
        return static_cast<std::size_t>(check(dccp_sendv(get(), items.data(), items.size())));
    }

    // Receives a datagram into a buffer. Returns the number of bytes copied.
    std::size_t receive(void *buffer, std::size_t size) {
        return static_cast<std::size_t>(check(try_receive(buffer, size)));
    }
    std::int64_t try_receive(void *buffer, std::size_t size) noexcept { return dccp_recv(get(), buffer, size); }

    // Takes up to `most` known fates without waiting.
    std::vector<dccp_fate> fates(std::size_t most) {
        std::vector<dccp_fate> fates(most);
        fates.resize(static_cast<std::size_t>(check(dccp_fates(get(), fates.data(), fates.size()))));
        return fates;
    }

    // Takes the next event, if there is one.
    std::optional<dccp_event> poll_event() {
        dccp_event event{};
        event.size = sizeof event;
        if (check(dccp_poll_event(get(), &event)) == 0) {
            return std::nullopt;
        }
        return event;
    }

    // The rate that the network takes, once it is known.
    std::optional<dccp_rate> rate_hint() const {
        dccp_rate rate{};
        if (check(dccp_rate_hint(get(), &rate)) == 0) {
            return std::nullopt;
        }
        return rate;
    }

    dccp_counters stats() const {
        dccp_counters counters{};
        counters.size = sizeof counters;
        check(dccp_stats(get(), &counters));
        return counters;
    }

    dccp_connection_state snapshot() const {
        dccp_connection_state state{};
        state.size = sizeof state;
        check(dccp_snapshot(get(), &state));
        return state;
    }

    // Sends what waits, closes, and waits for the end. The destructor does so in the background.
    void close() { check(dccp_close(get())); }
    void abort() { check(dccp_abort(get())); }
    void shutdown(int how) { check(dccp_shutdown(get(), how)); }

    // A descriptor for poll() and epoll, which the socket owns.
    int fd() const { return check(dccp_fd(get())); }
    // A sum of DCCP_READY_….
    int ready() const { return check(dccp_ready(get())); }
    std::size_t max_packet_size() const { return static_cast<std::size_t>(check(dccp_max_packet_size(get()))); }

    std::string local_address() const {
        return detail::address([this](char *text, std::size_t size) { return dccp_local_address(get(), text, size); });
    }
    std::string peer_address() const {
        return detail::address([this](char *text, std::size_t size) { return dccp_peer_address(get(), text, size); });
    }

    dccp_socket *get() const noexcept { return handle_.get(); }

private:
    static std::uint64_t number(std::int64_t id) noexcept { return static_cast<std::uint64_t>(id); }

    std::unique_ptr<dccp_socket, detail::deleter> handle_;
};

// Waits for connections. A moved-from listener has no port: its calls fail with DCCP_ERR_INVALID.
class listener {
public:
    // Listens at HOST:UDP-PORT/DCCP-PORT. Port 0 stands for any that is free.
    listener(const std::string &address, const options &options) {
        dccp_listener *handle = nullptr;
        check(dccp_listen(address.c_str(), options.get(), &handle));
        handle_.reset(handle);
    }

    // The next connection. Throws DCCP_ERR_AGAIN if the listener is non-blocking and there is none.
    socket accept() {
        dccp_socket *handle = nullptr;
        check(dccp_accept(get(), &handle));
        return socket(handle);
    }

    // The first address with the ports that it got.
    std::string address() const {
        return detail::address(
            [this](char *text, std::size_t size) { return dccp_listener_address(get(), 0, text, size); });
    }

    // A descriptor for poll() and epoll, which the listener owns.
    int fd() const { return check(dccp_listener_fd(get())); }

    dccp_listener *get() const noexcept { return handle_.get(); }

private:
    std::unique_ptr<dccp_listener, detail::deleter> handle_;
};

} // namespace dccp

#endif
