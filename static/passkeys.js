// Passkeys: a form with data-passkey asks the browser for one before it is sent, and is hidden where that cannot be done.
(() => {
  "use strict";
  const supported = window.PublicKeyCredential && PublicKeyCredential.parseRequestOptionsFromJSON && PublicKeyCredential.parseCreationOptionsFromJSON;
  if (!supported) return;
  document.querySelectorAll("form[data-passkey]").forEach((form) => { form.hidden = false; });

  async function ask(form) {
    const answer = await fetch(form.dataset.options, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error("Try again in a minute.");
    const { publicKey } = await answer.json();
    const create = form.dataset.passkey === "create";
    const made = create
      ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) })
      : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey) });
    return JSON.stringify(made.toJSON());
  }

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("form[data-passkey]") || form.elements.credential.value) return;
    event.preventDefault();
    const status = form.querySelector("[role=status]");
    try {
      form.elements.credential.value = await ask(form);
      form.submit();  // fires no second submit event, which console.js would take for a double click
    } catch (problem) {
      status.textContent = problem.name === "Error" ? problem.message : "No passkey was used.";
    }
  });
})();
