//! What a member gets whose agent keeps its session, over any sequence of turns, branches, failures and crashes. The
//! agents are simple models that remember their prompts.

mod delivery;
mod drift;
mod play;
mod seeded;
