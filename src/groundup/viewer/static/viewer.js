// Arrow keys turn pages and steps; a run at work reloads its page when its verdicts change.
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
  const pages = [...(document.querySelector("nav.pages")?.querySelectorAll("a") ?? [])];
  const current = pages.findIndex((page) => page.hasAttribute("aria-current"));
  const page = current < 0 ? undefined : pages[current + (forward ? 1 : -1)];
  (page ?? turned)?.click();
});
const address = document.body.dataset.events;
if (address) {
  const source = new EventSource(address);
  source.addEventListener("changed", () => location.reload());
  source.addEventListener("ended", () => { source.close(); location.reload(); });
}
