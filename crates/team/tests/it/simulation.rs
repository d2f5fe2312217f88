//! Simulates whole conversations from a seed. Agents answer, fail, flood and send forged markers; people write,
//! cancel, continue and leave; processes crash. All promises are checked after every step. A failure prints its seed;
//! `TERTULIA_SEEDS` sets the number of conversations.

mod asks;
mod checks;
mod play;

#[test]
#[expect(clippy::disallowed_methods, reason = "the number of seeds is a setting of the run")]
fn every_promise_holds_in_whole_conversations() {
    let seeds = std::env::var("TERTULIA_SEEDS").ok().and_then(|count| count.parse().ok());
    let mut total = play::Totals::default();
    for seed in 0..seeds.unwrap_or(200_u64) {
        let played = std::panic::catch_unwind(|| play::conversation(seed));
        match played {
            Ok(totals) => total.add(&totals),
            Err(panic) => {
                eprintln!("seed {seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    println!("{total:?}");
    assert!(total.is_lively(), "the conversations show too little: {total:?}");
}

/// A small random number generator (SplitMix64). The same seed gives the same conversation.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }

    /// Returns `true` in one of `times` cases on average.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}
