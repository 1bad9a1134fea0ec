"""The companion pages in a browser: stepper, laboratories, switches, print, small screens.

It needs Debian's chromium, found as `chromium` on the PATH or by the environment variable CHROMIUM:
where CI is set and it is missing they fail, elsewhere they are skipped.
"""

import os
import shutil
from pathlib import Path

import pytest

from reproduce.harness import laboratory_page, page_layout
from reproduce.harness.papers import PAPERS
from test_companion_pages import FIGURES, NAMES

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")


@pytest.fixture(scope="module")
def browser():
    library = pytest.importorskip("playwright.sync_api",
                                  reason="needs the extra `browser`: pip install -e '.[browser]'")
    if not CHROMIUM and "CI" not in os.environ:
        pytest.skip("needs chromium: apt-get install chromium, or its path in CHROMIUM")
    assert CHROMIUM, "CI is set, and there is no chromium: .ci/run installs it as root"
    with library.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"], timeout=120_000)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Open pages; in the end, say what went wrong on any of them."""
    contexts, wrong = [], []

    def page(name, **settings):
        contexts.append(browser.new_context(offline=True, **settings))
        page = contexts[-1].new_page()
        page.set_default_timeout(120_000)  # the machine may be busy
        page.on("console", lambda message: wrong.append(message.text)
                if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: wrong.append(request.url)
                if not in_figures(request.url) else None)
        page.on("requestfailed", lambda request: wrong.append(request.url))
        page.goto((FIGURES / name).as_uri())
        return page

    yield page
    for context in contexts:
        context.close()
    assert wrong == []


def in_figures(url):
    return url.startswith("data:") or Path(url.removeprefix("file://")).parent == FIGURES


def step(page):
    """What the stepper says: the number of the step, and the words."""
    said = page.evaluate("['count', 'where', 'said', 'fails'].map(name =>"
                         " document.querySelector(`[data-dock=${name}]`).textContent)")
    number, _, last = said[0].partition(" of ")
    return int(number), int(last), *said[1:]


def same(text, value, rel=1e-5):
    """Compare a number of the page, with its own minus and six digits, with what was recorded."""
    return float(text.replace("\u2212", "-")) == pytest.approx(value, rel=rel)


def of_each(page, selector, what="e.textContent"):
    """What JavaScript says of each element e that a selector finds."""
    return page.eval_on_selector_all(selector, f"found => found.map(e => {what})")


def width(page):
    return page.evaluate("document.documentElement.scrollWidth")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_fits_every_screen_and_paper_and_axe_finds_nothing_serious(opened, name):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright",
                              reason="needs the extra `browser`: pip install -e '.[browser]'")
    page = opened(name, viewport={"width": 390, "height": 800})
    assert width(page) == 390
    stepper = page.query_selector(".play button")  # with what it marks
    if stepper:
        page.click(".play button")
    for wide in (390, 1280):
        page.set_viewport_size({"width": wide, "height": 800})
        for preset in page.query_selector_all("[data-preset]"):
            preset.click()
            assert width(page) == wide
        if stepper:
            page.keyboard.press("End")
            assert width(page) == wide
            box = page.evaluate("document.querySelector('.cl.at').getBoundingClientRect().toJSON()")
            dock = page.evaluate("document.getElementById('dock').getBoundingClientRect().top")
            assert 0 <= box["top"] and box["bottom"] <= dock > 250  # the line is in sight
            page.keyboard.press("Home")  # fewer values to look at, which takes a minute else
            page.keyboard.press("ArrowRight")
    # in the dark nothing but the colours is another
    for scheme, rules, least in (("light", {}, 10), ("dark", {"runOnly": ["color-contrast"]}, 0)):
        page.emulate_media(color_scheme=scheme)
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness = sum(map(int, background.removeprefix("rgb(").removesuffix(")").split(", ")))
        assert (brightness < 3 * 64) == (scheme == "dark")
        found = axe.Axe().run(page, options={"resultTypes": ["violations"]} | rules).response
        assert len(found["passes"]) > least  # else it has not looked
        assert [(rule["id"], node["html"], node["failureSummary"]) for rule in found["violations"]
                if rule["impact"] in ("serious", "critical") for node in rule["nodes"]] == []
    if stepper or name == "laboratory.html":
        page.set_viewport_size({"width": 760, "height": 1000})
        page.emulate_media(media="print", color_scheme="light")
        check_print(page)


