//! Known models with their tokenizer, vendor and window, in one table with a line for each model. Used by code that
//! has the name of a model and needs a [`super::MessageCounter`].

use super::{Tokenizer, Vendor};

/// The properties of models whose names have a common prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The prefix of their names, in lower case.
    pub prefix: &'static str,
    pub tokenizer: Tokenizer,
    pub vendor: Vendor,
    /// The maximum tokens of a request and its answer together; `None` if models with this prefix differ.
    pub window: Option<u64>,
}

/// Finds a model by its name. The longest prefix in the table is used that ends where a word of the name ends. A
/// path or a provider before the name (`openrouter/openai/gpt-4o`, `us.anthropic.claude-…`) and the case of letters
/// are ignored. Returns `None` for unknown names; use [`Tokenizer::default`] for them.
pub fn find_model(name: &str) -> Option<&'static Model> {
    let name = model_name(name);
    let fitting = MODELS.iter().filter(|model| begins(&name, model.prefix));
    fitting.max_by_key(|model| model.prefix.len())
}

/// Returns the name of a model in lower case, without a path or a provider before it.
pub fn model_name(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    let name = name.rsplit('/').next().unwrap_or_default();
    PROVIDERS.iter().find_map(|word| after(name, word)).unwrap_or(name).to_owned()
}

/// Prefixes with which cloud platforms name models.
const PROVIDERS: [&str; 6] = ["anthropic.", "openai.", "google.", "meta.", "mistral.", "deepseek."];

fn after<'a>(name: &'a str, word: &str) -> Option<&'a str> {
    name.split_once(word).map(|(_, behind)| behind)
}

/// Returns whether a name begins with this prefix. `gpt-4` is a prefix of `gpt-4-0613`, but not of `gpt-4o` or
/// `gpt-4.1`.
fn begins(name: &str, prefix: &str) -> bool {
    let behind = name.strip_prefix(prefix);
    behind.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', ':', '@', '_']))
}

const fn open_ai(prefix: &'static str, tokenizer: Tokenizer, window: Option<u64>) -> Model {
    Model { prefix, tokenizer, vendor: Vendor::OpenAi, window }
}

const fn o200k(prefix: &'static str, window: u64) -> Model {
    open_ai(prefix, Tokenizer::O200k, Some(window))
}

const fn cl100k(prefix: &'static str, window: u64) -> Model {
    open_ai(prefix, Tokenizer::Cl100k, Some(window))
}

const fn claude(prefix: &'static str, window: u64) -> Model {
    let (tokenizer, vendor) = (Tokenizer::Claude, Vendor::Anthropic);
    Model { prefix, tokenizer, vendor, window: Some(window) }
}

const fn google(prefix: &'static str, tokenizer: Tokenizer, window: u64) -> Model {
    Model { prefix, tokenizer, vendor: Vendor::Google, window: Some(window) }
}

const fn gemma(prefix: &'static str, window: u64) -> Model {
    google(prefix, Tokenizer::Gemma, window)
}

/// Returns a model whose vocabulary is unknown. Its tokens are estimated as for Claude, because Claude's counts are
/// the highest known ones.
const fn guessed(prefix: &'static str, window: u64) -> Model {
    open_ai(prefix, Tokenizer::Claude, Some(window))
}

