import type { Terminal } from '#ssh/terminal.ts'

const MAX_KEPT = 64

/** All terminals of one ssh connection; mostly one, none with `ssh -N`. */
export class TerminalBroadcast {
  readonly #terminals = new Set<Terminal>()
  readonly #kept: string[] = []

  get size(): number {
    return this.#terminals.size
  }

  join(terminal: Terminal): void {
    this.#terminals.add(terminal)
    this.#kept.splice(0).forEach(text => terminal.error(text))
  }

  writeLine(line: string): void {
    this.#terminals.forEach(terminal => terminal.line(line))
  }

  /** Kept for the first terminal. */
  writeError(text: string): void {
    if (this.#terminals.size === 0 && this.#kept.length < MAX_KEPT) this.#kept.push(text)
    this.#terminals.forEach(terminal => terminal.error(text))
  }

  exit(status: number): void {
    this.#terminals.forEach(terminal => terminal.exit(status))
  }
}
