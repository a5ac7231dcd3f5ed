//! The constraints of options.

use super::Options;
use crate::error::OptionError;
use crate::limits::RECV_BYTES_UNACCEPTED;
use crate::privilege;
use core::time::Duration;
use dccp_io::Encapsulation;
use dccp_proto::Config;
use dccp_proto::cc::Ccid;
use dccp_proto::cc::registry::Ccids;
use dccp_proto::cc::safeudp::Profile;
use dccp_proto::config::bounds;
use dccp_proto::wire::ServiceCode;

impl Options {
    /// Checks the values so far, as a listener would. Connecting and binding check them again, together with the addresses.
    ///
    /// ```
    /// let error = dccp::Options::new().mtu(20).check().unwrap_err();
    /// assert_eq!(error.to_string(), "option mtu: must be from 296 to 65535 bytes");
    /// ```
    ///
    /// # Errors
    /// An option has a value that is not allowed, or that does not go with another option.
    pub fn check(&self) -> Result<(), OptionError> {
        self.checked_config(bounds::SERVICE_CODES).map(drop)
    }

    /// Options of bytes, rates and silence: name, whether the value is allowed, constraint.
    fn time_rules(&self) -> [(&'static str, bool, &'static str); 7] {
        let c = &self.config;
        [
            (
                "send_buffer_bytes",
                self.buffers.send_bytes > 0,
                "must be at least 1 byte",
            ),
            (
                "recv_buffer_bytes",
                self.buffers.recv_bytes >= RECV_BYTES_UNACCEPTED,
                "must be at least 65536 bytes",
            ),
            (
                "max_rate",
                c.max_rate != Some(0),
                "must be at least 1 bit/s",
            ),
            (
                "connections_per_source",
                self.per_source > 0,
                "must be at least 1 connection",
            ),
            (
                "target_rate",
                self.target.as_ref().is_none_or(|t| !t.filler.is_empty()),
                "must have a filler of at least 1 byte",
            ),
            (
                "dead_after",
                c.dead_after.is_none_or(|t| t >= Duration::from_secs(1)),
                "must be at least 1 s",
            ),
            (
                "idle_timeout",
                c.idle_timeout.is_none_or(|t| !t.is_zero()),
                "must be greater than 0",
            ),
        ]
    }

    /// The core's settings, if all options can be. `services_max`: 1 for clients.
    pub(crate) fn checked_config(&self, services_max: usize) -> Result<Config, OptionError> {
        let c = &self.config;
        let services = self.services();
        let rules = [
            (
                "send_ccids",
                !c.tx_ccids.is_empty(),
                "must be at least one CCID",
            ),
            (
                "recv_ccids",
                !c.rx_ccids.is_empty(),
                "must be at least one CCID",
            ),
            (
                "service_code",
                services.len() <= services_max,
                "must be one for a client, and at most 32 for a listener",
            ),
            (
                "service_code",
                !services.contains(&ServiceCode::INVALID),
                "must not be 4294967295, which is never valid (RFC 5595)",
            ),
            (
                "checksum_coverage",
                c.send_cscov <= 15,
                "must be from 0 to 15",
            ),
            (
                "min_checksum_coverage",
                c.min_cscov <= 15,
                "must be from 0 to 15",
            ),
            (
                "sequence_window",
                (32..1 << 46).contains(&c.sequence_window),
                "must be from 32 to 2^46 - 1 packets",
            ),
            (
                "ack_ratio",
                c.ack_ratio != Some(0),
                "must be from 1 to 65535 packets",
            ),
            (
                "mtu",
                self.mtu.is_none_or(|m| (MTU_MIN..=MTU_MAX).contains(&m)),
                "must be from 296 to 65535 bytes",
            ),
            (
                "send_buffer",
                (1..=PACKETS_MAX).contains(&self.buffers.send_packets),
                "must be from 1 to 1048576 packets",
            ),
            (
                "recv_buffer",
                (1..=PACKETS_MAX).contains(&self.buffers.recv_packets),
                "must be from 1 to 1048576 packets",
            ),
            (
                "connect_timeout",
                !c.connect_timeout.is_zero(),
                "must be greater than 0",
            ),
            ("backlog", self.backlog > 0, "must be at least 1 connection"),
            (
                "encapsulation",
                self.encapsulation == Encapsulation::Udp
                    || self.engine.as_ref().is_none_or(|e| e.threads() == 1),
                "must be UDP with an engine of several threads: over IP each socket gets the packets of all",
            ),
        ];
        let is_reserved = c.safe_udp.profile == Profile::Provisioned;
        if is_reserved && !privilege::administers_network() {
            let problem = "the provisioned profile needs the capability CAP_NET_ADMIN";
            return Err(OptionError::new("safe_udp", problem));
        }
        for (option, holds, allowed) in rules.into_iter().chain(self.time_rules()) {
            if !holds {
                return Err(OptionError::new(option, allowed));
            }
        }
        for (option, ccids) in [("send_ccids", &c.tx_ccids), ("recv_ccids", &c.rx_ccids)] {
            check_ccids(option, ccids, &c.ccids)?;
        }
        let has_law = |&ccid: &u8| c.ccids.find(ccid).is_some_and(Ccid::has_law);
        if self.is_law_chosen && !c.tx_ccids.iter().any(has_law) {
            let problem = "must be left out, because no CCID of `send_ccids` has a law: use CCID 2";
            return Err(OptionError::new("law", problem));
        }
        c.law
            .check()
            .map_err(|e| OptionError::new("law", e.to_string()))?;
        Ok(Config {
            service_code: services.first().copied().unwrap_or(ServiceCode::NONE),
            ack_vectors: c.ack_vectors || self.buffers.fates > 0,
            ..c.clone()
        })
    }
}

pub(super) const MTU_MIN: usize = bounds::MTU_LEAST;
pub(super) const MTU_MAX: usize = 65_535;
const PACKETS_MAX: usize = bounds::IN_FLIGHT_PACKETS;

fn check_ccids(option: &'static str, ccids: &[u8], known: &Ccids) -> Result<(), OptionError> {
    if ccids.len() > bounds::FEATURE_VALUES {
        return Err(OptionError::new(option, "must be at most 32 CCIDs"));
    }
    match ccids.iter().find(|&&c| known.find(c).is_none()) {
        None => Ok(()),
        Some(unknown) => {
            let known = known.iter().map(|c| c.number().to_string());
            let known = known.collect::<Vec<_>>().join(", ");
            let problem = format!("{unknown}: must be one of {known}");
            Err(OptionError::new(option, problem))
        }
    }
}
