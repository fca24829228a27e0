import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { BAD_AGENT, each, GuardedEdge, HOST, OTHER, routes } from './guarded-edge.ts'
import { hardTargets } from './hard-paths.ts'
import { decide, type Decision } from './reference.ts'
import { type Answered, fieldsIn, head, sent, session, streamed } from './support.ts'

const AMBIGUOUS = 'ERR_ADIT_90049'

/** What a visitor saw and what stands in the log, of the same request. */
interface Seen {
  readonly target: string
  readonly answer: Answered
  readonly wanted: Decision
}

suite('SEC-01 SEC-02 SEC-03 SEC-04 SEC-05 SEC-06 a path', () => {
  let edge: GuardedEdge

  before(async () => {
    edge = await GuardedEdge.start()
  })
  after(() => edge[Symbol.asyncDispose]())

  /** Compares everything that tells what became of requests with the reference. */
  async function judge(seen: readonly Seen[]): Promise<void> {
    assert.deepEqual(edge.secret.taken(), [], 'a service behind a guard was reached')
    const got = new Map(
      edge.open.taken().map(request => [new Map(fieldsIn(request)).get('x-row'), request.split(' ')[1]]),
    )
    await each(seen, async ({ target, answer, wanted }, row) => {
      const shown = JSON.stringify(target)
      const code = answer.headers.get('adit-error-code')
      const forwarded = got.get(String(row))
      if (wanted.kind === 'refused') {
        // Over HTTP/2 some do not get as far as an answer.
        assert.ok(answer.status === 400 || answer.status === 0, `${shown}: ${answer.status}`)
        assert.notEqual(code, AMBIGUOUS, shown)
        return assert.equal(forwarded, undefined, shown)
      }
      const reason = await edge.reason(answer.headers.get('adit-request-id') ?? '')
      if (wanted.kind === 'ambiguous') {
        assert.deepEqual([answer.status, code], [400, AMBIGUOUS], shown)
        assert.deepEqual([forwarded, reason.route, reason.modules], [undefined, undefined, []], shown)
        return
      }
      assert.equal(wanted.kind, 'routed', shown)
      if (wanted.kind !== 'routed') return
      const { guard, name } = wanted.route
      assert.deepEqual([reason.route, reason.status], [name, guard ? 403 : 200], shown)
      assert.deepEqual(reason.modules, guard ? [`${guard} answered`] : [], shown)
      assert.equal(answer.status, guard ? 403 : 200, shown)
      assert.equal(forwarded, guard ? undefined : wanted.target, shown)
    })
  }

  for (const host of [HOST, OTHER]) {
    test(`leads to one route or is refused, and goes on byte for byte (HTTP/1.1, ${host})`, async () => {
      const all = hardTargets(host)
      // What is special to the second name is in a few rows.
      const targets = all.filter((target, at) => host === HOST || target.includes('onl') || at % 4 === 0)
      assert.ok(all.length >= 400)
      const seen: Seen[] = []
      await each(targets, async (target, row) => {
        const bytes = head(target, host, `User-Agent: ${BAD_AGENT}\r\nX-Row: ${row}\r\n`)
        seen[row] = {
          target,
          answer: await sent(edge.world, host, bytes),
          wanted: decide(target, host, routes),
        }
      })
      const kinds = Map.groupBy(seen, ({ wanted }) => wanted.kind)
      for (const kind of ['refused', 'ambiguous', 'routed'] as const)
        assert.ok((kinds.get(kind)?.length ?? 0) > 20, kind)
      await judge(seen)
    })
  }

  test('leads to the same route over HTTP/2', async () => {
    const targets = hardTargets(HOST)
    const seen: Seen[] = []
    for (let from = 0; from < targets.length; from += 100) {
      using made = await session(edge.world, HOST)
      await each(targets.slice(from, from + 100), async (target, at) => {
        const pairs = {
          ':path': target,
          ':authority': HOST,
          'user-agent': BAD_AGENT,
          'x-row': String(from + at),
        }
        const answer = await streamed(made, pairs)
        const isPath = target.startsWith('/')
        // HTTP/2 names the host elsewhere, and nothing but a path here.
        seen[from + at] = {
          target,
          answer,
          wanted: isPath ? decide(target, HOST, routes) : { kind: 'refused' },
        }
      })
    }
    await judge(seen)
  })
})
