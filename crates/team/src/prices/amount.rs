//! An amount of dollars with twelve decimals, for exact sums of costs.

use std::fmt;

use tertulia_session::Usd;
use tertulia_session::json::Json;

/// The number of parts of a dollar.
const ONE: u128 = 1_000_000_000_000;
const DECIMALS: usize = 12;

/// An amount of dollars in whole millionths of a millionth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(pub u128);

impl Amount {
    /// Reads an amount. Digits after the twelfth decimal are dropped.
    pub fn from_usd(usd: &Usd) -> Self {
        let text = usd.digits();
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let part: String = part.chars().chain(std::iter::repeat('0')).take(DECIMALS).collect();
        match (whole.parse::<u64>(), part.parse::<u64>()) {
            (Ok(whole), Ok(part)) => Self(u128::from(whole) * ONE + u128::from(part)),
            // A number with an exponent, or a very large one. A float beyond the range becomes the largest number.
            _ => Self((usd.amount() * 1e12).min(1e30) as u128),
        }
    }

    /// Returns the amount with all its digits.
    pub fn to_usd(self) -> Option<Usd> {
        let digits = format!("{}.{:012}", self.0 / ONE, self.0 % ONE);
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        Usd::from_json(Json::parse(digits).ok()?)
    }

    /// Returns the sum, saturating at the maximum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Shows whole cents, or four decimals of an amount below a dollar.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals: u32 = if self.0 < ONE { 4 } else { 2 };
        let unit = ONE / 10_u128.pow(decimals);
        let rounded = (self.0.saturating_add(unit / 2)) / unit;
        let (whole, part) = (rounded / 10_u128.pow(decimals), rounded % 10_u128.pow(decimals));
        let mut digits = format!("{part:0width$}", width = decimals as usize);
        while digits.len() > 2 && digits.ends_with('0') {
            digits.pop();
        }
        if rounded == 0 && self.0 > 0 {
            return f.write_str("<0.0001");
        }
        write!(f, "{whole}.{digits}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(digits: &str) -> Amount {
        Amount::from_usd(&Usd::from_json(Json::parse(digits).unwrap()).unwrap())
    }

    #[test]
    fn sums_are_exact() {
        let tenth = amount("0.1");
        assert_eq!(tenth.plus(tenth).plus(tenth), amount("0.30"));
        assert_eq!(amount("0.000000000001").plus(amount("12")).0, 12_000_000_000_001);
        for digits in ["0", "12", "0.000000005", "0.1", "1234.5"] {
            assert_eq!(amount(digits).to_usd().unwrap().digits(), digits);
        }
        assert_eq!(amount("5e-9"), amount("0.000000005"));
        assert!(amount("1e300").0 > amount("1e17").0);
    }

    #[test]
    fn amounts_are_shown_as_people_write_them() {
        for (digits, shown) in [
            ("0", "0.00"),
            ("12.345", "12.35"),
            ("0.5", "0.50"),
            ("0.01234", "0.0123"),
            ("0.99996", "1.00"),
            ("0.00001", "<0.0001"),
        ] {
            assert_eq!(amount(digits).to_string(), shown);
        }
    }
}
