//! Text cut into the pieces that a model would send one by one.

/// Chinese has no spaces between words; two characters are about one.
const IDEOGRAPHS_PER_PIECE: usize = 2;

/// Cuts text into words, each with the white space that follows it.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut ideographs = 0;
    let mut spaced = false;
    for char in text.chars() {
        let begins_word = spaced && !char.is_whitespace();
        if begins_word || ideographs == IDEOGRAPHS_PER_PIECE {
            pieces.push(std::mem::take(&mut piece));
            ideographs = 0;
        }
        spaced = char.is_whitespace();
        ideographs += usize::from(is_ideograph(char));
        piece.push(char);
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

/// Whether text is Chinese: ideographs, and none of the letters that Japanese and Korean
/// mix with them.
pub(crate) fn is_chinese(text: &str) -> bool {
    let foreign = |char| matches!(char, '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}');
    text.chars().any(is_ideograph) && !text.chars().any(foreign)
}

fn is_ideograph(char: char) -> bool {
    matches!(char, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{3134f}')
}

/// Cuts text into pieces of at most `most` bytes, between characters.
pub(crate) fn chunks(text: &str, most: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    for char in text.chars() {
        if !piece.is_empty() && piece.len() + char.len_utf8() > most {
            pieces.push(std::mem::take(&mut piece));
        }
        piece.push(char);
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

/// At most `most` characters, the last one a mark if these are not all.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let kept = text.chars().take(most.saturating_sub(1));
    kept.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_every_character() {
        assert_eq!(words("one  two\nthree "), ["one  ", "two\n", "three "]);
        assert_eq!(words(" x"), [" ", "x"]);
        assert_eq!(words("你好，世界"), ["你好", "，世界"]);
        assert!(words("").is_empty());
        let text = "  a 演示模型 b\n\n- c";
        assert_eq!(words(text).concat(), text);
    }

    #[test]
    fn chunks_are_cut_between_characters() {
        assert_eq!(chunks("abcdef", 4), ["abcd", "ef"]);
        assert_eq!(chunks("你好吗", 4), ["你", "好", "吗"]);
        assert!(chunks("", 4).is_empty());
    }

    #[test]
    fn chinese_is_told_from_its_neighbours() {
        assert!(is_chinese("show me 你好"));
        assert!(!is_chinese("hello"));
        assert!(!is_chinese("日本語です"));
        assert!(!is_chinese("漢字 한글"));
    }

    #[test]
    fn shortened_text_shows_that_it_is() {
        assert_eq!(shortened("你好吗", 2), "你…");
        assert_eq!(shortened("你好", 2), "你好");
    }
}
