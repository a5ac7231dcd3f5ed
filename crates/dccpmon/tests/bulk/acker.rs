//! Clients that speak the control protocol by hand, and send no data.

use crate::support::Server;
use core::time::Duration;
use dccp::{DccpAddr, Options, RecvError, Socket, clock};
use serde_json::{Value, json};

/// The wait for one datagram.
pub(crate) const STEP: Duration = Duration::from_millis(200);

pub(crate) fn options(host: u8) -> Options {
    Options::new()
        .service_code(*b"DMON")
        .recv_timeout(STEP)
        .send_timeout(STEP)
        .bind(([127, 0, 0, host], 0).into())
}

pub(crate) fn address(server: &Server) -> DccpAddr {
    let port = server.port.parse().unwrap();
    DccpAddr::new([127, 0, 0, 1].into(), port, 5001)
}

/// A part of a control message.
pub(crate) fn part(flags: u8, number: u32, ack: u32, text: &[u8]) -> Vec<u8> {
    let mut bytes = vec![b'D', b'C', 1, flags];
    bytes.extend(number.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    bytes.extend(text);
    bytes
}

/// A client that follows the protocol of the control connection, and sends no data.
pub(crate) struct Acker {
    control: Socket,
    said: u32,
    heard: u32,
    /// The parts of the message that is being received.
    text: Vec<u8>,
}

impl Acker {
    /// Opens a control connection from 127.0.0.`host`.
    pub(crate) fn connect(server: &Server, host: u8) -> Self {
        Self {
            control: Socket::connect(address(server), &options(host)).unwrap(),
            said: 0,
            heard: 0,
            text: Vec::new(),
        }
    }

    /// Begins a test of `time` from 127.0.0.`host`.
    pub(crate) fn begin(server: &Server, host: u8, time: Duration) -> (Self, Socket) {
        let (to, options) = (address(server), options(host));
        let mut acker = Self::connect(server, host);
        let hello = json!({
            "message": "hello", "protocol": {"min": 2, "max": 2}, "program": "1", "nonce": "0".repeat(32),
        });
        acker.say(&hello);
        acker.hear("welcome");
        let request = json!({
            "flows": 1, "is_reverse": false, "length_bytes": 100,
            "duration_ns": time.as_secs() * 1_000_000_000, "interval_ns": 1_000_000_000, "rate_bps": null,
        });
        acker.say(&json!({"message": "setup", "body": request.to_string(), "proof": null}));
        let ready = acker.hear("ready");
        let token = ready["token"].as_u64().unwrap();
        let data = Socket::connect(to, &options).unwrap();
        let mut join = vec![b'D', b'M', 2, 1];
        join.extend(token.to_be_bytes());
        join.extend([0; 20]);
        data.send(&join).unwrap();
        acker.hear("joined");
        acker.say(&json!({"message": "start"}));
        (acker, data)
    }

    pub(crate) fn say(&mut self, message: &Value) {
        self.said += 1;
        let text = message.to_string();
        let datagram = part(1, self.said, self.heard, text.as_bytes());
        self.control.send(&datagram).unwrap();
    }

    /// Waits for a message of this name.
    pub(crate) fn hear(&mut self, name: &str) -> Value {
        let until = clock::now() + Duration::from_secs(10);
        while clock::now() < until {
            if let Ok(Some(message)) = self.take() {
                assert_eq!(message["message"], name);
                return message;
            }
        }
        panic!("no {name}");
    }

    /// Receives a datagram and acknowledges it. Returns a message that is complete now.
    pub(crate) fn take(&mut self) -> Result<Option<Value>, RecvError> {
        let mut datagram = [0; 1000];
        let len = match self.control.recv(&mut datagram) {
            Ok(len) => len,
            Err(RecvError::TimedOut) => 0,
            Err(e) => return Err(e),
        };
        let number = datagram[..len].get(4..8).unwrap_or(&[0; 4]);
        let number = u32::from_be_bytes(number.try_into().unwrap());
        let is_next = number == self.heard + 1;
        self.heard += u32::from(is_next);
        let _ = self.control.send(&part(0, 0, self.heard, &[]));
        if !is_next {
            return Ok(None);
        }
        self.text.extend(&datagram[12.min(len)..len]);
        if datagram[3] & 1 == 0 {
            return Ok(None);
        }
        let message = serde_json::from_slice(&self.text).ok();
        self.text.clear();
        Ok(message)
    }
}
