//! Measurements give figures of the right form. Nothing here depends on how fast they are.

use super::*;
use crate::scenario::{Scale, Scenario};

/// Measures the only cell of a scenario.
fn figures(bench: &str) -> Figures {
    let text = format!(
        "schema = \"dccplab/1\"\nname = \"n\"\nseed = 1\n[bench]\n{bench}\n[measure]\nduration = \"2ms\"\n"
    );
    let scenario = Scenario::parse(&text, "f", Scale::Full).expect("a scenario");
    let [run] = &scenario.runs[..] else {
        panic!("one run");
    };
    let outcome = measure(run, run.bench().expect("a measurement")).expect("figures");
    *outcome.bench.expect("figures")
}

fn is_positive(number: Option<f64>) -> bool {
    number.is_some_and(|number| number.is_finite() && number > 0.0)
}

#[test]
fn checksum_has_cost_and_share() {
    for coverage in ["full", "header"] {
        let figures = figures(&format!(
            "kind = \"checksum\"\nsize = \"8960B\"\ncoverage = \"{coverage}\""
        ));
        assert!(figures.operations > 0);
        assert!(is_positive(Some(figures.operations_per_s)));
        assert!(is_positive(figures.cost_ns) && is_positive(figures.packet_cost_ns));
        assert!(figures.cost_share.is_some_and(f64::is_finite));
    }
}

#[test]
fn acknowledgements_have_cost_and_share() {
    let figures = figures("kind = \"ack-vector\"\nwindow = 200\nloss = \"5%\"");
    assert!(figures.operations > 0);
    assert!(is_positive(figures.cost_ns) && is_positive(figures.packet_cost_ns));
    assert!(figures.cost_share.is_some_and(|share| share < 1.0));
}

#[test]
fn datagrams_are_sent_by_each_call() {
    for by in ["udp", "socket", "ring"] {
        let figures = figures(&format!(
            "kind = \"sending\"\nby = \"{by}\"\nsize = \"10B\""
        ));
        assert!(figures.operations > 0, "{by}");
        assert!(is_positive(Some(figures.operations_per_s)), "{by}");
        assert_eq!(figures.cost_share, None);
    }
}
