//! qlog files, read as qvis reads them.

use core::time::Duration;
use dccp_capture::qlog::{Description, Metrics, VantagePoint, Writer};
use dccp_capture::{Direction, header};
use dccp_proto::Seq;
use dccp_proto::wire::{
    AckCell, AckState, ChecksumRule, Elapsed, Kind, Opt, OptionWriter, Options, Packet, Payload,
    ServiceCode, build,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Some numbers after it the sequence numbers wrap.
const ISS: u64 = 0xffff_ffff_fffb;
const PEER_ISS: u64 = 5_000;

/// Makes the captured bytes of a packet and reads them back, as a tap does.
fn add(file: &mut Writer<Vec<u8>>, ms: u64, direction: Direction, packet: &Packet<'_>) {
    let mut bytes = Vec::new();
    build(&mut bytes, packet, ChecksumRule::Udp).expect("a valid packet");
    let captured = &bytes[..header::capture_len(&bytes, 0)];
    let packet = header::read(captured, bytes.len()).expect("a whole header");
    let at = Duration::from_millis(ms);
    file.packet(at, 1, direction, &packet, bytes.len())
        .expect("memory");
}

fn packet<'a>(seq: u64, kind: Kind, options: Options<'a>, payload: &'a [u8]) -> Packet<'a> {
    Packet {
        source_port: 5001,
        dest_port: 6001,
        ccval: 0,
        cscov: 0,
        is_short: false,
        seq: Seq::new(seq),
        kind,
        options,
        payload: Payload::Bytes(payload),
    }
}

fn request(seq: u64) -> Packet<'static> {
    let service = ServiceCode(42);
    packet(seq, Kind::Request { service }, Options::EMPTY, &[])
}

fn data(seq: u64) -> Packet<'static> {
    packet(seq, Kind::Data, Options::EMPTY, &[7; 500])
}

