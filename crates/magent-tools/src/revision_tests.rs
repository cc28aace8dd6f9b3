use super::*;

#[test]
fn the_revision_is_the_sha_256_of_the_bytes() {
    assert_eq!(
        revision_of(b""),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    assert_ne!(revision_of(b"a\n"), revision_of(b"a\r\n"));
}
