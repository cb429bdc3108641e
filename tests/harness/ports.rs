//! Ports for servers.
//!
//! A port stays reserved for its server while the server is down: a killed node must find the port
//! free when it restarts, and until then a connection to the port must be refused. Two rules ensure
//! that, beyond what the kernel checks:
//!
//! * Ports lie below the range from which the kernel takes those of outgoing connections (32768 and
//!   up on Linux, 49152 and up elsewhere).
//! * They come in blocks. A process owns a block as long as it listens on the block's first port, so
//!   that test processes that run side by side never use the same one.

use parking_lot::Mutex;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};

const FIRST: u16 = 10_240;
const BLOCK: u16 = 100;
const BLOCKS: u16 = 220;

static BLOCKS_OWNED: Mutex<Vec<Block>> = Mutex::new(Vec::new());

struct Block {
    /// Never accepts; it only says that the block is taken.
    _claim: TcpListener,
    first: u16,
    given_out: u16,
}

/// Returns a port that no other test uses. A process outside of the tests may use it: then binding fails, and
/// the caller tries the next port. To ask beforehand would be a race.
pub(crate) fn next() -> u16 {
    let mut owned = BLOCKS_OWNED.lock();
    let exhausted = owned
        .last()
        .is_none_or(|block| block.given_out + 1 == BLOCK);
    if exhausted {
        owned.push(claim());
    }
    let block = owned.last_mut().expect("one was just claimed");
    block.given_out += 1;
    block.first + block.given_out
}

fn claim() -> Block {
    // Processes start looking at different places; where does not matter.
    let start = std::process::id() % u32::from(BLOCKS);
    for step in 0..u32::from(BLOCKS) {
        let block = (start + step) % u32::from(BLOCKS);
        let first = FIRST + BLOCK * u16::try_from(block).expect("fewer than BLOCKS");
        match TcpListener::bind((Ipv4Addr::LOCALHOST, first)) {
            Ok(claim) => {
                return Block {
                    _claim: claim,
                    first,
                    given_out: 0,
                };
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            Err(error) => panic!("cannot listen on loopback: {error}"),
        }
    }
    panic!("all {BLOCKS} blocks of test ports are taken");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_port_is_given_out_twice_and_none_is_a_claim() {
        let ports: HashSet<u16> = (0..250).map(|_| next()).collect();
        assert_eq!(ports.len(), 250);
        assert!(
            ports
                .iter()
                .all(|port| !(port - FIRST).is_multiple_of(BLOCK))
        );
    }
}
