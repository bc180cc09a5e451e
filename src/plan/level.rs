//! How high something that goes up and down can get: members of a pool, the end of a file.
//!
//! A level is what a piece of program does to a number `x` that never falls below a floor, as an
//! upper bound: afterwards it is `max(x + add, floor)`, on the way at most `max(x + rise, top)`.
//! Pieces are put together in constant time, also a million times over. Knows nothing of plans.

/// What a piece of program does to a number, at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    add: f64,
    floor: f64,
    rise: f64,
    top: f64,
}

const NONE: f64 = f64::NEG_INFINITY;

/// Nothing plus anything is nothing, also infinity.
fn plus(a: f64, b: f64) -> f64 {
    if a == NONE || b == NONE { NONE } else { a + b }
}

/// Nothing times anything is nothing, also infinity.
pub fn times(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

impl Level {
    /// Leaves it as it is.
    pub const SAME: Level = Level { add: 0.0, floor: NONE, rise: 0.0, top: NONE };

    /// Goes up by `n`.
    pub fn up(n: f64) -> Level {
        Level { add: n, floor: NONE, rise: n, top: NONE }
    }

    /// Goes down by `n`, to 0 at the lowest.
    pub fn down(n: f64) -> Level {
        Level::down_to(n, 0.0)
    }

    /// Goes down by `n`, to `floor` at the lowest.
    pub fn down_to(n: f64, floor: f64) -> Level {
        Level { add: -n, floor, rise: 0.0, top: NONE }
    }

    /// Becomes `n`.
    pub fn set(n: f64) -> Level {
        Level { add: NONE, floor: n, rise: 0.0, top: n }
    }

    /// First this, then `next`.
    pub fn then(self, next: Level) -> Level {
        Level {
            add: plus(self.add, next.add),
            floor: plus(self.floor, next.add).max(next.floor),
            rise: self.rise.max(plus(self.add, next.rise)),
            top: self.top.max(plus(self.floor, next.rise)).max(next.top),
        }
    }

    /// Either this or `other`.
    pub fn or(self, other: Level) -> Level {
        Level {
            add: self.add.max(other.add),
            floor: self.floor.max(other.floor),
            rise: self.rise.max(other.rise),
            top: self.top.max(other.top),
        }
    }

    /// This `n` times (a part counts as a whole; infinity is allowed).
    pub fn repeat(self, n: f64) -> Level {
        if n <= 0.0 {
            return Level::SAME;
        }
        let n = n.ceil();
        // Whatever grows has grown n - 1 times before the last time.
        let grown = |times_before: f64| times(self.add.max(0.0), times_before);
        let before_last = if n < 2.0 { NONE } else { plus(self.floor, grown(n - 2.0)) };
        Level {
            add: times(self.add, n),
            floor: plus(self.floor, grown(n - 1.0)),
            rise: plus(self.rise, grown(n - 1.0)),
            top: self.top.max(plus(before_last, self.rise)),
        }
    }

    /// This by each of `n` workers at the same time, on one number.
    pub fn beside(self, n: f64) -> Level {
        let many = |x: f64| times(x.max(0.0), n);
        Level { add: many(self.add), floor: many(self.floor), rise: many(self.rise), top: many(self.top) }
    }

    /// This and `other` at the same time, on one number.
    pub fn along(self, other: Level) -> Level {
        Level {
            add: self.add.max(0.0) + other.add.max(0.0),
            floor: self.floor.max(0.0) + other.floor.max(0.0),
            rise: self.rise.max(0.0) + other.rise.max(0.0),
            top: self.top.max(0.0) + other.top.max(0.0),
        }
    }

    /// The highest it gets from `x`.
    pub fn peak(self, x: f64) -> f64 {
        plus(x, self.rise).max(self.top)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows single steps as they are.
    fn follow(steps: &[Level], x: f64) -> (f64, f64) {
        steps.iter().fold((x, x), |(x, peak), s| {
            let next = plus(x, s.add).max(s.floor);
            (next, peak.max(s.peak(x)))
        })
    }

    proptest::proptest! {
        /// Composition is exact, and so is repetition.
        #[test]
        fn pieces_are_put_together_as_steps_go(
            steps in proptest::collection::vec((0u8..3, 0u8..5), 1..8), times in 1usize..6, x in 0u8..6
        ) {
            let steps: Vec<Level> = steps
                .into_iter()
                .map(|(kind, n)| match kind {
                    0 => Level::up(f64::from(n)),
                    1 => Level::down(f64::from(n)),
                    _ => Level::set(f64::from(n)),
                })
                .collect();
            let once = steps.iter().fold(Level::SAME, |a, b| a.then(*b));
            let all: Vec<Level> = std::iter::repeat_n(&steps, times).flatten().copied().collect();
            let (end, peak) = follow(&all, f64::from(x));
            let repeated = once.repeat(times as f64);
            proptest::prop_assert_eq!(repeated.peak(f64::from(x)), peak);
            proptest::prop_assert_eq!(plus(f64::from(x), repeated.add).max(repeated.floor), end);
        }
    }

    #[test]
    fn endless_repetition_is_bounded_where_nothing_accumulates() {
        let turn = Level::up(1.0).then(Level::down(1.0));
        assert_eq!(turn.repeat(f64::INFINITY).peak(10.0), 11.0);
        assert_eq!(Level::up(1.0).repeat(f64::INFINITY).peak(0.0), f64::INFINITY);
        assert_eq!(Level::down(1.0).repeat(f64::INFINITY).then(Level::up(3.0)).peak(10.0), 10.0);
        assert_eq!(Level::up(2.0).or(Level::down(1.0)).repeat(100.0).peak(0.0), 200.0);
        assert_eq!(turn.beside(4.0).peak(10.0), 14.0);
    }
}
