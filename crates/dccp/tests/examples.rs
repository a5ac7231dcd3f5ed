//! The examples do what they say.

use std::error::Error;
use std::thread;

#[path = "../examples/choice.rs"]
mod choice;
#[path = "../examples/constant_rate.rs"]
mod constant_rate;
#[path = "../examples/datagram_source.rs"]
mod datagram_source;
#[path = "../examples/deadline.rs"]
mod deadline;
#[path = "../examples/errors.rs"]
mod errors;
#[expect(dead_code, reason = "the program has a fixed port")]
#[path = "../examples/hello.rs"]
mod hello;
#[path = "../examples/key.rs"]
mod key;
#[cfg(unix)]
#[path = "../examples/poll.rs"]
mod poll;
#[path = "../examples/push.rs"]
mod push;
#[path = "../examples/rate_hint.rs"]
mod rate_hint;
#[path = "../examples/revise.rs"]
mod revise;
#[path = "../examples/server.rs"]
mod server;
#[path = "../examples/video.rs"]
mod video;
#[path = "../examples/withdraw.rs"]
mod withdraw;

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn pushed_datagrams_arrive_and_their_fates_are_reported() -> Outcome {
    push::main()
}

#[test]
fn datagrams_revised_in_time_leave_with_the_newest_text() -> Outcome {
    revise::main()
}

#[test]
fn datagrams_taken_back_leave_in_another_order_or_not_at_all() -> Outcome {
    withdraw::main()
}

#[test]
fn application_of_safe_udp_follows_the_advice() -> Outcome {
    constant_rate::main()
}

#[test]
fn late_datagrams_do_not_leave() -> Outcome {
    deadline::main()
}

#[test]
fn newer_reading_supersedes_the_one_that_waits() -> Outcome {
    key::main()
}

#[test]
fn key_frames_arrive_and_all_frames_have_a_fate() -> Outcome {
    choice::main()
}

#[test]
fn source_makes_each_reading_when_it_may_leave() -> Outcome {
    datagram_source::main()
}

#[test]
fn frames_follow_the_rate_hints() -> Outcome {
    rate_hint::main()
}

#[test]
fn frames_arrive_complete_when_the_link_becomes_slower() -> Outcome {
    video::main()
}

#[test]
fn errors_name_the_next_step() -> Outcome {
    errors::main()
}

#[cfg(unix)]
#[test]
fn event_loop_serves_all_clients_on_one_thread() -> Outcome {
    poll::main()
}

#[test]
fn server_answers_all_clients_and_closes_them_together() -> Outcome {
    server::main()
}

#[test]
fn hello_is_answered_after_a_client_that_leaves_at_once() -> Outcome {
    let options = dccp::Options::new().service_code(*b"HELO");
    let listener = dccp::Listener::bind("127.0.0.1:0/0", &options)?;
    let address = listener.local_addrs()[0];
    let hasty = dccp::Socket::connect(address, &options)?;
    hasty.close()?;
    assert!(hello::answer(&listener.accept()?).is_err());

    let polite = dccp::Socket::connect(address, &options)?;
    let asking = thread::spawn(move || hello::ask(&polite).ok());
    hello::answer(&listener.accept()?)?;
    let answer = asking.join().map_err(|_| "the client panicked")?;
    assert_eq!(answer.as_deref(), Some("hello yourself"));
    Ok(())
}

#[test]
fn readme_shows_the_compiled_example() {
    let readme = include_str!("../../../README.md");
    let (_header, example) = include_str!("../examples/readme.rs")
        .split_once("\n\n")
        .expect("the file has a header");
    let compact = |text: &str| text.split_whitespace().collect::<String>();
    assert!(
        compact(readme).contains(&compact(&format!("```rust,no_run\n{example}```"))),
        "copy the example from crates/dccp/examples/readme.rs to README.md"
    );
}
