//! Few sentences of comments and documents are of the kinds that readers have to read twice.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use regex_lite::Regex;

use crate::sentences::{Sentence, pattern, sentences};
use crate::{GUIDE, assert_none, files};

/// Each fault, and how many of 100 may have it: sentences, comments by their first sentence, and functions.
const LIMITS: [(&str, &str, &str, f64); 14] = [
    ("library", "sentences", "two negatives", 0.9),
    ("library", "sentences", "more than 30 words", 0.6),
    ("library", "sentences", "an idiom", 0.2),
    ("library", "sentences", "a noun clause first", 0.1),
    ("library", "sentences", "a pronoun first", 0.4),
    ("library", "comments", "more than 15 words first", 9.3),
    ("library", "comments", "a negative first", 8.0),
    ("library", "functions", "no verb first", 0.9),
    ("guide", "sentences", "two negatives", 1.6),
    ("guide", "sentences", "more than 30 words", 0.8),
    ("guide", "sentences", "an idiom", 0.7),
    ("pages", "sentences", "two negatives", 2.3),
    ("pages", "sentences", "more than 30 words", 0.6),
    ("pages", "sentences", "an idiom", 0.6),
];

/// The number of sentences that a failure shows.
const SHOWN: usize = 20;

const NOUN_CLAUSE: &str = r"^(What|Whether|How|Whom|Whose|Who|Which|Where|By|Of|From when|Until when|For how|Since when|(All|Any|Anything|Everything|Everyone|Nothing|That) (that|which|who|whom))\b";
const PRONOUN: &str = r"(?i)^((If|When|Once|After|Before|Until|While|Because|Since) )?(It|They|This|That|These|Those|One|Others|Another|Theirs|Its)\b";
const NO_VERB: &str = r"^(The|A|An|All|Any|No|None|Each|Every|Our|One|It|Its|For|If|As|In|At|On|To|With|Without|Same)\b";
const NEGATIVE: &str =
    r"(?i)\b(no|not|nor|never|nothing|none|nobody|neither|without|unless|cannot|\w+n't)\b";

/// Turns of phrase that few readers know in this sense, one a line. After `!`: phrases with these words that are plain.
const IDIOMS: &str = include_str!("idioms.txt");

/// Finds the faults of sentences.
struct Reader {
    noun_clause: Regex,
    pronoun: Regex,
    no_verb: Regex,
    negative: Regex,
    idiom: Regex,
    plain: Regex,
    code: Regex,
}

impl Reader {
    fn new() -> Self {
        let (plain, idioms): (Vec<_>, Vec<_>) = IDIOMS.lines().partition(|it| it.starts_with('!'));
        Self {
            noun_clause: pattern(NOUN_CLAUSE),
            pronoun: pattern(PRONOUN),
            no_verb: pattern(NO_VERB),
            negative: pattern(NEGATIVE),
            idiom: pattern(&format!(r"(?i)\b({})\b", idioms.join("|"))),
            plain: pattern(&format!("(?i){}", plain.join("|").replace('!', ""))),
            code: pattern("`[^`]*`"),
        }
    }

    fn faults(&self, sentence: &Sentence) -> Vec<&'static str> {
        let (text, is_first) = (&sentence.text, sentence.is_first);
        let prose = self.code.replace_all(text, "`x`");
        let words = text.split(' ').count();
        let negatives = self.negative.find_iter(&prose).count();
        let has_clause = self.noun_clause.is_match(text);
        let lacks_verb = has_clause || self.no_verb.is_match(text);
        let has_idiom = self.idiom.is_match(&self.plain.replace_all(&prose, "x"));
        let faults = [
            ("two negatives", negatives > 1),
            ("more than 30 words", words > 30),
            ("an idiom", has_idiom),
            ("a noun clause first", is_first && has_clause),
            ("a pronoun first", is_first && self.pronoun.is_match(text)),
            ("more than 15 words first", is_first && words > 15),
            ("a negative first", is_first && negatives > 0),
            ("no verb first", sentence.is_of_function && lacks_verb),
        ];
        let found = faults.into_iter().filter(|(_, has)| *has);
        found.map(|(fault, _)| fault).collect()
    }
}

/// Returns the group of the file at `path`, if its words are checked.
fn group(path: &Path) -> Option<&'static str> {
    let is_page = path.extension().is_some_and(|it| it == "md");
    let parts: Vec<_> = path.iter().filter_map(|it| it.to_str()).collect();
    let is_test = parts.iter().any(|it| ["tests", "tests.rs"].contains(it));
    let has_prose = match &parts[..] {
        [first, "src", ..] => first.starts_with("redlock-") && !is_test,
        ["docs", ..] | ["README.md" | "ARCHITECTURE.md" | "CONTRIBUTING.md"] => is_page,
        _ => false,
    };
    match (is_page, has_prose) {
        (true, _) if path.starts_with(GUIDE) => Some("guide"),
        (true, true) => Some("pages"),
        (false, true) => Some("library"),
        _ => None,
    }
}

#[test]
fn comments_and_documents_have_plain_sentences() {
    let reader = Reader::new();
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for (path, text) in ["rs", "lua", "md"].into_iter().flat_map(files) {
        let Some(group) = group(&path) else { continue };
        for it in sentences(&path, &text) {
            let place = format!("{}:{}", path.display(), it.line);
            let faults = reader.faults(&it);
            groups.entry(group).or_default().push((it, faults, place));
        }
    }
    let mut wrong = Vec::new();
    for (group, of, fault, most) in LIMITS {
        let counted = groups[group].iter().filter(|(it, ..)| match of {
            "comments" => it.is_first,
            "functions" => it.is_of_function,
            _ => true,
        });
        let all = counted.clone().count();
        let mut found: Vec<_> = counted.filter(|(_, it, _)| it.contains(&fault)).collect();
        let [part, all] = [found.len(), all].map(|it| u32::try_from(it).expect("a small number"));
        let rate = (f64::from(part) * 1_000.0 / f64::from(all)).round() / 10.0;
        if rate > most {
            found.sort_by_key(|(it, faults, _)| Reverse((faults.len(), it.text.len())));
            wrong.push(format!(
                "{group}: {rate} of 100 {of} have {fault}, and at most {most} may:"
            ));
            let worst = found.into_iter().take(SHOWN);
            wrong.extend(worst.map(|(it, _, place)| format!("  {place}: {}", it.text)));
        }
    }
    assert_none(&wrong);
}
