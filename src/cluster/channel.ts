import { inBackground } from '#base/background.ts'
import { Problem, type ErrorName } from '#base/errors.ts'
import { type Log, silentLog } from '#base/log.ts'

/** One end of a connection between the first process and a worker. */
export interface Pipe {
  send?(message: unknown, done?: (error: Error | null) => void): boolean
  on(event: 'message', listener: (message: unknown) => void): unknown
  on(event: 'disconnect', listener: () => void): unknown
}

/** An error on the pipe: a Problem stays one, of others only the text is kept. */
interface Refused {
  readonly message: string
  readonly problem: { readonly code: ErrorName; readonly values: Problem['values'] } | undefined
}

type ChannelMessage =
  | { readonly is: 'request'; readonly id: number; readonly method: string; readonly argument: unknown }
  | { readonly is: 'answer'; readonly id: number; readonly result: unknown }
  | { readonly is: 'refusal'; readonly id: number; readonly error: Refused }
  | { readonly is: 'notice'; readonly name: string; readonly argument: unknown }

export type Methods = Readonly<Record<string, (argument: never) => Promise<unknown>>>
export type Notices = Readonly<Record<string, (argument: never) => void>>

export interface ChannelOptions {
  readonly methods?: Methods
  readonly notices?: Notices
  readonly log?: Log
}

interface PendingRequest {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

/** The other process has exited, or the connection to it is lost. */
export class ChannelClosed extends Error {
  override readonly name = 'ChannelClosed'

  constructor() {
    super('The other process has ended.')
  }
}

const refused = (error: unknown): Refused => ({
  message: error instanceof Error ? error.message : String(error),
  problem: error instanceof Problem ? { code: error.code, values: error.values } : undefined,
})

/** Requests, responses and notifications between two processes. */
export class Channel {
  readonly #pipe: Pipe
  readonly #methods: Methods
  readonly #notices: Notices
  readonly #waiting = new Map<number, PendingRequest>()
  #nextId = 1
  #closed = false

  constructor(pipe: Pipe, { methods = {}, notices = {}, log = silentLog }: ChannelOptions) {
    this.#pipe = pipe
    this.#methods = methods
    this.#notices = notices
    const background = { task: 'workers', log } as const
    pipe.on('message', message => void inBackground(background, () => this.#take(message as ChannelMessage)))
    pipe.on('disconnect', () => this.close())
  }

  async request<Result>(method: string, argument: unknown): Promise<Result> {
    const id = this.#nextId++
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#waiting.set(id, { resolve, reject })
    if (this.#closed) this.close()
    else this.#send({ is: 'request', id, method, argument })
    return (await promise) as Result
  }

  notify(name: string, argument: unknown): void {
    this.#send({ is: 'notice', name, argument })
  }

  /** The other process has exited: nothing is sent, and unread requests are dropped. */
  close(): void {
    this.#closed = true
    for (const { reject } of this.#waiting.values()) reject(new ChannelClosed())
    this.#waiting.clear()
  }

  #send(message: ChannelMessage): void {
    // A broken pipe is noticed by its end, which fails all pending requests.
    if (!this.#closed) this.#pipe.send?.(message, () => undefined)
  }

  async #take(message: ChannelMessage): Promise<void> {
    if (this.#closed) return
    if (message.is === 'notice') return this.#notices[message.name]?.(message.argument as never)
    if (message.is === 'request') return this.#answer(message)
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if (message.is === 'answer') return waiting?.resolve(message.result)
    const { problem, message: text } = message.error
    waiting?.reject(problem ? new Problem(problem.code, problem.values) : new Error(text))
  }

  async #answer({ id, method, argument }: ChannelMessage & { is: 'request' }): Promise<void> {
    try {
      const handle = this.#methods[method]
      if (!handle) throw new Error(`There is no method ${method}.`)
      this.#send({ is: 'answer', id, result: await handle(argument as never) })
    } catch (error) {
      this.#send({ is: 'refusal', id, error: refused(error) })
    }
  }
}
