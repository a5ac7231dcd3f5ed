//! A video stream from ffmpeg to ffmpeg over `udp://127.0.0.1`, unchanged.

use crate::hosts::{Hosts, Program};
use std::process::{Child, Stdio};

const PORT: u16 = 5004;

/// Sends a picture that moves, at 2 Mbit/s, until it is killed.
fn encoder(hosts: &Hosts) -> Program {
    let url = format!("udp://127.0.0.1:{PORT}?pkt_size=1316");
    let words = [
        "ffmpeg",
        "-v",
        "error",
        "-re",
        "-f",
        "lavfi",
        "-i",
        "testsrc=size=320x240:rate=25",
        "-c:v",
        "mpeg2video",
        "-g",
        "12",
        "-b:v",
        "2M",
        "-f",
        "mpegts",
        &url,
    ];
    let mut command = hosts.sender.command(&words);
    // A terminal would be read, and a killed bridge is reported as an error.
    command.stdin(Stdio::null()).stderr(Stdio::null());
    Program(command.spawn().unwrap())
}

/// Decodes `pictures` of what arrives, and ends.
fn player(hosts: &Hosts, pictures: &str) -> Child {
    let url = format!("udp://127.0.0.1:{PORT}?timeout=30000000");
    let words = [
        "ffmpeg",
        "-v",
        "info",
        "-nostats",
        "-i",
        &url,
        "-frames:v",
        pictures,
        "-f",
        "null",
        "-",
    ];
    let mut command = hosts.receiver.command(&words);
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn assert_plays(player: Child, pictures: &str) {
    let output = player.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("mpeg2video"), "{text}");
    assert!(text.contains(&format!("frame={pictures:>5}")), "{text}");
}

#[test]
fn video_stream_is_carried_and_resumes_after_each_side_was_killed() {
    let test = "video_stream_is_carried_and_resumes_after_each_side_was_killed";
    let Some(hosts) = Hosts::new(test, &["ffmpeg"]) else {
        return;
    };
    let listen = hosts.listen(PORT);
    let connect = hosts.connect(PORT, &[]);
    let _encoder = encoder(&hosts);
    assert_plays(player(&hosts, "50"), "50");

    listen.kill();
    let listen = hosts.listen(PORT);
    assert_plays(player(&hosts, "25"), "25");

    connect.kill();
    let _connect = hosts.connect(PORT, &[]);
    assert_plays(player(&hosts, "25"), "25");
    drop(listen);
}
