//! The examples do what they say.

use std::error::Error;

#[path = "../examples/choice.rs"]
mod choice;
#[path = "../examples/deadline.rs"]
mod deadline;
#[path = "../examples/key.rs"]
mod key;
#[path = "../examples/pull.rs"]
mod pull;
#[path = "../examples/push.rs"]
mod push;
#[path = "../examples/rate_hint.rs"]
mod rate_hint;
#[path = "../examples/revise.rs"]
mod revise;
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
fn what_is_revised_in_time_leaves_as_it_was_said_last() -> Outcome {
    revise::main()
}

#[test]
fn what_is_taken_back_leaves_in_another_order_or_not_at_all() -> Outcome {
    withdraw::main()
}

#[test]
fn what_is_late_does_not_leave() -> Outcome {
    deadline::main()
}

#[test]
fn a_newer_reading_supersedes_the_one_that_waits() -> Outcome {
    key::main()
}

#[test]
fn key_frames_arrive_and_all_frames_have_a_fate() -> Outcome {
    choice::main()
}

#[test]
fn a_reading_is_made_when_it_may_leave() -> Outcome {
    pull::main()
}

#[test]
fn frames_follow_what_the_network_takes() -> Outcome {
    rate_hint::main()
}

#[test]
fn frames_arrive_complete_when_the_link_becomes_slower() -> Outcome {
    video::main()
}
