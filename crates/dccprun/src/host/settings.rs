//! Options of a socket, with the kernel's values and errors (Linux 6.1, `net/dccp/proto.c`).

use crate::cli::Defaults;
use dccp::{Engine, Options, ServiceCode, unstable};
use dccprun_message::option as opt;
use std::collections::BTreeSet;

/// The CCIDs of this end.
const CCIDS: [u8; 3] = [2, 3, 4];
/// Service Codes of a socket.
const SERVICES_MAX: usize = 32;
/// A list of preferred values, at most, in the kernel's feature negotiation.
const CCIDS_MAX: usize = 16;
/// The kernel's default length of the send queue.
const TXQLEN: i32 = 5;
/// The longest send queue here.
const TXQLEN_MAX: i32 = 1 << 16;

/// The settings of one socket. Those that the program has not set are those of the command line.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    /// The first is what a client asks for.
    services: Vec<u32>,
    tx_ccids: Vec<u8>,
    rx_ccids: Vec<u8>,
    send_cscov: u8,
    recv_cscov: u8,
    txqlen: Option<i32>,
    pub(super) is_v6_only: bool,
    /// Ends with a Reset when the program closes.
    pub(super) aborts_at_close: bool,
}

/// The state of a socket that decides whether an option can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Nothing is negotiated yet.
    Closed,
    /// It listens, or has a connection as a client.
    Used,
    /// It has a connection as a server.
    Server,
}

