//! A client and a server in network namespaces.

use crate::support::{PROGRAM, read};
use dccp_netns::{Namespace, veth};
use dccpmon::schema::Ledger;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// The server's address.
pub(crate) const SERVER: &str = "10.82.0.2";
/// The client's address.
pub(crate) const CLIENT: &str = "10.82.0.1";

/// Two hosts.
pub(crate) struct Hosts {
    pub(crate) client: Namespace,
    pub(crate) server: Namespace,
    /// A command that runs the program that is named after it.
    pub(crate) runner: &'static [&'static str],
}

impl Hosts {
    /// Two hosts without a link; `None`, after a line that says so, where the system does not permit namespaces.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let made = Namespace::new("client").and_then(|client| {
            Ok(Self {
                client,
                server: Namespace::new("server")?,
                runner: &[],
            })
        });
        made.inspect_err(|e| println!("SKIP {test}: needs root and network namespaces: {e}"))
            .ok()
    }

    /// Connects the hosts by a cable.
    pub(crate) fn connect(&self) {
        veth(&self.client, &self.server, "eth0").unwrap();
        let ends = [(&self.client, CLIENT), (&self.server, SERVER)];
        for (host, address) in ends {
            host.add_address("eth0", &format!("{address}/24")).unwrap();
        }
    }

    /// Starts a server.
    pub(crate) fn serve(&self, arguments: &[&str]) -> Server {
        let words = [self.runner, &[PROGRAM, "serve", "-4"], arguments].concat();
        let mut command = self.server.command(&words);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut banner = String::new();
        output.read_line(&mut banner).unwrap();
        assert!(banner.starts_with("dccpmon "), "{banner}");
        Server {
            child,
            _output: output,
        }
    }

    /// A test against the server.
    pub(crate) fn test(&self, arguments: &[&str]) -> Command {
        let words = [self.runner, &[PROGRAM, SERVER, "-J"], arguments].concat();
        self.client.command(&words)
    }

    /// The document of a whole test.
    pub(crate) fn document(&self, arguments: &[&str]) -> Value {
        whole(&self.test(arguments).output().unwrap())
    }
}

/// The document of a test that ended well.
pub(crate) fn whole(output: &Output) -> Value {
    let document = read(output);
    assert_eq!(document["status"], "complete", "{document:#}");
    for flow in document["summary"]["flows"].as_array().unwrap() {
        let ledger: Ledger = serde_json::from_value(flow["ledger"].clone()).unwrap();
        assert!(ledger.is_closed(), "{flow:#}");
    }
    document
}

/// A server; ended when dropped. `ip netns exec` becomes the program, so that the child is the server itself.
pub(crate) struct Server {
    pub(crate) child: Child,
    /// Its output; a closed one would end it.
    _output: BufReader<ChildStdout>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
