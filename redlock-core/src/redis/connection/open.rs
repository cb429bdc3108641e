//! Opens connections of the `redis` crate, and tries the addresses of a server one after another.

use std::future::ready;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::{Pin, pin};
use std::time::Duration;

use ::redis::aio::MultiplexedConnection;
use ::redis::io::AsyncDNSResolver;
use ::redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, RedisFuture, RedisResult,
};
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::task::JoinSet;

use crate::io_thread::IoThread;
use crate::node::NodeError;
use crate::panics::{text_of, unless_it_panics};
use crate::redis::address::{Opener, Server};
use crate::redis::errors::{not_connected, together};

/// An address to try. `None` leaves the choice to the URL or the client.
pub(super) type At = Option<SocketAddr>;

/// Selects the addresses of a server's name to connect to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::redis) enum ConnectTo {
    /// The first address with a wanted result.
    First,
    /// All addresses.
    All,
}

/// A connection of the crate, and the task that reads and writes for it. Dropping it closes the socket.
pub(in crate::redis) struct Opened {
    pub(super) connection: MultiplexedConnection,
    /// The task that reads and writes. Empty if the crate has spawned it.
    _task: JoinSet<()>,
    /// Gets a message when the task has ended, and closes if a runtime that ends has dropped the task. `None` if the
    /// crate has spawned it.
    task_ended: Option<oneshot::Receiver<()>>,
}

impl Opened {
    /// Returns true if the connection broke because its runtime ends, which drops the connection's task.
    pub(super) fn was_dropped_by_runtime(&mut self) -> bool {
        let ended = self.task_ended.as_mut().map(oneshot::Receiver::try_recv);
        matches!(ended, Some(Err(TryRecvError::Closed)))
    }
}

/// Returns the addresses of `server`, in the order in which all processes try them.
async fn addresses(server: &Server, io: &IoThread) -> Result<Vec<At>, NodeError> {
    match server.addr() {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. }
            if server.opener != Opener::CrateAndResolver =>
        {
            let found = io.addresses(host, *port).await.map_err(not_connected)?;
            Ok(found.into_iter().map(Some).collect())
        }
        _ => Ok(vec![None]),
    }
}

/// Runs `attempt` for the addresses of `server`. Returns the best result, and then the others. Wanted results come
/// first; among equals, the order of the addresses decides.
///
/// For [`ConnectTo::First`], an attempt that fails, gives an unwanted result, or takes longer than its share of the
/// time `within` starts the next one. The first wanted result ends the attempts. For [`ConnectTo::All`], all addresses
/// are tried at once. After each result, the next one has a share of the time to come.
///
/// Dropping the future ends the attempts.
pub(super) async fn at_each_address<T, Attempt: Future<Output = Result<T, NodeError>>>(
    server: &Server,
    io: &IoThread,
    within: Duration,
    to: ConnectTo,
    attempt: impl Fn(At) -> Attempt,
    is_wanted: impl Fn(&T) -> bool,
) -> Result<(T, Vec<T>), NodeError> {
    let (addresses, all) = (addresses(server, io).await?, to == ConnectTo::All);
    let tried = |at| {
        let tried = attempt(at);
        async move { (at, tried.await) }
    };
    // A share is a quarter of the time, or less for many addresses. The last address has one share to answer.
    let share = within / u32::try_from(addresses.len() + 1).map_or(u32::MAX, |it| it.max(4));
    let last = io.time().now() + within - share;
    let mut left = addresses.iter().copied();
    let mut under_way = FuturesUnordered::new();
    let (mut results, mut errors) = (Vec::new(), Vec::new());
    loop {
        let count = if all { addresses.len() } else { 1 };
        under_way.extend(left.by_ref().take(count).map(tried));
        let next = under_way.next();
        let ended = if left.len() == 0 && results.is_empty() {
            // Wait for as long as the caller does, because its own limit ends this future.
            Ok(next.await)
        } else {
            let until_last = last.saturating_duration_since(io.time().now());
            io.time().timeout(share.min(until_last), next).await
        };
        match ended {
            Ok(Some((at, Ok(result)))) => {
                let ends = !all && is_wanted(&result);
                results.push((at, result));
                if ends {
                    break;
                }
            }
            Ok(Some((_, Err(error)))) if addresses.len() == 1 => return Err(error),
            Ok(Some((at, Err(error)))) => errors.extend(at.map(|at| (at, error))),
            Ok(None) => break,
            Err(_) if left.len() == 0 => break,
            Err(_) => {}
        }
    }
    results.sort_by_key(|(at, result)| (!is_wanted(result), *at));
    let mut results = results.into_iter().map(|(_, result)| result);
    let best = results.next().ok_or_else(|| together(&errors))?;
    Ok((best, results.collect()))
}

