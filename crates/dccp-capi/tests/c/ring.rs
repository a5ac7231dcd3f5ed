//! Packet rings in C: the layout of their memory, and programs that use it.

use crate::compile::{compile, compiler, shared};
use crate::programs::{VALGRIND, as_words};
use dccp::packet_ring::Shape;
use dccp::{Listener, Options};
use dccp_dev::shell::{Background, command, find_program, output};
use dccp_ring_ipc::{RingCaller, RingLimits, RingRequest, RingServer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const SANITIZE: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// A server in this process that permits everything, with these options.
fn server(options: Options) -> (RingServer, PathBuf) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("dccp-capi-c-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let policy = move |_: &RingCaller, _: &RingRequest| Ok(options.clone());
    let server = RingServer::bind(&path, RingLimits::default(), policy).unwrap();
    (server, path)
}

/// Compiles a program in C, or in C++ with that compiler, against the shared library.
fn build(compiler: &Path, source: &str, name: &str, more: &[&str]) -> PathBuf {
    let is_cxx = compiler.ends_with("g++");
    let version = if is_cxx { "-std=c++11" } else { "-std=c11" };
    let shared = shared();
    let mut arguments = vec![version, "-Wconversion"];
    arguments.extend(more);
    arguments.extend(as_words(&shared));
    compile(compiler, source, name, &arguments)
}

#[test]
fn layout_in_c_is_that_of_the_library() {
    let Some(cc) = compiler("layout_in_c_is_that_of_the_library", "cc") else {
        return;
    };
    let program = compile(&cc, "tests/c/layout.c", "layout", &["-std=c11"]);
    let shapes = [
        Shape::new(1, 0),
        Shape::new(64, 1400),
        Shape::new(65536, 65535),
        Shape {
            slots: 4,
            slot_bytes: 41,
            fates: 2,
            arrivals: 1,
            arrival_bytes: 40,
        },
    ];
    for shape in shapes {
        let numbers = [
            shape.slots,
            shape.slot_bytes,
            shape.fates,
            shape.arrivals,
            shape.arrival_bytes,
        ];
        let mut layout = command(&[&program]);
        let text = output(layout.args(numbers.map(|n| n.to_string()))).unwrap();
        let in_c: BTreeMap<&str, usize> = text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, bytes)| (name, bytes.parse().unwrap()))
            .collect();
        let in_rust: BTreeMap<&str, usize> = shape.parts().unwrap().into_iter().collect();
        assert_eq!(in_c, in_rust, "{shape:?}");
    }
}

#[test]
fn calls_and_memory_give_equal_results() {
    let test = "calls_and_memory_give_equal_results";
    let (Some(cc), Some(cxx)) = (compiler(test, "cc"), compiler(test, "g++")) else {
        return;
    };
    let (_server, path) = server(Options::new());
    let listener = Listener::bind("127.0.0.1:0/0", &Options::new()).unwrap();
    let address = listener.local_addrs()[0].to_string();
    let programs = [
        build(&cc, "tests/c/ring_paths.c", "paths-c", &SANITIZE),
        build(&cxx, "tests/c/ring_paths.c", "paths-cxx", &SANITIZE),
    ];
    let mut results = Vec::new();
    for program in &programs {
        for mode in ["calls", "memory"] {
            let mut client = command(&[program]);
            client.arg(mode).arg(&path).arg(&address);
            let client = std::thread::spawn(move || output(&mut client).unwrap());
            let socket = listener.accept().unwrap();
            let mut buffer = [0; 1500];
            while let Ok(len) = socket.recv(&mut buffer) {
                // The program ends without a wait for the last one.
                let _ = socket.send(&buffer[..len]);
            }
            results.push(client.join().unwrap());
        }
    }
    let expected = "8 of 9 fit\n8 held\n\
        8 withdrawn\n55 withdrawn\n4 withdrawn\n2 withdrawn\n1 withdrawn\n7 withdrawn\n";
    for result in &results {
        assert!(result.ends_with(expected), "{result}");
        assert_eq!(result, &results[0]);
    }
}

/// Compiles the example and runs it against a receiver with epoll.
fn send_video(compilers: [&Path; 2], suffix: &str, more: &[&str], before: &[&str], frames: &str) {
    // A quarter of the video's rate, so that datagrams wait and choices are made late.
    let slow = Options::new().ccid(3).max_rate(Some(10_000_000));
    let (_server, path) = server(slow);
    let [sender, receiver] = compilers;
    let name = format!("ring_video-{suffix}");
    let sender = build(sender, "examples/ring_video.c", &name, more);
    let name = format!("ring_receiver-{suffix}");
    let receiver = build(receiver, "examples/epoll_server.c", &name, more);
    let receiver = command(&[receiver.as_os_str(), "127.0.0.1:0/0".as_ref(), "1".as_ref()]);
    let (receiver, address) = Background::start_with_line(receiver, "listening at ").unwrap();
    let mut words: Vec<_> = before.iter().map(|word| (*word).to_owned()).collect();
    words.extend([
        sender.display().to_string(),
        path.display().to_string(),
        address,
        frames.to_owned(),
    ]);
    let said = output(&mut command(&words)).unwrap();
    for choice in ["acked", "expired", "withdrawn", "rewritten in place"] {
        assert!(said.contains(choice), "{said}");
    }
    assert!(!said.contains("\n0 withdrawn"), "{said}");
    assert!(!said.contains(" 0 rewritten"), "{said}");
    receiver.finish().unwrap();
}

#[test]
fn video_goes_through_the_memory_of_a_ring() {
    let test = "video_goes_through_the_memory_of_a_ring";
    let (Some(cc), Some(cxx)) = (compiler(test, "cc"), compiler(test, "g++")) else {
        return;
    };
    send_video([&cc, &cc], "c", &[], &[], "200");
    send_video([&cxx, &cc], "cxx", &[], &[], "100");
}

#[test]
fn video_through_a_ring_has_no_error_with_the_sanitizers() {
    let Some(cc) = compiler(
        "video_through_a_ring_has_no_error_with_the_sanitizers",
        "cc",
    ) else {
        return;
    };
    send_video([&cc, &cc], "sanitized", &SANITIZE, &[], "200");
}

#[test]
fn video_through_a_ring_has_no_error_under_valgrind() {
    let test = "video_through_a_ring_has_no_error_under_valgrind";
    let Some(cc) = compiler(test, "cc") else {
        return;
    };
    if find_program("valgrind").is_none() {
        println!("SKIP {test}: needs valgrind");
        return;
    }
    send_video([&cc, &cc], "valgrind", &[], &VALGRIND, "100");
}

#[test]
fn hostile_server_leads_no_function_out_of_the_memory() {
    let test = "hostile_server_leads_no_function_out_of_the_memory";
    let Some(cc) = compiler(test, "cc") else {
        return;
    };
    let program = build(&cc, "tests/c/ring_hostile.c", "ring_hostile", &SANITIZE);
    output(command(&[&program]).arg("100000")).unwrap();
}
