// What a page does besides showing itself: theme, login by the address, live rows, shortcuts. Everything works without.
"use strict";
(() => {
  const root = document.documentElement;
  const kept = (() => { try { return localStorage.getItem("hybrid-theme"); } catch { return null; } })();
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  root.classList.add("scripted");

  const ready = () => {
    login();
    theme();
    live();
    building();
    keys();
    choosing();
  };

  // The token stands behind the #, which no browser sends: it goes into the form, and out of the address.
  function login() {
    const token = location.hash.slice(1);
    if (!/^[A-Za-z0-9_-]{43}$/.test(token)) return;
    history.replaceState(null, "", location.pathname + location.search);
    const form = document.getElementById("login");
    if (!form) return;
    form.elements.token.value = token;
    form.submit();
  }

  function theme() {
    const button = document.getElementById("theme");
    if (!button) return;
    const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    // It says what a click does, so that nobody takes it for the state.
    const tell = () => { button.textContent = isDark() ? "Switch to light" : "Switch to dark"; };
    button.hidden = false;
    tell();
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      try { localStorage.setItem("hybrid-theme", root.dataset.theme); } catch { /* Kept for this page only. */ }
      tell();
    });
  }

  // Rows of new decisions; nothing is asked while nobody looks.
  function live() {
    const list = document.getElementById("events");
    if (!list || !list.dataset.follow) return;
    const state = document.getElementById("live");
    let after = list.dataset.newest, source = null, isPaused = false;
    const say = (text) => { if (state) state.textContent = text; };
    const stop = () => { if (source) source.close(); source = null; };
    const start = () => {
      if (source || document.hidden || isPaused) return;
      source = new EventSource(`${list.dataset.follow}&after=${encodeURIComponent(after)}`);
      source.onopen = () => say("Live: new rows appear by themselves.");
      source.onerror = () => say("Not connected: is hybrid dashboard still running?");
      source.onmessage = (message) => {
        const told = JSON.parse(message.data);
        after = told.id || after;
        const holder = document.createElement("template");
        holder.innerHTML = told.row;
        const row = holder.content.firstElementChild;
        if (!row || (row.id && document.getElementById(row.id))) return;
        document.getElementById("nothing")?.remove();
        list.prepend(row);
        while (list.children.length > 200) list.lastElementChild.remove();
      };
    };
    const pause = document.getElementById("pause");
    if (pause) {
      pause.hidden = false;
      pause.addEventListener("click", () => {
        isPaused = !isPaused;
        pause.setAttribute("aria-pressed", String(isPaused));
        pause.textContent = isPaused ? "Go on" : "Pause";
        if (isPaused) { stop(); say("Paused: new rows wait."); } else start();
      });
    }
    document.addEventListener("visibilitychange", () => document.hidden ? stop() : start());
    addEventListener("pagehide", stop);
    start();
  }

  function building() {
    const bar = document.getElementById("building");
    if (!bar) return;
    const look = async () => {
      if (document.hidden) return;
      const answer = await fetch(bar.dataset.ask).catch(() => null);
      if (!answer || !answer.ok) return;
      const told = await answer.json();
      if (!told.is_building) { location.reload(); return; }
      bar.querySelector("progress").value = told.share;
      bar.querySelector("span").textContent = told.text;
    };
    setInterval(look, 2000);
  }

  // `/` goes to the search field; `j` and `k` from row to row; Escape closes the menu.
  function keys() {
    document.addEventListener("keydown", (event) => {
      const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
      if (menu) { menu.open = false; menu.querySelector("summary").focus(); return; }
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
      if (event.key === "/") {
        const field = document.querySelector("main input[type=search]");
        if (field) { event.preventDefault(); field.focus(); }
      } else if (event.key === "j" || event.key === "k") {
        const rows = [...document.querySelectorAll("main article[tabindex]")];
        const at = rows.indexOf(event.target.closest("article[tabindex]"));
        const next = rows[Math.max(0, Math.min(rows.length - 1, at + (event.key === "j" ? 1 : -1)))];
        if (next) { event.preventDefault(); next.focus(); }
      }
    });
  }

  // What chooses among a few things needs no button.
  function choosing() {
    for (const form of document.querySelectorAll("form[data-auto]")) {
      form.addEventListener("change", (event) => { if (event.target.matches("select, input[type=checkbox], input[type=radio]")) form.requestSubmit(); });
    }
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", ready);
  else ready();
})();
