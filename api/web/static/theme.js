// Runs before the page is drawn, so that nothing flashes: the chosen theme, and that scripts run.
(function () {
  var root = document.documentElement;
  root.classList.add("js");
  try {
    var theme = localStorage.getItem("holdpoint-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch (e) { /* storage may be forbidden; the system's theme it is */ }
})();
