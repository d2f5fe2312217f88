//! When vocabularies are loaded. This test is a separate program: a loaded vocabulary stays for the whole process,
//! so no other test may count in it.

use tertulia_context::tokens::{
    MODELS, MessageCounter, TokenCache, TokenCount, Tokenizer, find_model,
};

#[test]
fn a_vocabulary_is_loaded_by_the_first_new_text_and_no_other_one_with_it() {
    let loaded = || Tokenizer::BUILT_IN.map(|tokenizer| tokenizer.is_loaded());
    let no_vocabulary = [false, false, false, true, true];

    let mut cache = TokenCache::default();
    for tokenizer in Tokenizer::BUILT_IN {
        assert_eq!(tokenizer.id().parse::<Tokenizer>().ok(), Some(tokenizer.clone()));
        assert_eq!(tokenizer.count(""), TokenCount::ZERO);
        cache.insert(&tokenizer, "known", TokenCount::exact(1));
        assert_eq!(cache.count(&tokenizer, "known"), TokenCount::exact(1));
        drop(MessageCounter::new(tokenizer));
    }
    assert!(MODELS.iter().all(|model| find_model(model.prefix).is_some()));
    Tokenizer::Claude.count("a text");
    Tokenizer::Bytes.count("a text");
    assert_eq!(loaded(), no_vocabulary);

    Tokenizer::Cl100k.count("a text");
    assert_eq!(loaded(), [false, true, false, true, true]);
    Tokenizer::O200k.count("a text");
    assert_eq!(loaded(), [true, true, false, true, true]);
    Tokenizer::Gemma.count("a text");
    assert_eq!(loaded(), [true; 5]);
}
