//! A minimal HTTP client for the tour.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Sends requests, each on a connection of its own.
#[derive(Clone, Copy)]
pub(crate) struct Client {
    address: SocketAddr,
}

/// A request that was sent.
pub(crate) struct Sent {
    pub(crate) id: String,
    pub(crate) at: Instant,
    stream: TcpStream,
}

/// A request with its end.
pub(crate) struct Exchange {
    pub(crate) id: String,
    pub(crate) sent: Instant,
    pub(crate) ended: Instant,
    /// `None` where the client closed the connection.
    pub(crate) reply: Option<Reply>,
}

/// What came back.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The status line without the version, such as `423 Locked`.
    pub(crate) status_line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address }
    }

    /// `POST path`, under a name that the service knows the request by.
    pub(crate) async fn send(self, id: &str, path: &str) -> io::Result<Sent> {
        let at = Instant::now();
        let mut stream = TcpStream::connect(self.address).await?;
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nX-Request-Id: {id}\r\nConnection: close\r\n\
             Content-Length: 0\r\n\r\n",
            self.address,
        );
        stream.write_all(request.as_bytes()).await?;
        let id = id.to_owned();
        Ok(Sent { id, at, stream })
    }

    /// The same, up to the reply.
    pub(crate) async fn post(self, id: &str, path: &str) -> io::Result<Exchange> {
        self.send(id, path).await?.reply().await
    }
}

impl Sent {
    pub(crate) async fn reply(mut self) -> io::Result<Exchange> {
        let reply = self.read().await?;
        Ok(self.ended_with(Some(reply)))
    }

    /// The same, but for a client that closes the connection when it has waited for `patience`.
    pub(crate) async fn reply_within(mut self, patience: Duration) -> io::Result<Exchange> {
        match timeout(patience, self.read()).await {
            Ok(reply) => {
                let reply = reply?;
                Ok(self.ended_with(Some(reply)))
            }
            Err(_) => Ok(self.ended_with(None)),
        }
    }

    async fn read(&mut self) -> io::Result<Reply> {
        let mut text = String::new();
        self.stream.read_to_string(&mut text).await?;
        Reply::parse(&text)
            .ok_or_else(|| io::Error::new(ErrorKind::InvalidData, format!("no HTTP: {text:?}")))
    }

    /// Closes the connection.
    fn ended_with(self, reply: Option<Reply>) -> Exchange {
        Exchange {
            id: self.id,
            sent: self.at,
            ended: Instant::now(),
            reply,
        }
    }
}

impl Reply {
    fn parse(text: &str) -> Option<Self> {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let mut lines = head.split("\r\n");
        let (_version, status_line) = lines.next()?.split_once(' ')?;
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        });
        Some(Self {
            status: status_line.split(' ').next()?.parse().ok()?,
            status_line: status_line.to_owned(),
            headers: headers.collect::<Option<_>>()?,
            body: body.to_owned(),
        })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }
}
