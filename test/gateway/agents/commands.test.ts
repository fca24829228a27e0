import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { newId } from '#base/ids.ts'
import type { AgentCommand } from '#registry/directory.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import { startGateway, TestAgent, type AgentSettings } from './support.ts'

const unsupported = {
  restart: 'RestartUnsupportedError',
  stop: 'StopUnsupportedError',
  update: 'UpdateUnsupportedError',
} as const
const commands: readonly AgentCommand[] = ['restart', 'stop', 'update']

async function online(settings: AgentSettings, extra: Record<string, unknown> = {}, commandMs = 60_000) {
  const gateway = await startGateway({ agents: { commandMs } })
  const agent = await TestAgent.connect(gateway, settings)
  assert.equal((await agent.auth(gateway.source.credential().token, extra)).Error, '')
  const send = (command: AgentCommand) => gateway.sessions.command(agent.clientId, command)
  return { gateway, agent, send, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() }
}

for (const command of commands)
  suite(`the command ${command}`, () => {
    test('succeeds when the agent accepts it', async () => {
      for (const answer of [{}, { Error: '' }]) {
        await using world = await online({ command: () => answer })
        await world.send(command)
        assert.deepEqual(world.agent.commands, [streamTypes[command]])
      }
    })

    test('fails if the agent did not announce the capability, with the reason if it gave one', async () => {
      const rows = [
        ['the agent has not defined a callback for this operation', /not defined a callback/],
        [null, /too old/],
        [undefined, /too old/],
      ] as const
      for (const [reason, text] of rows) {
        await using world = await online({ command: () => ({}) }, { [unsupported[command]]: reason })
        await assert.rejects(world.send(command), { code: `${command}_unsupported`, message: text })
        assert.deepEqual(world.agent.commands, [])
      }
    })

    test('fails with the reason of an agent that refuses', async () => {
      await using world = await online({ command: () => ({ Error: 'no update is available.' }) })
      await assert.rejects(world.send(command), {
        code: `${command}_failed`,
        message: /: no update is available\.$/,
      })
    })

    test('times out when the agent does not respond', async () => {
      await using world = await online({}, {}, 100)
      await assert.rejects(world.send(command), { code: 'command_unanswered' })
    })

    test('times out when the agent disconnects instead', async () => {
      await using world = await online({
        command() {
          world.agent.drop()
          return undefined
        },
      })
      await assert.rejects(world.send(command), { code: 'command_unanswered' })
    })
  })

test('a command for an unknown session is not found', async () => {
  await using gateway = await startGateway()
  await assert.rejects(gateway.sessions.command(newId('ts'), 'stop'), { code: 'not_found' })
})
