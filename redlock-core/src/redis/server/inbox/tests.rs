//! A lone caller's own writes, the gate, and retired servers.

use std::io;
use std::sync::LazyLock;
use std::task::{Poll, Waker};

use super::*;
use crate::model::resource::Resource;
use crate::model::token::TokenSource;
use crate::node::NodeStatus;
use crate::quorum::round::{Goal, Round};
use crate::redis::protocol::command::{Dialect, encoded};

/// Accepts `takes` bytes per write, and keeps them.
struct Socket {
    takes: io::Result<usize>,
    taken: Mutex<Vec<u8>>,
}

impl Writer for Socket {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.takes {
            Ok(takes) => {
                let takes = bytes.len().min(*takes);
                self.taken.lock().extend_from_slice(&bytes[..takes]);
                Ok(takes)
            }
            Err(error) => Err(error.kind().into()),
        }
    }

    fn poll_write(&self, _context: &mut Context<'_>, _bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Pending
    }
}

static ENCODING: LazyLock<Encoding> = LazyLock::new(|| Encoding {
    dialect: Dialect::NamesHolder,
    marker: None,
    readers_tried: Arc::default(),
});

fn writer(socket: &Arc<Socket>) -> Arc<dyn Writer> {
    Arc::clone(socket) as Arc<dyn Writer>
}

/// An inbox with a calm driver, on a socket that accepts `takes` bytes per write.
fn calm(takes: io::Result<usize>) -> (Inbox, Arc<Socket>) {
    let inbox = Inbox::new("a".into(), 100);
    let socket = Arc::new(Socket {
        takes,
        taken: Mutex::default(),
    });
    assert!(inbox.open(&writer(&socket), &ENCODING, None).is_empty());
    look(&inbox, true);
    (inbox, socket)
}

fn look(inbox: &Inbox, is_calm: bool) -> (Taken, usize) {
    let mut taken = Vec::new();
    let context = Context::from_waker(Waker::noop());
    let found = inbox.take(&mut taken, 0, is_calm, &context);
    (found, taken.len())
}

fn release() -> Arc<Operation> {
    let io = crate::IoThread::start().unwrap();
    let token = TokenSource::new().fresh(&*io.environment().entropy);
    let ttl = Duration::from_secs(60);
    Arc::new(Operation::new(
        Resource::from("r"),
        token,
        Want::Release { ttl },
    ))
}

fn submit(inbox: &Inbox, operation: &Arc<Operation>) -> Arc<Round> {
    let round = Round::new(1, Goal::All);
    inbox.submit(Arc::clone(operation), Reply::new(Arc::clone(&round), 0));
    round
}

#[test]
fn what_a_lone_caller_wrote_is_heard_of_before_anything_else_is_taken() {
    let (inbox, socket) = calm(Ok(usize::MAX));
    let operation = release();
    submit(&inbox, &operation);
    let bytes = encoded(&operation, &ENCODING);
    assert_eq!(*socket.taken.lock(), bytes);

    // Between two looks of the driver a caller writes once. The next operation is the driver's.
    submit(&inbox, &operation);
    assert_eq!(socket.taken.lock().len(), bytes.len());
    assert!(look(&inbox, true) == (Taken::Overtaken, 0));
    let (mut written, mut output) = (Vec::new(), BytesMut::new());
    inbox.take_written(&mut written, &mut output);
    assert!(written.len() == 1 && output.is_empty());
    assert!(look(&inbox, true) == (Taken::Some, 1));
}

#[test]
fn the_rest_of_a_short_write_goes_out_first() {
    let (inbox, socket) = calm(Ok(7));
    let operation = release();
    submit(&inbox, &operation);
    let (mut written, mut output) = (Vec::new(), BytesMut::new());
    inbox.take_written(&mut written, &mut output);
    assert_eq!(written.len(), 1);
    let sent = [&*socket.taken.lock(), &output[..]].concat();
    assert_eq!(sent, encoded(&operation, &ENCODING));
}

#[test]
fn a_socket_that_takes_nothing_leaves_the_writing_to_the_driver() {
    for takes in [
        Ok(0),
        Err(io::ErrorKind::WouldBlock.into()),
        Err(io::ErrorKind::BrokenPipe.into()),
    ] {
        let (inbox, _socket) = calm(takes);
        submit(&inbox, &release());
        assert!(look(&inbox, true) == (Taken::Some, 1));
    }
}

#[test]
fn a_driver_that_is_not_calm_writes_by_itself() {
    let (inbox, socket) = calm(Ok(usize::MAX));
    look(&inbox, false);
    submit(&inbox, &release());
    assert!(socket.taken.lock().is_empty());
    assert!(look(&inbox, false) == (Taken::Some, 1));
}

#[test]
fn a_release_that_was_written_into_a_breaking_connection_is_owed() {
    let (inbox, socket) = calm(Ok(usize::MAX));
    let round = submit(&inbox, &release());
    assert!(!socket.taken.lock().is_empty());
    let error = NodeError::sent(NodeErrorKind::Disconnected, "broken");
    inbox.close(&error, Vec::new());
    assert_eq!(round.tally().failed, 1, "its caller is told");
    assert_eq!(inbox.open(&writer(&socket), &ENCODING, None).len(), 1);
}

