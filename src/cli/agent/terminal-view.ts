import type { AgentStatus, ConnectionEvent, RequestEvent } from '#agent/events.ts'
import type { Tunnel } from '#agent/tunnel.ts'
import { copySequence, openInBrowser, Keys, type KeyCommand } from '#cli/agent/keys.ts'
import { qrCode, type QrCode } from '#cli/agent/qr-code.ts'
import { screenLines, type Scene } from '#cli/agent/screen.ts'
import { TrafficStats } from '#cli/agent/traffic-stats.ts'
import type { NoteLevel, AgentView } from '#cli/agent/view.ts'

const ESCAPE = '\u001b['
const HIDE_CURSOR = `${ESCAPE}?25l`
const SHOW_CURSOR = `${ESCAPE}?25h`
const CLEAR_BELOW = `${ESCAPE}J`
const CLEAR_LINE = `${ESCAPE}K`
const CLEAR_ALL = `${ESCAPE}2J${ESCAPE}H`

/** Bursts of events are drawn once. */
const DRAW_MS = 100
const TICK_MS = 1000
const MAX_NOTES = 3
/** A terminal of unknown size reports 0. */
const USUAL = { columns: 80, rows: 24 }

interface TerminalOptions {
  readonly terminal: NodeJS.WriteStream
  readonly server: string
  readonly latency: () => number | undefined
  readonly now: () => number
  /** Where keys come from. */
  readonly input: NodeJS.ReadStream
  /** The user wants to quit. */
  readonly quit: () => void
}

/** Redraws a few lines in place. Earlier output stays above, and the last picture stays at the end. */
export class TerminalView implements AgentView {
  readonly isTerminal = true
  readonly #options: TerminalOptions
  readonly #traffic: TrafficStats
  readonly #notes: { readonly level: NoteLevel; readonly message: string }[] = []
  readonly #tick: NodeJS.Timeout
  readonly #isColoured: boolean
  #status: AgentStatus = { state: 'connecting' }
  #since: number
  #tunnels: readonly Tunnel[] = []
  #inspector: string | undefined
  #drawn = 0
  #soon: NodeJS.Timeout | undefined
  #over = false
  #showsHelp = false
  #qr: QrCode | undefined
  readonly #keys: Keys | undefined

