//! The scene checks itself too; what is asserted here is what its reader sees.

use crate::services::fleet::{PATIENT, start_nodes};
use crate::services::{LONG, STORY};
use redlock_tests::{Service, Signal, eventually};
use std::net::{Ipv4Addr, TcpStream};

const UNFENCED: &str = "1. ";
const FENCED: &str = "2. ";

#[tokio::test]
async fn a_late_write_does_damage_unless_a_token_refuses_it() {
    let program = Service::build_example("fenced_store").await;
    let (nodes, environment) = start_nodes().await;
    let scene = Service::spawn(program, environment, "Nodes: as configured").await;
    assert!(scene.wait(STORY).await.success(), "{scene}");

    // Its last line: what it said before is there by then.
    scene.wait_for_line("hand out a number", LONG).await;
    let said = scene.output();
    let (unfenced, fenced) = said
        .split_once(&format!("\n{FENCED}"))
        .unwrap_or_else(|| panic!("two scenes: {said}"));
    assert!(unfenced.contains(&format!("\n{UNFENCED}")), "{said}");
    for (part, expected) in [
        (unfenced, "A's caller is told: done, 70 left."),
        (unfenced, "B's caller is told: done, 50 left."),
        (unfenced, "\n   Balance: 70, and it should be 20."),
        (fenced, "A writes, the store changes no row"),
        (fenced, "A's caller is told: refused."),
        (fenced, "B's caller is told: done, 50 left."),
        (fenced, "\n   Balance: 50, as it should be."),
    ] {
        assert!(part.contains(expected), "no {expected:?} in {part}");
    }
    let [a, b] = tokens(fenced)[..] else {
        panic!("two tokens: {fenced}");
    };
    assert!(a < b, "{fenced}");
    assert_eq!(tokens(unfenced), Vec::<u64>::new());
    nodes.assert_no_lock_keys(LONG).await;
}

#[tokio::test]
async fn servers_and_a_frozen_holder_do_not_outlive_it() {
    let program = Service::build_example("fenced_store").await;
    // Only on Linux does the kernel end the children if the parent is killed.
    let signals = if cfg!(target_os = "linux") {
        &[Signal::TERM, Signal::INT, Signal::KILL][..]
    } else {
        &[Signal::TERM, Signal::INT]
    };
    // A killed program cannot remove its directory.
    let litter = [("TMPDIR", env!("CARGO_TARGET_TMPDIR"))];
    for &signal in signals {
        let environment = litter.into_iter().chain(PATIENT);
        let scene = Service::spawn(&program, environment, "Nodes: a ").await;
        scene.wait_for_line("   SIGSTOP to A", LONG).await;
        let holder = scene.wait_for_line("   A (pid ", LONG).await;
        let holder: u32 = numbers_after("(pid ", &holder)[0];
        scene.signal(signal);
        assert!(!scene.wait(LONG).await.success(), "{scene}");

        for port in ports(&scene) {
            until_closed(port, &scene).await;
        }
        #[cfg(target_os = "linux")]
        eventually("the frozen holder to end", LONG, async || {
            match std::fs::read_to_string(format!("/proc/{holder}/stat")) {
                // `Z`: dead, and not reaped yet.
                Ok(stat) if !stat.contains(") Z ") => Err(stat),
                _ => Ok(()),
            }
        })
        .await;
    }
}

/// The tokens that holders show.
fn tokens(text: &str) -> Vec<u64> {
    numbers_after("shows the store its token ", text)
}

fn ports(scene: &Service) -> Vec<u16> {
    let ports = numbers_after("on port ", scene.ready());
    assert_eq!(ports.len(), 3, "{scene}");
    ports
}

fn numbers_after<N: std::str::FromStr>(what: &str, text: &str) -> Vec<N> {
    let after = text.split(what).skip(1);
    let digits = after.map(|text| text.split(|c: char| !c.is_ascii_digit()).next());
    digits.filter_map(|digits| digits?.parse().ok()).collect()
}

/// Eventually: a connection to a free port of the kernel's may find itself.
async fn until_closed(port: u16, scene: &Service) {
    eventually("a server to end", LONG, async || {
        match TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
            Ok(_) => Err(format!("port {port} is open: {scene}")),
            Err(_) => Ok(()),
        }
    })
    .await;
}
