//! Python's side of the lab: the module `usrdccp._native`, which the package `python/usrdccp` wraps.
//!
//! It only converts: scenarios, runs, results and tables are those of `dccp-lab`, and a law in Python is a
//! [`Law`](dccp_proto::cc::law::Law) like those in Rust. While the simulator plays, other threads of Python run.

mod law;
mod results;
mod scenario;

use pyo3::prelude::*;

/// The module `usrdccp._native`.
#[pymodule(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<scenario::Cell>()?;
    module.add_class::<results::Results>()?;
    module.add_class::<law::Window>()?;
    module.add_class::<law::Ack>()?;
    module.add_class::<law::Congestion>()?;
    Ok(())
}
