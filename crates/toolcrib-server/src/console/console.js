"use strict";

// Keeps the console current. Everything works without this script; pages then show the state of their last load.
(() => {
  const POLL_MS = 15000;
  let isLoading = false;
  let isStale = false;
  let waiting = null;

  // Parts that a person is editing, or has the focus in, stay as they are.
  const isInUse = (part) =>
    part.contains(document.activeElement) ||
    [...part.querySelectorAll("input, textarea")].some((input) => input.value !== input.defaultValue);

  const replace = (old, fresh) => {
    if (!old.isEqualNode(fresh) && !isInUse(old)) old.replaceWith(document.adoptNode(fresh));
  };

  // Items come and go one by one, so that the one with the focus is never exchanged for another.
  const merge = (old, fresh) => {
    for (const item of [...old.children]) {
      const next = item.id && fresh.querySelector("#" + CSS.escape(item.id));
      if (next) replace(item, next);
      else item.remove();
    }
    for (const item of [...fresh.children]) {
      if (!item.id || !document.getElementById(item.id)) old.append(document.adoptNode(item));
    }
  };

  const refresh = async () => {
    if (isLoading) {
      isStale = true;
      return;
    }
    isLoading = true;
    try {
      const response = await fetch(location.href, { credentials: "same-origin" });
      if (!response.ok) return;
      const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
      document.title = fresh.title;
      for (const old of document.querySelectorAll("[data-live]")) {
        const next = fresh.getElementById(old.id);
        if (!next) continue;
        if (old.dataset.live === "items") merge(old, next);
        else replace(old, next);
      }
    } catch {
      // The next event or the next interval tries again.
    } finally {
      isLoading = false;
      if (isStale) {
        isStale = false;
        refresh();
      }
    }
  };

  // Browsers play no sound before a person has used the page, so the first key or click there enables it.
  const SOUND = "toolcrib-sound";
  let audio = null;
  const wantsSound = () => localStorage.getItem(SOUND) === "on";
  const enableSound = async () => {
    if (!wantsSound()) return;
    audio ??= new AudioContext();
    await audio.resume();
  };
  const play = () => {
    if (!wantsSound() || audio?.state !== "running") return;
    const [tone, volume] = [audio.createOscillator(), audio.createGain()];
    volume.gain.setValueAtTime(0.2, audio.currentTime);
    volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + 0.4);
    tone.connect(volume).connect(audio.destination);
    tone.start();
    tone.stop(audio.currentTime + 0.4);
  };
  for (const gesture of ["pointerdown", "keydown"]) document.addEventListener(gesture, enableSound);
  const sound = document.getElementById("sound");
  if (sound) {
    const show = () => sound.setAttribute("aria-pressed", String(wantsSound()));
    sound.addEventListener("click", () => {
      localStorage.setItem(SOUND, wantsSound() ? "off" : "on");
      show();
      enableSound().then(play);
    });
    show();
  }

  const tell = (count) => {
    const grew = waiting !== null && count > waiting;
    waiting = count;
    if (!grew) return;
    play();
    if (!("Notification" in window) || Notification.permission !== "granted") return;
    const text = count === 1 ? "1 call or question waits" : count + " calls and questions wait";
    const notification = new Notification("toolcrib", { body: text, tag: "toolcrib" });
    notification.onclick = () => window.focus();
  };

  const events = new EventSource("/events");
  events.addEventListener("change", (event) => {
    tell(JSON.parse(event.data).waiting);
    refresh();
  });
  setInterval(() => {
    if (!document.hidden) refresh();
  }, POLL_MS);

  // The outcome of a form is told once.
  const address = new URL(location.href);
  if (address.searchParams.has("told")) {
    address.searchParams.delete("told");
    history.replaceState(null, "", address);
  }

  const keys = document.querySelector(".keys");
  if (keys) keys.hidden = false;
  const notify = document.getElementById("notify");
  if (notify && "Notification" in window && Notification.permission === "default") {
    notify.hidden = false;
    notify.addEventListener("click", async () => {
      await Notification.requestPermission();
      notify.hidden = true;
    });
  }

  // Push messages come also while no page is open. The browser needs a push service for them.
  const push = document.getElementById("push");
  const subscribe = async () => {
    if (!("serviceWorker" in navigator) || !("PushManager" in window) || !("Notification" in window)) {
      throw new Error("This browser takes push messages only at https:// or on this machine, or not at all.");
    }
    if ((await Notification.requestPermission()) !== "granted") {
      throw new Error("This browser does not permit notifications of this page; allow them in its settings.");
    }
    const asked = await fetch("/push", { credentials: "same-origin" });
    const key = await asked.text();
    if (!asked.ok) throw new Error(key);
    await navigator.serviceWorker.register("/worker.js");
    const { pushManager } = await navigator.serviceWorker.ready;
    const settings = { userVisibleOnly: true, applicationServerKey: key };
    let subscription;
    try {
      subscription = await pushManager.subscribe(settings);
    } catch (error) {
      throw new Error("The push service of this browser is not available: " + error.message);
    }
    const { endpoint, keys } = subscription.toJSON();
    const body = new URLSearchParams({ seal: push.dataset.seal, endpoint, p256dh: keys.p256dh, auth: keys.auth });
    const sent = await fetch("/push", { method: "POST", credentials: "same-origin", body });
    return sent.text();
  };
  if (push) {
    push.parentElement.hidden = false;
    push.addEventListener("click", async () => {
      push.disabled = true;
      const told = await subscribe().catch((error) => error.message);
      document.getElementById("push-told").textContent = told;
      push.disabled = false;
    });
  }

  document.addEventListener("keydown", (event) => {
    const target = document.activeElement;
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (target.matches("input, textarea, select")) return;
    const article = target.closest("article.waiting");
    const all = [...document.querySelectorAll("article.waiting")];
    const at = all.indexOf(article);
    if (event.key === "j") all[Math.min(at + 1, all.length - 1)]?.focus();
    else if (event.key === "k") all[Math.max(at - 1, 0)]?.focus();
    else if (event.key === "a") article?.querySelector("button.allow")?.click();
    else if (event.key === "d") article?.querySelector("button.deny")?.click();
  });
})();
