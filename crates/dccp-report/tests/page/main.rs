//! A whole page is well-formed, needs no other file and shows texts of peers only as texts.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod sample;

use roxmltree::{Document, Node, ParsingOptions};

/// The elements of a page, if it is well-formed.
fn parse(page: &str) -> Document<'_> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(page, options).unwrap()
}

fn named<'a>(document: &'a Document<'_>, name: &str) -> Vec<Node<'a, 'a>> {
    let nodes = document.descendants();
    nodes
        .filter(|node| node.tag_name().name() == name)
        .collect()
}

/// The page stays in the build directory for a look with a browser.
#[test]
fn page_needs_no_other_file() {
    let page = sample::page("bulk to host.example").to_string();
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/page.html"), &page).unwrap();
    let document = parse(&page);
    for name in ["script", "link", "img", "iframe", "object", "base", "form"] {
        assert!(named(&document, name).is_empty(), "a {name} element");
    }
    let without_namespace = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for text in ["http:", "https:", "url(", "@import", "javascript:", "src="] {
        assert!(!without_namespace.contains(text), "contains {text}");
    }
    let policy = "content=\"default-src 'none'; style-src 'sha256-";
    assert!(page.contains(policy) && !page.contains("script-src"));
    assert!(page.len() < 200_000, "{} bytes", page.len());
}

#[test]
fn each_figure_has_a_picture_or_a_reason_and_numbers() {
    let page = sample::page("run").to_string();
    let document = parse(&page);
    let figures = named(&document, "figure");
    assert_eq!(figures.len(), 6);
    let has = |figure: &Node<'_, '_>, name: &str| {
        let mut nodes = figure.descendants();
        nodes.any(|node| node.tag_name().name() == name)
    };
    let pictures = figures.iter().filter(|figure| has(figure, "svg"));
    assert_eq!(pictures.count(), 5);
    assert!(figures.iter().all(|figure| has(figure, "figcaption")));
    for figure in &figures {
        let details = figure.children().find(|node| node.has_tag_name("details"));
        assert!(has(&details.unwrap(), "table"));
    }
    assert!(page.contains("<p class=\"absent\">cannot draw: no points</p>"));
}

#[test]
fn page_with_a_chart_permits_its_script_and_nothing_else() {
    let page = sample::zoomable().to_string();
    let document = parse(&page);
    let scripts = named(&document, "script");
    assert_eq!(scripts.len(), 2, "the numbers, and the code");
    assert_eq!(scripts[0].attribute("type"), Some("text/plain"));
    let policy = named(&document, "meta").into_iter();
    let policy: Vec<_> = policy
        .filter_map(|meta| meta.attribute("content"))
        .collect();
    assert_eq!(policy[0].matches("'sha256-").count(), 2, "{}", policy[0]);
    assert!(policy[0].starts_with("default-src 'none';") && !policy[0].contains("unsafe"));
    let figure = named(&document, "figure")[0];
    let picture = figure
        .descendants()
        .find(|node| node.tag_name().name() == "svg");
    assert_eq!(picture.unwrap().attribute("role"), Some("img"));
    assert_eq!(
        picture.unwrap().attribute("aria-label"),
        Some("Rate over time")
    );
    let footer = named(&document, "footer")[0].descendants();
    let footer: String = footer.filter_map(|node| node.text()).collect();
    assert!(footer.contains("MIT licence"), "{footer}");
}

#[test]
fn each_scrolling_part_can_have_the_focus() {
    let page = sample::page("run").to_string();
    let document = parse(&page);
    let is_wide = |node: &&Node<'_, '_>| node.attribute("class") == Some("wide");
    let parts = named(&document, "div");
    let parts: Vec<_> = parts.iter().filter(is_wide).collect();
    assert!(parts.len() > 6);
    assert!(
        parts
            .iter()
            .all(|part| part.attribute("tabindex") == Some("0"))
    );
    assert!(
        parts
            .iter()
            .all(|part| part.attribute("aria-label").is_some())
    );
}

#[test]
fn navigation_leads_to_each_section() {
    let page = sample::page("run").to_string();
    let document = parse(&page);
    let sections = named(&document, "section");
    let links = named(&document, "a");
    assert_eq!((sections.len(), links.len()), (8, 9));
    // The first link skips the navigation.
    assert_eq!(links[0].attribute("href"), Some("#main"));
    for (section, link) in sections.iter().zip(&links[1..]) {
        let id = section.attribute("id").unwrap();
        assert_eq!(link.attribute("href").unwrap(), format!("#{id}"));
        let heading = section.children().find(|node| node.has_tag_name("h2"));
        assert_eq!(heading.unwrap().text(), link.text());
    }
}

#[test]
fn texts_of_peers_stay_texts() {
    let hostile = "</title><script>alert(1)</script>\0\u{202e}&amp;\"'";
    let page = sample::page(hostile).to_string();
    let document = parse(&page);
    assert!(named(&document, "script").is_empty());
    let shown = "</title><script>alert(1)</script>\u{fffd}\u{fffd}&amp;\"'";
    for name in ["title", "h1"] {
        assert_eq!(named(&document, name)[0].text(), Some(shown), "{name}");
    }
}

#[test]
fn colours_of_pictures_have_a_dark_variant() {
    let page = sample::page("run").to_string();
    let document = parse(&page);
    let style = dccp_plot::dark_style();
    assert!(page.contains(&style));
    let mut colours = 0;
    for picture in named(&document, "svg") {
        for node in picture.descendants() {
            for name in ["fill", "stroke"] {
                let Some(colour) = node.attribute(name).filter(|value| *value != "none") else {
                    continue;
                };
                colours += 1;
                let rule = format!("svg [{name}=\"{colour}\"]{{");
                assert!(style.contains(&rule), "no rule for {name} {colour}");
            }
        }
    }
    assert!(colours > 100, "{colours} colours");
}
