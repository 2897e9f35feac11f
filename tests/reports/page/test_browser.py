"""Pages in a real Chromium: the slider shows the tool's verdicts, filters, keys, accessibility, hostile names."""

from __future__ import annotations

import json
import re

import pytest

from layoutlint.reports.show import html
from layoutlint.reports.show.options import ShowOptions
from tests.harness import browser
from tests.harness.build import member, struct
from tests.harness.command import ROOT, run
from tests.reports.page import sample
from tests.reports.page.test_page import NAMES, compared, traced

assert compared  # a fixture
assert traced  # a fixture

OPEN = "document.querySelectorAll(arguments[0])[arguments[1]].open = true"
pytestmark = pytest.mark.exhaustive  # Chromium takes seconds to start
VISIBLE = "return [...document.querySelectorAll('#finding-list > li > details > summary code')].map(e => e.textContent)"
SLIDE = """
const map = document.querySelectorAll('#finding-list .struct-map')[0], slider = map.querySelector('input[type=range]');
const seen = [];
for (let at = 0; at <= slider.max; at++) {
  slider.value = at;
  slider.dispatchEvent(new Event('input'));
  const item = map.querySelector('.verdicts li');
  const marks = [...map.querySelectorAll('.mark')].map(mark => [mark.dataset.path, Number(mark.dataset.line)]);
  seen.push([map.querySelector('output').textContent, item.dataset.verdict, item.textContent, marks]);
}
return seen;
"""


@pytest.fixture(scope="module")
def driver():
    with browser.chromium() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    arguments = sample.write(folder)
    done = run("check", *arguments, "--format", "json", "--html", "page.html", cwd=folder)
    return folder / "page.html", json.loads(done.stdout)


def open_rule(driver, rule):
    driver.execute_script("document.forms['finding-filter'].elements.rule.value = arguments[0];"
                          "document.forms['finding-filter'].dispatchEvent(new Event('submit'))", rule)  # fmt: skip
    assert driver.execute_script(VISIBLE) == [rule]
    driver.execute_script(OPEN, "#finding-list details", 0)
    driver.execute_async_script("setTimeout(arguments[0], 50)")


def test_the_slider_shows_the_verdicts_of_check(driver, page):
    path, report = page
    finding = next(finding for finding in report["findings"] if finding["rule"] == "apart")
    browser.visit(driver, path)
    open_rule(driver, "apart")
    seen = driver.execute_script(SLIDE)
    assert [words.split()[1] for words, *_ in seen] == [str(base) for base in range(0, 64, 8)]
    for base, (_, verdict, text, marks) in zip(range(0, 64, 8), seen, strict=True):
        assert (verdict == "fails") == (base in finding["placements"]["bases"])
        assert text.endswith("fails here: i_mmap shares a line with i_mmap_rwsem" if verdict == "fails" else "kept here")
        lines = {path: {line for other, line in marks if other == path} for path, _ in marks}
        assert set(lines) == ({"i_mmap", "i_mmap_rwsem"} if verdict == "fails" else set())
        assert not marks or lines["i_mmap"] & lines["i_mmap_rwsem"]
    assert browser.complaints(driver) == []
    assert browser.requests(driver) == []


def test_pairs_of_lines_have_twice_the_bases(driver, page):
    path, report = page
    finding = next(finding for finding in report["findings"] if finding["rule"] == "pairs")
    browser.visit(driver, path)
    open_rule(driver, "pairs")
    failing = [8 * number for number, (_, verdict, *_) in enumerate(driver.execute_script(SLIDE)) if verdict == "fails"]
    assert failing == finding["placements"]["bases"]


def test_a_finding_says_what_it_rests_on(driver, page):
    browser.visit(driver, page[0])
    driver.execute_script(OPEN, "#finding-list > li > details", 0)
    driver.execute_async_script("setTimeout(arguments[0], 200)")
    text = driver.execute_script("return document.querySelector('#finding-list > li').innerText")
    assert re.search(r"Rests on\s+declared: rule file, \S+:1", text), text


