//! Stripping and parsing of markers, rule by rule.

mod compact;
mod parse;
mod preserve;
