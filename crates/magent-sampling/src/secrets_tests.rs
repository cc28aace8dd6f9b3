use magent_types::Dialect;
use serde_json::json;

use super::of_route;
use crate::dialect::test_support::route;
use crate::{ProxyChoice, Redactor, Route, Secret};

fn cleaned(route: &Route, text: &str) -> String {
    Redactor::for_route(route).clean(text)
}

fn with_url(url: &str) -> Route {
    Route {
        url: Secret::new(url),
        ..route(Dialect::OpenAiChat, "qwen2.5-coder-32b-instruct")
    }
}

#[test]
fn every_secret_part_of_a_url_is_removed_in_every_spelling() {
    let url = "https://u%40ser:p%40ssw0rd@h/bot12345678:AAabcdefghij/v1?key=a%2Fb%2bc%3DSECRET&x=form+value#fragment";
    let route = with_url(url);
    for echo in [
        "a%2Fb%2bc%3DSECRET",
        "a/b+c=SECRET",
        "a%2Fb%2Bc%3DSECRET",
        "a%2fb%2bc%3dSECRET",
        "a/b%2Bc%3dSECRET",
        r"a\/b+c=SECRET",
        "form+value",
        "form value",
        "form%20value",
        "bot12345678:AAabcdefghij",
        "bot12345678%3AAAabcdefghij",
        "dUBzZXI6cEBzc3cwcmQ=",
        "p@ssw0rd",
        "p%40ssw0rd",
        "u@ser:p@ssw0rd",
        "fragment",
    ] {
        assert_eq!(
            cleaned(&route, &format!("bad: {echo}.")),
            "bad: <redacted>."
        );
    }
    let unwise = with_url("http://h/v1?key=a b\"secret");
    assert_eq!(cleaned(&unwise, "a%20b%22secret"), "<redacted>");
    let through = Route {
        proxy: ProxyChoice::Url(Secret::new("http://me:proxy-password@p:1")),
        ..with_url("http://h/v1")
    };
    assert_eq!(cleaned(&through, "me:proxy-password"), "<redacted>");
}

#[test]
fn ordinary_words_of_a_url_stay() {
    for url in [
        "https://h/v1beta/models/qwen2.5-coder-32b-instruct:streamGenerateContent?alt=sse",
        "https://h/openai/deployments/gpt-4o-2024-08-06/chat/completions?api-version=2024-10-21",
        "https://h/model/anthropic.claude-3-5-sonnet-20241022-v2:0/converse-stream",
        "https://h/v1?model=qwen2.5-coder-32b-instruct",
    ] {
        assert_eq!(of_route(&with_url(url)), Vec::<String>::new(), "{url}");
    }
}

#[test]
fn words_of_headers_are_removed_unless_anybody_may_write_them() {
    let headers = [
        ("Authorization", "Bearer FIRSTPART second-part"),
        ("Cookie", "session=cookie-value; b=other-value"),
        ("X-Tenant", "tenant 0a1b2c3d4e5f6a7b"),
        ("anthropic-version", "2023-06-01"),
        ("HTTP-Referer", "https://example.org/agents"),
    ];
    let route = Route {
        headers: headers
            .map(|(name, value)| (name.into(), Secret::new(value)))
            .to_vec(),
        ..with_url("http://h/v1")
    };
    let told = "Bearer: FIRSTPART, second-part, cookie-value, other-value, \
        0a1b2c3d4e5f6a7b, a tenant since 2023-06-01 for https://example.org/agents";
    assert_eq!(
        cleaned(&route, told),
        "Bearer: <redacted>, <redacted>, <redacted>, <redacted>, \
        <redacted>, a tenant since 2023-06-01 for https://example.org/agents"
    );
}

#[test]
fn fields_whose_names_say_so_are_removed() {
    let extra = json!({
        "api_key": "param-secret",
        "metadata": {"Authorization": ["nested-secret", 5]},
        "max_tokens": 100,
        "prompt_cache_key": "project",
        "stop": ["something"],
    });
    let route = Route {
        extra: extra.as_object().cloned().unwrap_or_default(),
        ..with_url("http://h/v1")
    };
    assert_eq!(
        cleaned(&route, "param-secret nested-secret project something"),
        "<redacted> <redacted> project something"
    );
}
