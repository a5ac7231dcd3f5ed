use super::*;
use crate::RingPolicy;
use crate::channel::Gate;
use dccp::Listener;
use dccp::unstable::push_event;
use dccp_ring::Shape;

#[test]
fn applications_may_choose_a_ccid_without_the_law_of_the_policy() {
    let allowed = Options::new().law(dccp::law::cubic::Config::default());
    for ccid in [2, 3, 4] {
        let options = settle(allowed.clone(), Some(ccid), &[ServiceCode(1)]);
        let listener = Listener::bind("127.0.0.1:0/0", &options);
        assert!(listener.is_ok(), "{ccid}: {listener:?}");
    }
}

/// Returns the number of descriptors that the server watches for a session.
fn watched(session: &Session) -> usize {
    session
        .sources()
        .filter(|(_, flags)| !flags.is_empty())
        .count()
}

fn room(memory: u64, seats: usize) -> Room {
    Room { memory, seats }
}

/// A session of an application that has connected, and its channel.
fn visitor() -> (Session, Channel) {
    let id = std::thread::current().id();
    let name = format!("dccp-session-{}-{id:?}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let gate = Gate::bind(&path).unwrap();
    let theirs = Channel::connect(&path, LINGER).unwrap();
    let session = Session::new(gate.accept().unwrap()).unwrap();
    std::fs::remove_file(path).unwrap();
    (session, theirs)
}

/// A session with an open connection, and its application's channel.
fn session() -> (Session, Channel, Listener) {
    let listener = Listener::bind("127.0.0.1:0/5001", &Options::new()).unwrap();
    let to = listener.local_addrs()[0];
    let socket = Arc::new(Socket::connect(to, &Options::new()).unwrap());
    let (mut session, theirs) = visitor();
    session.until = None;
    session.resource = Resource::Connection(Lent {
        events: socket.ready_fd().unwrap(),
        has_ended: false,
        entry: Inventory::default().add(session.caller, &socket),
        socket,
        memory: 0,
    });
    (session, theirs, listener)
}

/// Sends events until the channel to its application, which does not read, is full.
fn tell_until_full(session: &mut Session) {
    while session.unsent_reply.is_none() {
        assert_eq!(watched(session), 2);
        let socket = &session.lent().unwrap().socket;
        (0..32).for_each(|_| push_event(socket, Event::SlowReceiver));
        assert!(session.send_events());
    }
}

#[test]
fn client_that_did_not_read_gets_all_events_when_it_reads() {
    let (mut session, theirs, _listener) = session();
    tell_until_full(&mut session);
    let socket = &session.lent().unwrap().socket;
    push_event(socket, Event::PeerNotListening);
    assert!(session.send_events());
    assert!(session.until.is_none() && session.due().is_some());
    let flags: Vec<_> = session.sources().map(|(_, flags)| flags).collect();
    assert_eq!(flags, [PollFlags::IN | PollFlags::OUT, PollFlags::empty()]);
    let (mut slow, mut last) = (0, None);
    loop {
        let Incoming::Message(message, _) = theirs.recv() else {
            if session.unsent_reply.is_none() {
                break;
            }
            assert!(session.send_events());
            continue;
        };
        last = ServerMessage::parse(&message);
        let is_slow = matches!(last, Some(ServerMessage::Event(Event::SlowReceiver, _)));
        slow += usize::from(is_slow);
    }
    assert_eq!(slow % 32, 0, "all that there were");
    assert!(matches!(
        last,
        Some(ServerMessage::Event(Event::PeerNotListening, _))
    ));
}

#[test]
fn ring_stays_while_its_rest_is_unread() {
    let (mut session, _theirs, listener) = session();
    let socket = session.lent().unwrap().socket.clone();
    let peer = listener.accept().unwrap();
    peer.send(b"rest").unwrap();
    drop(peer);
    socket.wait_closed(LINGER).unwrap();
    let mut policy = Policy(Box::new(|_: &RingCaller, _: &RingRequest| {
        Err("nothing".into())
    }));
    let inventory = Inventory::default();
    let mut expire = |session: &mut Session| {
        session.until = Some(clock::now());
        session.turn(&mut Stock::new(&mut policy, &inventory, room(0, 0)))
    };
    assert!(expire(&mut session), "the application may be slow");
    assert!(session.until > Some(clock::now()));
    assert_eq!(socket.recv(&mut [0; 8]).unwrap(), 4);
    assert!(!expire(&mut session), "it has read all");
}

#[test]
fn memory_of_client_that_does_not_read_is_reclaimed_after_the_end() {
    let (mut session, theirs, _listener) = session();
    tell_until_full(&mut session);
    let before = clock::now();
    let socket = &session.lent().unwrap().socket;
    socket.abort();
    socket.wait_closed(LINGER).unwrap();
    // It looks again, although nothing it watches happens.
    assert!(session.due().is_some_and(|at| at <= before + LINGER));
    assert!(session.send_events());
    let until = session.until.unwrap();
    assert!(until >= before + LINGER && until <= clock::now() + LINGER);
    session.until = Some(clock::now());
    let mut policy = Policy(Box::new(|_: &RingCaller, _: &RingRequest| {
        Err("nothing".into())
    }));
    let inventory = Inventory::default();
    let mut end = |session: &mut Session| {
        let mut stock = Stock::new(&mut policy, &inventory, room(0, 0));
        assert!(!session.turn(&mut stock));
        session.outlasts_its_end(&mut policy)
    };
    // Its time is over: the ring goes. Messages that the application does not read keep its seat.
    assert!(end(&mut session));
    assert!(session.lent().is_none() && session.seats() == 1 && session.due().is_some());
    assert!(end(&mut session), "nothing was read");
    drop(theirs);
    assert!(!end(&mut session));
}

/// Allows every listener.
struct Open;

impl RingPolicy for Open {
    fn allow(&mut self, _: &RingCaller, _: &RingRequest) -> Result<Options, String> {
        Err("only listening".into())
    }

    fn allow_listening(
        &mut self,
        _: &RingCaller,
        _: &RingListenRequest,
    ) -> Result<Options, String> {
        Ok(Options::new())
    }
}

/// Returns a session with a listener for one connection at a time, its application's channel, and two clients.
fn listener(stock: &mut Stock<'_>) -> (Session, Channel, [Socket; 2]) {
    let (mut session, theirs) = visitor();
    let request = RingListenRequest::new("127.0.0.1:0/5001".parse().unwrap(), Shape::new(2, 100));
    let listen = ClientMessage::Listen(request.connections(1)).build();
    theirs.send(&listen, &[]).unwrap();
    assert!(session.turn(stock));
    assert_eq!(watched(&session), 1, "nobody waits for connections");
    let ServerMessage::Listening(to) = next_message(&theirs) else {
        panic!("{:?}", session.resource);
    };
    let sockets = [(); 2].map(|()| Socket::connect(to, &Options::new()).unwrap());
    (session, theirs, sockets)
}

fn next_message(theirs: &Channel) -> ServerMessage {
    match theirs.recv() {
        Incoming::Message(message, _) => ServerMessage::parse(&message).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Asks for a connection. Returns true if an answer arrives before the session is over.
fn is_answered(session: &mut Session, theirs: &Channel, stock: &mut Stock<'_>) -> bool {
    theirs.send(&ClientMessage::Accept.build(), &[]).unwrap();
    while session.turn(stock) {
        if watched(session) == 1 {
            return true;
        }
        // It watches for the connection, whose handshake is not complete here.
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

#[test]
fn client_that_does_not_read_its_answers_is_disconnected() {
    let mut policy = Policy(Box::new(Open));
    let inventory = Inventory::default();
    let mut stock = Stock::new(&mut policy, &inventory, room(u64::MAX, 1));
    let (mut session, theirs, _sockets) = listener(&mut stock);
    assert!(is_answered(&mut session, &theirs, &mut stock));
    assert!(matches!(
        next_message(&theirs),
        ServerMessage::Accepted { .. }
    ));
    assert_eq!(stock.room.seats, 0);
    assert!(stock.room.memory < u64::MAX);
    // An application that reads the answer may ask again.
    assert!(is_answered(&mut session, &theirs, &mut stock));
    assert!(matches!(next_message(&theirs), ServerMessage::Refused(_)));
    assert!(is_answered(&mut session, &theirs, &mut stock));
    assert!(!is_answered(&mut session, &theirs, &mut stock));
}

#[test]
fn connection_without_handover_does_not_end_its_listener() {
    let mut policy = Policy(Box::new(Open));
    let inventory = Inventory::default();
    let mut stock = Stock::new(&mut policy, &inventory, room(u64::MAX, 1));
    let (mut session, theirs, _sockets) = listener(&mut stock);
    if dccp_io::local::refuse_descriptors(theirs.as_fd()).is_err() {
        // A system before Linux 6.16: nothing that concerns only this test makes it refuse descriptors.
        return;
    }
    for _ in 0..2 {
        assert!(is_answered(&mut session, &theirs, &mut stock));
        assert!(matches!(next_message(&theirs), ServerMessage::Refused(_)));
    }
    assert_eq!(stock.room.seats, 1);
}
