"use strict";

// Shows push messages about calls that wait for an answer, also while no page of the console is open.
self.addEventListener("push", (event) => {
  let message = {};
  try {
    message = event.data.json();
  } catch {
    // A message that cannot be read is about a call all the same.
  }
  const title = message.title || "A call waits for an answer";
  const shown = { body: message.body || "", tag: message.tag || "toolcrib", data: message.url || "/" };
  event.waitUntil(self.registration.showNotification(title, shown));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(self.clients.openWindow(event.notification.data));
});
