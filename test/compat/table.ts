import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { clientMethods, clientVersion } from './client.ts'
import type { Result } from './trial.ts'

export const documentFile = join(import.meta.dirname, '../../docs/compatibility.md')

/** What stands above this line is written by hand, what follows by `node test/compat/write-table.ts`. */
const MARK = '<!-- From here on written by `node test/compat/write-table.ts`. -->'

const HEADINGS = ['Service', 'Method', 'HTTP', 'Result']

/** Columns of equal width, as prettier wants them. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const line = (cells: readonly string[], fill: string) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`
  const [heading = [], ...rest] = rows.map(row => line(row, ' '))
  return [heading, line(['', '', '', ''], '-'), ...rest].join('\n')
}

/** The results by service and, within one, in the order in which the client declares its methods. */
function ordered(results: readonly Result[]): Result[] {
  return [...clientMethods].flatMap(([service, methods]) =>
    methods.flatMap(method => results.filter(each => each.service === service && each.method === method)),
  )
}

/** The part of the document that the results make. */
export function resultsText(results: readonly Result[]): string {
  const rows = ordered(results).map(({ service, method, http, result }) => [
    service,
    method,
    `\`${http}\``,
    result,
  ])
  const working = results.filter(({ result }) => result.startsWith('works')).length
  return `${MARK}

## Operations of \`@ngrok/ngrok-api\` ${clientVersion}

${results.length} operations of ${clientMethods.size} services: ${working} work, ${results.length - working} answer 404 because nobody has
signed in.

${table([HEADINGS, ...rows])}
`
}

/** The part of the document that is written by hand, and the part that results made. */
export function readDocument(): { readonly byHand: string; readonly results: string } {
  const text = readFileSync(documentFile, 'utf8')
  const start = text.indexOf(MARK)
  if (start === -1) throw new Error(`${documentFile} has no line ${MARK}`)
  return { byHand: text.slice(0, start), results: text.slice(start) }
}
