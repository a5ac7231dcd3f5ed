//! `dccplab clean`: removes what killed live runs left behind.

use dccp_cli::Failure;

/// Removes the network namespaces of processes that have ended. All devices and sockets of a namespace vanish with it.
#[cfg(target_os = "linux")]
pub(crate) fn run() -> Result<u8, Failure> {
    let removed = dccp_netns::remove_leftovers().map_err(|error| {
        Failure::run(
            error.to_string(),
            "run as root; runs of ordinary users leave nothing behind",
        )
    })?;
    let mut lines = removed.iter().map(|name| format!("removed {name}\n"));
    let text = match removed.len() {
        0 => "nothing to remove\n".to_owned(),
        _ => lines.by_ref().collect(),
    };
    dccp_cli::print(&text)?;
    Ok(dccp_cli::exit::DONE)
}

/// Other systems have no live runs.
#[cfg(not(target_os = "linux"))]
pub(crate) fn run() -> Result<u8, Failure> {
    dccp_cli::print("nothing to remove\n")?;
    Ok(dccp_cli::exit::DONE)
}
