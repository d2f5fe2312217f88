//! Changes of the file of a session that Tertulia did not cause, from a seed. Also used by the tests with the real
//! agents.

/// The number of changes for one agent. With the four real agents that keep a file, these are 500.
pub(crate) const CHANGES: u64 = 125;

/// A small random number generator (SplitMix64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }
}

/// The file of a session, as lines with their line feeds.
pub(crate) struct Lines {
    /// The part that the state of the session covers.
    known: Vec<Vec<u8>>,
    /// What the agent has added for itself since.
    more: Vec<u8>,
    messages: Vec<Vec<u8>>,
}

type Change = fn(&mut Lines, &mut Dice);

/// The kinds of changes. Each changes the known part, or adds something that the model may get.
const KINDS: [(&str, Change); 15] = [
    ("a bit is flipped", |file, dice| {
        let line = file.line(dice);
        let at = dice.below(line.len());
        line[at] ^= 1 << dice.below(8);
    }),
    ("a byte is inserted", |file, dice| {
        let line = file.line(dice);
        line.insert(dice.below(line.len()), b' ');
    }),
    ("a byte is removed", |file, dice| {
        let line = file.line(dice);
        line.remove(dice.below(line.len()));
    }),
    ("a word is replaced", |file, dice| {
        let line = file.line(dice);
        let at = dice.below(line.len());
        line.splice(at..at, *b"not ");
    }),
    ("a line is removed", |file, dice| {
        let at = file.place(dice);
        file.known.remove(at);
    }),
    ("a line is repeated", |file, dice| {
        let at = file.place(dice);
        file.known.insert(at, file.known[at].clone());
        // A repeated last line may be one that the agent writes for itself.
        file.known.swap_remove(0);
    }),
    ("lines are in another order", |file, dice| {
        let at = file.place(dice);
        let moved = file.known.remove(at);
        file.known.insert(0, [b" ", &moved[..]].concat());
    }),
    ("the end is cut off", |file, dice| {
        let at = file.place(dice);
        file.known.truncate(at);
        file.more.clear();
    }),
    ("a line is cut off", |file, dice| {
        let at = file.place(dice);
        file.known.truncate(at + 1);
        let line = &mut file.known[at];
        line.truncate(dice.below(line.len()));
        file.more.clear();
    }),
    ("the ends of lines are changed", |file, _| {
        file.known.iter_mut().for_each(|line| line.insert(line.len() - 1, b'\r'));
    }),
    ("a message is added", |file, dice| {
        let message = file.message(dice);
        file.more.extend(message);
    }),
    ("a message is added in the middle", |file, dice| {
        let (at, message) = (file.place(dice), file.message(dice));
        file.known.insert(at, message);
    }),
    ("half a message is added", |file, dice| {
        let mut message = file.message(dice);
        message.truncate(1 + dice.below(message.len() - 1));
        file.more.extend(message);
    }),
    ("a record of an unknown kind is added", |file, dice| {
        let number = dice.below(1000);
        file.more.extend(format!("{{\"type\":\"kind-{number}\"}}\n").into_bytes());
    }),
    ("a line that is no JSON is added", |file, _| file.more.extend(b"?\n")),
];

impl Lines {
    /// Reads a file. The state of the session covers its first `known` bytes. `messages` are lines that the model gets.
    pub(crate) fn read(bytes: &[u8], known: u64, messages: &[&str]) -> Self {
        let (known, more) = bytes.split_at(usize::try_from(known).unwrap());
        let known = known.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        assert!(!messages.is_empty(), "the session has no messages");
        let messages = messages.iter().map(|line| format!("{line}\n").into_bytes()).collect();
        Self { known, more: more.to_vec(), messages }
    }

    /// Returns what the change of this number is, and the changed file.
    pub(crate) fn changed(mut self, number: u64) -> (&'static str, Vec<u8>) {
        let mut dice = Dice(number);
        let (kind, change) = KINDS[usize::try_from(number).unwrap() % KINDS.len()];
        change(&mut self, &mut dice);
        (kind, [self.known.concat(), self.more].concat())
    }

    fn place(&self, dice: &mut Dice) -> usize {
        dice.below(self.known.len())
    }

    fn line(&mut self, dice: &mut Dice) -> &mut Vec<u8> {
        let at = self.place(dice);
        &mut self.known[at]
    }

    fn message(&self, dice: &mut Dice) -> Vec<u8> {
        self.messages[dice.below(self.messages.len())].clone()
    }
}
