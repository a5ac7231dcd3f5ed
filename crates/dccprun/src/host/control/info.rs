//! Options that tell the state of a connection, in the kernel's layouts (`net/dccp/ccids/lib/tfrc.h`).

use crate::host::link::Link;
use dccp::{ConnSnapshot, ControllerSnapshot};
use dccprun_message::option as opt;

/// The number of TFRC among the CCIDs: the kernel tells the state of this one only.
const CCID_3: u8 = 3;
/// Lengths of `struct tfrc_tx_info` and `struct tfrc_rx_info`.
const TX_LEN: usize = 40;
const RX_LEN: usize = 12;

/// The value of an option.
///
/// # Errors
/// The kernel's error number.
pub(super) fn value_of_connection(link: &dyn Link, name: i32, room: usize) -> Result<Vec<u8>, i32> {
    let is_known = matches!(
        name,
        opt::TX_CCID | opt::RX_CCID | opt::CCID_TX_INFO | opt::CCID_RX_INFO
    );
    if !is_known {
        return Err(libc::ENOPROTOOPT);
    }
    value(&link.snapshot().ok_or(libc::ENOPROTOOPT)?, name, room)
}

fn value(seen: &ConnSnapshot, name: i32, room: usize) -> Result<Vec<u8>, i32> {
    match name {
        opt::TX_CCID => Ok(i32::from(seen.tx_ccid).to_ne_bytes().to_vec()),
        opt::RX_CCID => Ok(i32::from(seen.rx_ccid).to_ne_bytes().to_vec()),
        opt::CCID_TX_INFO if seen.tx_ccid == CCID_3 && room < TX_LEN => Err(libc::EINVAL),
        opt::CCID_TX_INFO if seen.tx_ccid == CCID_3 => Ok(tx_info(&seen.tx)),
        opt::CCID_RX_INFO if seen.rx_ccid == CCID_3 && room < RX_LEN => Err(libc::EINVAL),
        opt::CCID_RX_INFO if seen.rx_ccid == CCID_3 => Ok(rx_info(&seen.rx)),
        _ => Err(libc::ENOPROTOOPT),
    }
}

/// `struct tfrc_tx_info`: rates in 64ths of a byte per second, the rate of the equation in bytes per second, times in µs, the
/// loss event rate in millionths, the gap between packets in µs.
fn tx_info(tx: &ControllerSnapshot) -> Vec<u8> {
    let rate = |rate: Option<dccp::Rate>| rate.map_or(0.0, dccp::Rate::bytes_per_s);
    let inner = |name| tx.inner.iter().find(|(known, _)| *known == name);
    let size = inner("s").map_or(0.0, |(_, size)| *size);
    let (x, rtt) = (rate(tx.rate), tx.rtt.unwrap_or_default().as_secs_f64());
    let p = tx.loss_event_rate.unwrap_or(0.0);
    let gap = if x > 0.0 { size / x * 1e6 } else { 0.0 };
    let mut info = Vec::with_capacity(TX_LEN);
    info.extend(u64_of(64.0 * x).to_ne_bytes());
    info.extend(u64_of(64.0 * rate(tx.receive_rate)).to_ne_bytes());
    for number in [
        equation(size, rtt, p),
        1e6 * rtt,
        1e6 * p,
        tx.rto.unwrap_or_default().as_secs_f64() * 1e6,
        gap,
    ] {
        info.extend(u32_of(number).to_ne_bytes());
    }
    info.resize(TX_LEN, 0);
    info
}

/// `struct tfrc_rx_info`: the receive rate in bytes per second, the round trip in µs, the loss event rate in millionths.
fn rx_info(rx: &ControllerSnapshot) -> Vec<u8> {
    let rate = rx.receive_rate.map_or(0.0, dccp::Rate::bytes_per_s);
    let rtt = rx.rtt.unwrap_or_default().as_secs_f64();
    let p = rx.loss_event_rate.unwrap_or(0.0);
    let numbers = [rate, 1e6 * rtt, 1e6 * p].map(u32_of);
    numbers.map(u32::to_ne_bytes).concat()
}

/// The throughput equation (RFC 5348 §3.1) in bytes per second; 0 without losses, as in the kernel.
fn equation(size: f64, rtt: f64, p: f64) -> f64 {
    if p <= 0.0 || rtt <= 0.0 {
        return 0.0;
    }
    let timeout = 4.0 * rtt;
    let losses = timeout * 3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    size / (rtt * (2.0 * p / 3.0).sqrt() + losses)
}

/// A number that is not negative; too large ones become the largest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "such casts saturate, which is what is wanted"
)]
fn u64_of(number: f64) -> u64 {
    number as u64
}

fn u32_of(number: f64) -> u32 {
    u32::try_from(u64_of(number)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use dccp::Rate;

    #[test]
    fn info_of_tfrc_has_the_kernels_layout() {
        let tx = ControllerSnapshot {
            rate: Some(Rate::from_bytes_per_s(1000.0)),
            receive_rate: Some(Rate::from_bytes_per_s(500.0)),
            rtt: Some(Duration::from_millis(100)),
            rto: Some(Duration::from_millis(400)),
            loss_event_rate: Some(0.01),
            inner: vec![("s", 100.0)],
            ..ControllerSnapshot::default()
        };
        let info = tx_info(&tx);
        assert_eq!(info.len(), TX_LEN);
        assert_eq!(info[..8], 64_000_u64.to_ne_bytes());
        assert_eq!(info[8..16], 32_000_u64.to_ne_bytes());
        let words: Vec<u32> = info[16..]
            .chunks_exact(4)
            .map(|word| u32::from_ne_bytes(*word.first_chunk().unwrap()))
            .collect();
        assert_eq!(words[1..], [100_000, 10_000, 400_000, 100_000, 0]);
        // Without retransmission timeouts the equation gives 12247 bytes per second; they cost a twelfth.
        assert!((11_000..12_247).contains(&words[0]), "{words:?}");
        assert_eq!(rx_info(&tx).len(), RX_LEN);
    }
}
