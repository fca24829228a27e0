import { randomBytes } from 'node:crypto'
import type { AgentError } from '#agent/agent-error.ts'
import type { AgentStatus, ConnectionEvent, RequestEvent } from '#agent/events.ts'
import type { Tunnel } from '#agent/tunnel.ts'
import { agentLogLevels } from '#cli/agent/log-levels.ts'
import { writtenLine, type LineFields, type LineFormat, type LineLevel } from '#cli/agent/log-lines.ts'
import { isSignInFailure } from '#cli/agent/failures.ts'
import type { LogOutput } from '#cli/agent/log-output.ts'
import { labelText, type NoteLevel, type AgentView } from '#cli/agent/view.ts'

interface LogOptions {
  readonly format: LineFormat
  readonly level: string
  readonly write: LogOutput
  readonly now: () => Date
}

const ranks: readonly string[] = agentLogLevels
const rankOf: Readonly<Record<LineLevel, number>> = { dbug: 0, info: 1, warn: 2, eror: 3, crit: 4 }
const noteLevels = { info: 'info', warn: 'warn', error: 'eror' } as const satisfies Record<
  NoteLevel,
  LineLevel
>

/** Logs events in the lines of the hosted agent, which wrappers and scripts wait for. */
export class LogView implements AgentView {
  readonly isTerminal = false
  readonly #options: LogOptions
  readonly #session = randomBytes(6).toString('hex')
  readonly #least: number
  #state: AgentStatus['state'] = 'connecting'
  #wasOnline = false

  constructor(options: LogOptions) {
    this.#options = options
    this.#least = ranks.indexOf(options.level)
  }

  inspector(url: string): void {
    this.#line('info', 'starting web service', {
      obj: 'web',
      addr: url.replace('http://', ''),
      allow_hosts: '[]',
    })
  }

  status({ state, error, retryInMs }: AgentStatus): void {
    const wasOnline = this.#state === 'online'
    this.#state = state
    if (state === 'online' && !wasOnline) this.#online()
    if (error === undefined) return
    const wait = retryInMs === undefined ? {} : { retry_in_ms: Math.round(retryInMs) }
    const about = { obj: 'csess', id: this.#session, err: error.message, ...wait }
    // Some wrappers stop at the first error, and an agent that was never online may still connect.
    if (!this.#wasOnline) this.#line('warn', 'failed to connect session', about)
    else if (wasOnline) this.#line('eror', 'session closed, starting reconnect loop', about)
    else this.#line('eror', 'failed to reconnect session', about)
  }

  opened(tunnels: readonly Tunnel[]): void {
    for (const { name, forwardsTo, url, labels } of tunnels) {
      const where = labels === undefined ? { url } : { labels: labelText(labels) }
      this.#line('info', 'started tunnel', { obj: 'tunnels', name, addr: forwardsTo, ...where })
    }
  }

  connection({ kind, tunnel, clientAddr, failure }: ConnectionEvent): void {
    const { forwardsTo } = tunnel
    if (kind === 'opened')
      this.#line('info', 'join connections', { obj: 'join', l: forwardsTo, r: clientAddr })
    else if (failure !== undefined)
      this.#line('warn', 'failed to open private leg', { obj: 'join', privaddr: forwardsTo, err: failure })
  }

  request({ method, path, status, durationMs }: RequestEvent): void {
    const duration_ms = Math.round(durationMs * 10) / 10
    this.#line('info', 'request', { obj: 'http', method, path, status, duration_ms })
  }

  note(level: NoteLevel, message: string): void {
    // Every line of an error has its text in one field.
    this.#line(noteLevels[level], message, level === 'error' ? { err: message } : {})
  }

  failed({ message, code = '' }: AgentError): void {
    const number = /\d+$/.exec(code)?.[0]
    const what = isSignInFailure(code)
      ? 'authentication failed: '
      : this.#wasOnline
        ? 'failed to start tunnel: '
        : ''
    const err = `${what}${message}${number === undefined ? '' : `\r\n\r\nERR_NGROK_${number}\r\n`}`
    this.#line('eror', 'session closing', { obj: 'tunnels.session', err })
    this.#line('eror', 'terminating with error', { obj: 'app', err })
    this.#line('crit', 'command failed', { err })
  }

  close(): void {
    // A log needs no end.
  }

  #online(): void {
    this.#wasOnline = true
    this.#line('info', 'client session established', { obj: 'csess', id: this.#session })
    this.#line('info', 'tunnel session started', { obj: 'tunnels.session' })
  }

  #line(level: LineLevel, msg: string, fields: LineFields): void {
    if (rankOf[level] < this.#least) return
    const { write, format, now } = this.#options
    write(writtenLine({ time: now(), level, msg, fields }, format))
  }
}