  constructor(options: TerminalOptions) {
    const { terminal, now } = options
    this.#options = options
    this.#traffic = new TrafficStats(now)
    this.#since = now()
    // Node evaluates NO_COLOR, FORCE_COLOR and the terminal type.
    this.#isColoured = terminal.hasColors()
    terminal.write(HIDE_CURSOR)
    terminal.on('resize', this.#resized)
    // However the process exits, the cursor must be visible again.
    process.once('exit', this.#restore)
    this.#keys = Keys.read(options.input, this.#actions)
    this.#tick = setInterval(() => this.#draw(), TICK_MS)
    this.#tick.unref()
    this.#draw()
  }

  inspector(url: string): void {
    this.#inspector = url
    this.#drawSoon()
  }

  status(status: AgentStatus): void {
    if (status.state !== this.#status.state || status.error !== undefined) this.#since = this.#options.now()
    this.#status = { ...this.#known(), ...status }
    this.#drawSoon()
  }

  opened(tunnels: readonly Tunnel[]): void {
    this.#tunnels = [...this.#tunnels, ...tunnels]
    for (const tunnel of tunnels) void tunnel.closed.then(() => this.#forget(tunnel))
    this.#drawSoon()
  }

  #forget(tunnel: Tunnel): void {
    this.#tunnels = this.#tunnels.filter(each => each !== tunnel)
    this.#drawSoon()
  }

  connection(event: ConnectionEvent): void {
    this.#traffic.connection(event)
    // An unreachable service fails every request; one message is enough until another one.
    const { failure } = event
    if (failure !== undefined && this.#notes.at(-1)?.message !== failure) this.note('warn', failure)
    this.#drawSoon()
  }

  request(event: RequestEvent): void {
    this.#traffic.request(event)
    this.#drawSoon()
  }

  note(level: NoteLevel, message: string): void {
    this.#notes.push({ level, message })
    if (this.#notes.length > MAX_NOTES) this.#notes.shift()
    this.#drawSoon()
  }

  failed(): void {
    // The program prints the reason below the last picture.
  }

  close(): void {
    if (this.#over) return
    this.#draw()
    this.#over = true
    clearInterval(this.#tick)
    clearTimeout(this.#soon)
    this.#options.terminal.off('resize', this.#resized)
    process.off('exit', this.#restore)
    this.#restore()
  }

  readonly #restore = (): void => {
    this.#keys?.[Symbol.dispose]()
    this.#options.terminal.write(SHOW_CURSOR)
  }

  readonly #actions: Readonly<Record<string, KeyCommand>> = {
    o: {
      doc: 'open the address in the browser',
      run: () => this.#withUrl(url => this.#open(url)),
    },
    c: {
      doc: 'copy the address to the clipboard',
      run: () =>
        this.#withUrl(url => {
          this.#options.terminal.write(copySequence(url))
          this.note('info', `copied ${url}`)
        }),
    },
    i: {
      doc: 'open the inspector in the browser',
      run: () => {
        if (this.#inspector === undefined) this.note('info', 'the inspector is off')
        else this.#open(this.#inspector)
      },
    },
    r: {
      doc: 'show or hide the address as a QR code',
      run: () =>
        this.#withUrl(url => {
          void this.#toggleQr(url)
        }),
    },
    q: { doc: 'quit', run: () => this.#options.quit() },
    '?': {
      doc: 'show or hide this help',
      run: () => {
        this.#showsHelp = !this.#showsHelp
        this.#draw()
      },
    },
  }

  async #toggleQr(url: string): Promise<void> {
    // Scanners expect dark on light. Without colours, blocks are light on the usual dark terminal.
    this.#qr = this.#qr === undefined ? await qrCode(url, this.#isColoured) : undefined
    this.#draw()
  }

  #open(url: string): void {
    openInBrowser(url, reason => this.note('warn', reason))
  }

  #withUrl(use: (url: string) => void): void {
    const url = this.#tunnels.find(tunnel => tunnel.url !== '')?.url
    if (url === undefined) this.note('info', 'there is no address yet')
    else use(url)
  }

  #help(): readonly string[] | undefined {
    if (this.#keys === undefined) return undefined
    return this.#showsHelp ? Object.entries(this.#actions).map(([key, { doc }]) => `${key}  ${doc}`) : []
  }

  /** The terminal may have rewrapped the drawn lines, so their start is unknown. */
  readonly #resized = (): void => {
    this.#options.terminal.write(CLEAR_ALL)
    this.#drawn = 0
    this.#draw()
  }

  /** Gateway facts stay valid while it is offline. */
  #known(): Pick<AgentStatus, 'region' | 'serverVersion'> {
    const { region, serverVersion } = this.#status
    return { ...(region !== undefined && { region }), ...(serverVersion !== undefined && { serverVersion }) }
  }

  #drawSoon(): void {
    if (this.#over) return
    this.#soon ??= setTimeout(() => this.#draw(), DRAW_MS)
  }

  #draw(): void {
    clearTimeout(this.#soon)
    this.#soon = undefined
    if (this.#over) return
    const { terminal } = this.#options
    const size = { columns: terminal.columns || USUAL.columns, rows: terminal.rows || USUAL.rows }
    const lines = screenLines(this.#scene(), size, this.#isColoured)
    const back = this.#drawn === 0 ? '' : `${ESCAPE}${this.#drawn}A`
    // Overwritten line by line to avoid flicker, in one write to avoid partial pictures.
    terminal.write(`\r${back}${lines.map(line => `${line}${CLEAR_LINE}\n`).join('')}${CLEAR_BELOW}`)
    this.#drawn = lines.length
  }

  #scene(): Scene {
    const { now, latency, server } = this.#options
    return {
      now: now(),
      status: this.#status,
      since: this.#since,
      latencyMs: latency(),
      server,
      tunnels: this.#tunnels,
      inspector: this.#inspector,
      traffic: this.#traffic,
      help: this.#help(),
      notes: this.#notes,
      qr: this.#qr,
    }
  }
}
