import type { ServerChannel, Session } from 'ssh2'
import { Terminal } from '#ssh/terminal.ts'

interface ShellEvents {
  /** The command; empty for a shell. */
  readonly started: (command: string, terminal: Terminal) => void
  readonly interrupted: () => void
  readonly closed: () => void
}

/** Handles one session of a client: an optional terminal, then one command or a shell. */
export function followSession(session: Session, { started, interrupted, closed }: ShellEvents): void {
  let pty = false
  let running = false
  session.on('pty', accept => {
    pty = true
    accept?.()
  })
  session.on('window-change', accept => accept?.())
  session.on('signal', (accept, _, { name }) => {
    accept?.()
    if (name === 'INT' || name === 'TERM') interrupted()
  })
  // Undefined when the client has already closed the session, although its type is not optional.
  const start = (command: string, channel: ServerChannel | undefined): void => {
    if (running || channel === undefined) return
    running = true
    started(command, new Terminal(channel, pty))
  }
  session.on('exec', (accept, _, { command }) => start(command, accept()))
  session.on('shell', accept => start('', accept()))
  session.on('close', closed)
}
