//! Counting from outside: what OpenAI's own tokenizer counted, messages of every kind, and what holds
//! for any text.

mod exact;
mod messages;
mod promises;
