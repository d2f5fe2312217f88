//! Stripping and parsing, rule by rule: a text, and what becomes of it.

mod compact;
mod parse;
mod preserve;
