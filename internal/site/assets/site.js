// The search and the theme of the documentation. Nothing is sent anywhere.
const root = document.documentElement, theme = document.getElementById("theme");
function show(name) {
  root.dataset.theme = name;
  theme.textContent = name === "dark" ? "Light" : "Dark";
}
let chosen = null;
try { chosen = localStorage.getItem("theme"); } catch { /* not stored in private windows */ }
show(chosen || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
theme.addEventListener("click", () => {
  show(root.dataset.theme === "dark" ? "light" : "dark");
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* see above */ }
});

const input = document.getElementById("search"), results = document.getElementById("results");
const texts = entries.map((e) => [e.h.toLowerCase(), (e.p + " " + e.h + " " + e.t).toLowerCase()]);
input.addEventListener("input", () => {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  entries.forEach((entry, i) => {
    if (words.length && words.every((w) => texts[i][1].includes(w))) {
      found.push([words.filter((w) => texts[i][0].includes(w)).length, entry]);
    }
  });
  found.sort((a, b) => b[0] - a[0]);
  results.replaceChildren(...found.slice(0, 30).map(([, entry]) => {
    const link = document.createElement("a");
    link.href = root.dataset.up + entry.u;
    link.textContent = entry.p === entry.h ? entry.h : entry.p + " › " + entry.h;
    return link;
  }));
  if (words.length && !found.length) results.textContent = "Nothing found";
  results.hidden = !words.length;
});
addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== input) { event.preventDefault(); input.focus(); }
  if (event.key === "Escape") { input.value = ""; results.hidden = true; }
});