/// Opens a connection to `server`, and logs in.
///
/// Dropping the future closes the socket.
pub(super) async fn open(
    server: &Server,
    at: At,
    info: ConnectionInfo,
    config: AsyncConnectionConfig,
    io: &IoThread,
) -> RedisResult<Opened> {
    #[cfg(unix)]
    if let ConnectionAddr::Unix(path) = server.addr() {
        let socket = tokio::net::UnixStream::connect(path).await?;
        return over(socket, &info, config).await;
    }
    let at = match at {
        Some(at) if server.opener == Opener::Library => at,
        Some(at) => {
            return by_the_crate(server, info, config.set_dns_resolver(Only(at)), io).await;
        }
        None => return by_the_crate(server, info, config, io).await,
    };
    let socket = TcpStream::connect(at).await?;
    socket.set_nodelay(true)?;
    #[cfg(feature = "tls")]
    if let ConnectionAddr::TcpTls { host, .. } = server.addr() {
        let socket = crate::redis::tls::connect(server.tls.clone(), host, socket, io).await?;
        return over(socket, &info, config).await;
    }
    over(socket, &info, config).await
}

/// A socket, plain or with TLS.
trait Socket: AsyncRead + AsyncWrite + Send {}

impl<S: AsyncRead + AsyncWrite + Send> Socket for S {}

/// Logs in over `socket`.
async fn over(
    socket: impl Socket + 'static,
    info: &ConnectionInfo,
    config: AsyncConnectionConfig,
) -> RedisResult<Opened> {
    // Box the socket, so that the crate's code is compiled for one type of socket only.
    let socket: Pin<Box<dyn Socket>> = Box::pin(socket);
    let settings = info.redis_settings();
    let made = MultiplexedConnection::new_with_config(settings, socket, config).await;
    let (connection, driver) = made?;
    let mut task = JoinSet::new();
    let (end, task_ended) = oneshot::channel();
    task.spawn(async move {
        let driver = pin!(unless_it_panics("a connection's task", driver));
        // Drop the sender before the driver. Whoever sees the broken connection then also sees the reason.
        let end = end;
        driver.await;
        let _ = end.send(());
    });
    Ok(Opened {
        connection,
        _task: task,
        task_ended: Some(task_ended),
    })
}

/// Connects through the crate, as the user's own client does.
async fn by_the_crate(
    server: &Server,
    info: ConnectionInfo,
    config: AsyncConnectionConfig,
    io: &IoThread,
) -> RedisResult<Opened> {
    let address = info.addr().to_string();
    let connecting = async move |client: RedisResult<Client>| {
        let client = client?;
        let made = client.get_multiplexed_async_connection_with_config(&config);
        let made = AssertUnwindSafe(made).catch_unwind().await;
        made.unwrap_or_else(|panic| match text_of(&*panic) {
            // The crate panics if a resolver returns no address.
            Some(text) if text.contains("select_ok") => {
                let detail = format!("the client's resolver gave no address for {address}");
                Err(io::Error::other(detail).into())
            }
            // A runtime without sockets panics too. Resume the panic, which moves the driver to the library's thread.
            _ => resume_unwind(panic),
        })
    };
    let made = if server.is_tls() {
        // Connect on a blocking thread, because the crate parses the system's certificates for each connection.
        let (_alive, dropped) = oneshot::channel::<()>();
        let home = Handle::current();
        let connecting = io.handle().spawn_blocking(move || {
            #[cfg(feature = "tls")]
            let client = crate::redis::tls::client(info);
            #[cfg(not(feature = "tls"))]
            let client = Client::open(info);
            let connecting = Box::pin(connecting(client));
            match home.block_on(select(connecting, dropped)) {
                Either::Left((made, _)) => Some(made),
                Either::Right(_) => None,
            }
        });
        connecting
            .await
            .unwrap_or_else(|ended| match ended.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => None,
            })
    } else {
        Some(connecting(Client::open(info)).await)
    };
    let made = made.ok_or_else(|| io::Error::other("connecting was given up"))?;
    Ok(Opened {
        connection: made?,
        _task: JoinSet::new(),
        task_ended: None,
    })
}

/// A resolver that gives the crate one address.
struct Only(SocketAddr);

impl AsyncDNSResolver for Only {
    fn resolve<'a, 'b: 'a>(
        &'a self,
        _: &'b str,
        _: u16,
    ) -> RedisFuture<'a, Box<dyn Iterator<Item = SocketAddr> + Send + 'a>> {
        let address: Box<dyn Iterator<Item = _> + Send> = Box::new(std::iter::once(self.0));
        Box::pin(ready(Ok(address)))
    }
}
