import type { TLSSocket } from 'node:tls'
import { setTimeout as delay } from 'node:timers/promises'
import type { AgentOptions } from '#agent/options.ts'
import { plainText } from '#agent/plain-text.ts'
import { signIn, signInRequest } from '#agent/sign-in.ts'
import { startHeartbeat } from '#tunnel/heartbeat.ts'
import { srvInfoAnswer } from '#tunnel/messages.ts'
import { call } from '#tunnel/rpc.ts'
import { MuxSession } from '#tunnel/mux-session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'

const DEADLINE_MS = 5000
const BEAT_MS = 50
const POLL_MS = 5

interface ProbedGateway {
  readonly region: string
}

interface ProbedLogin {
  readonly session: string
  readonly version: string
}

/** Tests a connection to a gateway part by part, to find the one that fails. */
export class Probe implements Disposable {
  readonly #session: MuxSession
  readonly #server: string

  constructor(socket: TLSSocket, server: string) {
    this.#server = server
    this.#session = new MuxSession(socket, {
      role: 'client',
      accept: (_, stream) => stream.reset('stream_refused'),
    })
  }

  /** Information that a gateway sends before sign-in; only a gateway can. */
  async gateway(): Promise<ProbedGateway> {
    const request = { type: streamTypes.srvInfo, request: {}, answer: srvInfoAnswer }
    const { Region } = await call(this.#session, request, { deadlineMs: DEADLINE_MS })
    return { region: plainText(Region) }
  }

  async login(options: AgentOptions): Promise<ProbedLogin> {
    const identity = { clientId: '', cookie: '' }
    const answer = await signIn(this.#session, signInRequest(options, identity, 0), this.#server)
    return { session: plainText(answer.ClientId), version: plainText(answer.Extra.Version) }
  }

  /** Round trip of one heartbeat, in milliseconds. */
  async latency(): Promise<number> {
    const heartbeat = startHeartbeat(this.#session, { intervalMs: BEAT_MS, limitMs: DEADLINE_MS })
    const end = performance.now() + DEADLINE_MS
    while (performance.now() < end) {
      if (heartbeat.latencyMs !== undefined) return heartbeat.latencyMs
      await delay(POLL_MS)
    }
    throw new Error(`no heartbeat came back within ${DEADLINE_MS / 1000} s`)
  }

  [Symbol.dispose](): void {
    this.#session.close()
  }
}
