//! The names and letters of `UDPmon`: `dccpmon_bw_mon`, `dccpmon_req`, `dccpmon_resp`, `dccpmon_send`, `dccpmon_recv`.
//!
//! A program that is started by such a name translates its command line into those of dccpmon. `UDPmon`'s letters clash
//! with those of iperf3, so they have their meaning under these names only.

use dccp_cli::Failure;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The most settings of a series.
const SETTINGS_MAX: u64 = 10_000;
/// Times of `UDPmon` have steps of a tenth of a microsecond.
const TENTHS_PER_SECOND: u64 = 10_000_000;

/// A program of `UDPmon`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Program {
    BwMon,
    Req,
    Resp,
    Send,
    Recv,
}

/// The command lines that do what one of `UDPmon` asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Translation {
    /// Each without the program's name.
    pub(crate) lines: Vec<Vec<String>>,
    /// Whether to print them only.
    pub(crate) is_explained: bool,
}

impl Program {
    /// The program that is started by this path.
    pub(crate) fn of(path: &OsStr) -> Option<Self> {
        match Path::new(path).file_stem()?.to_str()? {
            "dccpmon_bw_mon" => Some(Self::BwMon),
            "dccpmon_req" => Some(Self::Req),
            "dccpmon_resp" => Some(Self::Resp),
            "dccpmon_send" => Some(Self::Send),
            "dccpmon_recv" => Some(Self::Recv),
            _ => None,
        }
    }

    /// The letters with a value, and those without.
    fn letters(self) -> (&'static str, &'static str) {
        match self {
            Self::BwMon => ("dupltwierng", "6"),
            Self::Req => ("duplriew", "6"),
            Self::Resp => ("u", "6"),
            Self::Send => ("dupltwrng", "6"),
            Self::Recv => ("utT", "6"),
        }
    }

    /// Translates a command line without the program's name.
    pub(crate) fn translate(
        self,
        words: impl IntoIterator<Item = OsString>,
    ) -> Result<Translation, Failure> {
        let mut is_explained = false;
        let mut values = Values::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let word = text(word)?;
            if word == "--explain" {
                is_explained = true;
                continue;
            }
            let letter = self.letter(&word)?;
            let value = if self.letters().1.contains(letter) {
                String::new()
            } else {
                let value = words.next().ok_or_else(|| {
                    Failure::usage(format!("-{letter} needs a value"), "write one behind it")
                })?;
                text(value)?
            };
            values.0.insert(letter, value);
        }
        let lines = match self {
            Self::BwMon => bw_mon(&values)?,
            Self::Req => vec![req(&values)?],
            Self::Resp => vec![values.line(&["serve", "--tests", "1"])],
            Self::Send => vec![send(&values)?],
            Self::Recv => vec![recv(&values)],
        };
        Ok(Translation {
            lines,
            is_explained,
        })
    }

    /// The letter of an option that this program has.
    fn letter(self, word: &str) -> Result<char, Failure> {
        let (with, without) = self.letters();
        let mut chars = word.chars();
        let (Some('-'), Some(letter), None) = (chars.next(), chars.next(), chars.next()) else {
            return Err(Failure::usage(
                format!("{word}: is not a letter of UDPmon"),
                "write a letter and a value each: -d HOST -p 1400",
            ));
        };
        let is_known = letter.is_ascii_alphanumeric();
        if is_known && (with.contains(letter) || without.contains(letter)) {
            return Ok(letter);
        }
        let problem = match letter {
            'N' | 'I' => "counters and times of network cards are not read by card",
            'V' => "has two meanings in UDPmon's versions",
            'D' => "a service runs under systemd, from contrib/systemd",
            _ => "this name has no such option",
        };
        Err(Failure::usage(
            format!("-{letter}: {problem}"),
            format!("leave it out; the options are -{with}{without} and --explain"),
        ))
    }
}

fn text(word: OsString) -> Result<String, Failure> {
    word.into_string().map_err(|word| {
        Failure::usage(
            format!("{}: is no text", word.display()),
            "write letters and numbers",
        )
    })
}

/// The letters of a command line with their values.
#[derive(Default)]
struct Values(BTreeMap<char, String>);

impl Values {
    fn get(&self, letter: char) -> Option<&str> {
        self.0.get(&letter).map(String::as_str)
    }

    fn host(&self) -> Result<&str, Failure> {
        self.get('d')
            .ok_or_else(|| Failure::usage("there is no host", "write it behind -d: -d 192.0.2.1"))
    }

    /// A command line with the port and the IP version.
    fn line(&self, words: &[&str]) -> Vec<String> {
        let mut line: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        self.add(&mut line, 'u', "-p");
        if self.get('6').is_some() {
            line.push("-6".into());
        }
        line
    }

    /// Adds the value of a letter as that of an option, if it is given.
    fn add(&self, line: &mut Vec<String>, letter: char, option: &str) {
        if let Some(value) = self.get(letter) {
            line.extend([option.to_owned(), value.to_owned()]);
        }
    }

