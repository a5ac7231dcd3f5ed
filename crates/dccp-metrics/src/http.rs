//! Requests and responses: the part of HTTP/1.1 (RFC 9112) that a scrape needs.

use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

/// The longest head of a request, in bytes.
pub(crate) const HEAD_MAX: usize = 2048;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// Returns true if the empty line after the header fields has arrived.
pub(crate) fn is_complete(head: &[u8]) -> bool {
    // RFC 9112 §2.2: a recipient may accept a line feed without a carriage return as the end of a line.
    let ends_with = |end: &[u8]| head.windows(end.len()).any(|bytes| bytes == end);
    ends_with(b"\r\n\r\n") || ends_with(b"\n\n")
}

/// Returns the whole response to a request whose head is complete, or too long to become so.
pub(crate) fn respond(head: &[u8], registry: &Registry) -> Vec<u8> {
    match target(head) {
        Ok("/metrics") => {
            let mut body = String::new();
            match text::encode(&mut body, registry) {
                Ok(()) => response("200 OK", OPEN_METRICS, &body),
                Err(_) => response(
                    "500 Internal Server Error",
                    PLAIN,
                    "a metric has no value\n",
                ),
            }
        }
        Ok("/health") => response("200 OK", PLAIN, "ok\n"),
        Ok(_) => response("404 Not Found", PLAIN, "try /metrics or /health\n"),
        Err(status) => response(status, PLAIN, &format!("{status}\n")),
    }
}

/// Returns the path that a GET request names, without its query, or the status that refuses the request.
fn target(head: &[u8]) -> Result<&str, &'static str> {
    const BAD_REQUEST: &str = "400 Bad Request";
    if !is_complete(head) {
        return Err("431 Request Header Fields Too Large");
    }
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = str::from_utf8(line).map_err(|_| BAD_REQUEST)?;
    let line = line.strip_suffix('\r').unwrap_or(line);
    let words: Vec<&str> = line.splitn(4, ' ').collect();
    let [method, target, version] = words[..] else {
        return Err(BAD_REQUEST);
    };
    if !version.starts_with("HTTP/1.") {
        return Err(BAD_REQUEST);
    }
    if method != "GET" {
        return Err("405 Method Not Allowed");
    }
    Ok(target.split_once('?').map_or(target, |(path, _)| path))
}

fn response(status: &str, content_type: &str, body: &str) -> Vec<u8> {
    // RFC 9110 §15.5.6: status 405 lists the methods of the target. The other responses may list them too.
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
         Allow: GET\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answer(head: &[u8]) -> String {
        String::from_utf8(respond(head, &Registry::default())).unwrap()
    }

    #[track_caller]
    fn assert_status(head: &str, status: &str) {
        let answer = answer(head.as_bytes());
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{head:?}: {answer}"
        );
    }

    #[test]
    fn only_get_of_two_paths_is_answered() {
        assert_status("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "200");
        assert_status("GET /metrics?name=a HTTP/1.0\n\n", "200");
        assert_status("GET /health HTTP/1.1\r\n\r\n", "200");
        assert_status("GET / HTTP/1.1\r\n\r\n", "404");
        assert_status("GET /metrics/ HTTP/1.1\r\n\r\n", "404");
        assert_status("GET /../metrics HTTP/1.1\r\n\r\n", "404");
        assert_status("POST /metrics HTTP/1.1\r\n\r\n", "405");
        assert_status("get /metrics HTTP/1.1\r\n\r\n", "405");
    }

    #[test]
    fn malformed_request_is_refused() {
        for head in [
            "\r\n\r\n",
            "\n\n",
            "GET\r\n\r\n",
            "GET /metrics\r\n\r\n",
            "GET  /metrics HTTP/1.1\r\n\r\n",
            "GET /metrics HTTP/1.1 x\r\n\r\n",
            "GET /metrics HTTP/2\r\n\r\n",
        ] {
            assert_status(head, "400");
        }
        let not_text = answer(b"GET /\xff HTTP/1.1\r\n\r\n");
        assert!(not_text.starts_with("HTTP/1.1 400 "), "{not_text}");
        assert_status("GET /metrics HTTP/1.1\r\nA: bbb", "431");
    }

    #[test]
    fn response_names_its_length_and_type() {
        let answer = answer(b"GET /metrics HTTP/1.1\r\n\r\n");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, "# EOF\n");
        assert!(head.contains("\r\nContent-Length: 6\r\n"), "{head}");
        assert!(
            head.contains(
                "\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"
            ),
            "{head}"
        );
        assert!(head.ends_with("\r\nConnection: close"), "{head}");
    }

    proptest! {
        #[test]
        fn any_bytes_get_one_response(head in proptest::collection::vec(any::<u8>(), 0..HEAD_MAX)) {
            let answer = answer(&head);
            prop_assert!(answer.starts_with("HTTP/1.1 "));
            prop_assert_eq!(answer.matches("HTTP/1.1 ").count(), 1);
        }

        #[test]
        fn any_request_line_gets_one_response(method in ".*", target in ".*", version in ".*") {
            let answer = answer(format!("{method} {target} {version}\r\n\r\n").as_bytes());
            prop_assert_eq!(answer.matches("HTTP/1.1 ").count(), 1);
        }
    }
}
