import { connect } from 'adit'
import { startServer, type TestServer } from '../../support/server.ts'
import { until } from '../../support/until.ts'

/** An agent with one tunnel, which takes every command and notes it, as soon as the API lists both. */
export async function agentAt({ api, bound, authtoken, dataDir }: TestServer) {
  const commands: string[] = []
  const note = (command: string) => () => void commands.push(command)
  const agent = await connect({
    server: `127.0.0.1:${bound.agent?.port}`,
    authtoken,
    ca: `${dataDir}/ca.pem`,
    metadata: 'compat',
    commands: { restart: note('restart'), stop: note('stop'), update: note('update') },
  })
  const { id, url } = await agent.listen({ proto: 'https', domain: 'compat', forwardTo: 1 })
  for (const kind of ['tunnel_sessions', 'tunnels', 'endpoints'])
    await until(async () => (await api.get(`/${kind}`)).body[kind].length === 1, {
      what: `${kind} are listed`,
    })
  return { commands, sessionId: agent.sessionId, tunnelId: id, url, close: () => agent.close() }
}

/** A server with such an agent online, and how to send it commands. */
export async function apiWithAgent() {
  const server = await startServer()
  const { commands, sessionId, close } = await agentAt(server)
  return {
    commands,
    get: server.api.get,
    async post(command: string, headers: Record<string, string>, body?: string) {
      const options = { headers, ...(body !== undefined && { body: body.replace('ID', sessionId) }) }
      const path = `/tunnel_sessions/${sessionId}/${command}`
      const { status, body: got } = await server.api.call('POST', path, options)
      return { status, body: got }
    },
    async [Symbol.asyncDispose]() {
      await close()
      await server[Symbol.asyncDispose]()
    },
  }
}
