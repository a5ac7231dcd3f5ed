//! The quick models hold. `cargo xtask soak model` explores larger ones.

use dccp_model::models::{self, Scale};
use dccp_model::search::explore;

/// More than any quick model has.
const STATES_MAX: usize = 100_000;

#[test]
fn quick_models_hold_in_every_state() {
    for model in models::all(Scale::Quick) {
        let report = explore(&model, 2, STATES_MAX);
        assert!(report.holds(), "{report}");
        assert!(
            report.is_complete,
            "{}: {} states",
            model.name, report.states
        );
    }
}
