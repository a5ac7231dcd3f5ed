//! Clients of `dccpmon serve` that follow the protocol of its control connection and send no data.

use crate::host;
use anyhow::{Context as _, Result, bail, ensure};
use core::time::Duration;
use dccp::{DccpAddr, Options, RecvError, Socket};
use serde_json::{Value, json};

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Control messages have the flags, the number and the number of the newest message received. This is the last part of
/// one.
const LAST: u8 = 1;

/// A part of a control message.
pub(crate) fn part(flags: u8, number: u32, ack: u32, text: &[u8]) -> Vec<u8> {
    let mut bytes = vec![b'D', b'C', 1, flags];
    bytes.extend(number.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    bytes.extend(text);
    bytes
}

/// A client that holds a place without testing.
pub(crate) struct Acker {
    control: Socket,
    sent: u32,
    received: u32,
    /// The parts of the message that is being received.
    text: Vec<u8>,
}

impl Acker {
    /// Begins a test of `time`. Returns the client and its data connection.
    pub(crate) fn begin(to: DccpAddr, options: &Options, time: Duration) -> Result<(Self, Socket)> {
        let control = Socket::connect(to, options)?;
        let mut acker = Self {
            control,
            sent: 0,
            received: 0,
            text: Vec::new(),
        };
        acker.send(&json!({
            "message": "hello",
            "protocol": {"min": 2, "max": 2},
            "program": "1",
            "nonce": "0".repeat(32),
        }))?;
        acker.wait_for("welcome")?;
        let request = json!({
            "flows": 1,
            "is_reverse": false,
            "length_bytes": 100,
            "duration_ns": time.as_secs() * 1_000_000_000,
            "interval_ns": 1_000_000_000,
            "rate_bps": null,
        });
        acker.send(&json!({"message": "setup", "body": request.to_string(), "proof": null}))?;
        let ready = acker.wait_for("ready")?;
        let token = ready["token"].as_u64().context("no token")?;
        let data = Socket::connect(to, options)?;
        let mut join = vec![b'D', b'M', 2, 1];
        join.extend(token.to_be_bytes());
        join.extend([0; 20]);
        data.send(&join)?;
        acker.wait_for("joined")?;
        acker.send(&json!({"message": "start"}))?;
        Ok((acker, data))
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        self.sent += 1;
        let text = message.to_string();
        let datagram = part(LAST, self.sent, self.received, text.as_bytes());
        self.control.send(&datagram)?;
        Ok(())
    }

    /// Waits for a message of this name.
    fn wait_for(&mut self, name: &str) -> Result<Value> {
        let begin = dccp::clock::now();
        while u128::from(host::millis_since(begin)) < PATIENCE.as_millis() {
            if let Some(message) = self.acknowledge()? {
                ensure!(message["message"] == name, "{message} in place of {name}");
                return Ok(message);
            }
        }
        bail!("no {name}");
    }

    /// Receives a datagram and acknowledges it. Returns a message that is complete now.
    pub(crate) fn acknowledge(&mut self) -> Result<Option<Value>> {
        let mut datagram = [0; 1000];
        let len = match self.control.recv(&mut datagram) {
            Ok(len) => len,
            Err(RecvError::TimedOut) => 0,
            Err(error) => return Err(error.into()),
        };
        let number = datagram[..len].get(4..8).unwrap_or(&[0; 4]);
        let number = u32::from_be_bytes(number.try_into()?);
        let is_next = number == self.received + 1;
        self.received += u32::from(is_next);
        self.control.send(&part(0, 0, self.received, &[]))?;
        if !is_next {
            return Ok(None);
        }
        self.text.extend(&datagram[12.min(len)..len]);
        if datagram[3] & LAST == 0 {
            return Ok(None);
        }
        let message = serde_json::from_slice(&self.text).ok();
        self.text.clear();
        Ok(message)
    }
}
