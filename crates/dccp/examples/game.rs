//! A game server with 20 clients: of each player only the newest state counts. (Feature `tokio`)
//!
//! The server sends every client the state of every player, with the player as the key: a newer state replaces an older
//! one that still waits. States older than 100 ms are not sent, and a client that vanishes is freed by itself.

use dccp::tokio::{Listener, Socket};
use dccp::{Options, SendOptions, WhenFull};
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

const CLIENTS: u8 = 20;
const TICKS: u8 = 20;
const TICK: Duration = Duration::from_millis(25);

/// The position of each player.
type World = Arc<Mutex<[u8; CLIENTS as usize]>>;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::new()
        .service_code(*b"GAME")
        .when_full(WhenFull::DropOldest)
        .lifetime(Duration::from_millis(100))
        .dead_after(Duration::from_secs(30));
    let listener = Listener::bind("127.0.0.1:0/5001", &options).await?;
    let address = listener.local_addrs()[0];
    let server = tokio::spawn(serve(listener));

    let mut clients = JoinSet::new();
    for player in 0..CLIENTS {
        let options = options.clone();
        clients.spawn(async move {
            let socket = Socket::connect(address, &options).await.ok()?;
            Some(play(&socket, player).await)
        });
    }
    let mut complete = 0;
    while let Some(seen) = clients.join_next().await {
        let seen = seen?.ok_or("a client could not connect")?;
        complete += usize::from(seen == usize::from(CLIENTS));
    }
    server.abort();
    println!("{complete} of {CLIENTS} clients saw all players");
    assert!(complete >= usize::from(CLIENTS) / 2);
    Ok(())
}

async fn serve(listener: Listener) {
    let world = World::default();
    while let Ok(socket) = listener.accept().await {
        let socket = Arc::new(socket);
        tokio::spawn(take_inputs(socket.clone(), world.clone()));
        tokio::spawn(send_states(socket, world.clone()));
    }
}

/// An input is a player and its new position.
async fn take_inputs(socket: Arc<Socket>, world: World) {
    let mut buf = [0; 100];
    while let Ok(len) = socket.recv(&mut buf).await {
        if let [player, position] = buf[..len]
            && let Ok(mut world) = world.lock()
            && let Some(known) = world.get_mut(usize::from(player))
        {
            *known = position;
        }
    }
}

async fn send_states(socket: Arc<Socket>, world: World) {
    let mut ticks = interval(TICK);
    loop {
        ticks.tick().await;
        let states = world
            .lock()
            .map_or_else(|e| *e.into_inner(), |world| *world);
        for (player, position) in (0..CLIENTS).zip(states) {
            let newest = SendOptions::new().key(u64::from(player));
            let sent = socket.send_with(&[player, position], newest).await;
            if sent.is_err() {
                return;
            }
        }
    }
}

/// Moves, and returns how many players it saw moving.
async fn play(socket: &Socket, player: u8) -> usize {
    let mut seen = [false; CLIENTS as usize];
    let mut buf = [0; 100];
    let mut ticks = interval(TICK);
    for position in 1..=TICKS {
        ticks.tick().await;
        if socket.send(&[player, position]).await.is_err() {
            break;
        }
        while let Ok(Ok(len)) = timeout(Duration::ZERO, socket.recv(&mut buf)).await {
            if let [other, position] = buf[..len]
                && position > 0
                && let Some(seen) = seen.get_mut(usize::from(other))
            {
                *seen = true;
            }
        }
    }
    seen.iter().filter(|seen| **seen).count()
}
