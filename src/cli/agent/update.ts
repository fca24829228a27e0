import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { UpdateRequest } from '#agent/options.ts'
import type { AgentSettings } from '#cli/agent/agent-settings.ts'
import type { NoteLevel } from '#cli/agent/view.ts'
import metadata from '../../../package.json' with { type: 'json' }

// The gateway waits 10 s for a response.
const ASK_MS = 8000
const MAX_DOCUMENT = 65_536
const INSTALL_MS = 600_000

/** Three numbers and nothing else: it becomes an argument of a program. */
const VERSION = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})$/

type Version = readonly [major: number, minor: number, patch: number]

function versionOf(text: string): Version | undefined {
  const [, major, minor, patch] = VERSION.exec(text) ?? []
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)]
}

/** Newer, but not a new major version: that needs a person. */
export function isUpdate(from: string, to: string): boolean {
  const [present, offered] = [versionOf(from), versionOf(to)]
  if (!present || !offered || present[0] !== offered[0]) return false
  return offered[1] > present[1] || (offered[1] === present[1] && offered[2] > present[2])
}

const refuse = (reason: string): never => {
  throw new Error(reason)
}

/**
 * Runs updates that the gateway requests. URL and command come from the agent's configuration: the gateway only decides
 * when.
 */
export class Updater {
  readonly #settings: Pick<AgentSettings, 'update_check' | 'update_url' | 'update_command'>
  readonly #note: (level: NoteLevel, message: string) => void
  #state: 'idle' | 'running' | 'installed' = 'idle'

  constructor(
    settings: Pick<AgentSettings, 'update_check' | 'update_url' | 'update_command'>,
    note: (level: NoteLevel, message: string) => void,
  ) {
    this.#settings = settings
    this.#note = note
  }

  /** Resolves when an update has started; rejects with the reason if there is none. */
  async update({ version: wanted }: Pick<UpdateRequest, 'version'>): Promise<void> {
    const { update_check: check, update_url: url, update_command: command } = this.#settings
    if (!check.value) refuse('update checks are disabled in the configuration')
    if (this.#state === 'running') refuse('an update is already running')
    if (this.#state === 'installed') refuse('an update was installed and waits for a restart')
    if (url === undefined) return refuse('updates are not configured (update_url)')
    this.#state = 'running'
    try {
      const version = await newestVersion(url.value)
      const isWanted = wanted === '' || wanted === version
      if (!isWanted || !isUpdate(metadata.version, version)) refuse('no update is available')
      if (command === undefined) return refuse('updates are not configured (update_command)')
      void this.#install(command.value, version)
    } catch (error) {
      this.#state = 'idle'
      throw error
    }
  }

  async #install(command: readonly string[], version: string): Promise<void> {
    this.#note('info', `updating to ${version}`)
    const failure = await install(command.map(word => word.replaceAll('{version}', version)))
    this.#state = failure === undefined ? 'installed' : 'idle'
    if (failure === undefined) this.#note('info', `version ${version} was installed and waits for a restart`)
    else this.#note('error', `the update to ${version} failed: ${failure}`)
  }
}

/** The version in a document. */
export async function newestVersion(url: string): Promise<string> {
  try {
    const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(ASK_MS) })
    if (!answer.ok) throw new Error(`status ${answer.status}`)
    const { version } = JSON.parse(await boundedText(answer)) as { readonly version?: unknown }
    if (typeof version === 'string' && versionOf(version)) return version
    throw new Error('the document has no plain version')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return refuse(`the newest version cannot be determined: ${reason}`)
  }
}

async function boundedText(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of answer.body ?? []) {
    size += chunk.length
    if (size > MAX_DOCUMENT) throw new Error('the document is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Runs a program to its end; returns why it failed. */
async function install([program = '', ...args]: readonly string[]): Promise<string | undefined> {
  const child = spawn(program, args, { stdio: 'ignore', timeout: INSTALL_MS })
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
    return code === 0 ? undefined : `${program} ended with ${signal ?? `exit code ${code}`}`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
