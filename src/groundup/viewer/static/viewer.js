// Arrow keys turn pages and steps; the page of a run at work is made anew when its verdicts change.
"use strict";
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const steps = [...document.querySelectorAll(".step")];
  if (steps.length && (event.key === "j" || event.key === "k")) {
    const here = steps.findIndex((step) => step.classList.contains("here"));
    const next = Math.min(Math.max(here + (event.key === "j" ? 1 : -1), 0), steps.length - 1);
    if (here >= 0) steps[here].classList.remove("here");
    steps[next].classList.add("here");
    steps[next].scrollIntoView({ block: "start" });
    return;
  }
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  const forward = event.key === "ArrowRight";
  const turned = document.querySelector(`a[rel=${forward ? "next" : "prev"}]`);
  // Where all steps are shown, arrows turn their pages rather than open the first turn.
  const bar = [...document.querySelectorAll("nav.pages")].find((one) => !one.querySelector("a.whole[aria-current]"));
  const pages = [...(bar?.querySelectorAll("a") ?? [])];
  const current = pages.findIndex((page) => page.hasAttribute("aria-current"));
  const page = current < 0 ? undefined : pages[current + (forward ? 1 : -1)];
  (page ?? turned)?.click();
});
const address = document.body.dataset.events;
if (address) {
  const source = new EventSource(address);
  source.addEventListener("changed", () => renew());
  source.addEventListener("ended", () => { source.close(); renew(); });
}
// What the reader had done to the page stays: where it was scrolled, what was opened, chosen and typed.
async function renew() {
  const typing = /^(INPUT|SELECT)$/.test(document.activeElement?.tagName ?? "");
  if (typing) return document.activeElement.addEventListener("blur", renew, { once: true });
  let text;
  try {
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    text = await answer.text();
  } catch { return; } // the server is gone: what was shown last stays
  const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("main");
  const old = document.querySelector("main");
  const state = [...old.querySelectorAll("details")].map((one) => one.open);
  fresh.querySelectorAll("details").forEach((one, at) => { if (at < state.length) one.open = state[at]; });
  const typed = [...old.querySelectorAll("input")].map((one) => one.value);
  fresh.querySelectorAll("input[type=search]").forEach((one, at) => { if (typed[at]) one.value = typed[at]; });
  const here = old.querySelector(".step.here")?.id;
  if (here) fresh.querySelector(`#${CSS.escape(here)}`)?.classList.add("here");
  const inner = [...old.querySelectorAll("pre, .wide")].map((one) => [one.scrollTop, one.scrollLeft]);
  const focused = document.activeElement?.getAttribute("href");
  old.replaceWith(fresh);
  fresh.querySelectorAll("pre, .wide").forEach((one, at) => { if (inner[at]) [one.scrollTop, one.scrollLeft] = inner[at]; });
  if (focused) [...fresh.querySelectorAll("a")].find((one) => one.getAttribute("href") === focused)?.focus({ preventScroll: true });
}
