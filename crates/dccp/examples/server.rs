//! Serves many clients with one thread for each, and closes all connections at the end within one deadline.

use dccp::{Listener, Options, RecvError, Socket};
use std::error::Error;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const CLIENTS: usize = 20;
/// Questions of each client.
const QUESTIONS: usize = 5;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    // A client that vanishes without a Close ends after 30 s.
    let options = Options::new()
        .service_code(*b"ECHO")
        .dead_after(Duration::from_secs(30));
    let listener = Listener::bind("127.0.0.1:0/0", &options)?;
    let address = listener.local_addrs()[0];
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let options = options.clone();
            thread::spawn(move || Socket::connect(address, &options).map(|socket| ask(&socket)))
        })
        .collect();

    // A server that runs for ever accepts in a loop until a signal ends it.
    let mut sockets = Vec::new();
    let mut threads = Vec::new();
    for _ in 0..CLIENTS {
        let socket = Arc::new(listener.accept()?);
        sockets.push(socket.clone());
        threads.push(thread::spawn(move || serve(&socket)));
    }

    let mut answers = 0;
    for client in clients {
        answers += client.join().map_err(|_| "a client panicked")??;
    }
    // All connections close at the same time. The threads then end, because `recv` reports the end.
    let open = Socket::close_all(sockets.iter().map(Arc::as_ref), Duration::from_secs(10));
    let mut served = 0;
    for thread in threads {
        served += thread.join().map_err(|_| "a thread panicked")?;
    }
    println!("{served} questions, {answers} answers, {open} connections still open");
    assert_eq!((answers, open), (CLIENTS * QUESTIONS, 0));
    Ok(())
}

/// Sends back what one client sends, until either end closes. Returns the number of datagrams.
///
/// An error concerns this client only: the server goes on with the others.
fn serve(socket: &Socket) -> usize {
    let mut served = 0;
    let mut buf = [0; 1500];
    loop {
        match socket.recv(&mut buf) {
            Ok(len) if socket.send(&buf[..len]).is_ok() => served += 1,
            Ok(_) | Err(RecvError::Closed(_)) => return served,
            Err(error) => {
                eprintln!("{}: {error}", socket.peer_addr());
                eprintln!("  {}", error.next_step());
                return served;
            }
        }
    }
}

/// Asks the server some questions. Returns the number of answers.
fn ask(socket: &Socket) -> usize {
    let mut buf = [0; 100];
    let is_answered = |n: &usize| {
        let question = format!("question {n}");
        let sent = socket.send(question.as_bytes());
        sent.is_ok()
            && socket
                .recv(&mut buf)
                .is_ok_and(|len| buf[..len] == *question.as_bytes())
    };
    (0..QUESTIONS).filter(is_answered).count()
}
