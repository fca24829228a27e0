import { fork, type ChildProcess, type ForkOptions } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import type { TestServer } from '../../../support/server.ts'
import type { Answer, RemoteObject, Step } from './messages.ts'

/** What an agent needs to connect to a gateway and sign in. */
interface GatewayAccess {
  readonly server_addr: string
  readonly root_cas: string
  readonly authtoken: string
}

export const accessTo = ({ bound, dataDir, authtoken }: TestServer): GatewayAccess => ({
  server_addr: `localhost:${bound.agent?.port}`,
  root_cas: join(dataDir, 'ca.pem'),
  authtoken,
})

/** What the SDK throws, as an application sees it. */
class SdkError extends Error {
  override readonly name = 'SdkError'
  readonly errorCode: string | undefined

  constructor(message: string, errorCode: string | undefined) {
    super(message)
    this.errorCode = errorCode
  }
}

/** Represents a function of the application: its calls become events. */
export const callback = (name: string): object => ({ callback: name })

/** Represents a server of the application, which responds with this text and the path. */
export const serving = (text: string): object => ({ serves: text })

/** The published SDK in a process of its own. */
export class Sdk implements AsyncDisposable {
  readonly process: ChildProcess
  /** What the SDK called back, each under its name. */
  readonly events = new EventEmitter()
  readonly #door: GatewayAccess
  readonly #waiting = new Map<number, PromiseWithResolvers<RemoteObject | RemoteObject[] | undefined>>()
  #calls = 0

  constructor(door: GatewayAccess) {
    this.#door = door
    const options: ForkOptions = { serialization: 'advanced', execArgv: [] }
    this.process = fork(join(import.meta.dirname, 'program.ts'), options)
    this.process.on('message', answer => this.#take(answer as Answer))
    this.process.on('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the process of the SDK has ended'))
    })
  }

  /** `ngrok.forward()`; sessions are shared by all calls of one process unless `force_new_session` is set. */
  async forward(options: object): Promise<RemoteObject> {
    return this.call(0, ['forward', { ...this.#door, ...options }])
  }

  /** `new SessionBuilder()...connect()`. */
  async connect(...steps: readonly Step[]): Promise<RemoteObject> {
    const { authtoken, server_addr, root_cas } = this.#door
    const builder = [
      ['SessionBuilder'],
      ['authtoken', authtoken],
      ['serverAddr', server_addr],
      ['rootCas', root_cas],
    ]
    return this.call(0, ...(builder as unknown as Step[]), ...steps, ['connect'])
  }

  async call(target: number | RemoteObject, ...steps: readonly Step[]): Promise<RemoteObject> {
    return (await this.#call(target, steps)) as RemoteObject
  }

  async listeners(): Promise<RemoteObject[]> {
    return (await this.#call(0, [['listeners']])) as RemoteObject[]
  }

  /** The arguments of the next call of that callback. */
  async next(name: string): Promise<unknown[]> {
    return once(this.events, name, { signal: AbortSignal.timeout(60_000) })
  }

  async end(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return
    const exited = once(this.process, 'exit')
    this.process.kill(signal)
    await exited
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end()
  }

  #call(
    target: number | RemoteObject,
    steps: readonly Step[],
  ): Promise<RemoteObject | RemoteObject[] | undefined> {
    const waiting = Promise.withResolvers<RemoteObject | RemoteObject[] | undefined>()
    const id = ++this.#calls
    this.#waiting.set(id, waiting)
    this.process.send({ id, target: typeof target === 'number' ? target : target.ref, steps })
    return waiting.promise
  }

  #take(answer: Answer): void {
    if ('event' in answer) {
      this.events.emit(answer.event, ...answer.args)
      return
    }
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if ('problem' in answer) waiting?.reject(new SdkError(answer.problem.message, answer.problem.errorCode))
    else waiting?.resolve(answer.value)
  }
}
