//! A registry, and a server of either framework that shows it.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use redlock_runtime::parameters::LockOptions;
use redlock_runtime::registry::Registry;
use redlock_runtime::{Config, Redlock};
use redlock_tests::{HttpReply, Nodes, eventually, http_request};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long a test waits for something that takes milliseconds, on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// `a`, `b`, `c` … as pools. A busy machine is no slow node.
pub(crate) fn config(nodes: &Nodes) -> Config {
    let config = Config::new()
        .defaults(LockOptions::new().retry_count(0))
        .node_timeout(SOON)
        .connect_timeout(SOON);
    let pools = nodes.urls().into_iter().zip('a'..);
    pools.fold(config, |config, (url, name)| config.pool(name, url))
}

pub(crate) async fn start(config: Config) -> Redlock {
    Redlock::start(config).await.expect("a good configuration")
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Framework {
    Axum,
    Actix,
}

impl Framework {
    pub(crate) const ALL: [Self; 2] = [Self::Axum, Self::Actix];
}

/// A server whose every path is below `mount`, until the end of the test.
pub(crate) struct Served {
    framework: Framework,
    addr: SocketAddr,
    mount: &'static str,
}

impl Served {
    pub(crate) fn at(framework: Framework, mount: &'static str, registry: &Registry) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let addr = listener.local_addr().expect("an address");
        listener.set_nonblocking(true).expect("a socket");
        let registry = registry.clone();
        match framework {
            Framework::Axum => serve_axum(listener, mount, &registry),
            Framework::Actix => serve_actix(listener, mount, registry),
        }
        Self {
            framework,
            addr,
            mount,
        }
    }

    fn path(&self, path: &str) -> String {
        match (self.mount, path) {
            ("", path) => path.to_owned(),
            (mount, "/") => mount.to_owned(),
            // The other way to write it.
            (mount, "//") => format!("{mount}/"),
            (mount, path) => format!("{mount}{path}"),
        }
    }

    /// The status of a request whose answer has no body.
    pub(crate) async fn head(&self, path: &str) -> u16 {
        let mut stream = TcpStream::connect(self.addr).await.expect("a server");
        let path = self.path(path);
        let request = format!("HEAD {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream
            .write_all(request.as_bytes())
            .await
            .expect("a connection");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.expect("an answer");
        assert!(reply.ends_with("\r\n\r\n"), "{reply}");
        reply
            .split(' ')
            .nth(1)
            .and_then(|it| it.parse().ok())
            .expect("a status")
    }

    pub(crate) async fn request(&self, method: &str, path: &str) -> HttpReply {
        let path = self.path(path);
        let reply = http_request(self.addr, method, &path, "").await;
        reply.unwrap_or_else(|error| panic!("{:?} {path}: {error}", self.framework))
    }

    pub(crate) async fn get(&self, path: &str) -> HttpReply {
        self.request("GET", path).await
    }

    pub(crate) async fn json(&self, path: &str) -> Value {
        let reply = self.get(path).await;
        assert_eq!(reply.header("content-type"), Some("application/json"));
        serde_json::from_str(&reply.body).expect("JSON")
    }

    /// Waits until `/health` says what is wanted. A healthy node of a busy machine may be slow.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        eventually(what, SOON, || async {
            let health = self.json("/health").await;
            if is_so(&health) {
                Ok(health)
            } else {
                Err(format!("{health:#}"))
            }
        })
        .await
    }
}

fn serve_axum(listener: TcpListener, mount: &str, registry: &Registry) {
    let router = redlock_inspect::axum_router(mount, registry);
    let app = axum::Router::new().merge(router);
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    // Ends with the test's runtime.
    tokio::spawn(async move { axum::serve(listener, app).await });
}

fn serve_actix(listener: TcpListener, mount: &'static str, registry: Registry) {
    // Ends with the process.
    std::thread::spawn(move || {
        let app = move || {
            let scope = redlock_inspect::actix_scope(mount, &registry);
            actix_web::App::new().service(scope)
        };
        let server = actix_web::HttpServer::new(app)
            .workers(1)
            .disable_signals()
            .listen(listener)
            .expect("a listener");
        actix_web::rt::System::new().block_on(server.run())
    });
}
