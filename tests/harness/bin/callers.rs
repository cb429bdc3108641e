//! Callers of one process that want a permit again and again, for tests that say when each of them leaves.
//!
//! `callers ADDRESS PROCESS COUNT PERMITS URL…` runs that number of callers. Each of them connects to the address. Once
//! it has a permit of `r`, it sends the number of its process, one byte. Then it waits for a byte, releases the permit,
//! and asks again.

use std::io;
use std::str::FromStr;
use std::time::Duration;

use redlock_core::request::{Kind, RetryLimit};
use redlock_core::{Client, IoThread, NodeSet, Request, Settings};
use redlock_tests::connect;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// The node timeout, which is long because no test depends on it.
const NODE_TIMEOUT: Duration = Duration::from_secs(20);
const TTL: Duration = Duration::from_secs(600);

#[derive(Clone)]
struct Caller {
    client: Client,
    nodes: NodeSet,
    request: Request,
    address: String,
    process: u8,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut args = std::env::args().skip(1);
    let address = args.next().expect("the address of a test");
    let process = number(args.next());
    let count = number(args.next());
    let kind = Kind::Permits(number(args.next()));
    let io = IoThread::start().expect("a thread");
    let nodes = connect(args, &io).await;
    let settings = Settings::default().node_timeout(NODE_TIMEOUT);
    let request = Request::new("r")
        .kind(kind)
        .ttl(TTL)
        .retry_limit(RetryLimit::Forever);
    let caller = Caller {
        client: Client::with_settings(io.environment(), settings),
        nodes,
        request,
        address,
        process,
    };
    println!("ready");
    let callers: JoinSet<_> = (0..count).map(|_: u8| caller.clone().run()).collect();
    callers.join_all().await;
}

fn number<N: FromStr>(arg: Option<String>) -> N {
    let number = arg.and_then(|arg| arg.parse().ok());
    number.expect("a number")
}

impl Caller {
    /// Takes a permit and gives it back, until the test has ended.
    async fn run(self) -> io::Result<()> {
        let mut test = TcpStream::connect(&self.address).await?;
        loop {
            let lease = self.client.acquire(&self.nodes, &self.request).await;
            let lease = lease.expect("a permit, as it waits for ever");
            test.write_u8(self.process).await?;
            test.read_u8().await?;
            lease.release().await;
        }
    }
}