def test_filters(driver, page):
    browser.visit(driver, page[0])
    assert sorted(driver.execute_script(VISIBLE)) == ["apart", "pairs"]
    box = driver.find_element("css selector", "#finding-filter input")
    for word, expected in [("next line", ["pairs"]), ("I_MMAP_rwsem", ["apart"]), ("nothing", []), ("", ["apart", "pairs"])]:
        box.clear()
        box.send_keys(word + " ")
        driver.execute_async_script("setTimeout(arguments[0], 150)")
        assert sorted(driver.execute_script(VISIBLE)) == expected
        words = driver.find_element("id", "finding-count").text
        assert words == f"{len(expected)} finding{'' if len(expected) == 1 else 's'}"
    driver.execute_script("document.forms['finding-filter'].elements.outcome.value = 'kept';"
                          "document.forms['finding-filter'].dispatchEvent(new Event('submit'))")  # fmt: skip
    assert driver.execute_script(VISIBLE) == ["size"]


def test_both_sides_of_a_comparison_move_together(driver, compared):
    browser.visit(driver, compared[0])
    driver.execute_script(OPEN, "#change-list > li > details", 0)
    driver.execute_async_script("setTimeout(arguments[0], 100)")
    seen = driver.execute_script("""
        const sliders = [...document.querySelectorAll('#change-list input[type=range]')];
        sliders[0].value = 7;
        sliders[0].dispatchEvent(new Event('input'));
        return [...document.querySelectorAll('#change-list .struct-map')].map(map =>
            [map.querySelector('output').textContent, map.querySelector('[data-rule=apart]').dataset.verdict]);
    """)
    assert seen == [["byte 56 of a line", "holds"], ["byte 56 of a line", "fails"]]
    assert browser.axe(driver) == []
    assert browser.complaints(driver) == []


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_the_builds_of_a_history_move_together(driver, traced, is_dark):
    if is_dark:
        browser.dark(driver)
    path, stated = traced
    browser.visit(driver, path)
    driver.execute_script(OPEN, "#history-still details", 0)
    driver.execute_async_script("setTimeout(arguments[0], 100)")
    cells = "return [...document.querySelectorAll('#history-table tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))"
    table = {name: values for name, *values in driver.execute_script(cells)}
    outcomes = next(rule["outcome"] for rule in stated["rules"] if rule["rule"] == "apart")
    assert [cell.split()[0] for cell in table["apart"]] == outcomes
    verdicts = driver.execute_script("""
        const maps = [...document.querySelectorAll('#history-maps .struct-map')], slider = maps[1].querySelector('input[type=range]');
        const seen = [];
        for (let at = 0; at <= slider.max; at++) {
          slider.value = at;
          slider.dispatchEvent(new Event('input'));
          seen.push(maps.map(map => [map.querySelector('output').textContent.split(' ')[1], map.querySelector('[data-rule=apart]').dataset.verdict]));
        }
        return seen;
    """)
    failing = next(pair["bases"] for pair in stated["pairs"])
    for old, new in verdicts:
        assert old[0] == new[0]
        assert [old[1], new[1]] == ["fails" if int(old[0]) % 64 in bases else "holds" for bases in (failing[0], failing[2])]
    assert {int(base) % 64 for (base, _), _ in verdicts} == set(range(0, 64, 8))
    assert browser.axe(driver) == []
    assert browser.complaints(driver) == []
    assert browser.requests(driver) == []


def test_fifty_builds_are_drawn_when_they_are_opened(driver, tmp_path):
    """The page stays small, and a map that is opened later is at the place of the others."""
    for number in range(50):
        fields = [f"long f{(number // 3 + at) % 40};" for at in range(40)]
        (tmp_path / f"{number:02}.h").write_text(f"struct s {{ {' '.join(fields)} }};\n")
    run("history", *sorted(path.name for path in tmp_path.iterdir()), "s", "--html", "page.html", cwd=tmp_path)
    assert browser.visit(driver, tmp_path / "page.html") < 1000
    maps = "return [...document.querySelectorAll('#history-maps .struct-map output')].map(output => output.textContent)"
    assert len(driver.execute_script(maps)) == 2
    driver.execute_script("const slider = document.querySelector('#history-maps input'); slider.value = 3; slider.dispatchEvent(new Event('input'));")
    driver.execute_script(OPEN, "#history-maps details", 7)
    driver.execute_async_script("setTimeout(arguments[0], 100)")
    assert driver.execute_script(maps) == ["byte 24 of a line"] * 3
    assert driver.execute_script("return document.querySelectorAll('#history-maps h3').length") == 50
    assert browser.axe(driver) == []


