/* What the console adds when scripts run. Without it every page is still links, forms and submit buttons.
   No inline handlers and no eval: behaviour is found by data attributes, listed in the header of each section. */

"use strict";

(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  /* --- preferences: data-set="theme|density|clock|shortcuts" data-value="…" on a button ------------------------------
     Kept in a cookie, so that the server renders the page that way and nothing flashes. */

  function prefer(name, value) {
    root.dataset[name] = value;
    const secure = location.protocol === "https:" ? "; Secure" : "";
    document.cookie = `${name}=${value}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
    for (const button of all(`[data-set="${name}"]`)) {
      button.setAttribute("aria-pressed", String(button.dataset.value === value));
    }
    if (name === "clock") tellTimes(document);
  }

  /* --- times: <time datetime> holding .time-at and .time-ago ---------------------------------------------------------
     The server writes UTC; here it becomes local when asked, and "3 min ago" stays true while the page is open. */

  /* Far away a unit is the nearest one: 13 d 23 h ahead is "in 14 d". Within two days it is what has gone by whole. */
  const UNITS = [[730 * 86400, 365 * 86400, "y"], [60 * 86400, 30 * 86400, "mo"], [2 * 86400, 86400, "d"], [3600, 3600, "h"], [0, 60, "min"]];

  function relative(seconds) {
    if (Math.abs(seconds) < 60) return seconds > 0 ? "in less than 1 min" : "just now";
    const [, size, unit] = UNITS.find(([least]) => Math.abs(seconds) >= least);
    const count = (size < 86400 ? Math.floor : Math.round)(Math.abs(seconds) / size).toLocaleString("en-US");
    return seconds > 0 ? `in ${count} ${unit}` : `${count} ${unit} ago`;
  }

  function absolute(moment, withSeconds) {
    const zone = root.dataset.clock === "local" ? undefined : "UTC";
    const options = { timeZone: zone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" };
    const part = Object.fromEntries(new Intl.DateTimeFormat("en-GB", options).formatToParts(moment).map(({ type, value }) => [type, value]));
    const seconds = withSeconds ? `:${part.second}` : "";
    return `${part.year}-${part.month}-${part.day} ${part.hour}:${part.minute}${seconds} ${part.timeZoneName}`;
  }

  function tellTimes(within) {
    for (const time of all("time.time[datetime]", within)) {
      const moment = new Date(time.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      const distance = relative((moment - Date.now()) / 1000);
      for (const at of all(".time-at", time)) at.textContent = absolute(moment, at.hasAttribute("data-seconds"));
      for (const ago of all(".time-ago", time)) ago.textContent = distance;
      time.title = time.querySelector(".time-at") ? distance : absolute(moment, true);
    }
  }

  /* --- saying what happened: #status is seen and announced, #live is only announced ----------------------------------
     A fragment announces by carrying data-announce="12,304 entries"; a view by the HX-Trigger event console:status. */

  let saying, telling;

  function announce(words) {
    clearTimeout(saying);
    saying = setTimeout(() => { document.getElementById("live").textContent = words; }, 250);
  }

  function status(words, tone = "info") {
    const region = document.getElementById("status");
    const toast = document.getElementById("toast").content.firstElementChild.cloneNode(true);
    toast.classList.add(`toast-${tone}`);
    toast.querySelector("p").textContent = words;
    for (const icon of all("[data-tone]", toast)) if (icon.dataset.tone !== tone) icon.remove();
    toast.querySelector("button").addEventListener("click", () => region.replaceChildren());
    region.replaceChildren(toast);
    clearTimeout(telling);
    if (tone !== "bad") telling = setTimeout(() => region.replaceChildren(), 7000);
  }

  /* --- data-copy="text" on a button ---------------------------------------------------------------------------------- */

  async function copy(button) {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
    } catch {
      // Only a secure context has a clipboard; a console on a local network may have none.
      const box = Object.assign(document.createElement("textarea"), { value: button.dataset.copy, className: "visually-hidden" });
      document.body.append(box);
      box.select();
      document.execCommand("copy");
      box.remove();
      button.focus();
    }
    button.classList.add("copied");
    setTimeout(() => button.classList.remove("copied"), 1500);
    status(`Copied ${button.dataset.copy}`, "good");
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy], [data-set], [data-print]");
    if (!button) return;
    if ("copy" in button.dataset) copy(button);
    else if ("print" in button.dataset) window.print();
    else prefer(button.dataset.set, button.dataset.value);
  });

  /* --- data-reveal="id of a password field" on a checkbox -------------------------------------------------------------- */

  document.addEventListener("change", ({ target }) => {
    if (target.matches("[data-reveal]")) document.getElementById(target.dataset.reveal).type = target.checked ? "text" : "password";
  });

  /* --- choosing rows: data-check on a row's box, data-check-all in the head, data-checked-count in the bulk bar ------- */

  function countChecked(form) {
    const boxes = all("[data-check]", form);
    const checked = boxes.filter((box) => box.checked).length;
    for (const head of all("[data-check-all]", form)) {
      head.checked = checked > 0 && checked === boxes.length;
      head.indeterminate = checked > 0 && checked < boxes.length;
    }
    for (const count of all("[data-checked-count]", form)) count.textContent = checked.toLocaleString("en-US");
  }

  document.addEventListener("change", (event) => {
    const box = event.target;
    if (!box.matches("[data-check], [data-check-all]") || !box.form) return;
    if (box.matches("[data-check-all]")) for (const row of all("[data-check]", box.form)) row.checked = box.checked;
    countChecked(box.form);
  });

  /* --- keys: data-list around rows marked data-item; data-open on a row's link; data-key="a" on anything ---------------
     A letter goes to the bar of the chosen rows, to the current row, then to the page, then to the first row with a link of
     that letter when none is current; what has data-aim is only focused, and Enter does it. In a list marked data-numbered
     1 to 9 go to a row. One switch turns all single keys off but "?", which leads to that switch. */

  const typing = (element) => element.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
  const shown = (element) => element.checkVisibility() && !element.disabled;

  function move(step) {
    const rows = all("[data-list] [data-item]").filter(shown);
    if (!rows.length) return;
    const here = rows.findIndex((row) => row.contains(document.activeElement) || row.hasAttribute("data-current"));
    stand(rows, here < 0 ? 0 : here + step);
  }

  /* The row at that place, or at the nearer end, is the current one. */
  function stand(rows, place) {
    const next = rows[Math.min(Math.max(place, 0), rows.length - 1)];
    for (const row of all("[data-current]")) row.removeAttribute("data-current");
    next.setAttribute("data-current", "");
    next.tabIndex = -1;
    next.focus();
  }

  /* What is in view gets the focus where it stands: a bar that sticks to the edge is no reason to scroll. */
  function point(element) {
    const { top, bottom } = element.getBoundingClientRect();
    element.focus({ preventScroll: top >= 0 && bottom <= innerHeight });
  }

  function press(key) {
    const row = document.activeElement.closest("[data-item]") ?? document.querySelector("[data-current]");
    const selector = `[data-key="${CSS.escape(key)}"]`;
    const chosen = all(selector).find((found) => shown(found) && found.closest(".bulk-bar"));
    const own = row && all(selector, row).find(shown);
    const ofPage = all(selector).find((found) => shown(found) && !found.closest("[data-item]"));
    const target = chosen ?? own ?? ofPage ?? (row ? undefined : all(`a${selector}`).find(shown));
    if (!target) return false;
    if (typing(target)) { target.focus(); target.select?.(); } else if ("aim" in target.dataset) point(target); else target.click();
    return true;
  }

  /* 1 to 9 go to what the row of that number waits for: to decide it, or to its page. */
  function pick(number) {
    const row = all("[data-numbered] [data-item]").filter(shown)[number - 1];
    const link = row && (all('a[data-key="a"]', row).find(shown) ?? row.querySelector("[data-open]"));
    link?.click();
    return Boolean(link);
  }

  function open(row) {
    const link = row?.querySelector("[data-open]");
    link?.click();
    return Boolean(link);
  }

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const modified = event.ctrlKey || event.metaKey || event.altKey || event.isComposing;
    if (event.defaultPrevented || modified || typing(target)) return;
    if (root.dataset.shortcuts === "off" && key !== "?") return;
    let done = true;
    if (key === "j") move(1);
    else if (key === "k") move(-1);
    else if (key === "?") document.getElementById("help").togglePopover();
    else if (key === "Enter") done = target.matches("[data-item]") && open(target);
    else done = key.length === 1 && key !== " " && !event.repeat && (press(key) || pick(Number(key)));
    if (done) event.preventDefault();
  });

  /* --- where one came from: data-remember on a list keeps its address; a link marked data-key="u" leads back to it ------ */

  function remember() {
    try {
      if (document.querySelector("[data-remember]")) sessionStorage.setItem(`list:${location.pathname}`, location.search);
    } catch { /* a browser that keeps nothing leads back to the whole list */ }
  }

  function leadBack() {
    try {
      for (const link of all('a[data-key="u"]')) link.search ||= sessionStorage.getItem(`list:${link.pathname}`) ?? "";
    } catch { /* as above */ }
  }

  addEventListener("pagehide", remember);

  /* --- what was typed into a form whose session had ended: kept in this tab over the signing in, for the same person on
     the same page, and over a refusal that leads back to it (data-unsent). Passwords and values of secrets are not kept. */

  const TYPED = "textarea[name], input[name]:is([type=text], [type=search], [type=email], [type=url], :not([type]))";
  const fields = () => all(TYPED).filter(({ form }) => form?.method === "post");
  const drop = () => sessionStorage.removeItem("typed");

  function keepTyped({ target }) {
    try {
      const { person } = document.body.dataset;
      if (target.method !== "post" || !person) return;
      const typed = fields().map(({ name, value }) => [name, value]);
      sessionStorage.setItem("typed", JSON.stringify({ person, page: location.pathname + location.search, typed }));
    } catch { /* a browser that keeps nothing, or not so much, gives nothing back */ }
  }

  function giveBackTyped() {
    try {
      const { person } = document.body.dataset;
      const kept = JSON.parse(sessionStorage.getItem("typed"));
      if (!kept) return;
      if (!person || document.querySelector("[data-unsent]")) return sessionStorage.setItem("typed", JSON.stringify({ ...kept, ended: true }));
      drop();
      if (!kept.ended || kept.person !== person || kept.page !== location.pathname + location.search) return;
      const found = fields();
      if (found.length !== kept.typed.length || found.some(({ name }, at) => name !== kept.typed[at][0])) return;
      found.forEach((field, at) => { field.value = kept.typed[at][1]; });
      status("Your session had ended, and nothing was sent. What you had typed is here again.", "warn");
    } catch { /* as above */ }
  }

  document.addEventListener("submit", keepTyped, true);

  /* --- a double click sends a form once --------------------------------------------------------------------------------- */

  const sentAt = new WeakMap();

  document.addEventListener("submit", (event) => {
    const { target, timeStamp } = event;
    if (target.method !== "post") return;
    if (timeStamp - (sentAt.get(target) ?? -Infinity) < 1000) {
      event.preventDefault();
      event.stopImmediatePropagation();
    } else sentAt.set(target, timeStamp);
  }, true);
  document.addEventListener("htmx:afterRequest", ({ detail }) => { if (detail.successful) drop(); });

  /* --- a filter that is left open does not stand in the address --------------------------------------------------------- */

  document.addEventListener("formdata", ({ target, formData }) => {
    if (target.method !== "get") return;
    for (const name of new Set(formData.keys())) {
      if (formData.getAll(name).every((value) => value === "")) formData.delete(name);
    }
  });

  /* --- the command palette: Ctrl K or data-palette opens it; arrows go through its links -------------------------------
     The last pages of this tab stand in it, by the headings they had; signing in begins anew. */

  const palette = document.getElementById("palette");
  const RECENT = 8;

  function recent() {
    try {
      return JSON.parse(sessionStorage.getItem("recent")) ?? [];
    } catch {
      return [];
    }
  }

  function visit() {
    try {
      if (!palette) return sessionStorage.removeItem("recent");
      const here = { label: document.title.split(" · ")[0], url: location.pathname + location.search };
      const others = recent().filter(({ label, url }) => url !== here.url && label !== here.label);
      sessionStorage.setItem("recent", JSON.stringify([here, ...others].slice(0, RECENT + 1)));
    } catch { /* a browser that keeps nothing has no recent pages */ }
  }

  /* Enter goes to the first place that these very words have brought; pressed before, as soon as they have. */
  let awaited = "";

  const answered = (words) => words && document.getElementById("places").dataset.words === words && palette.querySelector("#places a");

  function showPalette() {
    const section = document.getElementById("recent");
    const links = recent().slice(1).map(({ label, url }) => {
      const item = document.createElement("li");
      item.append(Object.assign(document.createElement("a"), { href: url, textContent: label }));
      return item;
    });
    section.querySelector("ul").replaceChildren(...links);
    section.hidden = !links.length;
    palette.showModal();
    const words = document.getElementById("palette-words");
    words.select();
    htmx.trigger(words, "palette");
  }

  document.addEventListener("keydown", (event) => {
    const opens = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k";
    if (!palette || (!opens && !palette.open)) return;
    if (opens) palette.open ? palette.close() : showPalette();
    else if (event.key === "Escape") palette.close();  /* at once: in a field of searches the key would only empty it */
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const stops = all("input, a", palette).filter(shown);
      const at = stops.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
      stops[Math.min(Math.max(at, 0), stops.length - 1)].focus();
    } else if (event.key === "Enter" && event.target.matches("#palette-words") && event.target.value.trim()) {
      awaited = event.target.value.trim();
      const place = answered(awaited);
      place ? place.click() : htmx.trigger(event.target, "palette");
    } else return;
    event.preventDefault();
  });

  document.addEventListener("htmx:afterSettle", () => {
    const place = palette?.open && answered(awaited);
    awaited = place ? "" : awaited;
    if (place) place.click();
  });

  document.addEventListener("click", (event) => {
    if (event.target === palette) palette.close();
    if (!palette || !event.target.closest("[data-palette]")) return;
    event.preventDefault();
    showPalette();
  });
  document.addEventListener("input", ({ target }) => {
    if (!target.matches("#palette-words")) return;
    awaited = "";
    document.getElementById("recent").hidden = Boolean(target.value.trim()) || !recent()[1];
  });

  /* --- arriving to decide: with #decide the top of the page stays in view, and the first button that works has the focus */

  function aim() {
    const usable = all("#decision .actions :is(button, a)").filter(shown);
    const first = usable.find((button) => button.dataset.key === "a") ?? usable[0];
    if (first && location.hash === "#decide") point(first);
  }

  /* --- htmx ----------------------------------------------------------------------------------------------------------- */

  const signIn = () => document.body.dataset.signIn;
  const leave = () => location.assign(`${signIn()}?next=${encodeURIComponent(location.pathname + location.search)}`);

  /* 409 and 422 carry a panel or a form to show (a whole error page is only quoted); a lapsed session leads to the sign-in page, never into a fragment. */
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const { status: code, responseURL } = detail.xhr;
    const isPage = /^\s*<!doctype/i.test(detail.serverResponse);
    if ((code === 409 || code === 422) && !isPage) {
      detail.shouldSwap = true;
      detail.isError = false;
    }
    if (code === 401 || new URL(responseURL || location.href, location.href).pathname === signIn()) {
      detail.shouldSwap = false;
      leave();
    }
  });

  /* The words of a refusal: data-status-text of an error page, or the message of an error envelope. */
  function refusal(xhr) {
    const type = xhr.getResponseHeader("Content-Type") ?? "";
    try {
      if (type.includes("json")) return JSON.parse(xhr.responseText).message;
      return new DOMParser().parseFromString(xhr.responseText, "text/html").querySelector("[data-status-text]")?.textContent.trim();
    } catch {
      return undefined;
    }
  }

  document.addEventListener("htmx:responseError", ({ detail: { xhr } }) => {
    if (xhr.status !== 401) status(refusal(xhr) || `The host refused this (${xhr.status}).`, "bad");
  });
  for (const silence of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(silence, () => status("The host did not answer. What you see may be out of date.", "bad"));
  }
  document.addEventListener("console:status", ({ detail }) => status(detail.text ?? detail.value, detail.tone));

  /* A hidden tab does not poll. */
  document.addEventListener("htmx:beforeRequest", (event) => {
    const { elt, target } = event.detail;
    const polls = /\bevery\s/.test(elt.getAttribute("hx-trigger") ?? "");
    if (polls && document.hidden) event.preventDefault();
    else if (!polls) target?.setAttribute("aria-busy", "true");
  });
  document.addEventListener("htmx:afterRequest", ({ detail }) => detail.target?.removeAttribute("aria-busy"));

  /* Focus goes to a summary of errors or a conflict as it arrives, by htmx or with the page. */
  function arrive(within) {
    tellTimes(within);
    nameCells(within);
    for (const element of all(".table-region, .table-region > .table", within)) fit.observe(element);
    for (const form of all("form:has([data-checked-count])")) countChecked(form);
    for (const here of all(":is(.strip-region, .chain-region) .here", within)) centre(here, here.closest("div"));
    const said = within.matches?.("[data-announce]") ? within : within.querySelector("[data-announce]");
    if (said) announce(said.dataset.announce);
    const first = within.matches?.("[data-focus]") ? within : within.querySelector("[data-focus]");
    first?.focus();
  }

  /* A drawing wider than its region begins where its mark is seen. */
  function centre(mark, region) {
    const [at, room] = [mark.getBoundingClientRect(), region.getBoundingClientRect()];
    region.scrollLeft += at.left + at.width / 2 - room.left - room.width / 2;
  }

  /* A region as wide as its table needs neither a scroll bar nor a stop of the Tab key. */
  const fit = new ResizeObserver((entries) => {
    for (const region of new Set(entries.map(({ target }) => target.closest(".table-region")))) {
      const fits = region.scrollWidth <= region.clientWidth;
      region.toggleAttribute("data-fits", fits);
      if (fits) for (const name of region.role === "region" ? ["tabindex", "role", "aria-label"] : ["tabindex"]) region.removeAttribute(name);
      else Object.assign(region, { tabIndex: 0, role: "region", ariaLabel: region.ariaLabel ?? region.querySelector("caption")?.textContent ?? "Table" });
    }
  });

  /* A table shown as cards loses its roles to CSS; they are given back in words. */
  function nameCells(within) {
    const roles = { table: "table.cards", rowgroup: ".cards > :is(thead, tbody)", row: ".cards tr", cell: ".cards td", columnheader: ".cards thead th", rowheader: ".cards tbody th" };
    for (const [role, selector] of Object.entries(roles)) for (const element of all(selector, within)) element.setAttribute("role", role);
  }

  for (const arrival of ["htmx:afterSettle", "htmx:oobAfterSwap"]) {
    document.addEventListener(arrival, ({ detail, target }) => arrive(detail.elt?.isConnected ? detail.elt : target));
  }

  /* What had the focus and went with the old content leaves it to what came in its place, not to the top of the page. */
  let held = "";

  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    held = detail.target.contains(document.activeElement) ? detail.target.id : "";
  });
  document.addEventListener("htmx:afterSettle", () => {
    const place = document.activeElement === document.body && held && document.getElementById(held);
    held = "";
    if (!place) return;
    place.tabIndex = -1;
    place.focus({ preventScroll: true });
  });

  /* A form into which somebody types does not go without a word: another has answered, or the run is over. */
  const isTyped = (form) => [...form.elements].some((each) => each.matches("textarea, input") && each.value !== each.defaultValue);
  let typedInto = [];

  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    typedInto = all("form[data-keep]", detail.target).filter((form) => isTyped(form) && !sentAt.has(form));
  });
  document.addEventListener("htmx:afterSettle", () => {
    if (typedInto.some((form) => !form.isConnected)) status("This question is closed: it was answered meanwhile, or the run has ended. Nothing that you typed was sent.", "bad");
    typedInto = [];
  });

  /* What an operator opened stays open, and what is being typed stays typed, when a poll redraws it; so does all of a
     form marked data-keep, as long as it is there. */
  if (window.Idiomorph) {
    Idiomorph.defaults.ignoreActiveValue = true;
    Idiomorph.defaults.callbacks.beforeNodeMorphed = (old, fresh) => !(old.id && old.id === fresh.id && old.matches("form[data-keep]"));
    Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, element) => !(name === "open" && element.localName === "details");
  }

  for (const button of all('[data-set="clock"][data-value="local"]')) button.title = Intl.DateTimeFormat().resolvedOptions().timeZone;
  arrive(document);
  visit();
  leadBack();
  giveBackTyped();
  aim();
  /* Back from a decision: #next-2 is the row that took the place of the second one, so that no skipped row is decided by mistake. */
  const decided = /^#next-(\d+)$/.exec(location.hash);
  const left = decided ? all("[data-list] [data-item]").filter(shown) : [];
  if (left.length) stand(left, decided[1] - 1);
  setInterval(() => { if (!document.hidden) tellTimes(document); }, 30000);
})();
