import { once } from 'node:events'
import { connect } from 'node:tls'
import { OWN_ALPN } from '#tunnel/alpn.ts'
import { answerHeartbeat, startHeartbeat } from '#tunnel/heartbeat.ts'
import { authAnswer } from '#tunnel/messages.ts'
import { call } from '#tunnel/rpc.ts'
import { MuxSession } from '#tunnel/mux-session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'

/** Agents that sign in and then idle. */
export interface AgentsJob {
  readonly port: number
  readonly authtoken: string
  readonly count: number
}

export interface AgentsAnswer {
  readonly open: number
}

const AT_ONCE = 25
let open = 0

async function signIn({ port, authtoken }: AgentsJob): Promise<void> {
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
  startHeartbeat(session)
  open++
  void session.closed.then(() => open--)
}

process.on('message', (job: AgentsJob) => {
  const all = async () => {
    for (let left = job.count; left > 0; left -= AT_ONCE)
      await Promise.all(Array.from({ length: Math.min(left, AT_ONCE) }, () => signIn(job)))
  }
  all().then(
    () => process.send?.({ open }),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})