impl Settings {
    /// Sets an option.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn set(&mut self, name: i32, value: &[u8], stage: Stage) -> Result<(), i32> {
        match name {
            opt::PACKET_SIZE | opt::CHANGE_L | opt::CHANGE_R => return Ok(()),
            opt::CCID | opt::TX_CCID | opt::RX_CCID => return self.set_ccids(name, value, stage),
            opt::ABORT_AT_CLOSE => {
                self.aborts_at_close = value.first().is_some_and(|on| *on != 0);
                return Ok(());
            }
            _ => {}
        }
        let number = *value.first_chunk::<4>().ok_or(libc::EINVAL)?;
        let number = i32::from_ne_bytes(number);
        match name {
            opt::SERVICE => return self.set_services(value),
            // TIMEWAIT is the client's here.
            opt::SERVER_TIMEWAIT if stage != Stage::Server || number != 0 => {
                return Err(libc::EOPNOTSUPP);
            }
            opt::QPOLICY_ID if stage != Stage::Closed => return Err(libc::EISCONN),
            // The queue with priorities does not exist here.
            opt::QPOLICY_ID if number != 0 => return Err(libc::EINVAL),
            opt::SERVER_TIMEWAIT | opt::QPOLICY_ID => {}
            opt::SEND_CSCOV => self.send_cscov = coverage(number, stage)?,
            opt::RECV_CSCOV => self.recv_cscov = coverage(number, stage)?,
            opt::QPOLICY_TXQLEN if number < 0 => return Err(libc::EINVAL),
            opt::QPOLICY_TXQLEN => self.txqlen = Some(number),
            opt::V6ONLY if stage != Stage::Closed => return Err(libc::EINVAL),
            opt::V6ONLY => self.is_v6_only = number != 0,
            _ => return Err(libc::ENOPROTOOPT),
        }
        Ok(())
    }

    fn set_services(&mut self, value: &[u8]) -> Result<(), i32> {
        let codes: Vec<u32> = value
            .chunks_exact(4)
            .filter_map(|code| code.first_chunk())
            .map(|code| u32::from_be_bytes(*code))
            .collect();
        // 4340-8.1.2: this code stands for none.
        if codes.len() > SERVICES_MAX || codes.contains(&u32::MAX) {
            return Err(libc::EINVAL);
        }
        self.services = codes;
        Ok(())
    }

    /// The Service Code of an accepted connection, out of those of its listener.
    pub(super) fn set_service(&mut self, code: ServiceCode) {
        self.services = vec![code.0];
    }

    fn set_ccids(&mut self, name: i32, value: &[u8], stage: Stage) -> Result<(), i32> {
        if value.is_empty() || value.len() > CCIDS_MAX {
            return Err(libc::EINVAL);
        }
        if stage != Stage::Closed {
            return Err(libc::EISCONN);
        }
        if value.iter().any(|ccid| !CCIDS.contains(ccid)) {
            return Err(libc::EOPNOTSUPP);
        }
        if name != opt::RX_CCID {
            self.tx_ccids = value.to_vec();
        }
        if name != opt::TX_CCID {
            self.rx_ccids = value.to_vec();
        }
        Ok(())
    }

    /// The value of an option that does not depend on the connection; `None`: there is no such option. `room`: bytes that
    /// the program has for it.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn get(&self, name: i32, room: usize) -> Result<Option<Vec<u8>>, i32> {
        let number = match name {
            opt::PACKET_SIZE => return Ok(Some(Vec::new())),
            opt::SERVICE => {
                let codes = self.services.iter().flat_map(|code| code.to_be_bytes());
                let mut value: Vec<u8> = codes.collect();
                if value.is_empty() {
                    value = vec![0; 4];
                }
                if value.len() > room {
                    return Err(libc::EINVAL);
                }
                return Ok(Some(value));
            }
            opt::AVAILABLE_CCIDS if room < CCIDS.len() => return Err(libc::EINVAL),
            opt::AVAILABLE_CCIDS => return Ok(Some(CCIDS.to_vec())),
            opt::SERVER_TIMEWAIT | opt::QPOLICY_ID => 0,
            opt::SEND_CSCOV => self.send_cscov.into(),
            opt::RECV_CSCOV => self.recv_cscov.into(),
            opt::QPOLICY_TXQLEN => self.txqlen.unwrap_or(TXQLEN),
            opt::V6ONLY => self.is_v6_only.into(),
            _ => return Ok(None),
        };
        Ok(Some(number.to_ne_bytes().to_vec()))
    }

    /// The Service Codes of a listener: those of the program, or that of the command line.
    pub(super) fn services(&self, defaults: &Defaults) -> BTreeSet<ServiceCode> {
        if self.services.is_empty() {
            return defaults.service.into_iter().collect();
        }
        self.services
            .iter()
            .map(|code| ServiceCode(*code))
            .collect()
    }

    /// The Service Code of a connection: the first one.
    pub(super) fn service(&self, defaults: &Defaults) -> Option<ServiceCode> {
        let first = self.services.first().copied().map(ServiceCode);
        first.or(defaults.service)
    }

    /// The CCID of both directions; `None`: none is chosen. A daemon takes one for a whole connection.
    ///
    /// # Errors
    /// `EOPNOTSUPP`: the directions differ, or there is a list.
    pub(super) fn single_ccid(&self, defaults: &Defaults) -> Result<Option<u8>, i32> {
        match (&self.tx_ccids[..], &self.rx_ccids[..]) {
            ([], []) => Ok(defaults.ccid),
            ([tx], [rx]) if tx == rx => Ok(Some(*tx)),
            ([one], []) | ([], [one]) if Some(*one) == defaults.ccid => Ok(Some(*one)),
            _ => Err(libc::EOPNOTSUPP),
        }
    }

    /// The length of the send queue in datagrams, if the program has set it; 0: without a bound.
    pub(super) fn queue_len(&self) -> Option<u32> {
        self.txqlen
            .map(|packets| u32::try_from(packets).unwrap_or(0))
    }

    /// The options of a connection or a listener, without its Service Codes.
    pub(super) fn options(&self, defaults: &Defaults, engine: &Engine) -> Options {
        let mut options = Options::new()
            .engine(engine)
            .encapsulation(defaults.encapsulation)
            .connect_timeout(defaults.connect_timeout)
            .checksum_coverage(self.send_cscov)
            .min_checksum_coverage(self.recv_cscov)
            .connections_per_source(usize::MAX);
        let default = defaults.ccid.map(|ccid| vec![ccid]);
        let chosen = |own: &[u8]| {
            Some(own.to_vec())
                .filter(|own| !own.is_empty())
                .or(default.clone())
        };
        if let Some(ccids) = chosen(&self.tx_ccids) {
            options = options.send_ccids(&ccids);
        }
        if let Some(ccids) = chosen(&self.rx_ccids) {
            options = options.recv_ccids(&ccids);
        }
        if let Some(law) = &defaults.law {
            // The program or the peer may choose a CCID without laws.
            options = unstable::permit_unused_law(options.law(law.config.clone()));
        }
        if let Some(packets) = self.txqlen {
            // 0 is a queue without a bound in the kernel.
            let packets = if packets == 0 {
                TXQLEN_MAX
            } else {
                packets.min(TXQLEN_MAX)
            };
            options = options.send_buffer(usize::try_from(packets).unwrap_or(1));
        }
        options
    }
}

