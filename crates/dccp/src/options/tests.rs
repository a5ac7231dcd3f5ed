use super::check::{MTU_MAX, MTU_MIN};
use super::*;
use dccp_proto::cc::law::cubic;
use dccp_proto::config::bounds;

fn problem_of(options: &Options) -> &'static str {
    options.checked_config(1).unwrap_err().option
}

#[test]
fn defaults_are_allowed() {
    let config = Options::new().checked_config(1).unwrap();
    assert_eq!(config.service_code, ServiceCode::NONE);
    assert_eq!(config.connect_timeout, Duration::from_secs(10));
}

#[test]
fn fate_buffer_asks_for_ack_vectors() {
    let has_vectors = |options: Options| options.checked_config(1).unwrap().ack_vectors;
    assert!(!has_vectors(Options::new()));
    assert!(has_vectors(Options::new().fate_buffer(1)));
    assert!(has_vectors(
        Options::new().configure(|c| c.ack_vectors = true)
    ));
}

#[test]
fn impossible_values_are_refused_by_name() {
    assert_eq!(problem_of(&Options::new().send_ccids(&[])), "send_ccids");
    assert_eq!(problem_of(&Options::new().recv_ccids(&[77])), "recv_ccids");
    assert_eq!(
        problem_of(&Options::new().checksum_coverage(16)),
        "checksum_coverage"
    );
    assert_eq!(
        problem_of(&Options::new().sequence_window(31)),
        "sequence_window"
    );
    assert_eq!(
        problem_of(&Options::new().sequence_window(1 << 46)),
        "sequence_window"
    );
    assert_eq!(problem_of(&Options::new().ack_ratio(0)), "ack_ratio");
    let error = Options::new().mtu(MTU_MIN - 1).checked_config(1);
    let text = error.unwrap_err().to_string();
    assert!(
        text.contains(&format!("mtu: must be from {MTU_MIN} to {MTU_MAX} bytes")),
        "{text}"
    );
    let mut law = LawConfig::default();
    law.slow_start.max_ssthresh = -1.0;
    assert_eq!(problem_of(&Options::new().law(law)), "law");
    assert_eq!(problem_of(&Options::new().send_buffer(0)), "send_buffer");
    // 5595-2.5-1
    assert_eq!(
        problem_of(&Options::new().service_code([255; 4])),
        "service_code"
    );
}

#[test]
fn law_without_a_ccid_that_has_one_is_refused() {
    let options = || Options::new().law(cubic::Config::default());
    for ccid in [3, 4] {
        let error = options().ccid(ccid).checked_config(1).unwrap_err();
        assert_eq!(error.option, "law");
        assert!(error.problem.contains("use CCID 2"), "{error}");
    }
    assert!(options().ccid(2).checked_config(1).is_ok());
    // The data that the peer sends have a CCID of their own.
    let options = options().send_ccids(&[2]).recv_ccids(&[3]);
    assert!(options.checked_config(1).is_ok());
    assert!(Options::new().ccid(3).checked_config(1).is_ok());
}

#[test]
fn law_is_the_choice_of_this_end() {
    let law = cubic::Config {
        fast_convergence: false,
        ..cubic::Config::default()
    };
    let config = Options::new().law(law).checked_config(1).unwrap();
    assert_eq!(config.law, law.into());
    assert_eq!(config.tx_ccids, [2, 3]);
}

#[test]
fn listener_serves_several_codes_and_client_asks_for_one() {
    // 5595-3.3-2
    let two = Options::new().service_code(*b"AAAA").service_code(*b"BBBB");
    assert_eq!(problem_of(&two), "service_code");
    assert!(two.checked_config(bounds::SERVICE_CODES).is_ok());
}
