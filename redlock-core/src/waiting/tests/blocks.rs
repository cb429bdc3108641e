//! Fenced leases that the next caller of the process takes over, each with a number of its own.

use super::*;

fn fenced() -> Request {
    let mut request = waiting();
    request.fencing = true;
    request
}

fn number(lease: &Lease) -> u64 {
    lease.fencing_token().unwrap().as_u64()
}

/// Returns the highest counter of the nodes.
fn count(scene: &Scene) -> u64 {
    let counters = scene
        .nodes
        .iter()
        .map(|node| node.get(b"redlock:fence:{r}"));
    let counters = counters
        .flatten()
        .map(|text| String::from_utf8(text).unwrap());
    counters.map(|text| text.parse().unwrap()).max().unwrap()
}

/// Hands `lease` over to the next caller while the nodes hang. Returns the next lease, or the next caller if it asks the
/// nodes.
fn hand_over(scene: &Scene, lease: Lease, request: &Request) -> Result<Lease, Acquiring> {
    let mut next = scene.waits(request);
    scene.nodes.iter().for_each(MemoryNode::hang);
    assert_eq!(released(lease), Released::HandedOver);
    let next = match poll(&mut next) {
        Poll::Ready(lease) => Ok(lease.unwrap()),
        Poll::Pending => Err(next),
    };
    scene.nodes.iter().for_each(MemoryNode::restore);
    next
}

/// Hands `lease` over until a caller asks the nodes. Returns the numbers of the leases, and this caller's lease.
fn use_up(scene: &Scene, mut lease: Lease) -> (Vec<u64>, Lease) {
    let mut numbers = vec![number(&lease)];
    loop {
        match hand_over(scene, lease, &fenced()) {
            Ok(next) => {
                numbers.push(number(&next));
                lease = next;
            }
            Err(mut next) => return (numbers, acquired(&mut next)),
        }
    }
}

/// Returns a lease that has one number only, because the clock stood still since an earlier lease.
fn with_one_number(scene: &Scene) -> Lease {
    released(scene.acquired(&fenced()));
    scene.acquired(&fenced())
}

#[test]
fn a_fenced_lease_taken_over_has_the_next_number_of_its_block() {
    let scene = Scene::new();
    let lease = scene.acquired(&fenced());
    let (first, count_before) = (number(&lease), count(&scene));
    let handle = lease.handle();
    let Ok(next) = hand_over(&scene, lease, &fenced()) else {
        panic!("it asks the nodes");
    };
    assert_eq!(number(&next), first + 1);
    assert_eq!(handle.fencing_token().unwrap().as_u64(), first);
    assert_eq!(handle.over(), Some(LeaseEnd::Released));
    assert_eq!(count(&scene), count_before);
}

#[test]
fn a_block_that_is_used_up_is_followed_by_a_longer_one() {
    let scene = Scene::new();
    let mut lease = with_one_number(&scene);
    let mut last = number(&lease) - 1;
    for length in [1, 16, 256, 4000, 4000] {
        let (numbers, next) = use_up(&scene, lease);
        assert_eq!(numbers.len(), length);
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
        assert!(numbers[0] > last, "{} and {last}", numbers[0]);
        last = *numbers.last().unwrap();
        lease = next;
    }
}

/// One node counted further than the other, which grants a longer block.
#[test]
fn a_block_whose_end_is_confirmed_keeps_its_beginning() {
    let scene = Scene::new();
    scene.nodes[2].cut();
    released(scene.acquired(&fenced()));
    let ahead = (count(&scene) + 500).to_string();
    scene.nodes[0].put(b"redlock:fence:{r}", ahead.as_bytes(), TTL * 9);
    scene.clock.advance(Duration::from_micros(100));
    let lease = scene.acquired(&fenced());
    assert_eq!(number(&lease), count(&scene) - 1);
    let [one, other] = [0, 1].map(|seat| scene.nodes[seat].get(b"redlock:fence:{r}"));
    assert_eq!(one, other);
    let (numbers, _next) = use_up(&scene, lease);
    assert_eq!(numbers.len(), 1);
}

#[test]
fn a_block_ahead_of_the_clock_has_one_number() {
    let scene = Scene::new();
    let ahead = count(&{
        released(scene.acquired(&fenced()));
        scene.another()
    }) + 200_000;
    for node in &scene.nodes {
        node.put(b"redlock:fence:{r}", ahead.to_string().as_bytes(), TTL * 9);
    }
    let mut lease = scene.acquired(&fenced());
    for number in [ahead + 1, ahead + 3, ahead + 5] {
        let (numbers, next) = use_up(&scene, lease);
        assert_eq!(numbers, [number]);
        lease = next;
    }
}

#[test]
fn a_lost_lease_hands_no_number_over() {
    let scene = Scene::new();
    let lease = scene.acquired(&fenced());
    let last = count(&scene);
    let mut next = scene.waits(&fenced());
    scene.nodes.iter().for_each(|node| node.delete(b"r"));
    assert!(!extended(&lease, TTL));
    assert!(matches!(lease.over(), Some(LeaseEnd::Taken(_))));
    assert_ne!(released(lease), Released::HandedOver);
    assert!(number(&acquired(&mut next)) > last - 1);
}

#[test]
fn an_expired_lease_hands_no_number_over() {
    let scene = Scene::new();
    let lease = scene.acquired(&fenced());
    let last = count(&scene);
    let mut next = scene.waits(&fenced());
    scene.clock.advance(TTL);
    released(lease);
    assert!(number(&acquired(&mut next)) > last);
}

#[test]
fn a_fenced_lease_is_taken_over_by_fenced_callers_only() {
    let scene = Scene::new();
    let lease = scene.acquired(&fenced());
    let Err(mut next) = hand_over(&scene, lease, &waiting()) else {
        panic!("it asks the nodes");
    };
    let lease = acquired(&mut next);
    assert_eq!(lease.fencing_token(), None);
    let next = hand_over(&scene, lease, &fenced());
    assert!(next.is_err());
}

#[test]
fn a_writer_hands_no_number_over() {
    let scene = Scene::new();
    let mut writer = fenced();
    writer.kind = crate::request::Kind::Write;
    let lease = scene.acquired(&writer);
    let mut next = scene.waits(&writer);
    let last = number(&lease);
    assert_ne!(released(lease), Released::HandedOver);
    assert!(number(&acquired(&mut next)) > last);
}

#[test]
fn another_process_comes_after_the_whole_block() {
    let scene = Scene::new();
    let another = scene.another();
    let mut last = 0;
    for turn in 0..100_u32 {
        let scene = if turn % 2 == 0 { &scene } else { &another };
        let mut lease = scene.acquired(&fenced());
        for _ in 0..turn % 7 {
            assert!(number(&lease) > last);
            last = number(&lease);
            lease = match hand_over(scene, lease, &fenced()) {
                Ok(next) => next,
                Err(mut next) => acquired(&mut next),
            };
        }
        assert!(number(&lease) > last);
        last = number(&lease);
        released(lease);
        scene
            .clock
            .advance(Duration::from_micros(u64::from(turn % 5)));
    }
}