/// Whether an option needs an engine of this process: a daemon's connections cover the whole datagram.
///
/// # Errors
/// `EOPNOTSUPP`: it does.
pub(super) fn check_for_daemon(name: i32, value: &[u8]) -> Result<(), i32> {
    let is_zero = value.iter().all(|byte| *byte == 0);
    if matches!(name, opt::SEND_CSCOV | opt::RECV_CSCOV) && !is_zero {
        return Err(libc::EOPNOTSUPP);
    }
    Ok(())
}

/// A Checksum Coverage.
fn coverage(number: i32, stage: Stage) -> Result<u8, i32> {
    let coverage = u8::try_from(number).ok().filter(|n| *n <= 15);
    match coverage {
        None => Err(libc::EINVAL),
        Some(_) if stage != Stage::Closed => Err(libc::EISCONN),
        Some(coverage) => Ok(coverage),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: i32) -> [u8; 4] {
        value.to_ne_bytes()
    }

    #[test]
    fn wrong_values_have_the_kernels_errors() {
        for (name, value, stage, error) in [
            (opt::SERVICE, &int(-1)[..], Stage::Closed, libc::EINVAL),
            (opt::SERVICE, &[0; 3], Stage::Closed, libc::EINVAL),
            (opt::SERVICE, &[0; 34 * 4], Stage::Closed, libc::EINVAL),
            (opt::SEND_CSCOV, &int(16), Stage::Closed, libc::EINVAL),
            (opt::RECV_CSCOV, &int(-1), Stage::Closed, libc::EINVAL),
            (opt::TX_CCID, &[], Stage::Closed, libc::EINVAL),
            (opt::TX_CCID, &[9], Stage::Closed, libc::EOPNOTSUPP),
            (opt::TX_CCID, &[3], Stage::Used, libc::EISCONN),
            (opt::QPOLICY_ID, &int(1), Stage::Closed, libc::EINVAL),
            (opt::QPOLICY_ID, &int(0), Stage::Used, libc::EISCONN),
            (opt::QPOLICY_TXQLEN, &int(-1), Stage::Closed, libc::EINVAL),
            (opt::SERVER_TIMEWAIT, &int(1), Stage::Used, libc::EOPNOTSUPP),
            (
                opt::SERVER_TIMEWAIT,
                &int(1),
                Stage::Server,
                libc::EOPNOTSUPP,
            ),
            (99, &int(1), Stage::Closed, libc::ENOPROTOOPT),
        ] {
            let mut settings = Settings::default();
            assert_eq!(
                settings.set(name, value, stage),
                Err(error),
                "option {name}"
            );
        }
    }

    #[test]
    fn values_come_back() {
        let mut settings = Settings::default();
        assert_eq!(settings.get(opt::SERVICE, 4), Ok(Some(vec![0; 4])));
        let list = [7_u32, 8, 9].map(u32::to_be_bytes).concat();
        settings.set(opt::SERVICE, &list, Stage::Closed).unwrap();
        assert_eq!(settings.get(opt::SERVICE, 12), Ok(Some(list)));
        assert_eq!(settings.get(opt::SERVICE, 11), Err(libc::EINVAL));
        settings
            .set(opt::SEND_CSCOV, &int(5), Stage::Closed)
            .unwrap();
        assert_eq!(settings.get(opt::SEND_CSCOV, 4), Ok(Some(int(5).to_vec())));
        assert_eq!(
            settings.get(opt::QPOLICY_TXQLEN, 4),
            Ok(Some(int(5).to_vec()))
        );
        assert_eq!(settings.get(opt::TX_CCID, 4), Ok(None));
    }
}