def test_names_of_rows_stay_while_a_table_is_scrolled(driver, tmp_path):
    words = ("--matrix", ROOT / "fixtures/matrix/matrix.toml", "--rules", ROOT / "fixtures/matrix/rules.toml")
    run("check", *words, "--html", tmp_path / "page.html", cwd=ROOT / "fixtures/matrix")
    browser.visit(driver, tmp_path / "page.html")
    left, scrolled, after = driver.execute_script("""
        const table = document.getElementById('build-table'), name = table.querySelector('th[scope=row]');
        const before = name.getBoundingClientRect().left;
        table.scrollLeft = 500;
        return [before, table.scrollLeft, name.getBoundingClientRect().left];
    """)
    assert scrolled == 500
    assert after == left
    assert "`" not in driver.execute_script("return document.getElementById('coverage-body').textContent")


def test_tables_with_many_columns_continue_on_paper(driver, tmp_path):
    """On A4, each column is there once, none is beyond the margin, and nothing is left on the screen afterwards."""
    words = ("--matrix", ROOT / "fixtures/matrix/matrix.toml", "--rules", ROOT / "fixtures/matrix/rules.toml")
    run("check", *words, "--html", tmp_path / "page.html", cwd=ROOT / "fixtures/matrix")
    browser.visit(driver, tmp_path / "page.html")
    heads = "return [...document.querySelectorAll(arguments[0])].map(row => [...row.cells].map(cell => cell.textContent))"
    (row,) = driver.execute_script(heads, "#build-table > table > thead > tr")
    with browser.paper(driver, 718):
        parts = driver.execute_script(heads, "#build-table > .paper > table > thead > tr")
        right = driver.execute_script("return Math.max(...[...document.querySelectorAll('#build-table > .paper *')].map(e => e.getBoundingClientRect().right))")
        hidden = driver.execute_script("return document.querySelector('#build-table > table').getBoundingClientRect().width")
    assert len(parts) > 3
    assert [name for part in parts for name in part[2:]] == row[2:]
    assert all(part[:2] == row[:2] for part in parts)
    assert (right <= 718, hidden) == (True, 0)
    assert driver.execute_script("return document.querySelectorAll('.paper').length") == 0


def test_names_of_many_columns_are_on_one_line(driver, tmp_path):
    (tmp_path / "a.h").write_text("struct s { long invalidate_lock; char big[1 << 30]; int last; };\n")
    run("history", *["a.h"] * 50, "s", "--html", "page.html", cwd=tmp_path)
    browser.visit(driver, tmp_path / "page.html")
    driver.execute_script(OPEN, "#history-still details", 0)
    driver.execute_async_script("setTimeout(arguments[0], 100)")
    heights = driver.execute_script("return [...document.querySelectorAll('#history-still th[scope=row]')].map(e => e.offsetHeight)")
    assert len(heights) == 3
    assert max(heights) < 35
    over = driver.execute_script("""
        const map = document.querySelector('svg.map'), box = map.querySelector('.line').getBoundingClientRect().left;
        return [...map.querySelectorAll('text.dim')].slice(8).filter(e => e.getBoundingClientRect().right > box).map(e => e.textContent);
    """)
    assert over == []


def test_the_keyboard_is_enough(driver, page):
    from selenium.webdriver.common.keys import Keys

    browser.visit(driver, page[0])
    focus = "const e = document.activeElement; return e.tagName + ' ' + (e.id || e.name || e.textContent).slice(0, 40)"
    seen = []
    for _ in range(40):
        driver.switch_to.active_element.send_keys(Keys.TAB)
        seen.append(driver.execute_script(focus))
        if seen[-1].startswith("SUMMARY"):
            break
    assert seen[0] == "A Skip to content"
    assert {"INPUT text", "SELECT outcome", "SELECT severity", "SELECT rule", "SELECT file"} <= set(seen)
    for _ in range(2):  # the first finding is open: close it, and open it again
        driver.switch_to.active_element.send_keys(Keys.ENTER)
        driver.execute_async_script("setTimeout(arguments[0], 100)")
    driver.switch_to.active_element.send_keys(Keys.TAB)
    slider = driver.switch_to.active_element
    assert slider.get_attribute("type") == "range"
    before = slider.get_attribute("aria-valuetext")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert slider.get_attribute("aria-valuetext") != before


