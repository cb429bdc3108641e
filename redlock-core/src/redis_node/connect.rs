//! Making a connection that may vote.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::redis::ConnectionAddr;
use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, tcp};
#[cfg(unix)]
use tokio::net::{UnixStream, unix};

use crate::node::{NodeError, NodeErrorKind};

use super::address::RedisAddress;
use super::command::{Dialect, introductions};
use super::wire::{Value, decode, pack};

/// The bytes to and from a server, over whatever carries them.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The half of a connection that the driver reads.
pub(super) type Reader = Box<dyn AsyncRead + Send + Unpin>;

/// The half of a connection that driver and callers write to, one at a time.
pub(super) trait Writer: Send + Sync {
    /// Writes what the socket takes right now; `WouldBlock` where that is nothing.
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Arranges for the driver to be woken when the socket takes more.
    fn poll_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;
}

impl Writer for tcp::OwnedWriteHalf {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.as_ref().try_write(bytes)
    }

    fn poll_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.as_ref().poll_write_ready(context)
    }
}

#[cfg(unix)]
impl Writer for unix::OwnedWriteHalf {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.as_ref().try_write(bytes)
    }

    fn poll_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.as_ref().poll_write_ready(context)
    }
}

/// A connection that is logged in and understood.
pub(super) struct Connected {
    pub(super) reader: Reader,
    pub(super) writer: Arc<dyn Writer>,
    pub(super) dialect: Dialect,
}

/// Connects, logs in and learns the server's version.
///
/// Dropping the future closes the socket.
pub(super) async fn connect(address: &RedisAddress) -> Result<Connected, NodeError> {
    match address.info.addr() {
        ConnectionAddr::Tcp(host, port) => {
            let mut stream = TcpStream::connect((host.as_str(), *port))
                .await
                .map_err(|error| broken(&error))?;
            // A lock is one small message each way; waiting to fill a packet would cost 40 ms.
            stream.set_nodelay(true).map_err(|error| broken(&error))?;
            let dialect = handshake(&mut stream, address).await?;
            let (reader, writer) = stream.into_split();
            Ok(Connected {
                reader: Box::new(reader),
                writer: Arc::new(writer),
                dialect,
            })
        }
        #[cfg(unix)]
        ConnectionAddr::Unix(path) => {
            let mut stream = UnixStream::connect(path)
                .await
                .map_err(|error| broken(&error))?;
            let dialect = handshake(&mut stream, address).await?;
            let (reader, writer) = stream.into_split();
            Ok(Connected {
                reader: Box::new(reader),
                writer: Arc::new(writer),
                dialect,
            })
        }
        _ => Err(not_connected("this kind of address is not supported")),
    }
}

/// Before the node may vote: credentials, database, version.
async fn handshake(stream: &mut dyn Stream, address: &RedisAddress) -> Result<Dialect, NodeError> {
    let settings = address.info.redis_settings();
    let user = settings.username().unwrap_or("default");
    let password = settings.password();
    let mut buffer = BytesMut::new();

    let mut hello: Vec<&[u8]> = vec![b"HELLO", b"2"];
    if let Some(password) = password {
        hello.extend([b"AUTH".as_slice(), user.as_bytes(), password.as_bytes()]);
    }
    let version = match exchange(stream, &mut buffer, &pack(hello.into_iter()), hello_version)
        .await?
    {
        Ok(version) => version,
        // Redis before 6.0 has no HELLO: log in the old way, and expect nothing newer.
        Err(error) if error.starts_with("ERR unknown command") || error.starts_with("NOPROTO") => {
            if let Some(password) = password {
                let old = [b"AUTH".as_slice(), password.as_bytes()];
                exchange(stream, &mut buffer, &pack(old.into_iter()), |_| ())
                    .await?
                    .map_err(not_connected)?;
            }
            0
        }
        Err(error) => return Err(not_connected(error)),
    };
    if settings.db() != 0 {
        let db = settings.db().to_string();
        let select = [b"SELECT".as_slice(), db.as_bytes()];
        exchange(stream, &mut buffer, &pack(select.into_iter()), |_| ())
            .await?
            .map_err(not_connected)?;
    }
    for script in introductions() {
        let refused = |error| {
            let what = "the server does not run the scripts that a release needs";
            not_connected(format!("{what}: {error}"))
        };
        exchange(stream, &mut buffer, &script, |_| ())
            .await?
            .map_err(refused)?;
    }
    Ok(if version >= 7 {
        Dialect::NamesHolder
    } else {
        Dialect::Plain
    })
}

/// The major version in the reply to HELLO: a flat list of names and values.
fn hello_version(value: &Value<'_>) -> u32 {
    let Value::Array(fields) = value else {
        return 0;
    };
    let mut fields = fields.iter();
    while let (Some(name), Some(value)) = (fields.next(), fields.next()) {
        if let (Value::Bulk(b"version"), Value::Bulk(version)) = (name, value) {
            let major = version
                .split(|byte| *byte == b'.')
                .next()
                .unwrap_or_default();
            return std::str::from_utf8(major)
                .ok()
                .and_then(|text| text.parse().ok())
                .unwrap_or(0);
        }
    }
    0
}

/// Sends one command and reads its reply: what `read` makes of it, or the server's error text.
async fn exchange<T>(
    stream: &mut dyn Stream,
    buffer: &mut BytesMut,
    command: &[u8],
    read: impl Fn(&Value<'_>) -> T,
) -> Result<Result<T, String>, NodeError> {
    stream
        .write_all(command)
        .await
        .map_err(|error| broken(&error))?;
    loop {
        if let Some((value, length)) = decode(buffer).map_err(|_| not_redis())? {
            let result = match &value {
                Value::Error(text) => Err(NodeError::server(text).to_string()),
                value => Ok(read(value)),
            };
            buffer.advance(length);
            return Ok(result);
        }
        if stream
            .read_buf(buffer)
            .await
            .map_err(|error| broken(&error))?
            == 0
        {
            return Err(not_connected("the server closed the connection"));
        }
    }
}

fn not_connected(detail: impl Into<Arc<str>>) -> NodeError {
    NodeError::unsent(NodeErrorKind::NotConnected, detail)
}

fn not_redis() -> NodeError {
    not_connected("what answered does not speak the Redis protocol")
}

fn broken(error: &io::Error) -> NodeError {
    not_connected(describe(error))
}

/// `connection refused` rather than `Connection refused (os error 111)`.
pub(super) fn describe(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(_) => error.kind().to_string(),
        None => error.to_string(),
    }
}
