import assert from 'node:assert/strict'
import { newId, randomPart } from '#base/ids.ts'
import type { Value } from '../client.ts'
import type { Trial } from '../trial.ts'
import type { Scenarios } from './index.ts'

const noUser = 'no user has signed in'

/** Resources that exist only while users are signed in: here none is. */
async function absent(trial: Trial, prefix: string, methods: readonly string[]): Promise<void> {
  await trial.works('list', [], items => assert.deepStrictEqual(items, []), `, empty: ${noUser}`)
  for (const method of methods) await trial.finds404(method, [newId(prefix)], noUser)
}

/** The one thing of its kind that is online, in the list and by its id. */
async function isOnline(trial: Trial, id: string, expected: object): Promise<void> {
  const check = (value: Value) => assert.partialDeepStrictEqual(value, { id, ...expected })
  await trial.works('list', [], items => {
    assert.equal(items.length, 1)
    check(items[0])
  })
  await trial.works('get', [id], check)
  await trial.rejects404('get', newId(id.split('_')[0] ?? ''))
}

export const online: Scenarios = {
  TunnelSessions: async (trial, { agent }) => {
    const { sessionId: id, commands } = agent
    await isOnline(trial, id, { metadata: 'compat', ip: '127.0.0.1', region: 'us', transport: 'adit/v2' })
    for (const command of ['restart', 'stop'])
      await trial.works(command, [id], () => assert.equal(commands.at(-1), command))
    await trial.works('update', [{ id }], () => assert.equal(commands.at(-1), 'update'))
  },
  Tunnels: (trial, { agent, ref }) =>
    isOnline(trial, agent.tunnelId, {
      publicUrl: agent.url,
      proto: 'https',
      forwardsTo: 'http://localhost:1',
      tunnelSession: ref('/tunnel_sessions', agent.sessionId),
    }),
  Endpoints: (trial, { agent, ref }) =>
    isOnline(trial, `ep_${randomPart(agent.tunnelId)}`, {
      publicUrl: agent.url,
      type: 'ephemeral',
      tunnel: ref('/tunnels', agent.tunnelId),
    }),
  ApplicationSessions: trial => absent(trial, 'as', ['get', 'delete']),
  ApplicationUsers: trial => absent(trial, 'au', ['get', 'delete']),
}
