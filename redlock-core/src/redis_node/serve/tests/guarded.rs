//! What the guard makes of a server's answers.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_take_the_marker_is_asked_now_and_then() {
    let fleet = Arc::new(Fleet::new(
        RestartGuard::Standard,
        Duration::from_secs(1),
        1,
    ));
    let (_, clock) = still_clock();
    let mut warden = Warden::new(&"a".into(), &fleet, false, clock);
    warden.connected(Facts::of_role(false), Vec::new());
    let inbox = Inbox::new("a".into(), 100);
    let options = crate::RedisOptions::default();
    let (mut server, reader) = tokio::io::duplex(1 << 16);
    let socket = Arc::new(Socket::default());
    let mut serve = Serve::new(
        connected(reader, &socket),
        &inbox,
        &options,
        Some(&mut warden),
    );
    look(&mut serve);
    for _ in 0..10 {
        let question = socket.take();
        assert!(question.contains("redlock:marker") && !question.contains("1 ? "));
        answer(&mut serve, &mut server, &checked(5_000, None)).await;
        assert!(
            socket.take().contains("1 ? 5000"),
            "at once, what it is to be"
        );
        let before = Instant::now();
        answer(&mut serve, &mut server, &checked(5_000, None)).await;
        let NodeStatus::Abstaining(reason) = inbox.status() else {
            panic!("it votes");
        };
        assert!(
            reason
                .to_string()
                .starts_with("it does not take its marker"),
            "{reason}"
        );
        inbox.settled().await;
        while socket.0.lock().unwrap().is_empty() {
            tokio::time::advance(Duration::from_millis(50)).await;
            look(&mut serve);
        }
        assert!(before.elapsed() >= Duration::from_millis(200));
    }
}
