import type { ServerChannel } from 'ssh2'

/** Unread lines beyond this are dropped: a log must not fill the gateway's memory. */
const MAX_UNREAD = 64 * 1024

const CTRL_C = 3
const CTRL_D = 4
const LETTERS_Q = new Set([0x71, 0x51])

/** The terminal of an ssh session. */
export class Terminal {
  readonly #channel: ServerChannel
  readonly #pty: boolean
  #dropped = 0
  #closed = false

  /** With a pty lines end in CR LF, and single keys are read. */
  constructor(channel: ServerChannel, pty: boolean) {
    this.#channel = channel
    this.#pty = pty
    channel.on('error', () => undefined)
    channel.stderr.on('error', () => undefined)
  }

  /** Calls back when the user wants to stop. The end of input does not count: it may be /dev/null. */
  onQuit(listener: () => void): void {
    this.#channel.on('data', (bytes: Buffer) => {
      if (this.#asksToQuit(bytes)) listener()
    })
    this.#channel.on('close', listener)
  }

  line(text: string): void {
    if (this.#closed) return
    if (this.#channel.writableLength > MAX_UNREAD) {
      this.#dropped++
      return
    }
    const missing = this.#dropped > 0 ? this.#encode(`(${this.#dropped} lines dropped)`) : ''
    this.#dropped = 0
    this.#channel.write(missing + this.#encode(text))
  }

  error(text: string): void {
    if (!this.#closed && this.#channel.stderr.writableLength <= MAX_UNREAD)
      this.#channel.stderr.write(this.#encode(text))
  }

  exit(status: number): void {
    if (this.#closed) return
    this.#closed = true
    this.#channel.exit(status)
    this.#channel.end()
  }

  #encode(text: string): string {
    return `${printable(text)}${this.#pty ? '\r\n' : '\n'}`
  }

  #asksToQuit(bytes: Buffer): boolean {
    if (!this.#pty) return /^q\r?\n?$/i.test(bytes.toString('latin1', 0, 4))
    return bytes.some(byte => byte === CTRL_C || byte === CTRL_D || LETTERS_Q.has(byte))
  }
}

/** Paths and names come from strangers, who must not control the user's terminal. */
const printable = (text: string): string =>
  text
    .slice(0, 4096)
    .replaceAll(/[^\P{C}\n]/gu, character => `\\u{${character.codePointAt(0)?.toString(16)}}`)