fn ack(seq: u64, ack: u64, options: Options<'_>) -> Packet<'_> {
    let ack = Seq::new(ack);
    packet(seq, Kind::Ack { ack }, options, &[])
}

fn new_file() -> Writer<Vec<u8>> {
    let description = Description {
        title: "a \"quoted\" title",
        vantage_point: VantagePoint::Client,
        start_ns: 1_700_000_000_250_000_000,
    };
    Writer::new(Vec::new(), &description).expect("memory")
}

/// All records of a file.
fn records(file: Writer<Vec<u8>>) -> Vec<Value> {
    let text = String::from_utf8(file.finish().expect("memory")).expect("UTF-8");
    let records = text.strip_prefix('\x1e').expect("a record separator");
    records
        .split('\x1e')
        .map(|record| {
            let json = record.strip_suffix('\n').expect("a newline ends a record");
            serde_json::from_str(json).expect("JSON")
        })
        .collect()
}

/// A sent packet as qvis draws it.
#[derive(Debug, Default, PartialEq)]
struct Drawn {
    length: u64,
    acked_at: Option<f64>,
    lost_at: Option<f64>,
}

/// Reads the events of one connection by the rules of qvis's congestion graph: a packet has a length, and
/// acknowledgements and losses name packets of the same type that were sent.
fn drawn(records: &[Value]) -> BTreeMap<i64, Drawn> {
    let mut drawn: BTreeMap<i64, Drawn> = BTreeMap::new();
    for event in &records[1..] {
        let data = &event["data"];
        let time = event["time"].as_f64().expect("a time");
        let number = |header: &Value| {
            assert_eq!(header["packet_type"], "1RTT");
            header["packet_number"].as_i64().expect("a number")
        };
        match event["name"].as_str().expect("a name") {
            "transport:packet_sent" => {
                let length = data["raw"]["length"].as_u64().expect("a length");
                let sent = drawn.entry(number(&data["header"])).or_default();
                sent.length = length;
            }
            "transport:packet_received" => {
                number(&data["header"]);
                for frame in data["frames"].as_array().into_iter().flatten() {
                    assert_eq!(frame["frame_type"], "ack");
                    for range in frame["acked_ranges"].as_array().expect("ranges") {
                        let [from, to] = [0, 1].map(|n| range[n].as_i64().expect("a number"));
                        for number in from..=to {
                            let sent = drawn.get_mut(&number).expect("a sent packet");
                            sent.acked_at.get_or_insert(time);
                        }
                    }
                }
            }
            "recovery:packet_lost" => {
                let sent = drawn.get_mut(&number(&data["header"]));
                sent.expect("a sent packet").lost_at = Some(time);
            }
            "recovery:metrics_updated" => {}
            other => panic!("an unknown event {other}"),
        }
    }
    drawn
}

#[test]
fn file_begins_with_the_header_that_qvis_wants() {
    let records = records(new_file());
    let header = json!({
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": "a \"quoted\" title",
        "trace": {
            "title": "a \"quoted\" title",
            "vantage_point": { "type": "client" },
            "common_fields": {
                "time_format": "relative",
                "reference_time": 1_700_000_000_250.0
            }
        }
    });
    assert_eq!(records, [header]);
}

#[test]
fn qlog_has_what_qvis_draws() {
    let mut file = new_file();
    let (sent, received) = (Direction::Out, Direction::In);
    add(&mut file, 0, sent, &request(ISS));
    let response = Kind::Response {
        ack: Seq::new(ISS),
        service: ServiceCode(42),
    };
    add(
        &mut file,
        20,
        received,
        &packet(PEER_ISS, response, Options::EMPTY, &[]),
    );
    add(&mut file, 20, sent, &ack(ISS + 1, PEER_ISS, Options::EMPTY));
    for n in 2..10 {
        add(&mut file, 20 + n, sent, &data(ISS + n));
    }
    // Packets 9 and 8 arrived, 7 is lost, 6 was marked, 5 to 2 arrived.
    let cells = [
        (AckState::Received, 2),
        (AckState::NotReceived, 1),
        (AckState::Marked, 1),
        (AckState::Received, 4),
    ]
    .map(|(state, len)| AckCell { state, len }.to_byte());
    let mut options = OptionWriter::new(100);
    let vector = Opt::AckVector {
        nonce: false,
        cells: &cells,
    };
    options.push(&vector).expect("room");
    options
        .push(&Opt::ElapsedTime(Elapsed::from_duration(
            Duration::from_millis(3),
        )))
        .expect("room");
    add(
        &mut file,
        60,
        received,
        &ack(PEER_ISS + 1, ISS + 9, options.options()),
    );
    file.lost(Duration::from_millis(61), 1, Seq::new(ISS + 7))
        .expect("memory");

    let records = records(file);
    let all = drawn(&records);
    assert_eq!(all.len(), 10, "the numbers count from 0, over the wrap");
    for (&number, packet) in &all {
        let (acked_at, lost_at) = match number {
            0 => (Some(20.0), None),
            // The vector goes back to packet 2.
            1 => (None, None),
            7 => (None, Some(61.0)),
            _ => (Some(60.0), None),
        };
        assert_eq!(
            (packet.acked_at, packet.lost_at),
            (acked_at, lost_at),
            "packet {number}"
        );
    }
    assert_eq!(all[&2].length, 516, "16 bytes of header, 500 of data");
    let last_ack = &records[records.len() - 2]["data"];
    assert_eq!(
        last_ack["frames"],
        json!([{
            "frame_type": "ack",
            "ack_delay": 3.0,
            "acked_ranges": [[8, 9], [2, 6]],
            "dccp_marked": 1
        }])
    );
    assert_eq!(last_ack["header"]["dccp_type"], "Ack");
    assert_eq!(last_ack["header"]["dccp_seq"], PEER_ISS + 1);
    assert_eq!(records[5]["data"]["raw"]["payload_length"], 500);
    assert_eq!(records[5]["group_id"], "1");
}

#[test]
fn metrics_have_the_names_and_units_of_qlog() {
    let mut file = new_file();
    let metrics = Metrics {
        min_rtt: Some(Duration::from_micros(20_500)),
        smoothed_rtt: Some(Duration::from_millis(25)),
        latest_rtt: Some(Duration::from_millis(30)),
        congestion_window_bytes: Some(14_600),
        in_flight_bytes: Some(13_000),
        ssthresh_bytes: None,
        pacing_rate_bps: Some(10_000_000),
    };
    file.metrics(Duration::from_micros(1_500), 3, &metrics)
        .expect("memory");
    let event = json!({
        "time": 1.5,
        "name": "recovery:metrics_updated",
        "group_id": "3",
        "data": {
            "min_rtt": 20.5,
            "smoothed_rtt": 25.0,
            "latest_rtt": 30.0,
            "congestion_window": 14_600,
            "bytes_in_flight": 13_000,
            "pacing_rate": 10_000_000
        }
    });
    assert_eq!(records(file)[1], event);
}

#[test]
fn short_numbers_count_like_long_ones() {
    let mut file = new_file();
    let last_short = 0x1_00ff_ffff;
    add(&mut file, 0, Direction::Out, &data(last_short));
    let next = Packet {
        is_short: true,
        ..data(last_short + 1)
    };
    add(&mut file, 1, Direction::Out, &next);
    add(&mut file, 2, Direction::In, &request(PEER_ISS));
    let short_ack = Packet {
        is_short: true,
        ..ack(PEER_ISS + 1, last_short + 1, Options::EMPTY)
    };
    add(&mut file, 3, Direction::In, &short_ack);
    let records = records(file);
    assert_eq!(records[2]["data"]["header"]["dccp_seq"], last_short + 1);
    let all = drawn(&records);
    assert_eq!(all.keys().copied().collect::<Vec<_>>(), [0, 1]);
    assert_eq!(all[&1].acked_at, Some(3.0));
}

#[test]
fn sync_acknowledges_no_packet() {
    let mut file = new_file();
    add(&mut file, 0, Direction::Out, &data(ISS));
    let sync = Kind::Sync { ack: Seq::new(ISS) };
    add(
        &mut file,
        1,
        Direction::In,
        &packet(PEER_ISS, sync, Options::EMPTY, &[]),
    );
    assert_eq!(drawn(&records(file))[&0].acked_at, None);
}

#[test]
fn times_never_fall() {
    let mut file = new_file();
    add(&mut file, 5, Direction::Out, &data(ISS));
    add(&mut file, 4, Direction::Out, &data(ISS + 1));
    let records = records(file);
    assert_eq!([&records[1]["time"], &records[2]["time"]], [5.0, 5.0]);
}

#[test]
fn loss_without_packets_of_the_connection_is_left_out() {
    let mut file = new_file();
    file.lost(Duration::ZERO, 1, Seq::new(ISS)).expect("memory");
    assert_eq!(records(file).len(), 1);
}
