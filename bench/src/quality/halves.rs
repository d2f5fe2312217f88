//! Splits each set into two halves: one for choosing settings, the other for the report. The sessions are sorted by
//! a hash of their keys and assigned alternately, so that a set of two sessions has one in each half. All questions
//! about a session are in its half.

use super::data::Session;

/// The sessions of a set that are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Half {
    /// The sessions for the report; the limits apply to them.
    #[default]
    Report,
    /// The sessions for choosing settings.
    Tune,
    /// All of them.
    All,
}

impl Half {
    pub(crate) fn find(name: &str) -> Option<Self> {
        match name {
            "report" => Some(Self::Report),
            "tune" => Some(Self::Tune),
            "all" => Some(Self::All),
            _ => None,
        }
    }

    /// Returns the first line of the report.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Report => "The report half of each set",
            Self::Tune => "The tuning half of each set",
            Self::All => "Both halves of each set",
        }
    }

    /// Returns the sessions of this half, in their order.
    pub(crate) fn of(self, sessions: Vec<Session>) -> Vec<Session> {
        let wanted = match self {
            Self::Report => 0,
            Self::Tune => 1,
            Self::All => return sessions,
        };
        let mut keys: Vec<_> = sessions.iter().map(|session| &session.key).collect();
        keys.sort_by_key(|key| (fnv1a(key), *key));
        let dealt = keys.into_iter().skip(wanted).step_by(2);
        let mine: std::collections::HashSet<String> = dealt.cloned().collect();
        sessions.into_iter().filter(|session| mine.contains(&session.key)).collect()
    }

    /// Returns the number of sessions in this half, given the number of all.
    pub(crate) fn share(self, count: usize) -> usize {
        if self == Self::All { count } else { count / 2 }
    }
}

/// The hash FNV-1a of 64 bits: the same on every machine and with every compiler.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(half: Half, count: usize) -> Vec<String> {
        let session = |number| Session { key: format!("s{number}"), lines: Vec::new() };
        half.of((0..count).map(session).collect()).into_iter().map(|one| one.key).collect()
    }

    #[test]
    fn every_session_is_in_one_half() {
        for count in 0..20 {
            let (report, tune) = (keys(Half::Report, count), keys(Half::Tune, count));
            assert_eq!(report.len(), count.div_ceil(2));
            assert_eq!(tune.len(), count / 2);
            assert!(report.iter().all(|key| !tune.contains(key)));
            assert_eq!(keys(Half::All, count).len(), count);
        }
    }

    #[test]
    fn the_order_of_the_sessions_stays() {
        for half in [Half::Report, Half::Tune] {
            assert!(keys(half, 9).is_sorted());
        }
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
    }
}
