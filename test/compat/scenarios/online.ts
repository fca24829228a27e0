import assert from 'node:assert/strict'
import { newId } from '#base/ids.ts'
import type { Trial } from '../trial.ts'
import type { Scenarios } from './index.ts'

const nobody = 'nobody has signed in'
const nothing = 'nothing is online'

/** What exists only while agents or visitors are connected: here none is. */
async function absent(trial: Trial, prefix: string, methods: readonly string[], why: string): Promise<void> {
  await trial.works('list', [], items => assert.deepStrictEqual(items, []), `, empty: ${why}`)
  for (const method of methods) await trial.finds404(method, [newId(prefix)], why)
}

export const online: Scenarios = {
  TunnelSessions: async trial => {
    await absent(trial, 'ts', ['get', 'restart', 'stop'], nothing)
    await trial.finds404('update', [{ id: newId('ts') }], nothing)
  },
  Tunnels: trial => absent(trial, 'tn', ['get'], nothing),
  Endpoints: trial => absent(trial, 'ep', ['get'], nothing),
  ApplicationSessions: trial => absent(trial, 'as', ['get', 'delete'], nobody),
  ApplicationUsers: trial => absent(trial, 'au', ['get', 'delete'], nobody),
}
