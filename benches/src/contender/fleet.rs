//! All contenders on the same nodes.

use super::{Contender, Kind};

/// All contenders on the same nodes.
#[derive(Debug)]
pub(crate) struct Fleet(Vec<Contender>);

impl Fleet {
    /// Connects all to the servers at `urls`, from the current tokio runtime.
    pub(crate) async fn connect(urls: &[String]) -> Self {
        let mut fleet = Vec::new();
        for kind in Kind::ALL.into_iter().chain([Kind::Fenced]) {
            fleet.push(Contender::connect(kind, urls).await);
        }
        Self(fleet)
    }

    /// Returns the contender of that kind.
    pub(crate) fn get(&self, kind: Kind) -> &Contender {
        &self.0[kind.place()]
    }
}

/// Returns the places 0 to `count` in the order of this round. Every other round is reversed and begins with another
/// place. A contender that always came first, or always after the same one, would always find the machine in the same
/// state.
pub fn in_turn(count: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |turn| {
        let turn = if round.is_multiple_of(2) {
            turn
        } else {
            count - 1 - turn
        };
        (turn + round / 2) % count
    })
}

/// Gives each of `count` contenders its turn in each round, and returns the rounds of each.
pub(crate) fn rounds<S>(
    rounds: usize,
    count: usize,
    mut take_turn: impl FnMut(usize) -> S,
) -> Vec<Vec<S>> {
    let mut all: Vec<Vec<S>> = (0..count).map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for place in in_turn(count, round) {
            all[place].push(take_turn(place));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::in_turn;

    #[test]
    fn every_other_round_goes_back() {
        let rounds: Vec<Vec<_>> = (0..4).map(|round| in_turn(3, round).collect()).collect();
        assert_eq!(rounds, [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]]);
    }
}
