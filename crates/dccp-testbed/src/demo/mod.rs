//! `cargo xtask demo`: CCID 2 beside CCID 3 on one bottleneck, as tables and as a picture.

mod picture;
mod result;
mod table;

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::programs;
use dccp_dev::packages;
use dccp_dev::shell::{self, Background, command};
use dccp_netns::Namespace;
use result::Document;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seconds
    #[arg(short = 't', long, default_value_t = 60)]
    time: u32,
    /// Where the results go
    #[arg(long, default_value = "demo-out")]
    out: String,
}

/// 50 Mbit/s, 40 ms there and back, a queue of as much as fits into that.
const LINK: [&str; 6] = ["--rate", "50M", "--delay", "20ms", "--queue", "166p"];
const CCIDS: [u8; 2] = [2, 3];
/// Seconds between the starts of the flows. Flows that start together differ from run to run for a long time.
const APART_S: u32 = 5;
/// Of an interval, seconds; the table adds up those of a second.
const INTERVAL: &str = "0.25";
const INTERVALS_PER_ROW: usize = 4;

const MONITOR: &str = "target/release/dccpmon";
const EMULATOR: &str = "target/release/dccp-emu";

/// The two hosts, and the link between them.
struct Network {
    /// Where the clients run; `None`: here.
    client: Option<Namespace>,
    /// How a client names the server.
    target: [&'static str; 3],
    /// Ended in this order: link, server, and its host.
    _link: Background,
    _server: Background,
    _server_host: Option<Namespace>,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    packages::install(packages::FOR_DEMO)?;
    programs::build(programs::MONITOR)?;
    programs::build(programs::EMULATOR)?;
    let network = if shell::is_root() {
        Network::of_namespaces()?
    } else {
        Network::on_loopback()?
    };
    let seconds = args.time;
    ensure!(
        seconds > APART_S,
        "-t {seconds}: must be greater than {APART_S}"
    );
    println!("Two flows over 50 Mbit/s, 40 ms, a queue of 166 packets, for {seconds} s …");
    let documents = measure(&network, seconds)?;
    drop(network);
    table::print(&documents, INTERVALS_PER_ROW);
    std::fs::create_dir_all(&args.out)?;
    for (ccid, (text, _)) in CCIDS.iter().zip(&documents) {
        std::fs::write(format!("{}/ccid{ccid}.json", args.out), text)?;
    }
    let picture = format!("{}/demo.svg", args.out);
    std::fs::write(&picture, picture::draw(&documents)?)?;
    println!("\nWritten: {picture}, and the results as JSON beside it");
    Ok(true)
}

impl Network {
    /// Two namespaces joined by the emulator.
    fn of_namespaces() -> Result<Self> {
        let (client, server) = (Namespace::new("client")?, Namespace::new("server")?);
        let left = format!("{}/emu0,10.34.0.1/24", client.name());
        let right = format!("{}/emu0,10.34.0.2/24", server.name());
        let mut link = command(&[EMULATOR, "tun", "--left", &left, "--right", &right]);
        link.args(LINK);
        let link = Background::start(link, "ready")?;
        let serve = server.command(&[MONITOR, "serve", "--over", "udp"]);
        Ok(Self {
            client: Some(client),
            target: ["10.34.0.2", "-p", "14233"],
            _link: link,
            _server: Background::start(serve, "serving")?,
            _server_host: Some(server),
        })
    }

    /// Without root: the emulator relays between ports of this host.
    fn on_loopback() -> Result<Self> {
        println!(
            "Not root: the emulator relays UDP on loopback instead of joining two namespaces."
        );
        let serve = command(&[MONITOR, "serve", "--over", "udp"]);
        let mut link = command(&[
            EMULATOR,
            "relay",
            "--listen",
            "127.0.0.1:14300",
            "--to",
            "127.0.0.1:14233",
        ]);
        link.args(LINK);
        Ok(Self {
            client: None,
            target: ["127.0.0.1", "-p", "14300"],
            _server: Background::start(serve, "serving")?,
            _link: Background::start(link, "ready")?,
            _server_host: None,
        })
    }

    /// The command of a client.
    fn client(&self, ccid: u8, seconds: u32) -> Command {
        let (ccid, seconds) = (ccid.to_string(), seconds.to_string());
        let options = ["-t", &seconds, "-i", INTERVAL, "--ccid", &ccid, "-J"];
        let words = [&[MONITOR], &self.target[..], &options].concat();
        match &self.client {
            Some(host) => host.command(&words),
            None => command(&words),
        }
    }
}

/// Runs both flows, the second [`APART_S`] later. Returns their results as text and parsed.
fn measure(network: &Network, seconds: u32) -> Result<Vec<(String, Document)>> {
    let texts: Vec<Result<String>> = thread::scope(|scope| {
        let start = |(ccid, delay_s): (u8, u32)| {
            let mut client = network.client(ccid, seconds - delay_s);
            client.stderr(Stdio::inherit());
            scope.spawn(move || {
                thread::sleep(Duration::from_secs(delay_s.into()));
                shell::output(&mut client)
            })
        };
        let [first, second] = CCIDS;
        let running = [(first, 0), (second, APART_S)].map(start);
        let ended = running.map(|client| client.join().unwrap_or_else(|_| Ok(String::new())));
        ended.into()
    });
    let read = |text: Result<String>| {
        let text = text?;
        let document: Document = serde_json::from_str(&text).context("dccpmon's result")?;
        ensure!(
            document.status == "complete",
            "dccpmon's result is {}",
            document.status
        );
        Ok((text, document))
    };
    let mut documents: Vec<_> = texts.into_iter().map(read).collect::<Result<_>>()?;
    documents[1].1.delay(APART_S);
    Ok(documents)
}
