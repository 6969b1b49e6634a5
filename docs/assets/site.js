// SPDX-License-Identifier: Apache-2.0

// A table that is wider than the page scrolls in a box of its own, which then takes the focus, so that arrow keys scroll it.
function focusWhatScrolls() {
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const box = target.closest(".md-typeset__scrollwrap");
      if (box.scrollWidth > box.clientWidth) {
        box.tabIndex = 0;
        box.setAttribute("role", "region");
        box.setAttribute("aria-label", "Table, scrolls sideways");
      } else {
        for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
      }
    }
  });
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap table, .md-typeset__scrollwrap")) sizes.observe(table);
}

// The filter of the field reference shows the rows that have all words, in any column.
function filterFields() {
  const rows = [...document.querySelectorAll(".fields tbody tr")];
  if (rows.length === 0) return;
  const label = document.createElement("label");
  label.className = "filter";
  label.innerHTML = '<span>Filter</span><input type="search" placeholder="driver memory"><output></output>';
  document.querySelector(".fields table").closest(".md-typeset__scrollwrap").before(label);
  document.querySelector(":target")?.scrollIntoView(); // it has moved
  const [, input, count] = label.children;
  const texts = rows.map((row) => row.textContent.toLowerCase());
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden = !words.every((word) => texts[i].includes(word));
      shown += row.hidden ? 0 : 1;
    });
    count.textContent = words.length > 0 ? `${shown} of ${rows.length} fields` : "";
  });
}

// Material moves tables into their boxes before it reports the document.
document$.subscribe(() => {
  focusWhatScrolls();
  filterFields();
});
