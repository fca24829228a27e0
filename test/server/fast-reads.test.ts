import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { usePlainReads } from '#tunnel/socket-reads.ts'
import { World } from '../e2e/edges/world.ts'
import { runAdit } from '../support/server.ts'

suite('the setting fast_reads', () => {
  for (const [fast_reads, workers] of [
    ['off', '1'],
    ['off', '2'],
    ['on', '1'],
  ] as const)
    test(`${fast_reads}, in ${workers} gateway process(es), serves bodies whole`, async context => {
      context.after(() => usePlainReads(false))
      await using world = await World.start({ fast_reads, workers })
      const edge = await world.edge(['a.example.test'])
      await world.route(edge, '/', await world.static((request, response) => request.pipe(response)))
      const body = 'text '.repeat(200_000)
      assert.equal((await world.ask('a.example.test', { method: 'POST', body })).text, body)
    })

  test('is refused when it is neither', async () => {
    const { code, stderr } = await runAdit(['serve', '--fast-reads', 'perhaps'])
    assert.equal(code, 2)
    assert.match(stderr, /fast.reads.*must be on or off/i)
  })
})
