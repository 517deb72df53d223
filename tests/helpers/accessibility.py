"""What axe finds on a page, and what it can't see: how well the text of a picture is told apart."""

from pathlib import Path

from chromium import Browser, missing

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
LEAST_CONTRAST = 4.5
AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {runOnly: arguments[0], resultTypes: ["violations"]}).then((found) => done(
  found.violations.map((v) => `${v.id}: ` + v.nodes.slice(0, 3).map((n) =>
    `${n.target} ${n.any.map((a) => a.message)[0] ?? ""}`).join(" | "))));
"""
# Axe does not know what lies under the text of an SVG. Here all that is drawn at its middle is
# mixed, from the page up to the text.
CONTRAST = """
const all = document.createElement("style");
all.textContent = "* { pointer-events: all !important; transition: none !important; }";
document.head.append(all);
const numbers = (colour) => {
  const found = colour.match(/[\\d.]+/g);
  return found && colour !== "none" ? [...found.slice(0, 3).map(Number), +(found[3] ?? 1)] : null;
};
const opacity = (e) => (e && e.nodeType === 1
  ? +getComputedStyle(e).opacity * opacity(e.parentElement) : 1);
const over = (below, colour, share) =>
  below.map((x, i) => x + (colour[i] - x) * colour[3] * share);
const layer = (below, e) => {
  const style = getComputedStyle(e);
  const drawn = e instanceof SVGGeometryElement;
  const colour = numbers(drawn ? style.fill : e instanceof SVGElement ? "none"
    : style.backgroundColor);
  return colour ? over(below, colour, drawn ? +style.fillOpacity * opacity(e) : opacity(e)) : below;
};
const light = (colour) => colour.map((x) => x / 255)
  .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
  .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
const page = numbers(getComputedStyle(document.body).backgroundColor);
const faint = [];
for (const text of document.querySelectorAll("svg text")) {
  const style = getComputedStyle(text);
  const colour = numbers(style.fill);
  const share = +style.fillOpacity * opacity(text);
  if (!text.textContent.trim() || !colour || !share || !text.checkVisibility()) continue;
  text.scrollIntoView({ block: "center", inline: "center" });
  const box = text.getBoundingClientRect();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const under = document.elementsFromPoint(x, y).filter((e) => !e.closest("text")).reverse();
  const ground = under.reduce(layer, page[3] ? page.slice(0, 3) : [255, 255, 255]);
  const [a, b] = [light(ground), light(over(ground, colour, share))].sort((p, q) => q - p);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < arguments[0]) {
    const what = `${text.textContent} ${style.fill} on ${ground.map(Math.round)}`;
    faint.push(`${what}: ${ratio.toFixed(2)}`);
  }
}
all.remove();
return faint;
"""


def axe_code() -> str:
    """Return the code of axe."""
    try:
        import axe_core_python
    except ImportError:
        missing("needs axe: pip install -r requirements/dev.txt")
    return (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def complaints(browser: Browser) -> list[str]:
    """Return what axe finds on the page that is open, and text of pictures that is hard to read."""
    browser.driver.set_script_timeout(200)
    browser.run(axe_code())
    found = browser.driver.execute_async_script(AXE, RULES)
    return [*found, *faint_texts(browser)]


def faint_texts(browser: Browser) -> list[str]:
    """Return the texts of pictures that are hard to tell from what they stand on."""
    return list(browser.run(CONTRAST, LEAST_CONTRAST))
