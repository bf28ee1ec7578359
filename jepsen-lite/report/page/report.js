// What the script adds to the page: it magnifies, explains what is under the pointer, copies the
// command, and switches between light and dark. Without it everything can still be read.
const root = document.documentElement;
const canvas = document.querySelector(".canvas");
const scroller = document.querySelector(".scroller");
const tip = document.getElementById("tip");
const ZOOM_MAX = 256;
/** The share of the width that an anomaly takes when it is shown. */
const MARK_SHARE_PERCENT = 12;
let zoom = 1;

/** Keeps the point in the middle of the window, or under `centre`, in place. */
function magnify(factor, centre = scroller.clientWidth / 2) {
  const before = zoom;
  zoom = factor === 0 ? 1 : Math.min(ZOOM_MAX, Math.max(1, zoom * factor));
  const at = (scroller.scrollLeft + centre) / before;
  canvas.style.setProperty("--zoom", String(zoom));
  canvas.classList.toggle("magnified", zoom >= 4);
  scroller.scrollLeft = at * zoom - centre;
}

for (const button of document.querySelectorAll("[data-zoom]")) {
  button.addEventListener("click", () => magnify(Number(button.dataset.zoom)));
}
scroller?.addEventListener(
  "wheel",
  (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const left = scroller.getBoundingClientRect().left;
    magnify(event.deltaY < 0 ? 1.25 : 0.8, event.clientX - left);
  },
  { passive: false },
);

/** Brings an anomaly to the middle of the timeline, as large as its neighbours allow. */
function showMark() {
  const mark = document.getElementById(location.hash.slice(1));
  if (!mark?.dataset.from) return;
  const [from, to] = [Number(mark.dataset.from), Number(mark.dataset.to)];
  const label = document.querySelector(".label").getBoundingClientRect().width;
  const plot = scroller.clientWidth - label;
  zoom = Math.min(ZOOM_MAX, Math.max(1, MARK_SHARE_PERCENT / Math.max(to - from, 0.5)));
  canvas.style.setProperty("--zoom", String(zoom));
  canvas.classList.toggle("magnified", zoom >= 4);
  scroller.scrollLeft = (plot * zoom * (from + to)) / 200 - plot / 2;
  mark.closest(".row").scrollIntoView({ block: "center" });
}
addEventListener("hashchange", showMark);
showMark();

function explain(event) {
  const told = event.target.closest?.("[data-t]");
  tip.hidden = !told;
  if (!told) return;
  tip.textContent = told.dataset.t;
  const { innerWidth, innerHeight } = window;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, innerWidth - width - 8);
  const below = event.clientY + 16;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${below + height > innerHeight ? event.clientY - height - 12 : below}px`;
}
document.addEventListener("pointermove", explain);
document.addEventListener("pointerdown", explain);

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "copied";
    } catch {
      // A page opened from a file may not copy: then the text is selected to be copied by hand.
      getSelection().selectAllChildren(source);
    }
  });
}

document.getElementById("theme").addEventListener("click", () => {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = root.dataset.theme ?? (isDark ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
});
