// Loaded before anything is drawn, so that the page never flashes in the other theme. "auto" follows the system.
(() => {
  const order = ["auto", "light", "dark"];
  const root = document.documentElement;
  const known = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  };
  let theme = order.includes(known()) ? known() : "auto";

  const show = () => {
    root.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) button.textContent = `Theme: ${theme}`;
    root.dispatchEvent(new CustomEvent("theme"));
  };
  show();

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  document.addEventListener("DOMContentLoaded", () => {
    show();
    document.getElementById("theme").addEventListener("click", () => {
      theme = order[(order.indexOf(theme) + 1) % order.length];
      try {
        localStorage.setItem("theme", theme);
      } catch {
        /* then it is not remembered */
      }
      show();
    });
  });
})();
