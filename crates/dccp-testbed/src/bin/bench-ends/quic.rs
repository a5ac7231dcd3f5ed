//! QUIC datagrams (RFC 9221) by quinn.

use crate::report::{Meter, Report, say_ready};
use crate::udp::enlarge_recv_buffer;
use anyhow::{Context, Result, ensure};
use clap::Args;
use dccp::clock;
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use quinn::{
    ClientConfig, Endpoint, EndpointConfig, SendDatagramError, ServerConfig, TransportConfig,
};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct SinkArgs {
    local: SocketAddr,
    /// The file for the certificate, which the sender reads
    #[arg(long)]
    certificate: PathBuf,
}

#[derive(Args)]
pub(crate) struct SendArgs {
    remote: SocketAddr,
    /// The sink's certificate
    #[arg(long)]
    certificate: PathBuf,
    /// Bytes of a datagram
    #[arg(long, default_value_t = 1400)]
    size: usize,
    /// Seconds
    #[arg(long, default_value_t = 3.0)]
    time: f64,
    /// Mbit/s that are offered; without it as much as quinn takes
    #[arg(long)]
    rate: Option<f64>,
}

const NAME: &str = "sink";
/// In Mbit/s. Lower rates would overflow the time of the next datagram.
const RATE_LEAST: f64 = 0.001;
/// Datagrams between two readings of the clock.
const BATCH: u32 = 16;

/// Ethernet's packets from the first one on: nothing is lost on the way to them.
fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.initial_mtu(1472).mtu_discovery_config(None);
    Arc::new(transport)
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    Ok(builder.enable_all().build()?)
}

pub(crate) fn sink(args: &SinkArgs) -> Result<Report> {
    let made = rcgen::generate_simple_self_signed(vec![NAME.to_owned()])?;
    std::fs::write(&args.certificate, made.cert.der()).context("the certificate")?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config =
        ServerConfig::with_single_cert(vec![made.cert.into()], key.into()).context("TLS")?;
    config.transport_config(transport());
    runtime()?.block_on(async {
        let socket = UdpSocket::bind(args.local).context("cannot bind")?;
        enlarge_recv_buffer(&socket)?;
        let runtime = Arc::new(quinn::TokioRuntime);
        let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), socket, runtime)?;
        say_ready();
        let incoming = endpoint.accept().await.context("the endpoint was closed")?;
        let connection = incoming.await?;
        let mut meter = Meter::default();
        // Until the sender closes.
        while let Ok(datagram) = connection.read_datagram().await {
            meter.add(1, datagram.len() as u64);
        }
        meter.report()
    })
}

/// The time that `bytes` take at `rate`, in Mbit/s.
#[expect(clippy::cast_precision_loss, reason = "a few gigabytes")]
fn time_of(bytes: u64, rate: f64) -> Duration {
    Duration::from_secs_f64(bytes as f64 * 8.0 / (rate * 1e6))
}

pub(crate) fn send(args: &SendArgs) -> Result<Report> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(std::fs::read(&args.certificate)?))?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport());
    let is_rate = args.rate.is_none_or(|rate| rate >= RATE_LEAST);
    ensure!(is_rate, "a rate is {RATE_LEAST} Mbit/s or more");
    runtime()?.block_on(async {
        let mut endpoint = Endpoint::client("0.0.0.0:0".parse()?)?;
        endpoint.set_default_client_config(config);
        let connection = endpoint.connect(args.remote, NAME)?.await?;
        let payload = bytes::Bytes::from(vec![7; args.size]);
        let begin = clock::now();
        let end = begin + Duration::from_secs_f64(args.time);
        let mut meter = Meter::default();
        while clock::now() < end {
            if let Some(rate) = args.rate {
                let due = begin + time_of(meter.bytes(), rate);
                // The connection's own task runs meanwhile.
                while clock::now() < due.min(end) {
                    tokio::task::yield_now().await;
                }
            }
            for _ in 0..BATCH {
                match connection.send_datagram_wait(payload.clone()).await {
                    // After losses in a row it thinks that the path takes less, and finds out again that it takes more.
                    Err(SendDatagramError::TooLarge) if meter.has_begun() => {
                        tokio::task::yield_now().await;
                    }
                    result => {
                        result?;
                        meter.add(1, args.size as u64);
                    }
                }
            }
        }
        connection.close(0_u32.into(), b"done");
        endpoint.wait_idle().await;
        meter.report()
    })
}
