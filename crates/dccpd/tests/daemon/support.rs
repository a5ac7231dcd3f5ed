//! A running daemon, and programs that use it.

use dccp::clock;
use dccp::packet_ring::{Label, Shape};
use dccp_dev::rerun;
use dccp_dev::shell::Background;
use dccp_ring_ipc::{RingClient, RingConnectError, RingListenRequest, RingListener, RingRequest};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

/// Long enough for everything here, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Rings of these tests.
pub(crate) const SHAPE: Shape = Shape::new(64, 1400);

/// Lets every user do everything here.
pub(crate) const OPEN: &str = "
[[rule]]
users = [\"*\"]
connect = [\"*\"]
listen = [\"*\"]
ccids = [2, 3, 4, \"safeudp\"]
max-connections = 5000
";

/// Whether the test runs in a network of its own. If not, it has run there.
pub(crate) fn is_inside(name: &str) -> bool {
    rerun::is_inside(name, "")
}

/// A daemon in a folder of its own.
pub(crate) struct Daemon {
    pub(crate) folder: PathBuf,
    process: Option<Background>,
}

impl Daemon {
    /// Starts a daemon with these keys and rules beside the paths of its sockets.
    pub(crate) fn start(name: &str, policy: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let mut daemon = Self {
            folder,
            process: None,
        };
        daemon.write_policy(policy);
        daemon.restart();
        daemon
    }

    /// Starts the daemon again, after it was killed.
    pub(crate) fn restart(&mut self) {
        self.restart_by(Command::new(env!("CARGO_BIN_EXE_dccpd")));
    }

    /// As [`restart`](Self::restart), by a command to which the policy is added.
    pub(crate) fn restart_by(&mut self, mut command: Command) {
        command.arg("--policy").arg(self.policy());
        self.process = None;
        self.process = Some(Background::start(command, "lends DCCP").unwrap());
    }

    pub(crate) fn write_policy(&self, policy: &str) {
        let [socket, admin] = [self.socket(), self.admin()];
        let (socket, admin) = (socket.display(), admin.display());
        let text = format!("socket = \"{socket}\"\nadmin-socket = \"{admin}\"\n{policy}");
        // The daemon never sees a part of it.
        let new = self.folder.join("new.toml");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.policy()).unwrap();
    }

    pub(crate) fn policy(&self) -> PathBuf {
        self.folder.join("policy.toml")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    pub(crate) fn admin(&self) -> PathBuf {
        self.folder.join("admin")
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.as_ref().unwrap().id()
    }

    /// Sends a signal, by its name.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.id().to_string();
        let kill = Command::new("kill")
            .args([&format!("-{signal}"), &id])
            .status();
        assert!(kill.unwrap().success());
    }

    /// Kills the daemon.
    pub(crate) fn kill(&mut self) {
        self.process = None;
    }

    /// Ends the daemon, and returns the rest of its output.
    pub(crate) fn end(mut self) -> String {
        self.signal("TERM");
        self.process.take().unwrap().finish().unwrap()
    }

    /// Runs `dccpctl`.
    pub(crate) fn control(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dccpctl"));
        command.arg("--admin-socket").arg(self.admin()).args(words);
        command.output().unwrap()
    }

    /// The output of `dccpctl`, which succeeds.
    pub(crate) fn show(&self, words: &[&str]) -> String {
        let output = self.control(words);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The connections, as `dccpctl` lists them.
    pub(crate) fn connections(&self) -> Vec<serde_json::Value> {
        serde_json::from_str(&self.show(&["connections", "--json"])).unwrap()
    }

    /// The listeners, as `dccpctl` lists them.
    pub(crate) fn listeners(&self) -> Vec<serde_json::Value> {
        serde_json::from_str(&self.show(&["listeners", "--json"])).unwrap()
    }

    pub(crate) fn listen(&self, at: &str) -> Result<RingListener, RingConnectError> {
        self.listen_to(&RingListenRequest::new(at.parse().unwrap(), SHAPE))
    }

    pub(crate) fn listen_to(
        &self,
        request: &RingListenRequest,
    ) -> Result<RingListener, RingConnectError> {
        let mut listener = RingListener::bind(self.socket(), request)?;
        listener.set_timeout(Some(PATIENCE));
        Ok(listener)
    }

    pub(crate) fn connect(&self, to: &str) -> Result<RingClient, RingConnectError> {
        self.connect_by(&RingRequest::new(to.parse().unwrap(), SHAPE))
    }

    pub(crate) fn connect_by(&self, request: &RingRequest) -> Result<RingClient, RingConnectError> {
        let mut client = RingClient::connect_timeout(self.socket(), request, PATIENCE)?;
        client.set_timeout(Some(PATIENCE));
        Ok(client)
    }

    /// Both ends of a connection through the daemon.
    pub(crate) fn pair(&self) -> (RingClient, RingClient) {
        let mut listener = self.listen("127.0.0.1:0/5001").unwrap();
        let client = self.connect("127.0.0.1:6511/5001").unwrap();
        let mut server = listener.accept().unwrap();
        server.set_timeout(Some(PATIENCE));
        (client, server)
    }
}

/// Sends a datagram and checks that the other end gets it.
pub(crate) fn exchange(from: &mut RingClient, to: &mut RingClient) {
    from.sender().push(b"hello", Label::default()).unwrap();
    let mut buf = [0; 1400];
    assert_eq!(to.recv(&mut buf), Ok(5));
    assert_eq!(&buf[..5], b"hello");
}

/// Repeats a look until it finds what it looks for.
pub(crate) fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let begin = clock::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!((clock::now() - begin) < PATIENCE, "this does not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The text of a refusal.
pub(crate) fn refusal<T>(result: Result<T, RingConnectError>) -> String {
    match result {
        Err(RingConnectError::Refused(why)) => why,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it is not refused"),
    }
}