/// All known models, from the vendors' model pages as of November 2026. A window is the one that a request gets
/// without special options.
pub static MODELS: &[Model] = &[
    open_ai("gpt", Tokenizer::O200k, None),
    o200k("gpt-5", 400_000),
    o200k("gpt-5.1", 400_000),
    o200k("gpt-5.2", 400_000),
    o200k("gpt-5-chat", 128_000),
    o200k("gpt-4.1", 1_047_576),
    o200k("gpt-4o", 128_000),
    o200k("chatgpt-4o", 128_000),
    o200k("gpt-oss", 131_072),
    o200k("o1", 200_000),
    o200k("o1-mini", 128_000),
    o200k("o1-preview", 128_000),
    o200k("o3", 200_000),
    o200k("o4-mini", 200_000),
    o200k("codex-mini", 200_000),
    cl100k("gpt-4", 8_192),
    cl100k("gpt-4-32k", 32_768),
    cl100k("gpt-4-turbo", 128_000),
    cl100k("gpt-4-1106", 128_000),
    cl100k("gpt-4-0125", 128_000),
    cl100k("gpt-3.5-turbo", 16_385),
    cl100k("gpt-35-turbo", 16_385),
    cl100k("gpt-3.5-turbo-instruct", 4_096),
    cl100k("text-embedding-3", 8_191),
    claude("claude", 200_000),
    claude("claude-2", 100_000),
    claude("claude-3", 200_000),
    claude("claude-haiku-4", 200_000),
    claude("claude-sonnet-4", 200_000),
    claude("claude-opus-4", 200_000),
    gemma("gemini", 1_048_576),
    gemma("gemini-2.0", 1_048_576),
    gemma("gemini-2.5", 1_048_576),
    gemma("gemini-3", 1_048_576),
    gemma("gemini-3.1", 1_048_576),
    gemma("gemini-3.5", 1_048_576),
    // Gemma 2 and Gemini 1.5 have another vocabulary.
    google("gemini-1.5-pro", Tokenizer::Claude, 2_097_152),
    google("gemini-1.5", Tokenizer::Claude, 1_048_576),
    gemma("gemma-3", 131_072),
    gemma("gemma-3-1b", 32_768),
    gemma("gemma3", 131_072),
    gemma("gemma-4", 131_072),
    gemma("gemma4", 131_072),
    google("gemma-2", Tokenizer::Claude, 8_192),
    guessed("llama-3", 8_192),
    guessed("llama-3.1", 131_072),
    guessed("llama3.1", 131_072),
    guessed("llama-3.2", 131_072),
    guessed("llama-3.3", 131_072),
    guessed("llama3.3", 131_072),
    guessed("llama-4-maverick", 1_048_576),
    guessed("llama-4-scout", 10_485_760),
    guessed("mistral-large", 131_072),
    guessed("mistral-medium", 131_072),
    guessed("mistral-small", 131_072),
    guessed("devstral", 131_072),
    guessed("qwen2.5", 32_768),
    guessed("qwen3", 32_768),
    guessed("qwen3-coder", 262_144),
    guessed("deepseek-chat", 131_072),
    guessed("deepseek-reasoner", 131_072),
    guessed("deepseek-v3", 131_072),
    guessed("deepseek-r1", 131_072),
    guessed("kimi-k2", 131_072),
    guessed("glm-4.5", 131_072),
    guessed("glm-4.6", 204_800),
    guessed("grok-4", 262_144),
    guessed("minimax-m2", 204_800),
    cl100k("phi-4", 16_384),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[track_caller]
    fn check(name: &str, expected: Option<(&str, &str, Option<u64>)>) {
        let found = find_model(name);
        let found = found.map(|model| (model.prefix, model.tokenizer.id(), model.window));
        assert_eq!(found, expected, "{name}");
    }

    #[test]
    fn no_prefix_stands_there_twice() {
        let prefixes: BTreeSet<&str> = MODELS.iter().map(|model| model.prefix).collect();
        assert_eq!(prefixes.len(), MODELS.len());
    }

    #[test]
    fn every_prefix_finds_its_own_line_also_with_a_version_behind_it() {
        for model in MODELS {
            assert_eq!(find_model(model.prefix), Some(model));
            let dated = format!("{}-2026xx", model.prefix);
            assert_eq!(find_model(&dated), Some(model), "{dated}");
        }
    }

    #[test]
    fn prefixes_are_written_as_names_are_compared() {
        for Model { prefix, .. } in MODELS {
            assert_eq!(prefix.to_ascii_lowercase(), *prefix);
            assert!(!prefix.contains('/') && !prefix.ends_with('-'), "{prefix}");
        }
    }

    #[test]
    fn the_longest_prefix_wins() {
        check("gpt-4o-mini-2024-07-18", Some(("gpt-4o", "o200k", Some(128_000))));
        check("gpt-4-0613", Some(("gpt-4", "cl100k", Some(8_192))));
        check("gpt-4-turbo-2024-04-09", Some(("gpt-4-turbo", "cl100k", Some(128_000))));
        check("gemini-1.5-pro-002", Some(("gemini-1.5-pro", "claude", Some(2_097_152))));
        check("claude-opus-4-6", Some(("claude-opus-4", "claude", Some(200_000))));
    }

    #[test]
    fn a_version_that_nobody_knows_is_not_taken_for_an_older_one() {
        check("gpt-4.7", Some(("gpt", "o200k", None)));
        check("gpt-6-mini", Some(("gpt", "o200k", None)));
        check("o1000", None);
        check("claude-opus-5-5", Some(("claude", "claude", Some(200_000))));
    }

    #[test]
    fn providers_paths_and_capitals_do_not_matter() {
        check("OpenRouter/OpenAI/GPT-4o", Some(("gpt-4o", "o200k", Some(128_000))));
        let bedrock = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
        check(bedrock, Some(("claude-sonnet-4", "claude", Some(200_000))));
        check("models/gemini-2.5-pro", Some(("gemini-2.5", "gemma", Some(1_048_576))));
        check("gemma3:27b", Some(("gemma3", "gemma", Some(131_072))));
    }

    #[test]
    fn unknown_names_are_unknown() {
        for name in ["", "/", "my-model", "gp", "anthropic."] {
            check(name, None);
        }
    }
}
