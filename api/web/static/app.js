// What makes the pages live and careful: clocks, the lock on what was not seen to its end, selection, decisions made
// elsewhere. Everything here is an addition: pages work without it as far as seeing, approving and rejecting go.
(function () {
  "use strict";
  const all = (sel, root) => Array.from((root || document).querySelectorAll(sel));

  // say tells screen readers, and nobody else.
  function say(text) {
    const box = document.getElementById("said");
    if (box) box.textContent = text;
  }
  window.holdpointSay = say;

  // Theme.
  document.addEventListener("click", (e) => {
    if (e.target.closest("[data-theme-switch]")) {
      const root = document.documentElement;
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      try { localStorage.setItem("holdpoint-theme", root.dataset.theme); } catch (err) { /* for this page only */ }
    }
    if (e.target.closest("[data-help]")) document.getElementById("help").showModal();
  });

  // Clocks.
  function span(s) {
    if (s < 60) return Math.floor(s) + "s";
    if (s < 3600) return Math.floor(s / 60) + "m";
    if (s < 172800) return Math.floor(s / 3600) + "h";
    return Math.floor(s / 86400) + "d";
  }
  function tick() {
    const now = Date.now();
    for (const el of all("[data-since]")) el.textContent = span(Math.max(0, (now - Date.parse(el.dateTime)) / 1000));
    for (const el of all("[data-due]")) {
      const s = Math.floor((Date.parse(el.dateTime) - now) / 1000);
      el.classList.toggle("soon", s > 0 && s < 300);
      el.classList.toggle("passed", s <= 0);
      const text = s <= 0 ? "passed" : s < 3600 ? Math.floor(s / 60) + ":" + String(s % 60).padStart(2, "0") : span(s);
      if (el.textContent !== text) el.textContent = text;
    }
  }
  setInterval(tick, 1000);

  // The lock: what is to be approved must have been seen to its end.
  const seen = new WeakSet();
  const watcher = new IntersectionObserver((entries) => {
    for (const e of entries) {
      if (e.isIntersecting) {
        seen.add(e.target);
        watcher.unobserve(e.target);
      }
    }
    lock();
  });
  function locked(scope) {
    return all("[data-end]", scope).some((end) => !seen.has(end));
  }
  function lock() {
    for (const b of all("[data-needs-seen]")) {
      const scope = b.closest(".gate-card, .interaction, main");
      const shut = locked(scope) || !!b.closest(".closed");
      b.disabled = shut;
      const hint = b.parentElement.querySelector("[data-unseen]");
      if (hint) hint.hidden = !locked(scope);
    }
  }
  window.holdpointLocked = (b) => b.disabled;

  // Pieces of a page that are new.
  function fresh(root) {
    for (const end of all("[data-end]", root)) if (!seen.has(end)) watcher.observe(end);
    lock();
    tick();
    for (const set of all("[data-choices]", root)) choices(set);
    const status = document.querySelector("#verdict [data-status]");
    const label = document.querySelector("[data-hold-label]");
    if (status && label) label.textContent = status.dataset.status === "held" ? "Let it go on" : "Hold its clock";
    const banner = document.querySelector("[data-decided=true]");
    if (banner) closeForms();
  }

  // A long list of choices gets a search.
  function choices(set) {
    const labels = all("label", set);
    if (labels.length < 12 || set.querySelector("[data-narrow]")) return;
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = "Narrow " + labels.length + " choices";
    input.setAttribute("aria-label", input.placeholder);
    input.dataset.narrow = "";
    input.addEventListener("input", () => {
      const q = input.value.toLowerCase();
      for (const l of labels) l.hidden = !l.textContent.toLowerCase().includes(q);
    });
    set.querySelector("legend").after(input);
  }

  // Decided, here or elsewhere: nothing more is to be sent from this page.
  function closeForms() {
    const forms = document.querySelector(".interaction [data-forms]");
    if (!forms || forms.dataset.closed) return;
    forms.dataset.closed = "true";
    for (const el of all("button, input, textarea, select", forms)) el.disabled = true;
    forms.classList.add("closed");
    const text = document.querySelector("#verdict .banner strong");
    say("Decided elsewhere. " + (text ? text.textContent : ""));
  }

  // Selection survives the list's renewal.
  function picked() {
    return all("#list input[name=id]:checked").map((i) => i.value);
  }
  function counted() {
    const bar = document.querySelector("[data-batch]");
    if (!bar) return;
    const n = picked().length;
    bar.classList.toggle("some", n > 0);
    const label = bar.querySelector("[data-picked-count]");
    label.textContent = n === 0 ? "With what is selected:" : n + " selected";
    for (const b of all("button", bar)) b.disabled = n === 0;
    for (const r of all("#list .row")) {
      const box = r.querySelector("input[name=id]");
      r.classList.toggle("picked", !!box && box.checked);
    }
  }
  window.holdpointCounted = counted;
  let kept = [], held = "", ids = [];
  document.addEventListener("htmx:beforeSwap", (e) => {
    if (!e.detail.target || e.detail.target.id !== "list") return;
    kept = picked();
    ids = all("#list .row").map((r) => r.dataset.id);
    const row = document.activeElement && document.activeElement.closest("#list .row");
    held = row ? row.dataset.id : "";
  });
  document.addEventListener("htmx:afterSwap", (e) => {
    const target = e.detail.target || e.target; // what a stream swaps in names none
    if (target.id === "list") {
      for (const box of all("#list input[name=id]")) box.checked = kept.includes(box.value);
      const row = all("#list .row").find((r) => r.dataset.id === held);
      if (row) row.querySelector("a.what").focus();
      const added = all("#list .row").filter((r) => !ids.includes(r.dataset.id));
      if (added.length > 0) say(added.length + " new in the inbox");
      for (const r of added) r.classList.add("new");
      counted();
    }
    fresh(target);
  });
  document.addEventListener("htmx:load", (e) => fresh(e.detail.elt));
  document.addEventListener("change", (e) => {
    if (e.target.name === "id") counted();
  });
  document.addEventListener("decided", closeForms);

  // A gate in a run that was decided elsewhere shows so.
  document.addEventListener("htmx:sseMessage", (e) => {
    if (e.detail.type !== "item") return;
    const of = all(".item.decision").map((i) => i.dataset.of);
    for (const card of all(".gate-card[data-gate]")) {
      if (of.includes(card.dataset.gate) && !card.querySelector(".banner")) {
        htmx.ajax("GET", "/inbox/" + encodeURIComponent(card.dataset.gate) + "/card", { target: card, swap: "outerHTML" });
      }
    }
  });

  // An answer is sent once, and a refusal is shown even in a fragment.
  document.addEventListener("submit", (e) => {
    if (e.target.dataset.sent) e.preventDefault();
    if (e.target.matches("form.answer:not([hx-post])")) e.target.dataset.sent = "1";
  });
  addEventListener("pageshow", () => all("form[data-sent]").forEach((f) => delete f.dataset.sent));
  document.addEventListener("htmx:beforeOnLoad", (e) => {
    if (e.detail.xhr.status >= 400 && e.detail.xhr.status < 600) say("Not sent. " + e.detail.xhr.statusText);
  });

  document.addEventListener("DOMContentLoaded", () => {
    fresh(document);
    counted();
    // A conversation begins at its end.
    if (document.querySelector("[data-compose]")) scrollTo(0, document.body.scrollHeight);
    document.documentElement.dataset.ready = "";
  });
  // A page that is being left takes no more keys: what they would do is done on the page that comes.
  addEventListener("submit", (e) => {
    if (!e.defaultPrevented) delete document.documentElement.dataset.ready;
  });
  addEventListener("pageshow", (e) => {
    if (e.persisted) document.documentElement.dataset.ready = "";
  });
})();
