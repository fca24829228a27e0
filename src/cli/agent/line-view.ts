import type { AgentStatus, ConnectionEvent, RequestEvent } from '#agent/events.ts'
import type { Tunnel } from '#agent/tunnel.ts'
import { agentLogLevels } from '#cli/agent/log-levels.ts'
import { labelText, type NoteLevel, type AgentView } from '#cli/agent/view.ts'
import { printable, printableJson } from '#cli/printable.ts'

type Fields = Readonly<Record<string, string | number>>
type Level = 'debug' | 'info' | 'warn' | 'error'

const levels: readonly string[] = agentLogLevels

interface Line {
  readonly level: Level
  readonly msg: string
  readonly fields: Fields
}

interface LineOptions {
  readonly format: 'text' | 'json'
  /** The minimum level; `silent` for none. */
  readonly level: string
  readonly write: (text: string) => void
  readonly now: () => Date
}

const word = (value: string | number): string => {
  const text = String(value)
  return /^[\x21\x23-\x3c\x3e-\x5b\x5d-\x7e]+$/.test(text) ? text : printable(JSON.stringify(text))
}

const pairsOf = (fields: Fields): string =>
  Object.entries(fields)
    .map(([name, value]) => `${name}=${word(value)}`)
    .join(' ')

const rounded = (milliseconds: number): number => Math.round(milliseconds * 10) / 10

function lineOf({ state, error, retryInMs, region, serverVersion }: AgentStatus): Line {
  return {
    level: error ? 'warn' : state === 'connecting' ? 'debug' : 'info',
    msg: state,
    fields: {
      ...(error !== undefined && { reason: error.message }),
      ...(retryInMs !== undefined && { retry_in_ms: Math.round(retryInMs) }),
      ...(serverVersion !== undefined && { server_version: serverVersion }),
      ...(region !== undefined && { region }),
    },
  }
}

/** One event per line, for logs and scripts; the format is stable between releases. */
export class LineView implements AgentView {
  readonly isTerminal = false
  readonly #options: LineOptions
  #state: AgentStatus['state'] | undefined
  #hasOpened = false
  /** Events held back until the addresses are printed. */
  #pending: Line | undefined

  constructor(options: LineOptions) {
    this.#options = options
  }

  inspector(url: string): void {
    this.#write({ level: 'debug', msg: 'inspector', fields: { url } })
  }

  status(status: AgentStatus): void {
    const { state, error } = status
    // The program prints the reason for the end.
    if (state === 'closed') return
    // Repeated states with other numbers are skipped; only failed attempts are reported each time.
    if (state === this.#state && error === undefined) return
    this.#state = state
    const line = lineOf(status)
    if (state === 'online' && !this.#hasOpened) this.#pending = line
    else this.#write(line)
  }

  opened(tunnels: readonly Tunnel[]): void {
    this.#hasOpened = true
    for (const { url, forwardsTo, labels } of tunnels) {
      const where = labels === undefined ? { url } : { labels: labelText(labels) }
      const fields = { ...where, forwards_to: forwardsTo }
      // People and scripts look for this line, so it begins with the address.
      if (this.#options.format === 'text') this.#print('info', pairsOf(fields))
      else this.#write({ level: 'info', msg: 'tunnel', fields })
    }
    if (this.#pending) this.#write(this.#pending)
    this.#pending = undefined
  }

  connection({ kind, tunnel, clientAddr, bytesIn, bytesOut, durationMs, failure }: ConnectionEvent): void {
    if (failure !== undefined) this.note('warn', failure)
    const fields = {
      url: tunnel.url || labelText(tunnel.labels),
      client: clientAddr,
      ...(kind === 'closed' && { bytes_in: bytesIn, bytes_out: bytesOut, duration_ms: rounded(durationMs) }),
    }
    this.#write({ level: 'debug', msg: `connection ${kind}`, fields })
  }

  request({ method, path, status, durationMs }: RequestEvent): void {
    const fields = { method, path, status, duration_ms: rounded(durationMs) }
    this.#write({ level: 'info', msg: 'request', fields })
  }

  note(level: NoteLevel, message: string): void {
    this.#write({ level, msg: message, fields: {} })
  }

  failed(): void {
    // The program prints the reason.
  }

  close(): void {
    // Lines need no end.
  }

  #write({ level, msg, fields }: Line): void {
    const time = this.#options.now().toISOString()
    const line =
      this.#options.format === 'json'
        ? printableJson(JSON.stringify({ level, time, msg, ...fields }))
        : `time=${time} level=${level} msg=${word(msg)} ${pairsOf(fields)}`.trimEnd()
    this.#print(level, line)
  }

  #print(level: Level, line: string): void {
    const least = levels.indexOf(this.#options.level)
    if (levels.indexOf(level) >= least) this.#options.write(`${line}\n`)
  }
}
