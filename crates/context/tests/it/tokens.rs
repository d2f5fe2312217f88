//! Tests of counting through the public interface: recorded counts of OpenAI's own tokenizer, messages of every
//! kind, and properties of any text.

mod exact;
mod messages;
mod promises;