@pytest.mark.parametrize(("of", "place", "filter_"), [("page", "#finding-list", "#finding-filter"), ("compared", "#change-list", "#change-filter")])
def test_the_first_screen_is_a_picture(driver, request, of, place, filter_):
    """Of the worst finding, or of what changed most, before and after; filters take one line."""
    browser.visit(driver, request.getfixturevalue(of)[0])
    edges = driver.execute_script(
        "return [...document.querySelectorAll(arguments[0] + ' > li:first-child .struct-map')].map(e => e.getBoundingClientRect().top)", place
    )
    assert len(edges) == {"page": 1, "compared": 2}[of]
    assert max(edges) < 900
    assert driver.execute_script("return document.querySelector(arguments[0]).getBoundingClientRect().height", filter_) < 50


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_accessibility(driver, page, is_dark):
    if is_dark:
        browser.dark(driver)
    browser.visit(driver, page[0])
    for part in ("finding", "struct"):
        for number in (0, 1):
            driver.execute_script(OPEN, f"#{part}-list > li > details", number)
    driver.execute_async_script("setTimeout(arguments[0], 100)")
    driver.execute_script("document.querySelectorAll('.struct-map details').forEach(each => { each.open = true; })")
    driver.execute_async_script("setTimeout(arguments[0], 100)")
    names = driver.execute_script("""
        const named = (id) => document.getElementById(id).textContent;
        return [...document.querySelectorAll('section, nav, [role=region]')].filter((each) => each.checkVisibility()).map((each) => each.getAttribute('aria-label') ?? named(each.getAttribute('aria-labelledby')));
    """)
    assert sum(name.startswith("Lines of ") for name in names) == sum(name.startswith("Fields of ") for name in names) == 4
    assert (len(set(names)), None in names) == (len(names), False), names
    assert browser.axe(driver) == []


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_a_random_order_is_a_table_of_shares(driver, tmp_path, is_dark):
    (tmp_path / "a.h").write_text("struct even { long a, b, c, d; } __attribute__((randomize_layout));\n")
    words = ("--randstruct", "gcc-full", "--kernel-version", "6.12", "--html", "a.html", "--format", "json")
    done = run("show", "a.h", "even", *words, cwd=tmp_path)
    chances = json.loads(done.stdout)["structs"][0]["randomised"]["chances"]
    if is_dark:
        browser.dark(driver)
    browser.visit(driver, tmp_path / "a.html")
    driver.execute_async_script("setTimeout(arguments[0], 100)")
    cells = "return [...document.querySelectorAll('.heat tbody tr')].map(row => [...row.cells].slice(2).map(cell => cell.textContent))"
    assert driver.execute_script(cells) == [[f"{number / 20:.0f}" for number in each["starts"]] for each in chances["members"]]
    assert browser.axe(driver) == []


def test_hostile_names_are_text(driver, tmp_path):
    structs = tuple(struct(name, 16, member(name, 0, 8), member("b", 8, 8)) for name in NAMES)
    (tmp_path / "page.html").write_text("".join(html.render(structs, ShowOptions())), errors="backslashreplace")
    browser.visit(driver, tmp_path / "page.html")
    for number in range(len(structs)):
        driver.execute_script(OPEN, "#struct-list > li > details", number)
    driver.execute_async_script("setTimeout(arguments[0], 200)")
    assert driver.execute_script("return [document.scripts.length, document.images.length]") == [2, 0]
    assert len(driver.find_elements("css selector", ".struct-map")) == len(structs)
    text = driver.execute_script("return document.body.innerText")
    assert "</script>" in text
    assert "\\u202eevil" in text
    assert browser.complaints(driver) == []


def test_nine_thousand_structs_can_be_used_within_a_second(driver, tmp_path):
    structs = tuple(
        struct(f"s{number}", 128, *(member(f"field_{at}", at * 8, 8) for at in range(16))) for number in range(9000)
    )
    (tmp_path / "page.html").write_text("".join(html.render(structs, ShowOptions())))
    times = [browser.visit(driver, tmp_path / "page.html") for _ in range(3)]
    assert min(times) < 1000, times
    assert len(driver.find_elements("css selector", "#struct-list > li")) == 100
    driver.find_element("css selector", "#struct-filter input").send_keys("s8765")
    driver.execute_async_script("setTimeout(arguments[0], 300)")
    assert driver.find_element("id", "struct-count").text == "1 struct"
