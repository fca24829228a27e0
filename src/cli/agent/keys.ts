import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'

const CTRL_C = '\u0003'

/** The action of a key, and its help. */
export interface KeyCommand {
  readonly doc: string
  readonly run: () => void
}

/** Reads single keys from the terminal until it is disposed of. */
export class Keys implements Disposable {
  readonly #input: NodeJS.ReadStream
  readonly #keys: Readonly<Record<string, KeyCommand>>

  /** Undefined without an interactive terminal. */
  static read(input: NodeJS.ReadStream, keys: Readonly<Record<string, KeyCommand>>): Keys | undefined {
    return input.isTTY && isForeground() ? new Keys(input, keys) : undefined
  }

  private constructor(input: NodeJS.ReadStream, keys: Readonly<Record<string, KeyCommand>>) {
    this.#input = input
    this.#keys = keys
    input.setRawMode(true).setEncoding('utf8').on('data', this.#pressed).resume()
    // Waiting for a key must not keep the process alive.
    input.unref()
  }

  readonly #pressed = (text: string): void => {
    for (const key of text) {
      // In this mode the terminal does not send the signal itself.
      if (key === CTRL_C) process.kill(process.pid, 'SIGINT')
      else this.#keys[key]?.run()
    }
  };

  [Symbol.dispose](): void {
    this.#input.off('data', this.#pressed).pause()
    this.#input.setRawMode(false)
  }
}

/** A background process is stopped when it changes the terminal. */
function isForeground(): boolean {
  if (process.platform !== 'linux') return true
  try {
    // After the name, which may contain anything: state, parent, group, session, terminal, foreground group.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return fields[2] === fields[5]
  } catch {
    return true
  }
}

const openers: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Opens a URL in the browser of this machine; reports failures to the callback. */
export function openInBrowser(url: string, failed: (reason: string) => void): void {
  const [program = '', ...args] = openers[process.platform] ?? ['xdg-open']
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true })
  child.once('error', ({ message }) => failed(`${url} cannot be opened: ${message}`))
  child.unref()
}

/** Copies a text through the terminal, also over ssh (OSC 52). */
export const copySequence = (text: string): string =>
  `\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`
