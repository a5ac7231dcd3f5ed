//! How conversations begin.

use super::{Bench, OUR_PORT, Pkt, SERVICE, confirms_for, response};
use dccp_proto::Config;
use dccp_proto::conn::State;
use dccp_proto::wire::Kind;

impl Bench {
    /// An endpoint that listens.
    pub(crate) fn listening(config: Config) -> Self {
        Self::new().listen(config)
    }

    /// A client in REQUEST, and its Request.
    pub(crate) fn requesting(config: Config) -> (Self, Pkt) {
        Self::new().connect(config)
    }

    /// A server in RESPOND, and its Response.
    pub(crate) fn responding(config: Config) -> (Self, Pkt) {
        Self::listening(config).respond()
    }

    /// A server in OPEN whose features are settled, as a peer of CCID 2 leaves it.
    pub(crate) fn open_server(config: Config) -> Self {
        Self::new().open_as_server(config)
    }

    /// A client in PARTOPEN whose features are settled.
    pub(crate) fn partopen_client(config: Config) -> Self {
        Self::new().partopen(config)
    }

    /// A client in OPEN whose features are settled.
    pub(crate) fn open_client(config: Config) -> Self {
        Self::new().open_as_client(config)
    }

    /// Both ends in turn, in OPEN, settled.
    pub(crate) fn open_both(config: &Config) -> [Self; 2] {
        [
            Self::open_server(config.clone()),
            Self::open_client(config.clone()),
        ]
    }

    pub(crate) fn listen(mut self, config: Config) -> Self {
        self.endpoint.listen(OUR_PORT, &[SERVICE], config).unwrap();
        self
    }

    pub(crate) fn connect(mut self, config: Config) -> (Self, Pkt) {
        let id = self.endpoint.connect(self.now, Self::flow(), config);
        self.id = Some(id.unwrap());
        let request = self.take_one();
        (self, request)
    }

    pub(crate) fn respond(mut self) -> (Self, Pkt) {
        let request = self.next(Kind::Request { service: SERVICE });
        self.give(&request);
        let response = self.take_one();
        (self, response)
    }

    pub(crate) fn open_as_server(self, config: Config) -> Self {
        let (mut bench, response) = self.listen(config).respond();
        let ack = bench.answer_to(&response);
        bench.give(&ack);
        bench.take();
        assert_eq!(bench.state(), State::Open);
        bench
    }

    pub(crate) fn partopen(self, config: Config) -> Self {
        let (mut bench, request) = self.connect(config);
        let response = bench.response_to(&request);
        bench.give(&response);
        bench.take();
        assert_eq!(bench.state(), State::PartOpen);
        bench
    }

    pub(crate) fn open_as_client(self, config: Config) -> Self {
        let mut bench = self.partopen(config);
        let ack = bench.next(Kind::Ack { ack: bench.gss });
        bench.give(&ack);
        bench.take();
        assert_eq!(bench.state(), State::Open);
        bench
    }

    /// A willing server's Response. It comes in no time, but says that it waited for longer: so it
    /// leaves the round-trip time unknown, and 0.2 s is assumed (RFC 4340 §3.4).
    pub(crate) fn response_to(&mut self, request: &Pkt) -> Pkt {
        self.settling(response(request.seq), request)
    }

    /// A willing client's Ack for a Response, which leaves the round-trip time unknown likewise.
    pub(crate) fn answer_to(&mut self, response: &Pkt) -> Pkt {
        self.settling(Kind::Ack { ack: response.seq }, response)
    }

    fn settling(&mut self, kind: Kind, asked: &Pkt) -> Pkt {
        let mut options = confirms_for(asked);
        options.extend([43, 4, 0, 1]); // Elapsed Time 10 µs
        self.next(kind).with_raw_options(&options)
    }
}
