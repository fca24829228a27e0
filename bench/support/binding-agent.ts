import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { OWN_ALPN } from '#tunnel/alpn.ts'
import { answerHeartbeat } from '#tunnel/heartbeat.ts'
import { authAnswer, bindAnswer, unbindAnswer } from '#tunnel/messages.ts'
import { MuxSession } from '#tunnel/mux-session.ts'
import { call } from '#tunnel/rpc.ts'
import { streamTypes } from '#tunnel/stream-types.ts'

/** An agent with one connection that opens tunnels, and closes every connection of a client at once. */
export class BindingAgent implements Disposable {
  readonly #socket: TLSSocket
  readonly #session: MuxSession

  private constructor(socket: TLSSocket) {
    this.#socket = socket
    this.#session = new MuxSession(socket, {
      role: 'client',
      accept: (type, stream) => (type === streamTypes.heartbeat ? answerHeartbeat(stream) : stream.abort()),
    })
  }

  static async signIn(port: number, authtoken: string): Promise<BindingAgent> {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: [OWN_ALPN] })
    await once(socket, 'secureConnect')
    const agent = new BindingAgent(socket)
    const request = {
      Version: ['3', '2'],
      ClientId: '',
      Extra: { OS: 'linux', Arch: 'x64', AuthToken: authtoken, Version: 'bench', ClientType: 'bench' },
    }
    const { Error: refusal } = await call(agent.#session, {
      type: streamTypes.auth,
      request,
      answer: authAnswer,
    })
    if (refusal !== '') throw new Error(refusal)
    return agent
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
    this.#socket.destroy()
  }
}