    fn count(&self, letter: char) -> Result<Option<u64>, Failure> {
        let read = |value: &str| {
            value.parse::<u64>().map_err(|_| {
                Failure::usage(
                    format!("-{letter} {value}: must be a whole number"),
                    format!("write for example -{letter} 1000"),
                )
            })
        };
        self.get(letter).map(read).transpose()
    }

    /// A time in tenths of a microsecond.
    fn tenths(&self, letter: char) -> Result<Option<u64>, Failure> {
        let read = |value: &str| {
            let (whole, tenth) = value.split_once('.').unwrap_or((value, "0"));
            let whole: Option<u64> = whole.parse().ok();
            let tenth: Option<u64> = tenth.parse().ok().filter(|&tenth| tenth < 10);
            let sum = whole.zip(tenth);
            let sum = sum.and_then(|(whole, tenth)| whole.checked_mul(10)?.checked_add(tenth));
            sum.ok_or_else(|| {
                Failure::usage(
                    format!("-{letter} {value}: must be microseconds with at most one decimal"),
                    format!("write for example -{letter} 12.5"),
                )
            })
        };
        self.get(letter).map(read).transpose()
    }

    /// The times between packets, in tenths of a microsecond: -w, and up to -e in steps of -i.
    fn gaps(&self) -> Result<Vec<u64>, Failure> {
        let first = self.tenths('w')?.unwrap_or(0);
        let (step, last) = match (self.tenths('i')?, self.tenths('e')?) {
            (None, None) => return Ok(vec![first]),
            (Some(step), Some(last)) if step > 0 && last >= first => (step, last),
            _ => {
                return Err(Failure::usage(
                    "-w, -i, -e: the time between packets must rise from -w to -e in steps of -i",
                    "write for example -w 0 -i 1 -e 40",
                ));
            }
        };
        let steps = (last - first) / step;
        if steps >= SETTINGS_MAX {
            return Err(Failure::usage(
                format!("-i, -e: must give at most {SETTINGS_MAX} settings"),
                "write a greater -i",
            ));
        }
        Ok((0..=steps).map(|n| first + n * step).collect())
    }

    /// Adds the pattern of the packets and the time of sending: -t seconds, or as long as -l packets take.
    fn add_load(&self, line: &mut Vec<String>, gap: u64) -> Result<(), Failure> {
        let burst = self.count('n')?;
        match (self.get('r'), burst, self.tenths('g')?) {
            (Some(mbit), None, None) => line.extend(["-b".into(), format!("{mbit}M")]),
            (None, Some(packets), Some(gap)) => {
                line.extend(["--burst".into(), format!("{packets}/{}", time(gap))]);
            }
            (None, None, None) if gap > 0 => line.extend(["--spacing".into(), time(gap)]),
            (None, None, None) => {}
            _ => {
                return Err(Failure::usage(
                    "-r, -n, -g: a rate and bursts exclude each other; bursts need -n and -g",
                    "write for example -r 100, or -n 10 -g 1000",
                ));
            }
        }
        match (self.get('t'), self.count('l')?) {
            (Some(seconds), None) => line.extend(["-t".into(), seconds.to_owned()]),
            (None, Some(packets)) => line.extend([
                "--count".into(),
                packets.to_string(),
                "-t".into(),
                time(longest(packets, gap)),
            ]),
            (None, None) => {}
            (Some(_), Some(_)) => {
                return Err(Failure::usage(
                    "-l and -t exclude each other",
                    "leave one of them out",
                ));
            }
        }
        Ok(())
    }
}

/// A time in words of dccpmon, from tenths of a microsecond.
fn time(tenths: u64) -> String {
    format!("{}.{}us", tenths / 10, tenths % 10)
}

/// The longest time of packets with a gap between them: twice what they need, and what a slow path needs.
fn longest(packets: u64, gap: u64) -> u64 {
    const SLOW: u64 = 60 * TENTHS_PER_SECOND;
    let twice = packets.saturating_mul(gap).saturating_mul(2);
    twice.saturating_add(SLOW).min(86_400 * TENTHS_PER_SECOND)
}

/// A test for each time between packets, with `UDPmon`'s line. The first one prints the head.
fn bw_mon(values: &Values) -> Result<Vec<Vec<String>>, Failure> {
    let host = values.host()?;
    let line = |(number, gap)| -> Result<Vec<String>, Failure> {
        let format = if number == 0 { "udpmon" } else { "udpmon-rows" };
        let mut line = values.line(&["bulk", host, "--format", format, "--idle", "0"]);
        values.add(&mut line, 'p', "-l");
        values.add_load(&mut line, gap)?;
        Ok(line)
    };
    values.gaps()?.into_iter().enumerate().map(line).collect()
}

/// Responses of -r bytes, or up to -e in steps of -i.
fn req(values: &Values) -> Result<Vec<String>, Failure> {
    let mut line = values.line(&["rr", values.host()?]);
    values.add(&mut line, 'p', "--fixed");
    values.add(&mut line, 'l', "--count");
    let size = match (values.get('r'), values.get('i'), values.get('e')) {
        (Some(size), None, None) => size.to_owned(),
        (Some(from), Some(step), Some(to)) => format!("{from}..{to}/{step}"),
        _ => {
            return Err(Failure::usage(
                "-r, -i, -e: the size of the responses is missing",
                "write -r 1400, or -r 64 -i 100 -e 1464",
            ));
        }
    };
    line.extend(["--size".into(), size]);
    if let Some(gap) = values.tenths('w')?.filter(|&gap| gap > 0) {
        line.extend(["-i".into(), time(gap)]);
    }
    Ok(line)
}

