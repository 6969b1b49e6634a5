// SPDX-License-Identifier: Apache-2.0
//
// Reads each page of a built site in Chromium, at three widths, light and dark, and says what is wrong:
// sideways scroll, script errors, requests to elsewhere, links to a missing page or id, and axe's serious and critical
// findings, which include a contrast below 4.5.
//
//   FIRESTEEL_SITE_MODULES=FOLDER node check.mjs SITE [PAGE...]
import { createServer } from "node:http";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { extname, join } from "node:path";

const [site, ...only] = process.argv.slice(2);
const require = createRequire(join(process.env.FIRESTEEL_SITE_MODULES, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const widths = [1400, 900, 400]; // axe runs at the first
const schemes = ["light", "dark"];
const workers = 2;
const types = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".json": "application/json" };
const files = readdirSync(site, { recursive: true }).filter((f) => statSync(join(site, f)).isFile());
const pages = files.filter((f) => f.endsWith(".html") && f !== "404.html").sort();
const unknown = only.filter((page) => !pages.includes(page));
if (unknown.length > 0) {
  console.error(`check.mjs: ${unknown.join(", ")}: not a page of ${site}; pages are named as ${pages[0]}`);
  process.exit(2);
}

const findings = [];
const found = (page, what) => findings.push(`${page}: ${what}`);

// serve hands out the site's files: a browser does not let pages of a folder read the search index.
function serve() {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://site").pathname).slice(1);
    if (!files.includes(path)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "content-type": types[extname(path)] ?? "application/octet-stream" });
    response.end(readFileSync(join(site, path)));
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

// inPage reads what the checks of links and of widths need; it runs in the browser.
const inPage = () => ({
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  ids: [...document.querySelectorAll("[id], a[name]")].map((e) => e.id || e.name),
  links: [...document.querySelectorAll("a[href]")].map((a) => [a.getAttribute("href"), a.href]),
});

const runAxe = () => {
  const ratio = { expected: 4.5 }; // also of large text
  window.axe.configure({ checks: [{ id: "color-contrast", options: { contrastRatio: { normal: ratio, large: ratio } } }] });
  return window.axe.run(document, { resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
};

async function audit(page, name, scheme) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(runAxe);
  for (const { id, impact, help, nodes } of violations) {
    if (impact === "serious" || impact === "critical") {
      const first = nodes.slice(0, 3).map((n) => `${n.target.join(" ")} ${n.any[0]?.message ?? ""}`);
      found(name, `${scheme}: axe: ${id} (${impact}), ${nodes.length} times: ${help}: ${first.join("; ")}`);
    }
  }
}

// read looks at a page in one scheme, at each width.
async function read(page, origin, name, scheme) {
  await page.setViewportSize({ width: widths[0], height: 900 });
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
  await page.goto(`${origin}/${name}`, { waitUntil: "load" });
  const seen = await page.evaluate(() => document.body.dataset.mdColorScheme);
  if (seen !== (scheme === "dark" ? "slate" : "default")) found(name, `${scheme}: the page does not follow the scheme of the system`);
  await audit(page, name, scheme);
  let state;
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    state = await page.evaluate(inPage);
    if (state.wide > 0) found(name, `${scheme}, ${width} px: the page scrolls sideways by ${state.wide} px`);
  }
  return state;
}

async function visit(browser, origin, queue, states) {
  const context = await browser.newContext();
  const page = await context.newPage();
  let name;
  page.on("pageerror", (e) => found(name, `script error: ${e.message}`));
  page.on("console", (m) => m.type() === "error" && found(name, `console: ${m.text()} ${m.location().url}`));
  page.on("request", (r) => !r.url().startsWith(origin) && !/^(data|blob):/.test(r.url()) && found(name, `loads ${r.url()} from elsewhere`));
  while ((name = queue.shift()) !== undefined) {
    for (const scheme of schemes) states.set(name, await read(page, origin, name, scheme));
  }
  await context.close();
}

// checkLinks holds links within the site to its files, and fragments to the ids of the pages that were read.
function checkLinks(origin, states) {
  for (const [name, { links }] of states) {
    for (const [written, href] of links) {
      const url = new URL(href);
      if (url.origin !== origin) continue;
      const path = decodeURIComponent(url.pathname).slice(1);
      const target = path === "" || path.endsWith("/") ? `${path}index.html` : path;
      const fragment = decodeURIComponent(url.hash.slice(1));
      if (!files.includes(target)) found(name, `link to ${written}: there is no such file`);
      else if (fragment && states.has(target) && !states.get(target).ids.includes(fragment)) found(name, `link to ${written}: there is no such id`);
    }
  }
}

const start = Date.now();
const server = await serve();
const origin = `http://127.0.0.1:${server.address().port}`;
// without the flags, Chromium looks up hosts of its maker, which is slow where there is no network
const quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: quiet });
const states = new Map();
try {
  const queue = only.length > 0 ? [...only] : [...pages];
  await Promise.all(Array.from({ length: workers }, () => visit(browser, origin, queue, states)));
  checkLinks(origin, states);
} finally {
  await browser.close();
  server.close();
}
for (const finding of [...new Set(findings)].sort()) console.error(finding);
const seconds = Math.round((Date.now() - start) / 1000);
console.log(`${states.size} pages, ${widths.length} widths, ${schemes.length} schemes: ${new Set(findings).size} findings, ${seconds} s`);
process.exit(findings.length > 0 ? 1 : 0);
