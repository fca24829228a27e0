import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { withoutLinkToken, withoutVisibleSecrets } from './response-secrets.ts'
import { registerSecret, RecordedOutput } from './secrets.ts'

const TIMEOUT_MS = 2000
const MAX_PAGES = 20

interface Api {
  readonly url: string
  readonly token: string
}

async function read(api: Api, path: string): Promise<string> {
  const headers = { authorization: `Bearer ${api.token}` }
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    return await (await fetch(`${api.url}${path}`, { headers, signal })).text()
  } catch {
    // A test may leave a server behind that accepts no connections any more.
    return ''
  }
}

/** Records what a server shows an operator besides its log: metrics, audit events, requests. */
export async function recordApiOutput(api: Api, output: RecordedOutput): Promise<void> {
  for (const path of ['/metrics', '/requests?limit=100']) output.add(path, await read(api, path))
  let query = '?limit=100'
  for (let pages = 0; query !== '' && pages < MAX_PAGES; pages++) {
    const text = await read(api, `/audit_events${query}`)
    output.add('/audit_events', text)
    query = /"next_page_uri":"[^"?]+(\?[^"]+)"/.exec(text)?.[1] ?? ''
  }
}

/** Files whose content is a secret by design. */
const secretFiles = new Set(['api-key', 'authtoken', 'master.key'])
const MAX_BYTES = 32 * 1024 * 1024

/** Records the files of a data folder: the database with its outbox, event files, logs. */
export function recordDataFolder(folder: string, output: RecordedOutput): void {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isFile() || (statSync(path, { throwIfNoEntry: false })?.size ?? Infinity) > MAX_BYTES) continue
    if (secretFiles.has(entry.name)) registerSecret(readFileSync(path, 'utf8').trim())
    else output.add(entry.name, readFileSync(path, 'latin1'))
  }
}

const processes = new WeakMap<ChildProcess, RecordedOutput>()

/** The recorded output of an `adit` process; call its `end` once the process has ended. */
export const recordedOutputOf = (child: ChildProcess): RecordedOutput =>
  processes.get(child) ?? new RecordedOutput('a process')

/** Records the output of an `adit` process. */
export function recordOutput<Child extends ChildProcess>(child: Child, args: readonly string[]): Child {
  const output = new RecordedOutput(`adit ${args[0] ?? ''}`)
  processes.set(child, output)
  child.stderr?.on('data', output.write)
  if (args[0] === 'api') recordResponse(child, args.includes('create'), output)
  else child.stdout?.on('data', piece => output.write(withoutFirstKey(String(piece))))
  return child
}

/** The first start prints the first API key once, so that its owner can use it. */
const withoutFirstKey = (text: string): string => withoutLinkToken(text.replace(/^( +API key +)\S+$/m, '$1'))

/** These commands print the response of the API; allowed secrets can only be removed from JSON. */
function recordResponse({ stdout }: ChildProcess, isCreation: boolean, output: RecordedOutput): void {
  let text = ''
  stdout?.on('data', (piece: Buffer | string) => (text += String(piece)))
  stdout?.on('end', () => output.write(responseIn(text, isCreation)))
}

function responseIn(text: string, isCreation: boolean): string {
  try {
    return withoutVisibleSecrets(text, isCreation)
  } catch {
    // A table, YAML or an id.
    return ''
  }
}

/** Searches the output of an `adit` command that has ended. */
export function assertNoSecretInOutput(
  args: readonly string[],
  { stdout, stderr }: Record<'stdout' | 'stderr', string>,
): void {
  const output = new RecordedOutput(`adit ${args[0] ?? ''}`)
  output.write(stderr)
  output.write(args[0] === 'api' ? responseIn(stdout, args.includes('create')) : withoutFirstKey(stdout))
  output.end()
}
