// The keyboard. A key never approves what is marked dangerous, nor what was not seen to its end.
(function () {
  "use strict";
  const all = (sel, root) => Array.from((root || document).querySelectorAll(sel));
  const rows = () => all(".rows .row").filter((r) => r.querySelector("a.what, input, button"));
  let at = -1, prefix = "";

  function current() {
    const row = document.activeElement && document.activeElement.closest(".rows .row");
    return row || rows()[at] || null;
  }
  function move(by) {
    const list = rows();
    if (list.length === 0) return;
    const now = list.indexOf(current());
    at = Math.max(0, Math.min(list.length - 1, now < 0 ? (by > 0 ? 0 : list.length - 1) : now + by));
    const target = list[at].querySelector("a.what") || list[at].querySelector("button, input");
    if (target) target.focus();
    list[at].scrollIntoView({ block: "nearest" });
  }
  function go(to) { location.href = to; }

  function answerOf(action) {
    const list = document.getElementById("picked");
    if (list) {
      const row = current();
      const boxes = all("#list input[name=id]:checked");
      if (boxes.length > 0) {
        list.querySelector("button[value=" + action + "]").click();
      } else if (row) {
        go(row.querySelector("a.what").href + (action === "approve" ? "" : "#reject"));
      }
      return;
    }
    if (action === "approve") approve(); else reject();
  }
  // In a run there may be several questions: the keys are for the one that has the focus.
  function scope() {
    const el = document.activeElement;
    return (el && el.closest(".gate-card")) || document.querySelector(".interaction");
  }
  function inScope(sel) {
    const root = scope();
    return root && root.querySelector(sel);
  }
  function approve() {
    const b = inScope(".answer [data-key=a]");
    if (!b) return;
    if (b.disabled) {
      window.holdpointSay("Scroll to the end to approve.");
      const box = all("[data-see]", scope()).find((el) => el.scrollHeight > el.clientHeight + 4) || b;
      box.focus();
      return;
    }
    if (b.hasAttribute("data-dangerous")) {
      const sure = b.closest("form").querySelector("[data-sure]");
      (sure && !sure.checked ? sure : b).focus();
      window.holdpointSay("This is marked dangerous: tick the box, then press the button.");
      return;
    }
    b.click();
  }
  function reject() {
    const field = inScope(".answer [data-feedback]");
    const b = inScope(".answer [data-key=r]");
    if (!b) return;
    if (field) {
      field.closest("details").open = true;
      field.dataset.then = "r";
      field.focus();
      field.placeholder = "Why? Ctrl+Enter rejects";
    } else {
      b.focus();
    }
  }
  function press(key) {
    const b = all(".interaction [data-key=" + key + "]").find((el) => !el.disabled);
    if (b) b.click();
  }
  function open(sel) {
    const d = document.querySelector(".interaction " + sel);
    if (!d) return;
    d.open = true;
    const field = d.querySelector("textarea, input:not([type=hidden]), select");
    if (field) field.focus();
    d.scrollIntoView({ block: "nearest" });
  }

  const goes = { i: "/inbox", c: "/chat", r: "/runs", p: "/rules", a: "/agents", l: "/audit" };
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    o: () => { const r = current(); const a = r && r.querySelector("a.what"); if (a) a.click(); },
    x: () => {
      const box = current() && current().querySelector("input[name=id]");
      if (box) { box.checked = !box.checked; window.holdpointCounted(); }
    },
    a: () => answerOf("approve"),
    r: () => answerOf("reject"),
    e: () => open("[data-edit]"),
    d: () => open("[data-delegate]"),
    t: () => thinkAgain(),
    s: () => press("s"),
    h: () => press("h"),
    n: () => { const a = document.querySelector("[data-next]"); if (a) a.click(); },
    "/": () => { const f = document.querySelector("[data-search]"); if (f) { f.focus(); f.select(); } },
    "?": () => document.getElementById("help").showModal(),
  };
  function thinkAgain() {
    const field = inScope(".answer [data-feedback]");
    if (!field || !inScope(".answer [data-key=t]")) return;
    field.closest("details").open = true;
    field.dataset.then = "t";
    field.placeholder = "What to do differently? Ctrl+Enter sends it";
    field.focus();
  }

  document.addEventListener("keydown", (e) => {
    const el = e.target;
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && el.matches("textarea")) {
      const then = el.dataset.then;
      const b = then ? el.closest("form").querySelector("[data-key=" + then + "]") : el.matches(".compose textarea") ? el.closest("form").querySelector("button") : null;
      if (b) { e.preventDefault(); b.click(); }
      return;
    }
    if (e.key === "Enter" && !e.shiftKey && el.matches(".compose.bottom textarea") && !e.isComposing) {
      e.preventDefault();
      el.form.requestSubmit();
      return;
    }
    if (e.key === "Escape" && !document.querySelector("dialog[open]")) {
      if (el.matches("input, textarea, select")) el.blur();
      else { const back = document.querySelector("[data-back]"); if (back) back.click(); }
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey || e.repeat && !"jk".includes(e.key) || document.querySelector("dialog[open]")) return;
    if (el.matches("textarea, select, [contenteditable]") || el.matches("input") && !["checkbox", "radio"].includes(el.type)) return;
    if (prefix === "g") {
      prefix = "";
      if (goes[e.key]) { e.preventDefault(); go(goes[e.key]); }
      return;
    }
    if (e.key === "g") { prefix = "g"; setTimeout(() => { prefix = ""; }, 1500); return; }
    if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
  });

  document.addEventListener("DOMContentLoaded", () => {
    if (location.hash === "#reject") reject();
  });
})();
