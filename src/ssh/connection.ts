import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { Connection as SshClient, Session, TcpipBindInfo } from 'ssh2'
import { inBackground } from '#base/background.ts'
import { fail, Problem } from '#base/errors.ts'
import { newId, timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { SerialQueue } from '#base/serial-queue.ts'
import type { AgentCommand, SessionRecord, TunnelRecord } from '#registry/directory.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import { type AgentConnection, DialError } from '#registry/agent-dialer.ts'
import { plainAddress } from '#base/addresses.ts'
import { TerminalBroadcast } from '#ssh/terminal-broadcast.ts'
import { Channels, type ChannelLimits } from '#ssh/channels.ts'
import { NO_COMMAND, readCommand, type SshCommand } from '#ssh/command.ts'
import type { SshDeps } from '#ssh/deps.ts'
import { checkBind, Forwards, forwardText, nameOf, tunnelRequestOf } from '#ssh/forwards.ts'
import { answersPing } from '#ssh/ping.ts'
import { followSession } from '#ssh/shell.ts'
import type { SshIdentity } from '#ssh/sign-in.ts'
import type { Terminal } from '#ssh/terminal.ts'
import { USAGE } from '#ssh/usage.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import type { ProxyHeader } from '#tunnel/messages.ts'

export interface SshConnectionLimits extends ChannelLimits {
  readonly sessions: number
  /** Milliseconds that a -R waits for the command, which ssh sends later; with `ssh -N` none comes. */
  readonly commandWait: number
  /** Milliseconds that a command waits for a -R before the usage is shown. */
  readonly forwardWait: number
  /** Milliseconds that a connection without any request may stay. */
  readonly idleWait: number
  /** Milliseconds for the client to disconnect. */
  readonly leaveWait: number
  readonly probeTimeout: number
}

interface SignedIn {
  readonly client: SshClient
  readonly socket: Socket
  readonly identity: SshIdentity
  readonly ip: string
  readonly ident: string
}

interface ConnectionContext {
  readonly deps: SshDeps
  readonly info: GatewayInfo
  readonly log: Log
  readonly limits: SshConnectionLimits
  /** The HTTP path reports requests by `onRequest`, so connections of HTTP endpoints are not reported. */
  readonly requestLines: boolean
}

interface PendingForward {
  readonly bind: TcpipBindInfo
  readonly accept: (port: number) => void
  readonly reject: () => void
}

type Accept = ((chosenPort?: number) => void) | undefined

const MAX_WAITING = 64
const MESSAGE_MS = 100

/** One signed-in ssh connection: each -R is a tunnel, and its sessions show events. */
export class SshConnection implements AgentConnection {
  readonly record: SessionRecord
  readonly #peer: SignedIn
  readonly #context: ConnectionContext
  readonly #channels: Channels
  readonly #forwards = new Forwards()
  readonly #terminals = new TerminalBroadcast()
  readonly #waiting: PendingForward[] = []
  /** Serialized, so that output has the order of the requests. */
  readonly #queue = new SerialQueue()
  #command: SshCommand | undefined
  #added: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #sessions = 0
  #opening = 0
  #failed = false
  #leaving = false
  #closed = false

  constructor(peer: SignedIn, context: ConnectionContext) {
    this.#peer = peer
    this.#context = context
    const { client, socket, identity, ip, ident } = peer
    this.#channels = new Channels(client, socket, context.limits)
    this.record = {
      id: newId('ts'),
      node: context.info.node,
      credentialId: identity.credentialId,
      agentVersion: ident,
      userAgent: ident,
      ip,
      localIp: plainAddress(socket.localAddress ?? ''),
      serverName: undefined,
      metadata: '',
      os: '',
      arch: '',
      region: context.info.region,
      startedAt: timestamp(Date.now()),
      transport: 'ssh',
    }
    client.on('request', (accept: Accept, reject, name, info) => {
      if (name === 'tcpip-forward') this.#onForward(info, accept, reject)
      else if (name === 'cancel-tcpip-forward') this.#onCancel(info, accept, reject)
      else reject?.()
    })
    client.on('session', (accept, reject) => {
      if (this.#sessions >= context.limits.sessions || this.#leaving) reject()
      else this.#onSession(accept())
    })
    socket.once('close', () => this.#onClose())
    this.#after(context.limits.idleWait, () => this.#goIdle())
  }

  /** Open connections through it. */
  get streams(): number {
    return this.#channels.open
  }

  async dial(tunnel: TunnelRecord, header: ProxyHeader, first: Buffer): Promise<ByteStream> {
    const forward = this.#forwards.of(tunnel.id)
    if (forward === undefined) throw new DialError('offline', 'the tunnel is closed')
    const colon = header.ClientAddr.lastIndexOf(':')
    const clientIp = header.ClientAddr.slice(0, colon).replaceAll(/[[\]]/g, '')
    const clientPort = Number(header.ClientAddr.slice(colon + 1)) || 0
    const route = { boundAddr: forward.bindAddr, boundPort: forward.port, clientIp, clientPort }
    const shown = !this.#context.requestLines || !tunnel.url.startsWith('http')
    const report = (what: string): void => {
      if (shown && !this.#closed)
        this.#terminals.writeLine(`${clock()} ${nameOf(tunnel)} ${what} ${header.ClientAddr}`)
    }
    report('connection from')
    return this.#channels.dial({ ...route, closed: () => report('closed for') }, first)
  }

  async command(command: AgentCommand): Promise<void> {
    if (command === 'restart') fail('ssh_no_restart')
    if (command === 'update') fail('ssh_no_update')
    this.close('The tunnel was stopped through the API.')
  }

  async probe(): Promise<boolean> {
    const { client, socket } = this.#peer
    return !this.#closed && answersPing(client, socket, this.#context.limits.probeTimeout)
  }

  close(reason: string): void {
    if (this.#leaving) return
    this.#terminals.writeError(reason)
    this.#leave(1)
  }

  /** A tunnel is removed while the connection stays. */
  stopTunnel(tunnelId: string, problem: Problem): void {
    if (this.#forwards.of(tunnelId) === undefined) return
    this.#forwards.remove(tunnelId)
    this.#reportError(problem)
    this.#checkIdle()
  }

  /** Shows a line about a request of one of the tunnels. */
  onRequest(line: string): void {
    this.#terminals.writeLine(`${clock()} ${line}`)
  }

  #onForward(bind: TcpipBindInfo, accept: Accept, reject: (() => void) | undefined): void {
    const entry = { bind, accept: (port: number) => accept?.(port), reject: () => reject?.() }
    if (this.#leaving || this.#waiting.length >= MAX_WAITING) {
      entry.reject()
      return
    }
    this.#waiting.push(entry)
    if (this.#command) this.#flush(this.#command)
    else this.#after(this.#context.limits.commandWait, () => this.#decide(NO_COMMAND))
  }

  #onCancel(bind: TcpipBindInfo, accept: Accept, reject: (() => void) | undefined): void {
    const forward = this.#forwards.find(bind)
    if (forward === undefined) {
      reject?.()
      return
    }
    this.#forwards.remove(forward.tunnel.id)
    this.#terminals.writeLine(`${nameOf(forward.tunnel)} closed`)
    void this.#run('unbind', () => this.#context.deps.unbind(this.record.id, forward.tunnel.id))
    accept?.()
    this.#checkIdle(this.#context.limits.idleWait)
  }

  #onSession(session: Session): void {
    this.#sessions++
    followSession(session, {
      started: (command, terminal) => this.#onCommand(command, terminal),
      interrupted: () => this.#leave(0),
      closed: () => this.#sessions--,
    })
  }

  #onCommand(text: string, terminal: Terminal): void {
    this.#terminals.join(terminal)
    if (this.#leaving) {
      terminal.exit(1)
      return
    }
    terminal.onQuit(() => this.#leave(0))
    try {
      const command = readCommand(text)
      if (this.#waiting.length + this.#forwards.size + this.#opening > 0)
        terminal.line(`Adit, session ${this.record.id}. Press q or Ctrl-C to stop.`)
      this.#forwards.list().forEach(forward => terminal.line(forwardText(forward)))
      this.#decide(command)
    } catch (error) {
      this.#reportError(error)
      this.#waiting.splice(0).forEach(({ reject }) => reject())
      this.#leave(1)
    }
  }

  /** The command is known, or none will come. */
  #decide(command: SshCommand): void {
    this.#command = command
    this.#flush(command)
    this.#checkIdle()
  }

  #flush(command: SshCommand): void {
    clearTimeout(this.#timer)
    for (const entry of this.#waiting.splice(0)) {
      this.#opening++
      void this.#queue.run(() => this.#run('open', () => this.#open(entry, command)))
    }
  }

  async #open({ bind, accept, reject }: PendingForward, command: SshCommand): Promise<void> {
    try {
      if (this.#leaving) return reject()
      if (!this.#peer.identity.mayForward) fail('ssh_certificate_forwarding')
      checkBind(bind, this.#forwards)
      this.#added ??= this.#context.deps.add(this.record, this)
      await this.#added
      const tunnel = await this.#context.deps.bind(this.record.id, tunnelRequestOf(bind, command))
      if (this.#closed) return
      const forward = this.#forwards.add(bind, tunnel)
      accept(forward.port)
      this.#context.deps.markReady(this.record.id, tunnel.id)
      this.#terminals.writeLine(forwardText(forward))
    } catch (error) {
      this.#reportError(error)
      // With ExitOnForwardFailure ssh reads nothing after the failure; the message must be sent before.
      if (this.#terminals.size > 0) await setTimeout(MESSAGE_MS)
      if (!this.#closed) reject()
    } finally {
      this.#opening--
      this.#checkIdle()
    }
  }

  /** When all requests are handled and no tunnel is open, the connection closes a little later. */
  #checkIdle(wait = this.#context.limits.forwardWait): void {
    const busy = this.#forwards.size + this.#waiting.length + this.#opening > 0
    if (!busy && !this.#leaving) this.#after(wait, () => this.#goIdle())
  }

  #goIdle(): void {
    if (!this.#failed) USAGE.forEach(line => this.#terminals.writeLine(line))
    this.#leave(this.#failed ? 1 : 0)
  }

  #reportError(error: unknown): void {
    this.#failed = true
    const known = error instanceof Problem
    if (!known) this.#context.log.error({ error, session: this.record.id }, 'an ssh tunnel failed to open')
    this.#terminals.writeError(known ? error.message : 'The gateway failed to open the tunnel.')
  }

  /** Ends every session with a status and waits briefly for the client to disconnect, or it would not show it. */
  #leave(status: number): void {
    if (this.#leaving) return
    this.#leaving = true
    this.#terminals.exit(status)
    const end = (): void => {
      this.#peer.client.end()
      this.#after(this.#context.limits.leaveWait, () => this.#peer.socket.destroy())
    }
    if (this.#terminals.size === 0) end()
    else this.#after(this.#context.limits.leaveWait, end)
  }

  #onClose(): void {
    const lost = !this.#leaving
    this.#closed = true
    this.#leaving = true
    clearTimeout(this.#timer)
    this.#channels.close()
    if (this.#added === undefined) return
    const removed = this.#added.then(() => this.#context.deps.remove(this.record.id, this, lost))
    void this.#run('remove', () => removed)
  }

  #run(what: string, work: () => Promise<unknown>): Promise<void> {
    const { log } = this.#context
    const about = { session: this.record.id, what }
    return inBackground({ task: 'ssh', log, failed: 'an ssh session failed', about }, async () => {
      try {
        await work()
      } catch (error) {
        // The client was notified.
        if (!(error instanceof Problem)) throw error
      }
    })
  }

  /** Only one timer is active at a time. */
  #after(milliseconds: number, run: () => void): void {
    clearTimeout(this.#timer)
    if (!this.#closed) this.#timer = globalThis.setTimeout(run, milliseconds)
  }
}

const clock = (): string => new Date().toISOString().slice(11, 19)
