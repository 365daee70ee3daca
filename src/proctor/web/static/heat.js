// Heat maps: a group is unfolded at once, and the address says which ones are open.
(() => {
  document.addEventListener("click", (e) => {
    const fold = e.target.closest("a[data-fold]");
    if (!fold || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    const below = document.getElementById(fold.dataset.fold);
    below.hidden = !below.hidden;
    fold.setAttribute("aria-expanded", String(!below.hidden));
    const at = new URL(location.href);
    const open = at.searchParams.getAll("open").filter((each) => each !== fold.dataset.group);
    at.searchParams.delete("open");
    for (const each of below.hidden ? open : [...open, fold.dataset.group]) at.searchParams.append("open", each);
    history.replaceState(history.state, "", at);
    // The other choices keep what is open.
    for (const link of document.querySelectorAll(".heat-choice a")) {
      const to = new URL(link.href);
      to.searchParams.delete("open");
      for (const each of at.searchParams.getAll("open")) to.searchParams.append("open", each);
      for (const name of ["href", "hx-get", "hx-replace-url"]) link.setAttribute(name, to.pathname + to.search + to.hash);
      window.htmx?.process(link);
    }
  });
})();