#[test]
fn what_was_written_into_a_breaking_connection_may_have_been_served() {
    let (inbox, socket) = calm(Ok(usize::MAX));
    let written = submit(&inbox, &release());
    assert!(!socket.taken.lock().is_empty(), "it was written");
    let queued = submit(&inbox, &release());
    // The error of a driver that ends before it knows of either operation.
    let error = NodeError::unsent(NodeErrorKind::NotConnected, "the driver has ended");
    inbox.close(&error, Vec::new());
    assert_eq!(written.seats().reached & 1, 1);
    assert_eq!(queued.seats().reached & 1, 0);
}

#[test]
fn leaving_a_suspicion_does_not_end_a_quarantine() {
    let (inbox, _socket) = calm(Ok(0));
    let reason = || Some(NodeError::unsent(NodeErrorKind::Quarantined, "flushed"));
    let kind = |inbox: &Inbox| match inbox.status() {
        NodeStatus::Voting => None,
        NodeStatus::Abstaining(error) => Some(error.kind()),
    };
    for is_suspect_first in [true, false] {
        if is_suspect_first {
            inbox.suspect(Duration::from_secs(1));
            inbox.quarantine(reason(), true);
        } else {
            inbox.quarantine(reason(), true);
            inbox.suspect(Duration::from_secs(1));
        }
        assert_eq!(kind(&inbox), Some(NodeErrorKind::Quarantined));
        inbox.trust();
        assert_eq!(kind(&inbox), Some(NodeErrorKind::Quarantined));
        inbox.quarantine(None, true);
        assert_eq!(kind(&inbox), None);
    }
    inbox.quarantine(reason(), true);
    inbox.suspect(Duration::from_secs(1));
    inbox.quarantine(None, true);
    assert_eq!(
        kind(&inbox),
        Some(NodeErrorKind::TimedOut),
        "nor the other way round"
    );
}

#[test]
fn a_server_that_was_refused_stays_refused_until_its_restart_check_says_otherwise() {
    let (inbox, socket) = calm(Ok(0));
    inbox.close(
        &NodeError::unsent(NodeErrorKind::Refused, "a twin"),
        Vec::new(),
    );
    let looked_at = NodeError::unsent(NodeErrorKind::Quarantined, "its restart check is under way");
    inbox.open(&writer(&socket), &ENCODING, Some(looked_at));
    let NodeStatus::Abstaining(reason) = inbox.status() else {
        panic!("it votes");
    };
    assert_eq!(reason.kind(), NodeErrorKind::Refused);
    inbox.quarantine(None, true);
    assert!(matches!(inbox.status(), NodeStatus::Voting));
}

#[test]
fn a_lone_caller_writes_nothing_to_a_node_in_quarantine() {
    let (inbox, socket) = calm(Ok(usize::MAX));
    let error = NodeError::unsent(NodeErrorKind::Quarantined, "flushed");
    inbox.quarantine(Some(error), true);
    let release = submit(&inbox, &release());
    assert!(socket.taken.lock().is_empty());
    assert_eq!(release.tally().failed, 0);
    assert!(look(&inbox, true) == (Taken::Some, 1), "releases go out");
}

#[test]
fn an_acquisition_is_taken_to_no_other_server_once_its_release_may_be_there() {
    let (inbox, _socket) = calm(Ok(usize::MAX));
    look(&inbox, false);
    let io = crate::IoThread::start().unwrap();
    let token = TokenSource::new().fresh(&*io.environment().entropy);
    let (ttl, hint) = (Duration::from_secs(60), 0);
    let acquire = Want::Acquire { ttl, hint };
    let acquisition = Arc::new(Operation::new(Resource::from("r"), token, acquire));
    let taken_on = |operation: &Arc<Operation>, is_retracted: bool| {
        let round = Round::new(1, Goal::All);
        if is_retracted {
            round.retract();
        }
        let reply = Reply::new(Arc::clone(&round), 0);
        let route = Route {
            hops: 1,
            ..Route::default()
        };
        let submission = Submission::new(Arc::clone(operation), reply, route);
        assert!(inbox.deliver(submission).is_ok());
        (look(&inbox, false).1 == 1, round)
    };
    assert!(taken_on(&acquisition, false).0);
    let (is_taken, round) = taken_on(&acquisition, true);
    assert!(!is_taken && round.is_complete());
    assert_eq!(round.seats().reached & 1, 0, "there is nothing to undo");
    assert!(taken_on(&release(), true).0, "that does no harm");
}

#[test]
fn a_server_that_was_replaced_takes_nothing_and_keeps_nothing() {
    let (inbox, _socket) = calm(Err(io::ErrorKind::WouldBlock.into()));
    let error = || NodeError::unsent(NodeErrorKind::NotConnected, "replaced");
    inbox.close(&error(), Vec::new());
    submit(&inbox, &release());
    assert_eq!(inbox.retire(error()).len(), 1, "what was owed");
    let reply = Reply::new(Round::new(1, Goal::All), 0);
    let submission = Submission::new(release(), reply, Route::default());
    assert!(inbox.deliver(submission).is_err());

    // Releases that the driver leaves at its end can still be taken out.
    inbox.close(
        &error(),
        vec![Owed::for_release(&release(), Route::default()).unwrap()],
    );
    inbox.end();
    assert_eq!(inbox.take_owed(|_| true).len(), 1);
    let socket = Arc::new(Socket {
        takes: Ok(usize::MAX),
        taken: Mutex::default(),
    });
    inbox.open(&writer(&socket), &ENCODING, None);
    assert!(
        matches!(inbox.status(), NodeStatus::Abstaining(_)),
        "for good"
    );
    assert!(look(&inbox, true).0 == Taken::Retired);
}
