//! The system calls of the product, the errors that their manual pages name, and the calls that cannot be tested so.

use super::victim::Part;

/// A process whose calls fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// Both ends of a connection over UDP.
    Udp,
    /// Both ends of a connection over IP.
    Ip,
    /// The server of rings.
    RingServer,
    /// An application with a ring.
    RingClient,
}

impl Target {
    pub(crate) const ALL: [Self; 4] = [Self::Udp, Self::Ip, Self::RingServer, Self::RingClient];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Ip => "ip",
            Self::RingServer => "ring server",
            Self::RingClient => "ring client",
        }
    }

    /// The victim, if it needs no other process.
    pub(crate) fn part(self) -> Option<Part> {
        match self {
            Self::Udp => Some(Part::Udp),
            Self::Ip => Some(Part::Ip),
            Self::RingServer | Self::RingClient => None,
        }
    }
}

/// A call with its errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) target: Target,
    /// Its name, or its names on several architectures.
    pub(crate) name: &'static str,
    pub(crate) errors: &'static [&'static str],
    /// Each thread makes it once, so that a random choice among its calls would choose nothing.
    pub(crate) is_once: bool,
    /// Only calls on this file fail.
    pub(crate) path: Option<&'static str>,
}

const fn call(target: Target, name: &'static str, errors: &'static [&'static str]) -> Call {
    Call {
        target,
        name,
        errors,
        is_once: false,
        path: None,
    }
}

/// A call that each thread makes once.
const fn once(target: Target, name: &'static str, errors: &'static [&'static str]) -> Call {
    Call {
        is_once: true,
        ..call(target, name, errors)
    }
}

/// Errors of calls that make a descriptor.
const NO_DESCRIPTOR: &[&str] = &["EMFILE", "ENFILE", "ENOMEM"];
/// Names of the poller's wait.
pub(crate) const WAIT: &str = "?epoll_wait,?epoll_pwait,?epoll_pwait2";
const THREAD: &str = "?clone,?clone3";
/// Names of `poll`.
pub(crate) const POLL: &str = "?poll,?ppoll";
const EVENTFD: &str = "?eventfd,?eventfd2";
const NO_SOCKET: &[&str] = &["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "EACCES"];
const NOT_SENT: &[&str] = &[
    "EAGAIN",
    "ENOBUFS",
    "ENOMEM",
    "EPERM",
    "EACCES",
    "ECONNREFUSED",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ENETDOWN",
    "EMSGSIZE",
    "EINVAL",
    "EIO",
    "EINTR",
    "EBADF",
];
const NOT_RECEIVED: &[&str] = &[
    "EAGAIN",
    "ECONNREFUSED",
    "EINTR",
    "ENOMEM",
    "ENOBUFS",
    "EBADF",
    "EINVAL",
];

/// The table.
pub(crate) const CALLS: &[Call] = &[
    // The engine.
    call(Target::Udp, WAIT, &["EINTR", "EBADF", "EINVAL"]),
    call(Target::Udp, "timerfd_settime", &["EINVAL", "EBADF"]),
    call(Target::Udp, "write", &["EAGAIN", "EINTR", "EBADF"]),
    call(Target::Udp, "sendmsg", NOT_SENT),
    call(Target::Udp, "recvmmsg", NOT_RECEIVED),
    // Opening an engine and a connection.
    call(Target::Udp, THREAD, &["EAGAIN", "ENOMEM", "EPERM"]),
    once(Target::Udp, "epoll_create1", NO_DESCRIPTOR),
    once(Target::Udp, EVENTFD, NO_DESCRIPTOR),
    once(Target::Udp, "timerfd_create", NO_DESCRIPTOR),
    call(Target::Udp, "getrandom", &["EINTR", "ENOSYS"]),
    once(Target::Udp, "prlimit64", &["EPERM"]),
    call(
        Target::Udp,
        "epoll_ctl",
        &["ENOMEM", "ENOSPC", "EPERM", "EBADF"],
    ),
    call(Target::Udp, "socket", NO_SOCKET),
    call(
        Target::Udp,
        "bind",
        &["EADDRINUSE", "EADDRNOTAVAIL", "EACCES", "EINVAL", "ENOMEM"],
    ),
    call(Target::Udp, "getsockname", &["ENOBUFS", "EBADF"]),
    once(
        Target::Udp,
        "connect",
        &["ENETUNREACH", "EADDRNOTAVAIL", "EAGAIN", "EPERM"],
    ),
    call(
        Target::Udp,
        "setsockopt",
        &["ENOPROTOOPT", "ENOBUFS", "ENOMEM", "EPERM", "EINVAL"],
    ),
    once(Target::Udp, "getsockopt", &["ENOPROTOOPT", "ENOBUFS"]),
    call(Target::Udp, "fcntl", &["EPERM", "EMFILE"]),
    call(
        Target::Udp,
        "sendto",
        &["ENOBUFS", "ECONNREFUSED", "EPERM", "EINTR"],
    ),
    call(
        Target::Udp,
        "recvfrom",
        &["EAGAIN", "ENOBUFS", "ENOMEM", "EINTR"],
    ),
    // Over IP.
    call(Target::Ip, "sendmmsg", NOT_SENT),
    call(Target::Ip, "recvmmsg", NOT_RECEIVED),
    call(Target::Ip, "socket", NO_SOCKET),
    call(
        Target::Ip,
        "bind",
        &["EADDRINUSE", "EADDRNOTAVAIL", "ENOMEM"],
    ),
    call(
        Target::Ip,
        "setsockopt",
        &["ENOPROTOOPT", "ENOBUFS", "EPERM"],
    ),
    once(Target::Ip, "getsockopt", &["ENOPROTOOPT"]),
    once(Target::Ip, "openat", &["EMFILE", "ENOENT", "EACCES"]),
    // The server of rings.
    call(Target::RingServer, WAIT, &["EINTR", "EBADF", "EINVAL"]),
    call(
        Target::RingServer,
        "?accept4",
        &[
            "EAGAIN",
            "ECONNABORTED",
            "EMFILE",
            "ENFILE",
            "ENOMEM",
            "EINTR",
        ],
    ),
    call(Target::RingServer, "socketpair", NO_DESCRIPTOR),
    call(Target::RingServer, "memfd_create", NO_DESCRIPTOR),
    call(
        Target::RingServer,
        "fallocate",
        &["ENOSPC", "EINTR", "EFBIG"],
    ),
    call(Target::RingServer, "fcntl", &["EPERM", "EMFILE", "EBUSY"]),
    call(
        Target::RingServer,
        "recvmsg",
        &["EAGAIN", "EINTR", "ENOMEM", "ENOBUFS", "ECONNRESET"],
    ),
    call(
        Target::RingServer,
        "sendmsg",
        &["EAGAIN", "ENOBUFS", "ENOMEM", "EPIPE", "ETOOMANYREFS"],
    ),
    call(
        Target::RingServer,
        "recvfrom",
        &["EAGAIN", "EINTR", "ENOMEM"],
    ),
    call(
        Target::RingServer,
        "sendto",
        &["EAGAIN", "ENOBUFS", "ENOMEM", "EINTR"],
    ),
    call(
        Target::RingServer,
        "getsockopt",
        &["ENOPROTOOPT", "ENOBUFS"],
    ),
    call(
        Target::RingServer,
        "setsockopt",
        &["ENOPROTOOPT", "ENOBUFS"],
    ),
    call(Target::RingServer, "epoll_ctl", &["ENOMEM", "ENOSPC"]),
    call(Target::RingServer, "ioctl", &["ENOTTY", "EINVAL"]),
    call(
        Target::RingServer,
        "madvise",
        &["EINVAL", "ENOMEM", "EPERM"],
    ),
    Call {
        path: Some(RING_FILE),
        ..call(Target::RingServer, "mmap", &["ENOMEM", "EAGAIN", "ENFILE"])
    },
    // An application with a ring.
    call(Target::RingClient, POLL, &["EINTR", "EINVAL", "ENOMEM"]),
    call(Target::RingClient, "socket", NO_SOCKET),
    call(
        Target::RingClient,
        "connect",
        &["EAGAIN", "ECONNREFUSED", "ENOENT", "EINTR", "ENOBUFS"],
    ),
    call(
        Target::RingClient,
        "setsockopt",
        &["ENOPROTOOPT", "ENOBUFS"],
    ),
    call(
        Target::RingClient,
        "recvmsg",
        &["EAGAIN", "EINTR", "ENOMEM", "ENOBUFS", "ECONNRESET"],
    ),
    call(
        Target::RingClient,
        "sendmsg",
        &["EAGAIN", "ENOBUFS", "ENOMEM", "EPIPE"],
    ),
    call(
        Target::RingClient,
        "recvfrom",
        &["EAGAIN", "EINTR", "ENOMEM"],
    ),
    call(
        Target::RingClient,
        "sendto",
        &["EAGAIN", "ENOBUFS", "ENOMEM", "EINTR"],
    ),
    call(Target::RingClient, "fcntl", &["EPERM", "EMFILE"]),
    call(Target::RingClient, "?fstat", &["ENOMEM", "EOVERFLOW"]),
    Call {
        path: Some(RING_FILE),
        ..call(Target::RingClient, "mmap", &["ENOMEM", "EAGAIN", "ENFILE"])
    },
];

/// A ring's memory, as the system names it.
const RING_FILE: &str = "/memfd:dccp-ring";

/// Faults that end the connection, as they must: the system says again and again that the other process has closed its end.
pub(crate) const ENDING: (Target, &str, &str) = (Target::RingClient, "recvmsg", "ECONNRESET");

/// Calls that victims make and that are not tested, with the reason.
pub(crate) const LEFT_OUT: &[(&str, &str)] = &[
    (
        "brk, munmap, mprotect",
        "the C library ends a program whose memory cannot be managed",
    ),
    (
        "mmap of other memory",
        "a lack of memory ends a Rust program",
    ),
    (
        "close, shutdown",
        "their errors mean nothing to do, and an injected one would keep the descriptor open",
    ),
    (
        "futex, clock_nanosleep, sched_yield",
        "the standard library's locks and sleeps",
    ),
    (
        "rseq, set_robust_list, rt_sigaction, rt_sigprocmask, sigaltstack, prctl, gettid, getpid, exit, sched_getaffinity, restart_syscall",
        "the start and end of threads, by the C library",
    ),
    (
        "read",
        "of the victim itself; sockets are read by the calls above",
    ),
    (
        "statx, lseek",
        "hints for the standard library's reading of a file, which works without them",
    ),
    (
        "getrandom with EAGAIN",
        "the standard library panics; a system that has started has random numbers",
    ),
    (
        "clock_gettime",
        "no system call, but a read of memory, and cannot fail",
    ),
];
