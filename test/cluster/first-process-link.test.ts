import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Channel } from '#cluster/channel.ts'
import { FirstProcessLink } from '#cluster/first-process-link.ts'
import { RelayedPipe } from '#cluster/relayed-pipe.ts'

/** A first process that answers with its name, unless it is to keep silent, and the end of a worker to it. */
function firstProcess(name: string, isSilent = false) {
  const asked: unknown[] = []
  const theirs: RelayedPipe = new RelayedPipe(body => queueMicrotask(() => ours.receive(body)))
  const ours: RelayedPipe = new RelayedPipe(body => queueMicrotask(() => theirs.receive(body)))
  const answer = async (argument: unknown): Promise<string> => {
    asked.push(argument)
    return isSilent ? new Promise<never>(() => undefined) : name
  }
  void new Channel(theirs, { methods: { ask: answer } })
  return { asked, channel: new Channel(ours, {}), end: () => ours.close() }
}

suite('the link of a worker to the first process', () => {
  test('sends what has no answer to the next one, in order, and after it what waited', async () => {
    const link = new FirstProcessLink()
    const before = firstProcess('before', true)
    link.open(before.channel)
    const answers = [link.request('ask', 1), link.request('ask', 2, Infinity)]
    link.lost()
    before.end()
    answers.push(link.request('ask', 3), link.request('ask', 4, Infinity))
    const after = firstProcess('after')
    link.open(after.channel)
    assert.deepEqual(await Promise.all(answers), ['after', 'after', 'after', 'after'])
    assert.deepEqual(after.asked, [1, 2, 3, 4])
  })

  test('refuses after some seconds, except what must not be lost', async context => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const link = new FirstProcessLink()
    const refused = assert.rejects(link.request('ask', 'an address'), { code: 'first_process_unavailable' })
    const kept = link.request('ask', 'a removal', Infinity)
    context.mock.timers.tick(10_000)
    await refused
    const { asked, channel } = firstProcess('late')
    link.open(channel)
    assert.equal(await kept, 'late')
    assert.deepEqual(asked, ['a removal'])
  })

  test('rejects everything once no first process follows', async () => {
    const link = new FirstProcessLink()
    const waiting = assert.rejects(link.request('ask', 1, Infinity), { name: 'ChannelClosed' })
    link.close()
    await waiting
    await assert.rejects(link.request('ask', 2, Infinity), { name: 'ChannelClosed' })
  })
})
