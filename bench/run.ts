import { api } from './api.ts'
import { scale } from './scale.ts'
import { heading, render, type Topic } from './support/row.ts'

/** What is measured; `npm run bench -- NAME` runs only the topics whose name contains NAME. */
const topics: Readonly<Record<string, Topic>> = { api, scale }

const wanted = process.argv[2] ?? ''
console.log(heading())
for (const [name, measure] of Object.entries(topics)) {
  if (!name.includes(wanted)) continue
  for await (const row of measure()) console.log(render(row))
}
