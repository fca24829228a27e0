import { bindAnswer, unbindAnswer } from '#tunnel/messages.ts'
import type { MuxSession } from '#tunnel/mux-session.ts'
import { call } from '#tunnel/rpc.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import { signIn } from './agent-session.ts'

/** An agent with one connection that opens tunnels. */
export class BindingAgent implements Disposable {
  readonly #session: MuxSession

  private constructor(session: MuxSession) {
    this.#session = session
  }

  static async signIn(port: number, authtoken: string): Promise<BindingAgent> {
    return new BindingAgent(await signIn(port, authtoken))
  }

  /** Resolves to the id of the tunnel. */
  async bind(host: string): Promise<string> {
    const request = {
      Id: '',
      Proto: 'http',
      ForwardsTo: 'localhost:80',
      ForwardsProto: '',
      Opts: { Hostname: host },
      Extra: { Token: '', Metadata: '' },
    }
    const answer = await call(this.#session, { type: streamTypes.bind, request, answer: bindAnswer })
    if (answer.Error !== '') throw new Error(answer.Error)
    return answer.Id
  }

  async unbind(id: string): Promise<void> {
    await call(this.#session, { type: streamTypes.unbind, request: { Id: id }, answer: unbindAnswer })
  }

  [Symbol.dispose](): void {
    this.#session.close()
  }
}