def check_print(page):
    """Columns, pictures and numbers are printed, and no controls."""
    assert page.locator("#dock:visible, .play:visible, .set:visible").count() == 0
    rows = of_each(page, ".r:not(.silent, .ours)",
                   "[...e.children].map(part => part.getBoundingClientRect().toJSON())")
    for left, right in rows:
        assert right["left"] > left["right"] and right["right"] <= 760
        assert right["width"] > 200
    pictures = of_each(page, "svg[data-panel]", "e.getBoundingClientRect().right")
    assert bool(rows) != bool(pictures)
    if pictures:
        assert max(pictures) <= 760
        assert page.locator("tbody:visible").count() == len(PAPERS)


@pytest.mark.parametrize("author", PAPERS)
def test_the_stepper_steps_by_keys_and_clicks_and_shows_what_was_recorded(opened, author):
    page = opened(f"{author}.html")
    assert page.get_attribute("[data-dock=where]", "aria-live") == "polite"
    for k, run in enumerate(page_layout.runs(author)):
        check_run(page, k, run)
        for j, replay in enumerate(run["replays"]):
            check_replay(page, k, run, j, replay)


def check_run(page, k, run):
    """A run is stepped through by keys, by clicks and by its slider, and closed again."""
    page.click(f".play [data-run='{k}']")
    last = len(run["steps"]) - 1
    assert step(page)[:2] == (0, last) and step(page)[2].startswith("Start")
    assert page.evaluate("document.activeElement.dataset.dock") == "next"  # so keys do reach it
    far = min(last, 22)
    for number in range(1, far + 1):
        page.keyboard.press("ArrowRight")
        if number % 7 == 1:
            check_step(page, run, run, number)
    page.keyboard.press("ArrowLeft")
    assert step(page)[0] == far - 1
    page.keyboard.press("Home")
    passed = [0]
    while passed[-1] < last and len(passed) < 30:
        page.keyboard.press("ArrowDown")
        passed.append(step(page)[0])
    assert {run["steps"][number][2] for number in passed[1:]} == {0}
    assert passed == sorted(set(passed))
    page.keyboard.press("ArrowUp")
    assert step(page)[0] == passed[-2]
    page.keyboard.press("End")
    assert step(page)[0] == last and "the end" in step(page)[2]
    assert step(page)[3] != "nothing changes"
    page.keyboard.press("ArrowRight")
    assert step(page)[0] == last
    check_picture(page, run)
    page.keyboard.press("End")
    for button, there in (("start", 0), ("next", 1), ("next", 2), ("back", 1), ("end", last),
                          ("start", 0), ("over", passed[1])):
        page.click(f"[data-dock={button}]")
        assert step(page)[0] == there
    page.fill("[data-dock=slider]", str(last // 2))
    assert step(page)[0] == last // 2
    check_over(page, run["steps"])
    page.fill("[data-dock=slider]", "1")
    page.evaluate("document.activeElement.blur()")  # the page's own keys are left to it
    for key, there in (("Home", 0), ("ArrowDown", 0), ("ArrowRight", 1)):
        before = step(page)[0]
        page.keyboard.press(key)
        assert step(page)[0] == before + there
    page.keyboard.press("Escape")
    assert not page.is_visible("#dock")
    assert page.query_selector_all(".v, .at, .calls") == []
    assert page.evaluate("document.activeElement.dataset.run") == str(k)
    page.click(f".play [data-run='{k}']")
    page.click("[data-dock=close]")
    assert not page.is_visible("#dock")


def check_step(page, run, record, number):
    """The step's line is marked in code and pseudocode, and its values are in both places."""
    function, line, _, changes, *calls = record["steps"][number]
    anchor, lines, _ = run["functions"][function]
    shown = step(page)
    assert shown[0] == number
    if calls:
        assert "calls" in shown[2]
        return
    marked = of_each(page, ".cl.at", "[e.closest('.alg').id, e.querySelector('a').textContent]")
    assert marked == [[anchor, str(lines[line])]]
    assert page.evaluate("document.querySelector('.cl.at').getBoundingClientRect().bottom") <= (
        page.evaluate("document.getElementById('dock').getBoundingClientRect().top"))
    tagged = of_each(page, ".r:has(.cl.at) .pl .n", "e.hash")
    assert set(of_each(page, ".pl.at .n", "e.hash")) == set(tagged)
    new = of_each(page, "[data-dock=locals] tr.new", "[...e.cells].map(cell => cell.textContent)")
    table = of_each(page, "[data-dock=locals] th", "e.textContent")
    assert [*table, len(new)] == [*locals_after(record, number), len(changes) // 2]
    for k, v in zip(changes[::2], changes[1::2], strict=True):
        name, value = record["names"][k], record["values"][v]
        (found,) = (cells[1] for cells in new if cells[0] == name)
        if isinstance(value, float | int) and not isinstance(value, bool):
            assert same(found, value)
        assert f"{name} = " in shown[3]
        assert f"{name} = " in page.inner_text(".v.now")


def locals_after(record, number):
    """The names that are known in the call in which a step is; x anew does away with x[1]."""
    stack = []
    for _, _, depth, changes, *calls in record["steps"][:number + 1]:
        del stack[depth + 1:]
        stack += [[]] * bool(calls)
        for name in (record["names"][k] for k in changes[::2]):
            kept = [each for each in stack[-1] if not each.startswith(f"{name}[")]
            stack[-1] = kept + [name] * (name not in kept)
    return stack[-1]


def check_over(page, steps):
    """From the first line of a call one gets over the rest of it, and from its last one out."""
    inside = next((k for k, each in enumerate(steps) if each[2] > 0 and not any(each[4:])), None)
    for k in [] if inside is None else (inside, next(
            n for n in range(inside, len(steps)) if n + 1 == len(steps)
            or steps[n + 1][2] < steps[inside][2])):
        page.fill("[data-dock=slider]", str(k))
        page.click("[data-dock=over]")
        after = [n for n, each in enumerate(steps)
                 if n > k and each[2] <= steps[k][2] and not any(each[4:])]
        assert step(page)[0] == [*after, len(steps) - 1][0]


def check_picture(page, run):
    """At the end the picture has every recorded point, and at the start none."""
    picture, points = run["picture"], run["track"]
    assert page.is_visible("[data-dock=picture]") == bool(picture["kind"])
    if picture["kind"] == "plane":
        assert page.locator("[data-dock=picture] circle").count() == 2 * len(points)
        label = page.get_attribute("[data-dock=picture]", "aria-label")
        assert label.startswith(f"Point {len(points)} of {len(points)}: ")
        assert same(label.rpartition(" = ")[2], points[-1][1][2], 1e-3)  # it has four
        middle = points[len(points) // 2][0]  # a point is there from its step on
        page.fill("[data-dock=slider]", str(middle))
        assert page.locator("[data-dock=picture] circle").count() == 2 * sum(
            step <= middle for step, _ in points)
        page.click("[data-dock=start]")
        assert page.locator("[data-dock=picture] circle").count() == 0
    if picture["kind"] == "sites":
        _, *means_and_sds = points[-1][1]
        sds = means_and_sds[len(means_and_sds) // 2:]
        bars = of_each(page, "[data-dock=picture] path.ours",
                       "e.getAttribute('d').match(/ (.*)V(.*)/).slice(1)")
        lengths = [float(low) - float(high) for low, high in bars]
        assert [each / lengths[0] for each in lengths] == pytest.approx(
            [sd / sds[0] for sd in sds], rel=1e-6)


def check_replay(page, k, run, j, replay):
    """The printed version is played, its failure said, and the code is as it was afterwards."""
    section = f"section[id='{run['functions'][0][0]}']"
    before = page.inner_text(f"{section} .g")
    page.click(f".dp [data-run='{k}'][data-replay='{j}']")
    assert step(page)[1] == len(replay["steps"]) - 1
    for part in replay["says"].split():
        if part.strip(".,").replace("-", "").replace(".", "").isdigit():
            assert part.strip(".,").replace("-", "\u2212") in step(page)[4]
    assert [*filter(None, of_each(page, ".printed code"))] == [text for *_, text in replay["lines"]]
    page.keyboard.press("End")
    assert step(page)[0] == len(replay["steps"]) - 1
    if run["picture"]["kind"] == "plane":  # beside it is the way of the code as it is
        assert page.locator("[data-dock=picture] path.other").count() == 2
        assert {each.split()[0] for each in of_each(
            page, "[data-dock=picture] circle", "e.getAttribute('class')")} == {"theirs"}
    page.keyboard.press("ArrowLeft")
    check_step(page, run, replay, step(page)[0])
    # and back to the code as it is
    page.click("#dock [data-replay='-1']")
    assert step(page)[1] == len(run["steps"]) - 1 and step(page)[4] == ""
    assert page.query_selector_all(".printed") == []
    page.keyboard.press("Escape")
    assert page.inner_text(f"{section} .g") == before
    # which closing alone does too
    page.click(f".dp [data-run='{k}'][data-replay='{j}']")
    page.keyboard.press("Escape")
    assert page.query_selector_all(".printed") == []
    assert page.inner_text(f"{section} .g") == before


def test_the_address_of_a_line_leads_to_its_values_and_buttons_hide_what_they_say(opened):
    page = opened("paquet.html")
    page.keyboard.press("ArrowRight")  # of no stepper that is open
    assert not page.is_visible("#dock")
    page.click("a[href='#A1L14']")
    page.click(".play [data-run='0']")
    number, _, where, said, _ = step(page)
    assert where == "Algorithm 1, line 14" and said.startswith("p_ = (")
    page.keyboard.press("Control+ArrowRight")
    assert step(page)[0] == number
    page.click("a[href='#A1L14']")  # its next execution
    assert step(page)[0] > number and step(page)[2] == where
    for shown in (False, True):
        page.click("[data-toggle=nodep]")
        assert page.locator(".g .dp").first.is_visible() == shown
        assert page.locator("#departures .dp").first.is_visible()
    verdict = page.get_attribute("button[data-verdict]", "data-verdict")
    page.click(f"button[data-verdict={verdict}]")
    assert not page.locator(f"tr.v-{verdict}").first.is_visible()


@pytest.mark.parametrize("author", PAPERS)
def test_without_javascript_everything_is_there(opened, author):
    page = opened(f"{author}.html", java_script_enabled=False)
    assert not page.is_visible("#dock") and not page.locator(".js").first.is_visible()
    for section in page_layout.sections(author):
        shown = page.inner_text(f"section[id='{section.anchor}'] .g")
        for line in section.mirror.code:
            assert line.text.strip() in shown
    assert page.locator(".dp").first.is_visible()
    page = opened("laboratory.html", java_script_enabled=False)
    assert page.is_visible(f"#{author} noscript p") and not page.is_visible(f"#{author} .set")
    text = page.inner_text(f"#{author}")
    assert all(sentence in text for sentence in laboratory_page.read(author)["says"])


def said(page, author):
    """What a laboratory says: the sentence that is read aloud, and its numbers row by row."""
    return page.inner_text(f"#{author} [data-lab=said]"), of_each(
        page, f"#{author} tbody tr", "[...e.cells].slice(1).map(cell => cell.textContent)")


def columns_of(shape):
    """The columns of a shape of a laboratory: a number stands for numbers running from it."""
    n = next(len(each) for each in shape[3:8] if isinstance(each, list))
    return [[each + i for i in range(n)] if isinstance(each, int) else each for each in shape[3:8]]


def check_pictures(page, author, at, frame):
    """Each picture has the points that are there at a frame, hollow where nothing is known yet."""
    kept = laboratory_page.read(author)
    wanted = [[0, 0] for _ in kept["panels"]]
    for k in kept["settings"][laboratory_page.place(kept, at)]["series"]:
        panel, kind = kept["shapes"][k][:2]
        xs, ys, born, gone, full = columns_of(kept["shapes"][k])
        there = [i for i in range(len(xs)) if (not born or born[i] <= frame) and (
            not gone or gone[i] > frame) and xs[i] is not None and ys[i] is not None
            and ("y" not in kept["panels"][panel]["log"] or ys[i] > 0)]
        if kind in ("dots", "path", "chain"):
            wanted[panel][0] += len(there)
            wanted[panel][1] += sum(bool(full) and full[i] > frame for i in there)
    assert of_each(page, f"#{author} svg[data-panel]", "['.dot:not(.now)', '.hollow'].map("
                   "what => e.querySelectorAll(what).length)") == wanted


def drawn(page, author):
    """What the pictures of a laboratory have in them."""
    return of_each(page, f"#{author} svg[data-panel]", "e.innerHTML")


def check_setting(page, author, at, frame=-1):
    """The table shows the stored numbers of a setting."""
    kept = laboratory_page.read(author)
    setting = kept["settings"][laboratory_page.place(kept, at)]
    for row, numbers in zip(said(page, author)[1], setting["numbers"], strict=True):
        for text, number in zip(row, numbers, strict=True):
            number = number[frame] if isinstance(number, list) else number
            # of three digits; where two are as near, JavaScript takes the larger
            assert text in (["none"] if number is None else [
                laboratory_page.show(number * factor, 3) for factor in (1, 1 + 1e-9)])


@pytest.mark.parametrize("author", PAPERS)
def test_presets_controls_and_frames_of_a_laboratory_show_what_is_stored(opened, author):
    page, kept = opened("laboratory.html"), laboratory_page.read(author)
    assert of_each(page, f"#{author} svg.key", "+e.dataset.of") == [*range(len(kept["samplers"]))]
    seen = set()
    for k, preset in reversed([*enumerate(kept["presets"])]):
        page.click(f"#{author}-{k + 1}")
        check_setting(page, author, preset["at"])
        pressed = of_each(page, f"#{author} [data-preset]", "e.getAttribute('aria-pressed')")
        assert pressed == [str(n == k).lower() for n in range(len(kept["presets"]))]
        seen.add((*drawn(page, author), said(page, author)[0]))
    assert len(seen) == len(kept["presets"])
    # each control, from the first preset
    at = list(kept["presets"][0]["at"])
    before, pictures = said(page, author)[0], drawn(page, author)
    for k, control in enumerate(kept["controls"]):
        selector = f"#{author} [data-control={control['name']}]"
        other = (at[k] + 1) % len(control["texts"])
        if control["named"]:
            page.select_option(selector, str(other))
        else:
            page.focus(selector)
            page.keyboard.press("ArrowRight" if other > at[k] else "Home")
            assert page.get_attribute(selector, "aria-valuetext") == control["texts"][other]
            assert page.get_attribute(selector, "max") == str(len(control["texts"]) - 1)
        check_setting(page, author, [*at[:k], other, *at[k + 1:]])
        assert said(page, author)[0] != before and drawn(page, author) != pictures
        assert control["texts"][other] in said(page, author)[0]
        page.click(f"#{author}-1")  # and back
        assert drawn(page, author) == pictures and said(page, author)[0] == before
    # its frames, by keys and played
    last = kept["settings"][laboratory_page.place(kept, at)]["frames"] - 1
    page.focus(f"#{author} [data-lab=frame]")
    page.keyboard.press("Home")
    assert page.inner_text(f"#{author} [data-lab=count]") == f"0 of {last}"
    check_setting(page, author, at, frame=0)
    page.keyboard.press("ArrowRight")
    check_setting(page, author, at, frame=1)
    series = kept["settings"][laboratory_page.place(kept, at)]["series"]
    gone = sorted(t for k in series for t in columns_of(kept["shapes"][k])[3] if 0 < t <= last)
    for frame in sorted({1, last // 2, last, *gone[len(gone) // 2:][:1]}):
        page.fill(f"#{author} [data-lab=frame]", str(frame))
        check_pictures(page, author, at, frame)
    page.click(f"#{author} [data-lab=play]")  # and what is dragged stands
    page.fill(f"#{author} [data-lab=frame]", "0")
    assert page.inner_text(f"#{author} [data-lab=play]") == "play"
    page.fill(f"#{author} [data-lab=frame]", str(last - 3))  # from the first it takes 8 s
    page.evaluate("what => new MutationObserver(() => { window.told = (window.told || 0) + 1; })"
                  ".observe(document.querySelector(what), {childList: true})",
                  f"#{author} [data-lab=said]")
    page.click(f"#{author} [data-lab=play]")
    page.wait_for_function(
        "([author, last]) => document.querySelector(`#${author} [data-lab=count]`).textContent"
        " === `${last} of ${last}` && document.querySelector(`#${author} [data-lab=play]`)"
        ".textContent === 'play'", arg=[author, last])
    check_setting(page, author, at)
    assert drawn(page, author) == pictures
    assert page.evaluate("window.told") == 1  # read aloud at the end, and not at each frame


def test_the_address_of_a_preset_sets_it(opened):
    page = opened("laboratory.html")
    page.goto(page.url + "#paquet-3")
    page.reload()
    check_setting(page, "paquet", laboratory_page.read("paquet")["presets"][2]["at"])
    page.evaluate("location.hash = 'paquet-2'")
    page.wait_for_selector("#paquet-2[aria-pressed=true]")


def test_a_symbol_is_explained_in_its_own_algorithm_and_within_the_window(opened):
    page = opened("paquet.html", viewport={"width": 1000, "height": 500})
    symbols = page.locator(".alg .s[tabindex]")
    for k in (0, symbols.count() // 2):
        symbols.nth(k).focus()
        for top in (40, 460):
            page.evaluate("top => { const e = document.activeElement;"
                          " scrollBy(0, e.getBoundingClientRect().top - top); }", top)
            page.evaluate("new Promise(done => requestAnimationFrame("
                          "() => requestAnimationFrame(done)))")  # the explanation goes along
            box = page.locator("#tip").bounding_box()
            assert page.is_visible("#tip") and 0 <= box["y"] and box["y"] + box["height"] <= 500
        hot = of_each(page, ".hot", "e.closest('.alg').id")
        assert len(hot) >= 1 and set(hot) == {page.evaluate(
            "document.activeElement.closest('.alg').id")}
        page.keyboard.press("Escape")
        assert not page.is_visible("#tip") and page.query_selector_all(".hot") == []


def test_no_answer_of_an_exercise_is_open_at_first(opened):
    answers = opened("exercises.html").locator("details")
    assert answers.count() >= 12 * len(PAPERS)
    assert not any(answers.evaluate_all("all => all.map(each => each.open)"))


def test_an_address_opens_what_it_is_in(opened):
    page = opened("paquet.html")
    links = of_each(page, "details li[id*='.why']", "'#' + e.id")
    for link in links[:2]:
        page.evaluate("link => { location.hash = link; }", link)
        page.wait_for_function("link => document.getElementById(link.slice(1)).closest('details')"
                               ".open", arg=link)
