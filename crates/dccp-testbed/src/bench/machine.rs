//! The machine that the figures come from.

use anyhow::{Context, Result};

use dccp_dev::shell::{self, command};

/// One line: processor, cores, kernel, date.
pub(super) fn facts() -> Result<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").context("/proc/cpuinfo")?;
    let processor = model(&info).unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism()?;
    let kernel = shell::output(&mut command(&["uname", "-sr"]))?;
    let date = shell::output(&mut command(&["date", "-u", "+%F"]))?;
    Ok(format!(
        "{processor}, {cores} cores, {}, {}",
        kernel.trim(),
        date.trim()
    ))
}

fn model(info: &str) -> Option<&str> {
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processors_name_is_found() {
        let info = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nmodel name\t: x\n";
        assert_eq!(model(info), Some("Some CPU @ 2.0GHz"));
        assert_eq!(model("processor\t: 0\n"), None);
    }
}
