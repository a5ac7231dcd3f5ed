"""Checks pages of `dccplab report` and `reproduce` in a browser: check.py BROWSER PAGE…

Each page: no message in the console, no request, links to files that exist, tables with and without scripts, printing,
a narrow window, and axe's rules in light and in dark. A page with charts: zoom by buttons, keys and mouse, cursors in
step, pictures without scripts and on paper.
"""

import pathlib
import sys
import urllib.parse
from contextlib import contextmanager

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

UNFOLD = "for (const part of document.querySelectorAll('details')) part.open = true"


def check(is_true: bool, what: str) -> None:
    if not is_true:
        raise SystemExit(f"failed: {what}")


@contextmanager
def opened(browser, path: pathlib.Path, **options):
    """A page in a fresh profile, which must be silent and load nothing."""
    context = browser.new_context(**options)
    page = context.new_page()
    url = path.as_uri()
    problems = []
    page.on("console", lambda message: problems.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("request", lambda request: request.url != url and problems.append(f"request: {request.url}"))
    page.goto(url)
    yield page
    check(not problems, f"{path.name}: {problems}")
    context.close()


def has_charts(page: Page) -> bool:
    return page.locator("figure.series").count() > 0


def shown_range(page: Page) -> tuple[float, float]:
    output = page.locator(".range").first
    return float(output.get_attribute("data-from")), float(output.get_attribute("data-to"))


def first_chart(page: Page):
    page.evaluate(UNFOLD)
    figure = page.locator("figure.series").first
    figure.scroll_into_view_if_needed()
    page.locator("figure.is-live").first.wait_for()
    return figure


def unfold(page: Page) -> None:
    if has_charts(page):
        first_chart(page)
    else:
        page.evaluate(UNFOLD)


def check_zoom(page: Page) -> None:
    figure = first_chart(page)
    check(figure.locator("canvas").count() >= 3, "each panel has a canvas")
    check(not figure.locator(".still").is_visible(), "the chart replaces the picture")
    begin, end = whole = shown_range(page)
    check(begin == 0 and end > 10, f"the whole time is shown: {whole}")

    figure.get_by_role("button", name="Zoom in").click()
    low, high = shown_range(page)
    check(begin < low < high < end, f"a button zooms in: {low} to {high}")
    figure.get_by_role("button", name="Later").press("Enter")
    check(shown_range(page)[0] > low, "a button moves")
    page.keyboard.press("-")
    check(shown_range(page)[1] - shown_range(page)[0] > high - low, "a key zooms out")
    page.keyboard.press("0")
    check(shown_range(page) == whole, "a key resets")
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    check(shown_range(page) != whole, "keys zoom and move")
    figure.get_by_role("button", name="Show the whole time").click()
    check(shown_range(page) == whole, "a button resets")

    panels = figure.locator(".u-over")
    box = panels.first.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.25, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.4, y, steps=4)
    page.mouse.move(box["x"] + box["width"] * 0.5, y, steps=4)
    page.mouse.up()
    low, high = shown_range(page)
    check(abs(low - end * 0.25) < end * 0.02 and abs(high - end * 0.5) < end * 0.02, f"dragging zooms: {low} to {high}")
    cursors = figure.locator(".u-cursor-x").evaluate_all("lines => lines.map(line => line.style.transform)")
    check(len(set(cursors)) == 1 and "translate" in cursors[0], f"cursors are in step: {cursors}")
    page.mouse.dblclick(box["x"] + 10, y)
    check(shown_range(page) == whole, "a double click resets")


def check_keyboard(page: Page) -> None:
    page.keyboard.press("Tab")
    check(page.evaluate("document.activeElement.className") == "skip", "the first stop skips the navigation")
    box = page.locator(".skip").bounding_box()
    check(box["x"] >= 0, "the focused link is visible")
    page.keyboard.press("Enter")
    check(page.evaluate("location.hash") == "#main", "the link leads to the content")
    levels = page.locator("h1, h2, h3").evaluate_all("all => all.map(h => Number(h.tagName[1]))")
    check(levels[0] == 1 and levels.count(1) == 1, "one main heading")
    check(all(b - a <= 1 for a, b in zip(levels, levels[1:])), f"headings in order: {levels}")
    lone = "all => all.filter(th => !th.hasAttribute('scope') && !th.closest('.u-legend')).length"
    check(page.locator("th").evaluate_all(lone) == 0, "table headings have a scope")
    folder = pathlib.Path(urllib.parse.unquote(urllib.parse.urlparse(page.url).path)).parent
    for target in page.locator("a").evaluate_all("all => all.map(a => a.getAttribute('href'))"):
        exists = target.startswith("#") or (folder / urllib.parse.unquote(target)).is_file()
        check(exists, f"a link leads to a place: {target}")
    unnamed = "all => all.filter(svg => svg.getAttribute('role') !== 'img' || !svg.getAttribute('aria-label')).length"
    check(page.locator("svg").evaluate_all(unnamed) == 0, "pictures have names")


def check_without_scripts(page: Page) -> None:
    check(page.locator(".live").count() == 0, "no script runs")
    check(page.locator("section > .wide table").first.is_visible(), "a table is visible")
    if not has_charts(page):
        return
    for name in ["svg", "table"]:
        check(page.locator(name).count() >= 5, f"several {name}")
    check(page.locator("section svg").first.is_visible(), "a picture is visible")
    part = page.locator("details.part:has(.still)").first
    if part.get_attribute("open") is None:
        part.locator("summary").first.click()
    check(part.locator(".still svg").first.is_visible(), "the picture of a cell is visible")


def check_paper(page: Page) -> None:
    if not has_charts(page):
        page.emulate_media(media="print")
        check(not page.locator("nav").is_visible(), "paper has no navigation")
        check(page.locator("section > .wide table").first.is_visible(), "paper has the table")
        page.emulate_media(media="screen")
        return
    first_chart(page)
    page.emulate_media(media="print")
    figure = page.locator("figure.is-live").first
    check(figure.locator(".still svg").is_visible(), "paper has the picture")
    check(not figure.locator(".live").is_visible(), "paper has no buttons")
    page.emulate_media(media="screen")


def check_narrow(page: Page) -> None:
    unfold(page)
    width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    check(width[0] <= width[1], f"a narrow page does not scroll sideways: {width}")


def check_rules(page: Page, scheme: str) -> None:
    unfold(page)
    results = Axe().run(page)
    bad = [rule for rule in results.response["violations"] if rule["impact"] in ("serious", "critical")]
    for rule in bad:
        print(f"{scheme}: {rule['id']}: {rule['help']}: {[node['html'][:200] for node in rule['nodes'][:3]]}")
    check(not bad, f"{scheme}: {[rule['id'] for rule in bad]}")
    check(len(results.response["passes"]) > 15, "the rules ran")


def main() -> None:
    program, *paths = sys.argv[1:]
    check(len(paths) > 0, "pages to check")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        for path in (pathlib.Path(path).resolve() for path in paths):
            with opened(browser, path) as page:
                check_keyboard(page)
                if has_charts(page):
                    check_zoom(page)
                check_paper(page)
            with opened(browser, path, java_script_enabled=False) as page:
                check_without_scripts(page)
            with opened(browser, path, viewport={"width": 390, "height": 800}) as page:
                check_narrow(page)
            for scheme in ["light", "dark"]:
                with opened(browser, path, color_scheme=scheme) as page:
                    check_rules(page, scheme)
            print(f"{path.name}: checked")
        browser.close()
    print("all checks passed")


main()
