//! A stand-in for a server that answers some commands like another server or a proxy.

use crate::RedisNode;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Returns the URL of a stand-in for `node` that answers some commands in its own way.
///
/// Each such command is named by its first words, and has a Lua script that makes the answer. The server runs the
/// script instead of the command, so all answers keep their order. The stand-in ends with the runtime.
///
/// ```
/// # use redlock_tests::{RedisNode, disguise};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// # let node = RedisNode::start().await;
/// let url = disguise(&node, [("INFO", "return 'redis_version:6.2.0'")]).await;
/// # }
/// ```
pub async fn disguise(
    node: &RedisNode,
    answers: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> String {
    let answers: Arc<[_]> = answers.into_iter().collect();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.expect("the stand-in can listen");
    let addr = listener.local_addr().expect("it listens");
    let target = node.addr();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(serve(client, target, Arc::clone(&answers)));
        }
    });
    node.url_at(addr)
}

/// Serves a connection until either side closes it.
async fn serve(
    client: TcpStream,
    target: SocketAddr,
    answers: Arc<[(&str, &str)]>,
) -> io::Result<()> {
    let (from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = TcpStream::connect(target).await?.into_split();
    let mut from_client = BufReader::new(from_client);
    let requests = async {
        loop {
            let words = read_command(&mut from_client).await?;
            let said = words.join(&b' ');
            let mut answers = answers.iter();
            let other = answers.find(|(command, _)| said.starts_with(command.as_bytes()));
            let command = match other {
                Some((_, script)) => redis::cmd("EVAL").arg(script).arg(0).get_packed_command(),
                None => redis::Cmd::new().arg(words).get_packed_command(),
            };
            to_server.write_all(&command).await?;
        }
    };
    tokio::select! {
        ended = requests => ended,
        ended = tokio::io::copy(&mut from_server, &mut to_client) => ended.map(drop),
    }
}

/// Reads the words of a command.
async fn read_command(from: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<Vec<Vec<u8>>> {
    let count = read_length(from).await?;
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        let mut word = vec![0; read_length(from).await? + 2];
        from.read_exact(&mut word).await?;
        word.truncate(word.len() - 2);
        words.push(word);
    }
    Ok(words)
}

/// Reads the length of a command, `*2`, or of a word, `$5`.
async fn read_length(from: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<usize> {
    let mut line = String::new();
    from.read_line(&mut line).await?;
    let length = line
        .get(1..)
        .and_then(|length| length.trim_end().parse().ok());
    length.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
