/** The style of the reference page, inline because it loads nothing. */
export const style = `
:root {
  color-scheme: light dark;
  --page: #fcfbf8; --panel: #f4f2ec; --line: #e0dcd1; --text: #20262e; --quiet: #59616c;
  --accent: #0a665b; --code: #f1eee6; --focus: #0a665b;
  --get: #0b5394; --post: #17693a; --patch: #855300; --put: #6b3fa0; --delete: #a82a25;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14181d; --panel: #191e25; --line: #2e3640; --text: #dce2e9; --quiet: #9aa5b1;
    --accent: #6fd0c0; --code: #1f252d; --focus: #6fd0c0;
    --get: #82bdf5; --post: #7fd39c; --patch: #ecb45b; --put: #c7a6f2; --delete: #f59a94;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--text); font: 1rem/1.6 system-ui, sans-serif; overflow-wrap: break-word; }
a { color: var(--accent); text-underline-offset: .15em; text-decoration-thickness: 1px; }
a:hover { text-decoration-thickness: 2px; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; border-radius: 3px; }
code, pre { font-family: ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: .875em; }
code { overflow-wrap: anywhere; }
p code, td code, li code { background: var(--code); padding: .1em .3em; border-radius: 4px; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; margin: 1rem 0; overflow-x: auto; line-height: 1.5; }
h1, h2, h3, h4 { line-height: 1.25; margin: 0; text-wrap: balance; }
h1 { font-size: 2rem; letter-spacing: -.02em; }
h2 { font-size: 1.6rem; letter-spacing: -.015em; }
h3 { font-size: 1.2rem; }
h4, .split h2, article > h3 { font-size: .95rem; letter-spacing: 0; margin: 1.75rem 0 .5rem; }
.basics article > h3 { font-size: 1.2rem; margin: 0; }
.found { list-style: none; margin: 1rem 0; padding: 0; }
.found li { margin: .6rem 0; }
.found p { margin: 0; color: var(--quiet); font-size: .9375rem; }
p { margin: .6rem 0; max-width: 44rem; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--page); padding: .5rem 1rem; z-index: 1; }
.quiet { color: var(--quiet); }
nav { background: var(--panel); border-bottom: 1px solid var(--line); padding: 1rem 1.25rem; font-size: .9375rem; }
nav summary { font-weight: 600; cursor: pointer; padding: .4rem 0; }
nav h2 { font-size: .8rem; font-weight: 650; letter-spacing: .02em; margin: 1.2rem 0 .2rem; color: var(--quiet); }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { display: block; padding: .2rem 0; color: inherit; text-decoration: none; }
nav li a:hover { color: var(--accent); text-decoration: underline; }
nav .brand { font-weight: 700; font-size: 1.05rem; margin: 0; }
nav .brand a { color: inherit; text-decoration: none; }
nav form { display: flex; gap: .4rem; margin: .75rem 0 0; }
nav input { flex: 1; min-width: 0; font: inherit; padding: .35rem .5rem; color: inherit; background: var(--page); border: 1px solid var(--quiet); border-radius: 6px; }
nav button { font: inherit; padding: .35rem .6rem; color: inherit; background: var(--code); border: 1px solid var(--quiet); border-radius: 6px; cursor: pointer; }
main { padding: 2rem 1.25rem 6rem; min-width: 0; }
main > section { border-top: 1px solid var(--line); margin-top: 3.5rem; padding-top: 2.5rem; }
main > .basics { margin-top: 2rem; padding-top: 2rem; }
article { margin-top: 3rem; }
article + article { border-top: 1px solid var(--line); padding-top: 2.5rem; }
.basics > article { margin-top: 1.75rem; max-width: 44rem; }
.basics > article + article { border: 0; padding: 0; }
.facts { list-style: none; margin: .6rem 0 0; padding: 0; color: var(--quiet); font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9375rem; }
th { text-align: left; font-weight: 600; font-size: .85rem; color: var(--quiet); padding: .35rem 1rem .35rem 0; border-bottom: 1px solid var(--line); }
td { vertical-align: top; padding: .55rem 1rem .55rem 0; border-bottom: 1px solid var(--line); }
td > p { margin: 0; }
td .type { display: block; color: var(--quiet); font-size: .875rem; }
td:last-child, th:last-child { padding-right: 0; }
.fields td:first-child, .operations td:first-child { width: 42%; }
.operations code, .modules code { background: none; padding: 0; }
.errors td:first-child, .modules td:first-child { width: 16rem; }
.fields .name { background: none; padding: 0; font-weight: 600; }
.tags { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem .9rem; margin: .1rem 0 0; padding: 0; font-size: .875rem; color: var(--quiet); }
.tags .required { color: var(--text); font-weight: 600; }
.tags .secret { color: var(--patch); }
.method { font: 600 .78rem/1 ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; letter-spacing: .03em; flex: 0 0 3.4rem; }
.call { display: flex; align-items: baseline; gap: .4rem; }
.GET { color: var(--get); } .POST { color: var(--post); } .PATCH { color: var(--patch); } .PUT { color: var(--put); } .DELETE { color: var(--delete); }
.columns { columns: 17rem auto; padding: 0; list-style: none; max-width: 60rem; }
.columns code { background: none; padding: 0; }
@media (max-width: 40rem) {
  h1 { font-size: 1.6rem; }
  thead { position: absolute; left: -100rem; }
  table, tbody, tr, td { display: block; width: auto; }
  tr { border-bottom: 1px solid var(--line); padding: .6rem 0; }
  td { border: 0; padding: .1rem 0; }
  .fields td:first-child, .operations td:first-child, .errors td:first-child, .modules td:first-child { width: auto; }
}
@media (min-width: 64rem) {
  body { display: grid; grid-template-columns: 17rem minmax(0, 1fr); }
  nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; border: 0; border-right: 1px solid var(--line); padding: 1.75rem 1.5rem 3rem; }
  nav summary { display: none; }
  nav details::details-content { content-visibility: visible; block-size: auto; display: block; }
  main { padding: 3rem 3.5rem 8rem; }
}
@supports not selector(::details-content) { nav summary { display: list-item; } }
@media (min-width: 90rem) {
  main { max-width: 92rem; }
  .split { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 27rem); column-gap: 3rem; align-items: start; }
  .split > header { grid-column: 1; }
  .split > .example { grid-column: 2; grid-row: 1 / span 2; position: sticky; top: 1.5rem; }
  .split > .example h2 { margin-top: 0; }
}
@media print { nav, .skip { display: none; } }
`
