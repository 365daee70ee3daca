// The models to be compared: a box that searches them, and how many are ticked.
(() => {
  const { one, all } = window.proctor;
  document.addEventListener("input", (e) => {
    if (!e.target.matches("[data-narrow]")) return;
    const words = e.target.value.trim().toLowerCase();
    for (const each of all("[data-choice]")) each.hidden = Boolean(words) && !each.dataset.choice.toLowerCase().includes(words);
    one("#narrowed").hidden = all("[data-choice]").some((each) => !each.hidden);
  });
  // The box narrows what is seen; Enter in it sends nothing.
  document.addEventListener("keydown", (e) => { if (e.key === "Enter" && e.target.matches("[data-narrow]")) e.preventDefault(); });
  const count = () => {
    const ticked = all("input[name=runs]:checked, input[type=hidden][name=runs]").length, place = one("#ticked");
    if (place) place.textContent = ticked ? `${ticked} chosen` : "";
  };
  document.addEventListener("change", (e) => { if (e.target.name === "runs") count(); });
  document.addEventListener("DOMContentLoaded", count);
})();