fn send(values: &Values) -> Result<Vec<String>, Failure> {
    let mut line = values.line(&["send", values.host()?]);
    values.add(&mut line, 'p', "-l");
    let gap = values.tenths('w')?.unwrap_or(0);
    values.add_load(&mut line, gap)?;
    Ok(line)
}

fn recv(values: &Values) -> Vec<String> {
    let mut line = values.line(&["recv"]);
    values.add(&mut line, 'T', "--snapshot");
    values.add(&mut line, 't', "-t");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translate(program: Program, line: &str) -> Result<Vec<String>, Failure> {
        let words = line.split_whitespace().map(OsString::from);
        let lines = program.translate(words)?.lines;
        Ok(lines.iter().map(|line| line.join(" ")).collect())
    }

    #[test]
    fn name_selects_the_program() {
        let of = |path: &str| Program::of(OsStr::new(path));
        assert_eq!(of("/usr/bin/dccpmon_req"), Some(Program::Req));
        assert_eq!(of("dccpmon_bw_mon"), Some(Program::BwMon));
        assert_eq!(of("/usr/bin/dccpmon"), None);
    }

    #[test]
    fn command_lines_of_udpmon_are_translated() {
        for (program, line, lines) in [
            (
                Program::BwMon,
                "-d h -p 1400 -l 10000 -w 0 -i 0.5 -e 0.9",
                &[
                    "bulk h --format udpmon --idle 0 -l 1400 --count 10000 -t 60000000.0us",
                    "bulk h --format udpmon-rows --idle 0 -l 1400 --spacing 0.5us --count 10000 -t 60010000.0us",
                ][..],
            ),
            (
                Program::BwMon,
                "-d h -l 100 -n 10 -g 500",
                &["bulk h --format udpmon --idle 0 --burst 10/500.0us --count 100 -t 60000000.0us"],
            ),
            (
                Program::BwMon,
                "-d h -t 5 -r 100 -6 -u 7000",
                &["bulk h --format udpmon --idle 0 -p 7000 -6 -b 100M -t 5"],
            ),
            (
                Program::Req,
                "-d h -p 64 -l 100 -r 64 -i 100 -e 264 -w 10",
                &["rr h --fixed 64 --count 100 --size 64..264/100 -i 10.0us"],
            ),
            (Program::Resp, "-u 7000", &["serve --tests 1 -p 7000"]),
            (
                Program::Send,
                "-d h -p 1000 -t 3 -n 10 -g 500",
                &["send h -l 1000 --burst 10/500.0us -t 3"],
            ),
            (Program::Recv, "-T 2 -t 60", &["recv --snapshot 2 -t 60"]),
        ] {
            assert_eq!(translate(program, line).unwrap(), lines, "{line}");
        }
    }

    #[test]
    fn translated_lines_are_command_lines_of_dccpmon() {
        for (program, line) in [
            (Program::BwMon, "-d h -p 1400 -l 10000 -w 20.5"),
            (Program::BwMon, "-d h -p 1400 -l 10000 -w 10 -i 10 -e 20"),
            (Program::Send, "-d h -p 1000 -l 300 -w 100"),
            (Program::Req, "-d h -p 64 -l 100 -r 64 -i 100 -e 264"),
            (Program::Resp, "-u 7000"),
            (Program::Send, "-d h -p 1000 -t 3 -w 100"),
            (Program::Recv, "-T 2 -t 60"),
        ] {
            let words = line.split_whitespace().map(OsString::from);
            for line in program.translate(words).unwrap().lines {
                let words = line.iter().map(OsString::from);
                let parsed = crate::cli::parse(words);
                assert!(parsed.is_ok(), "{line:?}: {parsed:?}");
            }
        }
    }

    #[test]
    fn options_without_a_meaning_are_refused() {
        for (program, line, what) in [
            (
                Program::Recv,
                "-N",
                "-N: counters and times of network cards are not read by card",
            ),
            (
                Program::BwMon,
                "-d h -V",
                "-V: has two meanings in UDPmon's versions",
            ),
            (Program::BwMon, "-p 100", "there is no host"),
            (Program::BwMon, "-d", "-d needs a value"),
            (
                Program::Req,
                "-d h --size 3",
                "--size: is not a letter of UDPmon",
            ),
            (
                Program::BwMon,
                "-d h -w 1.25",
                "-w 1.25: must be microseconds with at most one decimal",
            ),
            (
                Program::BwMon,
                "-d h -l 100 -t 5",
                "-l and -t exclude each other",
            ),
        ] {
            let failure = translate(program, line).unwrap_err();
            assert_eq!((failure.what.as_str(), failure.code), (what, 2), "{line}");
        }
    }
}
