//! `cargo xtask ci`: what a submission must pass.

use std::time::Duration;

use anyhow::Result;

use crate::{fuzz, goals, instructions, lint, soak, spec, test, tidy};
use dccp_dev::shell::{self, command_line};

/// Time for each fuzz target; `cargo xtask soak fuzz` takes longer.
const FUZZING: Duration = Duration::from_secs(15);

pub(crate) fn run() -> Result<bool> {
    if !tidy::run(&tidy::Args::default())?
        || !spec::run(&spec::Args::checking())?
        || !goals::run(&goals::Args::checking())?
    {
        return Ok(false);
    }
    shell::run(&mut command_line("cargo fmt --all -- --check"))?;
    if !lint::run()? || !instructions::run(&instructions::Args::comparing())? {
        return Ok(false);
    }
    test::build()?;
    soak::attack_tested_programs()?;
    let plan = fuzz::Plan {
        duration: FUZZING,
        pattern: "",
        is_ci: true,
    };
    if !fuzz::run(&plan)? {
        return Ok(false);
    }
    test::run(&test::Args { allow_skip: false })
}
