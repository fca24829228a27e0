import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { withoutLink, withoutShown } from './answers.ts'
import { knowSecret, Told } from './secrets.ts'

const PATIENCE_MS = 2000
const MAX_PAGES = 20

interface Api {
  readonly url: string
  readonly token: string
}

async function read(api: Api, path: string): Promise<string> {
  const headers = { authorization: `Bearer ${api.token}` }
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    return await (await fetch(`${api.url}${path}`, { headers, signal })).text()
  } catch {
    // A test may leave a server behind that accepts no connections any more.
    return ''
  }
}

/** Takes down what a server tells an operator beside its log: metrics, events, requests. */
export async function lookAround(api: Api, told: Told): Promise<void> {
  for (const path of ['/metrics', '/requests?limit=100']) told.add(path, await read(api, path))
  let query = '?limit=100'
  for (let pages = 0; query !== '' && pages < MAX_PAGES; pages++) {
    const text = await read(api, `/audit_events${query}`)
    told.add('/audit_events', text)
    query = /"next_page_uri":"[^"?]+(\?[^"]+)"/.exec(text)?.[1] ?? ''
  }
}

/** The files that keep secrets for their owner. */
const keepers = new Set(['api-key', 'authtoken', 'master.key'])
const MAX_BYTES = 32 * 1024 * 1024

/** Takes down what lies in a data folder: the database with its outbox, files of events, logs. */
export function lookThrough(folder: string, told: Told): void {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isFile() || (statSync(path, { throwIfNoEntry: false })?.size ?? Infinity) > MAX_BYTES) continue
    if (keepers.has(entry.name)) knowSecret(readFileSync(path, 'utf8').trim())
    else told.add(entry.name, readFileSync(path, 'latin1'))
  }
}

const processes = new WeakMap<ChildProcess, Told>()

/** What `adit` wrote as a process of its own, to be ended once that has. */
export const whatItTold = (child: ChildProcess): Told => processes.get(child) ?? new Told('a process')

/** Takes down what `adit` writes. */
export function overhear<Child extends ChildProcess>(child: Child, args: readonly string[]): Child {
  const told = new Told(`adit ${args[0] ?? ''}`)
  processes.set(child, told)
  child.stderr?.on('data', told.write)
  if (args[0] === 'api') overhearAnswer(child, args.includes('create'), told)
  else child.stdout?.on('data', piece => told.write(withoutFirstKey(String(piece))))
  return child
}

/** The first start shows the first key, once: that is how its owner gets to know it. */
const withoutFirstKey = (text: string): string => withoutLink(text.replace(/^( +API key +)\S+$/m, '$1'))

/** These commands write what the API answers; only JSON can be told apart from what it may show. */
function overhearAnswer({ stdout }: ChildProcess, isCreation: boolean, told: Told): void {
  let text = ''
  stdout?.on('data', (piece: Buffer | string) => (text += String(piece)))
  stdout?.on('end', () => told.write(answerIn(text, isCreation)))
}

function answerIn(text: string, isCreation: boolean): string {
  try {
    return withoutShown(text, isCreation)
  } catch {
    // A table, YAML or an id.
    return ''
  }
}

/** Searches what a command of `adit` has written, once it has ended. */
export function searchOutput(args: readonly string[], output: { stdout: string; stderr: string }): void {
  const told = new Told(`adit ${args[0] ?? ''}`)
  told.write(output.stderr)
  told.write(
    args[0] === 'api' ? answerIn(output.stdout, args.includes('create')) : withoutFirstKey(output.stdout),
  )
  told.end()
}
