import { once } from 'node:events'
import { connect } from 'node:tls'
import { OWN_ALPN } from '#tunnel/alpn.ts'
import { answerHeartbeat } from '#tunnel/heartbeat.ts'
import { authAnswer } from '#tunnel/messages.ts'
import { MuxSession } from '#tunnel/mux-session.ts'
import { call } from '#tunnel/rpc.ts'
import { streamTypes } from '#tunnel/stream-types.ts'

/** Signs in as an agent that closes every connection of a client at once. */
export async function signIn(port: number, authtoken: string): Promise<MuxSession> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: [OWN_ALPN] })
  await once(socket, 'secureConnect')
  const session = new MuxSession(socket, {
    role: 'client',
    accept: (type, stream) => (type === streamTypes.heartbeat ? answerHeartbeat(stream) : stream.abort()),
  })
  const request = {
    Version: ['3', '2'],
    ClientId: '',
    Extra: { OS: 'linux', Arch: 'x64', AuthToken: authtoken, Version: 'bench', ClientType: 'adit' },
  }
  const { Error: refusal } = await call(session, { type: streamTypes.auth, request, answer: authAnswer })
  if (refusal !== '') throw new Error(refusal)
  return session
}
